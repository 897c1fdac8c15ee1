//! Per key.

use std::fmt;

use purlin_sdk::{CombineFn, Key, KeyedParDo, PCollection, PTransform, Timestamp};

use super::fold::Fold;
use crate::streaming::{
    Grouping, LateRows, OperatorKind,
    operators::Handle,
    time_of::{ReadTime, read_time},
};

/// See [`StreamAggregate::per_key`](super::StreamAggregate::per_key).
pub struct PerKeyAggregate<K, C> {
    pub(super) combine: C,
    pub(super) event_time: Option<ReadTime<K>>,
}

impl<K: Key, C: CombineFn> PerKeyAggregate<K, C> {
    /// The event time of a key's rows is in the key, where `time` reads it: a key is final when the watermark has come to
    /// it. The end of a window that is in the key will do. One of which it reads `None` is never final.
    ///
    /// ```
    /// # use purlin_sdk::{PCollection, Pipeline, Timestamp};
    /// use purlin_transforms::{CountFn, streaming::StreamAggregate};
    /// # let p = Pipeline::new();
    /// # let clicks = p.create("Clicks", [((Timestamp::EPOCH, "home".to_owned()), 1_i64)]);
    /// let each: PCollection<((Timestamp, String), u64)> = clicks.apply(
    ///     "Count",
    ///     StreamAggregate::per_key(CountFn::new()).event_time_in_key(|(at, _): &(Timestamp, String)| *at),
    /// );
    /// # p.build().unwrap();
    /// ```
    #[must_use]
    pub fn event_time_in_key<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&K) -> M + Send + Sync + 'static,
    ) -> PerKeyAggregate<K, C> {
        self.event_time = Some(read_time(time));
        self
    }
}

impl<K: Key, C: CombineFn> PTransform<PCollection<(K, C::Input)>> for PerKeyAggregate<K, C> {
    type Out = PCollection<(K, C::Output)>;

    #[track_caller]
    fn expand(self, rows: PCollection<(K, C::Input)>) -> Self::Out {
        self.expand_with_late(rows).0
    }
}

impl<K: Key, C: CombineFn> LateRows<PCollection<(K, C::Input)>> for PerKeyAggregate<K, C> {
    type Late = (K, C::Input);

    #[track_caller]
    fn expand_with_late(self, rows: PCollection<(K, C::Input)>) -> (Self::Out, PCollection<(K, C::Input)>) {
        let PerKeyAggregate { combine, event_time } = self;
        let pipeline = rows.pipeline();
        let handle = Handle::new(pipeline);
        let grouping = if event_time.is_some() { Grouping::EventTime } else { Grouping::Other };
        let values = rows.map("Values", |(key, value)| (key, Some(value)));
        let late = Fold::<K, C>::late::<C::Input>();
        let fold = KeyedParDo::of(Fold::new(combine, event_time, handle.clone())).tag(late);
        let results = values.par_do_keyed_with("Combine", fold);
        let main = results.main();
        handle.declare(pipeline, OperatorKind::Aggregate(grouping), vec![rows.id()], vec![main.id()]);
        (main, results.tagged(late))
    }
}

impl<K, C> fmt::Debug for PerKeyAggregate<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerKeyAggregate").field("event_time_in_key", &self.event_time.is_some()).finish()
    }
}
