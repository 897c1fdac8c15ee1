//! One key's first row.

use std::marker::PhantomData;

use purlin_derive::KeyedState;
use purlin_sdk::{
    BundleContext, BundleEmitter, Duration, Element, Emitter, Key, KeyedDoFn, ProcessContext, Result, Tag,
    TimerContext, TimerOf, Timestamp,
    state::{KeyedContext, Timer, Value},
};

use crate::streaming::{
    operators::Handle,
    place::TICK,
    state_rows::Tally,
    waiting::{ANY_SKEW, Waiting, wait},
};

/// What is the same in equal rows.
pub(super) type Equal<K> = (K, Option<Timestamp>);

/// When a row is forgotten.
#[derive(Clone, Copy, Debug)]
pub(super) enum Forget {
    Never,
    /// When the watermark has come to its event time.
    AtEventTime,
    /// When the watermark has come to its event time and the watermark's delay.
    AfterDelay,
}

/// Lets one key's first row pass.
pub(super) struct First<K, T> {
    forget: Forget,
    handle: Handle,
    tally: Tally,
    types: PhantomData<fn(K, T)>,
}

impl<K, T> First<K, T> {
    pub(super) fn new(forget: Forget, handle: Handle) -> First<K, T> {
        First { forget, handle, tally: Tally::default(), types: PhantomData }
    }

    /// Rows that came too late.
    pub(super) const fn late() -> Tag<T> {
        Tag::new("late")
    }
}

impl<K, T> Clone for First<K, T> {
    fn clone(&self) -> First<K, T> {
        First::new(self.forget, self.handle.clone())
    }
}

/// A row, with its event time, that may be the first.
type Candidate<T> = (Option<Timestamp>, Waiting<T>);

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
pub(super) struct Seen<T: Element> {
    /// Whether a row has passed.
    seen: Value<bool>,
    /// The first one of the epoch so far.
    candidate: Value<Candidate<T>>,
    earliest: Value<Timestamp>,
    #[timer(processing)]
    show: Timer,
    #[timer(event)]
    forget: Timer,
}

impl<K, T: Element> First<K, T> {
    /// Notes that a row with this event time has passed.
    fn passed(&mut self, at: Option<Timestamp>, seen: &mut Seen<T>, cx: &impl KeyedContext) -> Result {
        self.tally.added += 1;
        self.tally.updated += 1;
        seen.seen.write(true);
        let placed = self.handle.placed();
        let end = match self.forget {
            _ if !placed.watermarked[0] => None,
            Forget::Never => None,
            Forget::AtEventTime => at,
            Forget::AfterDelay => Some(at.unwrap_or(Timestamp::EPOCH) + placed.delay),
        };
        end.map_or(Ok(()), |end| seen.forget.without_output_timestamp().set(cx, placed.alarm(end)))
    }
}

impl<K: Key, T: Element> KeyedDoFn for First<K, T> {
    type Key = Equal<K>;
    type Value = (Option<Timestamp>, T);
    type Output = T;
    type State = Seen<T>;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.tally = Tally::default();
        Ok(())
    }

    fn process(
        &mut self,
        _: &Equal<K>,
        (at, row): (Option<Timestamp>, T),
        seen: &mut Seen<T>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, T>,
    ) -> Result {
        let (epoch, placed) = (self.handle.epoch(), self.handle.placed());
        if at.zip(placed.late(&epoch, 0)).is_some_and(|(at, late)| at <= late) {
            self.tally.dropped += 1;
            out.emit_to(Self::late(), row);
            return Ok(());
        }
        if !seen.seen.is_empty() {
            return Ok(());
        }
        if epoch.immediate {
            out.emit(row);
            return self.passed(at, seen, cx);
        }
        let arrival = cx.pane().index;
        if seen.candidate.read().is_none_or(|(_, (first, ..))| arrival < *first) {
            seen.candidate.write((at, (arrival, cx.timestamp(), row)));
        }
        wait(&mut seen.show, &mut seen.earliest, cx, cx.timestamp())
    }

    fn on_timer(
        &mut self,
        timer: TimerOf<Self>,
        _: &Equal<K>,
        seen: &mut Seen<T>,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, T>,
    ) -> Result {
        match timer {
            SeenTimer::Show if !self.handle.placed().may_show(&self.handle.epoch()) => {
                return seen.show.set_after(cx, TICK);
            }
            SeenTimer::Show => {
                seen.earliest.clear();
                if let Some((at, (_, timestamp, row))) = seen.candidate.take() {
                    out.emit_at(row, timestamp);
                    self.passed(at, seen, cx)?;
                }
            }
            SeenTimer::Forget => {
                self.tally.removed += 1;
                seen.seen.clear();
            }
        }
        Ok(())
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, T>) -> Result {
        self.tally.report(cx, &self.handle);
        Ok(())
    }

    fn allowed_timestamp_skew(&self) -> Duration {
        ANY_SKEW
    }
}
