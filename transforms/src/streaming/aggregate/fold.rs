//! A result per group, kept from epoch to epoch.

use std::marker::PhantomData;

use purlin_derive::KeyedState;
use purlin_sdk::{
    BundleContext, BundleEmitter, CombineFn, Duration, Element, Emitter, Key, KeyedDoFn, ProcessContext,
    Result, Tag, TimerContext, TimerOf,
    state::{Timer, Value},
};

use crate::streaming::{OutputMode, operators::Handle, place::TICK, state_rows::Tally, time_of::ReadTime};

/// Keeps a result per group, and shows it as the output mode asks. A value of `None` makes a group that has no rows.
pub(super) struct Fold<G, C> {
    combine: C,
    /// When the watermark has come to this time the group is final; nothing when it never is.
    final_at: Option<ReadTime<G>>,
    always: bool,
    handle: Handle,
    tally: Tally,
    group: PhantomData<fn(G)>,
}

impl<G, C> Fold<G, C> {
    pub(super) fn new(combine: C, final_at: Option<ReadTime<G>>, handle: Handle) -> Fold<G, C> {
        Fold { combine, final_at, always: false, handle, tally: Tally::default(), group: PhantomData }
    }

    /// It is shown in every epoch, in update mode too.
    pub(super) fn in_every_epoch(self) -> Fold<G, C> {
        Fold { always: true, ..self }
    }

    /// Rows that came too late for their group.
    pub(super) const fn late<V>() -> Tag<(G, V)> {
        Tag::new("late")
    }
}

impl<G, C: Clone> Clone for Fold<G, C> {
    fn clone(&self) -> Fold<G, C> {
        let Fold { combine, final_at, always, handle, .. } = self;
        Fold { always: *always, ..Fold::new(combine.clone(), final_at.clone(), handle.clone()) }
    }
}

/// A group.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
pub(super) struct Group<A: Element> {
    accumulator: Value<A>,
    /// The epoch that changed it last.
    changed: Value<u64>,
    /// The epoch that it was shown in last.
    shown: Value<u64>,
    #[timer(processing)]
    show: Timer,
    #[timer(event)]
    close: Timer,
}

impl<G: Key, C: CombineFn> Fold<G, C> {
    fn result(&self, group: &Group<C::Accumulator>) -> C::Output {
        let accumulator = group.accumulator.read().cloned();
        self.combine.extract(accumulator.unwrap_or_else(|| self.combine.create()))
    }

    /// It is the operator's turn: what comes out of the group, if anything.
    fn shown(&self, mode: OutputMode, epoch: u64, group: &mut Group<C::Accumulator>) -> Option<C::Output> {
        let every = self.always || mode == OutputMode::Complete;
        // A query may have had another mode before it was started again.
        let due = match mode {
            OutputMode::Append => false,
            _ if every => group.shown.read() != Some(&epoch),
            _ => group.changed.read() == Some(&epoch),
        };
        if due && every {
            group.shown.write(epoch);
        }
        due.then(|| self.result(group))
    }
}

impl<G: Key, C: CombineFn> KeyedDoFn for Fold<G, C> {
    type Key = G;
    type Value = Option<C::Input>;
    type Output = (G, C::Output);
    type State = Group<C::Accumulator>;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.tally = Tally::default();
        Ok(())
    }

    fn process(
        &mut self,
        key: &G,
        value: Option<C::Input>,
        group: &mut Group<C::Accumulator>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        let (epoch, placed) = (self.handle.epoch(), self.handle.placed());
        let final_at = self.final_at.as_ref().and_then(|read| read(key)).zip(placed.late(&epoch, 0));
        if let Some((at, late)) = final_at
            && at <= late
            && epoch.mode != OutputMode::Complete
        {
            self.tally.dropped += 1;
            if let Some(value) = value {
                out.emit_to(Self::late(), (key.clone(), value));
            }
            return Ok(());
        }
        let before = group.accumulator.take();
        if group.changed.read() != Some(&epoch.id) && value.is_some() {
            group.changed.write(epoch.id);
            self.tally.updated += 1;
            self.tally.added += u64::from(before.is_none());
        }
        let mut accumulator = before.unwrap_or_else(|| self.combine.create());
        if let Some(value) = value {
            self.combine.add_input(&mut accumulator, value);
        }
        group.accumulator.write(accumulator);
        if let Some((at, _)) = final_at
            && epoch.mode != OutputMode::Complete
            && !group.close.is_set()
        {
            group.close.set(cx, placed.alarm(at))?;
        }
        // The group without rows may come before the first epoch, when nobody knows its mode.
        if epoch.mode == OutputMode::Append && !self.always {
            return Ok(());
        }
        if epoch.immediate && group.changed.read().is_some() {
            out.emit((key.clone(), self.result(group)));
        } else if !group.show.is_set() {
            group.show.set_after(cx, TICK)?;
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: TimerOf<Self>,
        key: &G,
        group: &mut Group<C::Accumulator>,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        let (epoch, placed) = (self.handle.epoch(), self.handle.placed());
        match timer {
            GroupTimer::Show => {
                let turn = placed.may_show(&epoch) && !epoch.immediate;
                if turn && let Some(result) = self.shown(epoch.mode, epoch.id, group) {
                    let at = self.final_at.as_ref().and_then(|read| read(key));
                    out.emit_at((key.clone(), result), at.map_or(cx.timestamp(), |at| at - TICK));
                }
                // What is shown in every epoch is looked at at every tick: nobody knows when the next epoch is.
                if !turn || self.always || epoch.mode == OutputMode::Complete {
                    group.show.set_after(cx, TICK)?;
                } else if !group.close.is_set()
                    && placed.watermarked[0]
                    && let Some(at) = self.final_at.as_ref().and_then(|read| read(key))
                {
                    // It was never to be final, as long as the query was in complete mode.
                    group.close.set(cx, placed.alarm(at))?;
                }
            }
            GroupTimer::Close => {
                let at = self.final_at.as_ref().and_then(|read| read(key));
                let last = at.unwrap_or_else(|| cx.timestamp()) - TICK;
                let pending = epoch.mode == OutputMode::Update && group.show.is_set();
                if epoch.mode == OutputMode::Append || pending {
                    out.emit_at((key.clone(), self.result(group)), last);
                }
                self.tally.removed += 1;
                group.accumulator.clear();
                group.changed.clear();
                group.shown.clear();
                group.show.clear();
            }
        }
        Ok(())
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, Self::Output>) -> Result {
        self.tally.report(cx, &self.handle);
        Ok(())
    }

    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::MAX
    }
}
