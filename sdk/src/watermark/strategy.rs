//! How a collection gets its timestamps and its watermark.

use std::{fmt, sync::Arc};

use super::{
    Alignment, WatermarkControl, WatermarkGenerator,
    generator::{AnyGenerator, Custom, OfEstimator, Punctuated, WarmUp},
    partitions::{Assigner, Partitions},
};
use crate::{
    Duration, Element, Key, Timestamp,
    exec::Proto,
    sdf::{BoundedOutOfOrderness, Monotonic, SourceWatermark, SourceWatermarkState, TimestampObserving},
};

/// How a collection gets its timestamps and its watermark, for
/// [`assign_watermark`](crate::PCollection::assign_watermark).
///
/// ```
/// use purlin_sdk::{Duration, Pipeline, Timestamp, watermark::WatermarkStrategy};
/// # let p = Pipeline::new();
/// // (shard, seconds)
/// let readings = p.create("Readings", [(0, 5), (1, 7)]);
/// readings.assign_watermark(
///     "Watermark",
///     WatermarkStrategy::for_bounded_out_of_orderness(Duration::from_secs(5))
///         .with_timestamp_assigner(|(_, secs): &(u32, i64)| Timestamp::from_secs(*secs))
///         .with_partitions([0, 1], |(shard, _)| *shard)
///         .with_idleness(Duration::from_minutes(1)),
/// );
/// # p.build().unwrap();
/// ```
/// - Without a timestamp assigner elements keep the timestamps that they have.
/// - Without partitions all of the collection is one. With some the watermark is the least of theirs: a partition that is
///   named counts from the beginning, any other from its first element.
/// - The watermark moves every 200 ms of processing time, and is what a generator says then; see
///   [`emit_every`](Self::emit_every).
/// - Elements that come in one bundle come before the watermark that follows from them.
///
/// Source: Flink's [`WatermarkStrategy`](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#introduction-to-watermark-strategies).
#[must_use = "a strategy does nothing until it is given to `assign_watermark`"]
pub struct WatermarkStrategy<T> {
    // What it is, for people.
    name: String,
    generator: Arc<dyn Fn() -> Box<dyn AnyGenerator<T>> + Send + Sync>,
    partitions: MakePartitions<T>,
    timestamps: Option<TimestampOf<T>>,
    idleness: Option<Duration>,
    every: Duration,
    alignment: Option<Alignment>,
    control: Option<Arc<dyn WatermarkControl>>,
}

type MakePartitions<T> =
    Arc<dyn Fn(Box<dyn AnyGenerator<T>>, Option<Duration>) -> Box<dyn Assigner<T>> + Send + Sync>;

pub(crate) type TimestampOf<T> = Arc<dyn Fn(&T) -> Timestamp + Send + Sync>;

impl<T> Clone for WatermarkStrategy<T> {
    fn clone(&self) -> WatermarkStrategy<T> {
        WatermarkStrategy {
            name: self.name.clone(),
            generator: self.generator.clone(),
            partitions: self.partitions.clone(),
            timestamps: self.timestamps.clone(),
            idleness: self.idleness,
            every: self.every,
            alignment: self.alignment.clone(),
            control: self.control.clone(),
        }
    }
}

/// A generator for each of `known`, and for each other partition that elements are of.
fn partitions<T: 'static, P: Key + Ord + Sync>(
    known: Vec<P>,
    of: impl Fn(&T) -> P + Send + Sync + 'static,
) -> MakePartitions<T> {
    let of = Arc::new(of);
    Arc::new(move |prototype, idleness| {
        Box::new(Partitions::new(known.iter().cloned(), of.clone(), prototype, idleness))
    })
}

impl<T: Element> WatermarkStrategy<T> {
    /// How often the watermark moves unless it is said otherwise, in processing time.
    pub const INTERVAL: Duration = Duration::from_millis(200);

    fn of(
        name: impl Into<String>,
        generator: impl AnyGenerator<T> + Clone + 'static,
    ) -> WatermarkStrategy<T> {
        let generator = Proto::new(generator);
        WatermarkStrategy {
            name: name.into(),
            generator: Arc::new(move || Box::new(generator.get())),
            partitions: partitions(vec![()], |_| ()),
            timestamps: None,
            idleness: None,
            every: WatermarkStrategy::<T>::INTERVAL,
            alignment: None,
            control: None,
        }
    }

    fn of_estimator<E: TimestampObserving + Clone>(
        name: impl Into<String>,
        state: E::State,
        make: impl Fn(E::State) -> E + Clone + Send + 'static,
        warms_up: fn(&E) -> Option<WarmUp>,
    ) -> WatermarkStrategy<T> {
        WatermarkStrategy::of(name, OfEstimator { estimator: make(state), make, warms_up })
    }

