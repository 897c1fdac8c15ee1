//! Per key and window.

use std::fmt;

use purlin_sdk::{CombineFn, Key, KeyedParDo, PCollection, PTransform, ParDo, Timestamp};

use super::{assign::Assign, end, fold::Fold};
use crate::streaming::{
    Grouping, LateRows, OperatorKind, TimeWindow, TimeWindows,
    operators::Handle,
    time_of::{TimeOf, read_time},
};

/// See [`StreamAggregate::windowed`](super::StreamAggregate::windowed).
pub struct WindowedAggregate<K, C: CombineFn> {
    pub(super) windows: TimeWindows,
    pub(super) time: TimeOf<(K, C::Input)>,
    pub(super) combine: C,
}

impl<K: Key, C: CombineFn> WindowedAggregate<K, C> {
    /// The row's event time is what `time` reads, and not the row's timestamp: for rows with several, such as those of a
    /// join. It must be one that a `with_watermark` before this knows. A row of which it reads `None` is in no window.
    #[must_use]
    pub fn event_time<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&(K, C::Input)) -> M + Send + Sync + 'static,
    ) -> WindowedAggregate<K, C> {
        self.time = TimeOf::Event(read_time(time));
        self
    }

    /// The windows are those of another time than the event time. The watermark says nothing of it, so that no window is
    /// ever final.
    #[must_use]
    pub fn time<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&(K, C::Input)) -> M + Send + Sync + 'static,
    ) -> WindowedAggregate<K, C> {
        self.time = TimeOf::Other(read_time(time));
        self
    }
}

impl<K: Key, C: CombineFn> PTransform<PCollection<(K, C::Input)>> for WindowedAggregate<K, C> {
    type Out = PCollection<((K, TimeWindow), C::Output)>;

    #[track_caller]
    fn expand(self, rows: PCollection<(K, C::Input)>) -> Self::Out {
        self.expand_with_late(rows).0
    }
}

impl<K: Key, C: CombineFn> LateRows<PCollection<(K, C::Input)>> for WindowedAggregate<K, C> {
    type Late = (K, C::Input);

    #[track_caller]
    fn expand_with_late(self, rows: PCollection<(K, C::Input)>) -> (Self::Out, PCollection<(K, C::Input)>) {
        let WindowedAggregate { windows, time, combine } = self;
        let pipeline = rows.pipeline();
        windows.check(pipeline);
        let handle = Handle::new(pipeline);
        let by_event_time = time.is_event_time();
        let late = Assign::late();
        let assigned =
            rows.par_do_with("Windows", ParDo::of(Assign::new(windows, time, handle.clone())).tag(late));
        let final_at = by_event_time.then(|| read_time(end));
        let fold = KeyedParDo::of(Fold::new(combine, final_at, handle.clone()))
            .tag(Fold::<(K, TimeWindow), C>::late::<C::Input>());
        let results = assigned.main().par_do_keyed_with("Combine", fold).main();
        let grouping = if by_event_time { Grouping::EventTime } else { Grouping::Other };
        handle.declare_with(
            pipeline,
            OperatorKind::Aggregate(grouping),
            vec![rows.id()],
            vec![results.id()],
            windows.to_string(),
        );
        (results, assigned.tagged(late))
    }
}

impl<K, C: CombineFn> fmt::Debug for WindowedAggregate<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowedAggregate").field("windows", &self.windows).field("time", &self.time).finish()
    }
}
