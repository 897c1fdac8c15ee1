//! Per key and session.

use std::{fmt, sync::Arc};

use purlin_derive::KeyedState;
use purlin_sdk::{
    BundleContext, BundleEmitter, CombineFn, Duration, Element, Emitter, Key, KeyedDoFn, KeyedParDo,
    PCollection, PTransform, ProcessContext, Result, Tag, TimerContext, TimerOf, Timestamp,
    metrics::ELEMENTS_IN_NO_WINDOW,
    state::{Timer, Value},
};

use crate::streaming::{
    Grouping, LateRows, OperatorKind, OutputMode, TimeWindow,
    operators::Handle,
    place::TICK,
    state_rows::Tally,
    time_of::{TimeOf, read_time},
};

/// Reads the gap of a row.
type Gap<K, C> = Arc<dyn Fn(&(K, <C as CombineFn>::Input)) -> Duration + Send + Sync>;

/// See [`StreamAggregate::sessions`](super::StreamAggregate::sessions).
pub struct SessionAggregate<K, C: CombineFn> {
    gap: Gap<K, C>,
    /// The gap, where it is the same for all rows.
    constant: Option<Duration>,
    time: TimeOf<(K, C::Input)>,
    combine: C,
}

impl<K: Key, C: CombineFn> SessionAggregate<K, C> {
    pub(super) fn new(gap: Gap<K, C>, constant: Option<Duration>, combine: C) -> SessionAggregate<K, C> {
        SessionAggregate { gap, constant, time: TimeOf::Timestamp, combine }
    }

    /// The row's event time is what `time` reads, and not the row's timestamp: see
    /// [`WindowedAggregate::event_time`](super::WindowedAggregate::event_time).
    #[must_use]
    pub fn event_time<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&(K, C::Input)) -> M + Send + Sync + 'static,
    ) -> SessionAggregate<K, C> {
        self.time = TimeOf::Event(read_time(time));
        self
    }

    /// The sessions are those of another time than the event time. The watermark says nothing of it, so that no session
    /// is ever final.
    #[must_use]
    pub fn time<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&(K, C::Input)) -> M + Send + Sync + 'static,
    ) -> SessionAggregate<K, C> {
        self.time = TimeOf::Other(read_time(time));
        self
    }
}

impl<K: Key, C: CombineFn> PTransform<PCollection<(K, C::Input)>> for SessionAggregate<K, C> {
    type Out = PCollection<((K, TimeWindow), C::Output)>;

    #[track_caller]
    fn expand(self, rows: PCollection<(K, C::Input)>) -> Self::Out {
        self.expand_with_late(rows).0
    }
}

impl<K: Key, C: CombineFn> LateRows<PCollection<(K, C::Input)>> for SessionAggregate<K, C> {
    type Late = (K, C::Input);

    #[track_caller]
    fn expand_with_late(self, rows: PCollection<(K, C::Input)>) -> (Self::Out, PCollection<(K, C::Input)>) {
        let SessionAggregate { gap, constant, time, combine } = self;
        let pipeline = rows.pipeline();
        if let Some(gap) = constant.filter(|gap| *gap <= Duration::ZERO) {
            pipeline.build_error(format!(
                "its sessions have a gap of {gap}, so that no row would be in one; it must be more than zero"
            ));
        }
        let handle = Handle::new(pipeline);
        let by_event_time = time.is_event_time();
        let merge = Merge { gap, time, combine, handle: handle.clone(), tally: Tally::default() };
        let late = Merge::<K, C>::late();
        let results = rows.par_do_keyed_with("Merge", KeyedParDo::of(merge).tag(late));
        let main = results.main();
        let grouping = if by_event_time { Grouping::Sessions } else { Grouping::OtherSessions };
        let settings = constant.map_or_else(String::new, |gap| format!("sessions with a gap of {gap}"));
        handle.declare_with(
            pipeline,
            OperatorKind::Aggregate(grouping),
            vec![rows.id()],
            vec![main.id()],
            settings,
        );
        (main, results.tagged(late))
    }
}

impl<K, C: CombineFn> fmt::Debug for SessionAggregate<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionAggregate").field("time", &self.time).finish()
    }
}

/// Merges rows into sessions.
struct Merge<K, C: CombineFn> {
    gap: Gap<K, C>,
    time: TimeOf<(K, C::Input)>,
    combine: C,
    handle: Handle,
    tally: Tally,
}

impl<K, C: CombineFn> Merge<K, C> {
    const fn late() -> Tag<(K, C::Input)> {
        Tag::new("late")
    }
}

