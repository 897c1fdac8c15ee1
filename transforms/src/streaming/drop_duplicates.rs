//! The first of equal rows.

mod first;

use std::{fmt, marker::PhantomData};

use purlin_sdk::{
    Element, Emitter, Key, KeyedParDo, PCollection, PTransform, ParDo, ProcessContext, Timestamp,
};

use self::first::{Equal, First, Forget};
use super::{
    LateRows, OperatorKind,
    operators::Handle,
    time_of::{TimeOf, read_time},
};

/// Lets the first of equal rows pass, in the order in which they arrived at the query.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::streaming::DropDuplicates;
/// # let p = Pipeline::new();
/// # let clicks = p.create("Clicks", [("home".to_owned(), 7_u64)]);
/// // What was seen can be forgotten: once the watermark has come to a row's time, a repeat of it would be late.
/// let once: PCollection<(String, u64)> =
///     clicks.apply("Once", DropDuplicates::by(|click: &(String, u64)| click.clone()).and_event_time());
/// // For messages that are sent again with another time.
/// let ids: PCollection<(String, u64)> =
///     clicks.apply("Ids", DropDuplicates::within_watermark(|(_, id): &(String, u64)| *id));
/// # p.build().unwrap();
/// ```
/// - [`by`](Self::by): rows are equal when they have the same key. It is remembered for ever, unless the
///   [event time](Self::and_event_time) must be equal too: then until the watermark has come to it.
/// - [`within_watermark`](Self::within_watermark): rows are equal when they have the same key, and the watermark has not
///   come to the first one's event time plus the watermark's delay. A repeat does not make that longer.
///
/// Where the input has a watermark, rows at or before it are late: they are dropped and counted, or
/// [an output](super::AndLateRows).
///
/// Source: Spark's `dropDuplicates` and `dropDuplicatesWithinWatermark`.
pub struct DropDuplicates<T, F> {
    key: F,
    and_event_time: bool,
    within_watermark: bool,
    time: TimeOf<T>,
    row: PhantomData<fn(T)>,
}

impl<T: Element, K: Key, F: Fn(&T) -> K + Clone + Send + 'static> DropDuplicates<T, F> {
    /// Rows of which `key` says the same are equal.
    pub fn by(key: F) -> DropDuplicates<T, F> {
        DropDuplicates {
            key,
            and_event_time: false,
            within_watermark: false,
            time: TimeOf::Timestamp,
            row: PhantomData,
        }
    }

    /// Rows of which `key` says the same are equal, as long as the watermark has not come to the first one's event time
    /// plus the watermark's delay.
    pub fn within_watermark(key: F) -> DropDuplicates<T, F> {
        DropDuplicates { within_watermark: true, ..DropDuplicates::by(key) }
    }

    /// Rows are equal only when their event times are equal too.
    #[must_use]
    pub fn and_event_time(self) -> DropDuplicates<T, F> {
        DropDuplicates { and_event_time: true, ..self }
    }

    /// The row's event time is what `time` reads, and not the row's timestamp: see
    /// [`WindowedAggregate::event_time`](super::WindowedAggregate::event_time).
    #[must_use]
    pub fn event_time<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&T) -> M + Send + Sync + 'static,
    ) -> DropDuplicates<T, F> {
        self.time = TimeOf::Event(read_time(time));
        self
    }
}

impl<T: Element, K: Key, F: Fn(&T) -> K + Clone + Send + 'static> PTransform<PCollection<T>>
    for DropDuplicates<T, F>
{
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, rows: PCollection<T>) -> PCollection<T> {
        self.expand_with_late(rows).0
    }
}

impl<T: Element, K: Key, F: Fn(&T) -> K + Clone + Send + 'static> LateRows<PCollection<T>>
    for DropDuplicates<T, F>
{
    type Late = T;

    #[track_caller]
    fn expand_with_late(self, rows: PCollection<T>) -> (PCollection<T>, PCollection<T>) {
        let DropDuplicates { key, and_event_time, within_watermark, time, .. } = self;
        let pipeline = rows.pipeline();
        let handle = Handle::new(pipeline);
        let event_time_told = time.is_told();
        let keyed = rows.par_do_with(
            "Keys",
            ParDo::from_fn(move |row: T, cx: &ProcessContext<'_>, out: &mut Emitter<'_, _>| {
                let at = time.get(&row, cx.timestamp());
                let equal: Equal<K> = (key(&row), at.filter(|_| and_event_time));
                out.emit((equal, (at, row)));
                Ok(())
            }),
        );
        let (forget, kind) = match within_watermark {
            true => (Forget::AfterDelay, OperatorKind::DropDuplicatesWithinWatermark { event_time_told }),
            false if and_event_time => (
                Forget::AtEventTime,
                OperatorKind::DropDuplicates { event_time_in_key: true, event_time_told },
            ),
            false => {
                (Forget::Never, OperatorKind::DropDuplicates { event_time_in_key: false, event_time_told })
            }
        };
        let late = First::<K, T>::late();
        let first = KeyedParDo::of(First::new(forget, handle.clone())).tag(late);
        let passed = keyed.main().par_do_keyed_with("First", first);
        let main = passed.main();
        handle.declare(pipeline, kind, vec![rows.id()], vec![main.id()]);
        (main, passed.tagged(late))
    }
}

impl<T, F> fmt::Debug for DropDuplicates<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropDuplicates")
            .field("and_event_time", &self.and_event_time)
            .field("within_watermark", &self.within_watermark)
            .finish_non_exhaustive()
    }
}