    /// The greatest timestamp so far less `bound`: for elements that come out of order by so much at most. A negative
    /// bound counts as zero.
    pub fn for_bounded_out_of_orderness(bound: Duration) -> WatermarkStrategy<T> {
        let make = move |highest| BoundedOutOfOrderness::new(highest, bound);
        let name = format!("bounded out-of-orderness of {bound}");
        WatermarkStrategy::of_estimator(name, Timestamp::MIN, make, |_| None)
    }

    /// The greatest timestamp so far: for elements that come in order.
    pub fn for_monotonous_timestamps() -> WatermarkStrategy<T> {
        WatermarkStrategy::of_estimator("monotonous timestamps", Timestamp::MIN, Monotonic::new, |_| None)
    }

    /// None before the input is over: for what is not looked at by event time.
    pub fn no_watermarks() -> WatermarkStrategy<T> {
        WatermarkStrategy::of("no watermarks", Punctuated(|_: &T, _| None))
    }

    /// One that adapts to how far elements come out of order: [`SourceWatermark`], for each partition its own.
    pub fn source_watermark() -> WatermarkStrategy<T> {
        let warms_up = |estimator: &SourceWatermark| {
            let seen = estimator.seen();
            let needs = SourceWatermark::WARM_UP;
            (seen <= needs).then_some(WarmUp { seen, needs })
        };
        let state = SourceWatermarkState::default();
        WatermarkStrategy::of_estimator("source watermark", state, SourceWatermark::new, warms_up)
    }

    /// What `generator` says.
    pub fn for_generator(generator: impl WatermarkGenerator<T>) -> WatermarkStrategy<T> {
        WatermarkStrategy::of("a generator", Custom(generator))
    }

    /// What elements say themselves: `f` is given each with its timestamp, and gives a watermark where there is one.
    pub fn for_punctuated(
        f: impl Fn(&T, Timestamp) -> Option<Timestamp> + Clone + Send + 'static,
    ) -> WatermarkStrategy<T> {
        WatermarkStrategy::of("punctuated", Punctuated(f))
    }

    /// The timestamp of each element. It may lie anywhere, also before the one that the element has.
    pub fn with_timestamp_assigner(
        mut self,
        f: impl Fn(&T) -> Timestamp + Send + Sync + 'static,
    ) -> WatermarkStrategy<T> {
        self.timestamps = Some(Arc::new(f));
        self
    }

    /// The partition of each element. The watermark is the least of theirs; those in `known` count before their first
    /// element, so that what comes first does not pass what comes later.
    pub fn with_partitions<P: Key + Ord + Sync>(
        mut self,
        known: impl IntoIterator<Item = P>,
        of: impl Fn(&T) -> P + Send + Sync + 'static,
    ) -> WatermarkStrategy<T> {
        self.partitions = partitions(known.into_iter().collect(), of);
        self
    }

    /// After how much processing time without an element a partition is idle: nobody waits for it then. When all are,
    /// nobody downstream waits for this collection.
    pub fn with_idleness(mut self, timeout: Duration) -> WatermarkStrategy<T> {
        self.idleness = Some(timeout.max(Duration::ZERO));
        self
    }

    /// Keeps the sources that this collection comes from together with others, see [`Alignment`].
    pub fn with_alignment(
        mut self,
        group: &str,
        max_drift: Duration,
        update_interval: Duration,
    ) -> WatermarkStrategy<T> {
        self.alignment = Some(Alignment::group(group).max_drift(max_drift).update_interval(update_interval));
        self
    }

    /// How much processing time goes by between two calls of
    /// [`on_periodic_emit`](WatermarkGenerator::on_periodic_emit). Not above zero: it is called at the end of each
    /// bundle.
    pub fn emit_every(mut self, interval: Duration) -> WatermarkStrategy<T> {
        self.every = interval.max(Duration::ZERO);
        self
    }

    /// Lets the watermark follow each bundle of elements at once, as `emit_every(Duration::ZERO)` does.
    pub fn emit_per_bundle(self) -> WatermarkStrategy<T> {
        self.emit_every(Duration::ZERO)
    }

    /// Lets `control` decide on the watermark, see [`WatermarkControl`].
    pub fn with_control(mut self, control: Arc<dyn WatermarkControl>) -> WatermarkStrategy<T> {
        self.control = Some(control);
        self
    }

    /// What it is, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn assigner(&self) -> Box<dyn Assigner<T>> {
        (self.partitions)((self.generator)(), self.idleness)
    }

    pub(crate) fn timestamps(&self) -> Option<TimestampOf<T>> {
        self.timestamps.clone()
    }

    pub(crate) fn every(&self) -> Duration {
        self.every
    }

    pub(crate) fn alignment(&self) -> Option<&Alignment> {
        self.alignment.as_ref()
    }

    pub(crate) fn control(&self) -> Option<&Arc<dyn WatermarkControl>> {
        self.control.as_ref()
    }
}

impl<T> fmt::Debug for WatermarkStrategy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatermarkStrategy")
            .field("generator", &self.name)
            .field("every", &self.every)
            .field("idleness", &self.idleness)
            .field("alignment", &self.alignment)
            .finish_non_exhaustive()
    }
}