impl<K, C: CombineFn> Clone for Merge<K, C> {
    fn clone(&self) -> Merge<K, C> {
        let Merge { gap, time, combine, handle, .. } = self;
        Merge {
            gap: gap.clone(),
            time: time.clone(),
            combine: combine.clone(),
            handle: handle.clone(),
            tally: Tally::default(),
        }
    }
}

/// The sessions of a key, in the order of time. They do not touch.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Sessions<A: Element> {
    open: Value<Vec<(TimeWindow, A)>>,
    /// The epoch that they were shown in last.
    shown: Value<u64>,
    #[timer(processing)]
    show: Timer,
    #[timer(event)]
    close: Timer,
}

impl<A: Element> Sessions<A> {
    fn earliest_end(&self) -> Option<Timestamp> {
        // They are in order and apart, so that the first one ends first.
        self.open.read()?.first().map(|(window, _)| window.end)
    }
}

impl<K: Key, C: CombineFn> KeyedDoFn for Merge<K, C> {
    type Key = K;
    type Value = C::Input;
    type Output = ((K, TimeWindow), C::Output);
    type State = Sessions<C::Accumulator>;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.tally = Tally::default();
        Ok(())
    }

    fn process(
        &mut self,
        key: &K,
        value: C::Input,
        sessions: &mut Sessions<C::Accumulator>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        let (epoch, placed) = (self.handle.epoch(), self.handle.placed());
        let row = (key.clone(), value);
        let gap = (self.gap)(&row);
        let start = self.time.get(&row, cx.timestamp()).filter(|_| gap > Duration::ZERO);
        let Some(start) = start else {
            cx.counter(ELEMENTS_IN_NO_WINDOW).inc(1);
            return Ok(());
        };
        let mut window = TimeWindow { start, end: start + gap };
        let late = placed.late(&epoch, 0).filter(|_| self.time.is_event_time());
        if late.is_some_and(|late| window.end <= late) {
            self.tally.dropped += 1;
            out.emit_to(Self::late(), row);
            return Ok(());
        }
        let mut merged = self.combine.create();
        self.combine.add_input(&mut merged, row.1);
        let mut open = sessions.open.take().unwrap_or_default();
        let from = open.partition_point(|(other, _)| other.end < window.start);
        let to = open.partition_point(|(other, _)| other.start <= window.end).max(from);
        let into = to - from;
        for (other, accumulator) in open.drain(from..to) {
            window.start = window.start.min(other.start);
            window.end = window.end.max(other.end);
            self.combine.merge(&mut merged, accumulator);
        }
        open.insert(from, (window, merged));
        sessions.open.write(open);
        self.tally.updated += 1;
        self.tally.added += u64::from(into == 0);
        self.tally.removed += (into as u64).saturating_sub(1);
        if epoch.mode == OutputMode::Complete {
            if !sessions.show.is_set() {
                sessions.show.set_after(cx, TICK)?;
            }
        } else if late.is_some()
            && let Some(end) = sessions.earliest_end()
        {
            sessions.close.set(cx, placed.alarm(end))?;
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: TimerOf<Self>,
        key: &K,
        sessions: &mut Sessions<C::Accumulator>,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        let (epoch, placed) = (self.handle.epoch(), self.handle.placed());
        match timer {
            // The query was in complete mode before it was started again.
            SessionsTimer::Show if placed.may_show(&epoch) && epoch.mode != OutputMode::Complete => {
                let end =
                    sessions.earliest_end().filter(|_| self.time.is_event_time() && placed.watermarked[0]);
                if let Some(end) = end {
                    sessions.close.set(cx, placed.alarm(end))?;
                }
            }
            SessionsTimer::Show => {
                if placed.may_show(&epoch) && sessions.shown.read() != Some(&epoch.id) {
                    sessions.shown.write(epoch.id);
                    for (window, accumulator) in sessions.open.read().into_iter().flatten() {
                        let result = self.combine.extract(accumulator.clone());
                        out.emit_at(((key.clone(), *window), result), window.max_timestamp());
                    }
                }
                sessions.show.set_after(cx, TICK)?;
            }
            SessionsTimer::Close => {
                let mut open = sessions.open.take().unwrap_or_default();
                let n = open.partition_point(|(window, _)| placed.alarm(window.end) <= cx.fire_timestamp());
                for (window, accumulator) in open.drain(..n) {
                    self.tally.removed += 1;
                    let result = self.combine.extract(accumulator);
                    out.emit_at(((key.clone(), window), result), window.max_timestamp());
                }
                if open.is_empty() {
                    sessions.shown.clear();
                } else {
                    sessions.open.write(open);
                }
                if let Some(end) = sessions.earliest_end() {
                    sessions.close.set(cx, placed.alarm(end))?;
                }
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
