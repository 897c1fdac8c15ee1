//! Several partitions, each with an estimator of its own.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{EstimatorKind, Plain, WatermarkEstimator};
use crate::{CombinedWatermark, Key, Timestamp};

/// The watermark of a source that reads several partitions at once: the least one among theirs.
///
/// The source tells it which partition an output is of, by [`Claims::with_estimator`](crate::sdf::Claims::with_estimator)
/// and [`observe`](Self::observe). A partition counts from when it is [registered](Self::register), before its first
/// output, so that what is read first does not pass what is read later; one that was not registered counts from its
/// first output on.
///
/// Partitions that are [idle](WatermarkEstimator::is_idle) are left out; when all are, the watermark is the greatest
/// one among theirs, and the whole is idle. So is a source that has no partition: nobody waits for it. One that is
/// [finished](Self::finish) is gone. The watermark never goes back: a partition that is behind it holds it where it is.
///
/// Source: Flink, [watermarks per split](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#watermark-strategies-and-the-kafka-connector).
///
/// ```
/// use purlin_sdk::{Timestamp, sdf::{Monotonic, PerPartition, PerPartitionState, WatermarkEstimator}};
/// let state = PerPartitionState::of([0, 1]);
/// let mut estimator = PerPartition::new(state, |_, state| state.map_or_else(Monotonic::default, Monotonic::new));
/// estimator.observe(&0, Timestamp::from_secs(100));
/// assert_eq!(estimator.current_watermark(), Timestamp::MIN);
/// estimator.observe(&1, Timestamp::from_secs(2));
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(2));
/// ```
pub struct PerPartition<P, E: WatermarkEstimator> {
    partitions: BTreeMap<P, E>,
    reported: Timestamp,
    make: Box<Make<P, E>>,
}

type Make<P, E> = dyn Fn(&P, Option<<E as WatermarkEstimator>::State>) -> E + Send;

/// What a [`PerPartition`] knows: the state of each partition's estimator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerPartitionState<P, S> {
    partitions: Vec<(P, Option<S>)>,
    reported: Timestamp,
}

impl<P, S> PerPartitionState<P, S> {
    /// That of a source which knows these partitions, and has read nothing yet.
    pub fn of(partitions: impl IntoIterator<Item = P>) -> PerPartitionState<P, S> {
        let partitions = partitions.into_iter().map(|p| (p, None)).collect();
        PerPartitionState { partitions, reported: Timestamp::MIN }
    }
}

impl<P: Key + Ord, E: WatermarkEstimator> PerPartition<P, E> {
    /// An estimator that goes on from `state`. `make` makes that of a partition, from its state where there is one.
    pub fn new(
        state: PerPartitionState<P, E::State>,
        make: impl Fn(&P, Option<E::State>) -> E + Send + 'static,
    ) -> PerPartition<P, E> {
        let PerPartitionState { partitions, reported } = state;
        let partitions = partitions.into_iter().map(|(p, state)| {
            let estimator = make(&p, state);
            (p, estimator)
        });
        PerPartition { partitions: partitions.collect(), reported, make: Box::new(make) }
    }

    /// Lets a partition count from now on.
    pub fn register(&mut self, partition: &P) -> &mut E {
        self.partitions.entry(partition.clone()).or_insert_with(|| (self.make)(partition, None))
    }

    /// Takes note of the timestamp of an output of `partition`.
    #[inline]
    pub fn observe(&mut self, partition: &P, ts: Timestamp) {
        // Not by `register`, which would clone the key for each output.
        let estimator = match self.partitions.get_mut(partition) {
            Some(estimator) => estimator,
            None => self.register(partition),
        };
        E::Kind::observe(estimator, ts);
    }

    /// Says that nothing more comes of a partition.
    pub fn finish(&mut self, partition: &P) {
        // What it has come to counts for the last time.
        self.current_watermark();
        self.partitions.remove(partition);
    }

    fn combined(&mut self) -> CombinedWatermark {
        let mut combined = CombinedWatermark::default();
        for estimator in self.partitions.values_mut() {
            let idle = estimator.is_idle();
            combined.add(estimator.current_watermark(), idle);
        }
        combined
    }
}

impl<P: Key + Ord, E: WatermarkEstimator> WatermarkEstimator for PerPartition<P, E> {
    type State = PerPartitionState<P, E::State>;
    type Kind = Plain;

    fn current_watermark(&mut self) -> Timestamp {
        if let Some(combined) = self.combined().value() {
            self.reported = self.reported.max(combined);
        }
        self.reported
    }

    fn state(&self) -> PerPartitionState<P, E::State> {
        let partitions = self.partitions.iter().map(|(p, e)| (p.clone(), Some(e.state())));
        PerPartitionState { partitions: partitions.collect(), reported: self.reported }
    }

    fn follows_clock(&self) -> bool {
        self.partitions.values().any(E::follows_clock)
    }

    fn is_idle(&mut self) -> bool {
        !self.combined().is_active()
    }

    fn changes_at(&mut self) -> Option<Timestamp> {
        self.partitions.values_mut().filter_map(E::changes_at).min()
    }
}

impl<P: fmt::Debug, E: WatermarkEstimator + fmt::Debug> fmt::Debug for PerPartition<P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerPartition")
            .field("partitions", &self.partitions)
            .field("reported", &self.reported)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Duration, ManualClock,
        sdf::{
            IdlenessState, Monotonic, SourceWatermark, SourceWatermarkState, WithIdleness,
            check_estimator_laws,
        },
    };

    type Plains = PerPartition<u32, Monotonic>;
    type Idling = PerPartition<u32, WithIdleness<Monotonic>>;

    fn monotonic(_: &u32, state: Option<Timestamp>) -> Monotonic {
        Monotonic::new(state.unwrap_or(Timestamp::MIN))
    }

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn idling(
        clock: &ManualClock,
    ) -> impl Fn(&u32, Option<IdlenessState<Timestamp>>) -> WithIdleness<Monotonic> + use<> {
        let clock = clock.clone();
        move |_, state| {
            let state = state.unwrap_or_else(|| IdlenessState::new(Timestamp::MIN, &clock));
            WithIdleness::new(state, Duration::from_secs(10), clock.handle(), Monotonic::new)
        }
    }

    #[test]
    fn b048_partitions_count_before_their_first_output() {
        let mut estimator = Plains::new(PerPartitionState::of([]), monotonic);
        estimator.register(&0);
        estimator.register(&1);
        for ts in [100, 101] {
            estimator.observe(&0, at(ts));
            assert_eq!(estimator.current_watermark(), Timestamp::MIN);
        }
        // Also after a restart.
        let mut estimator = Plains::new(estimator.state(), monotonic);
        assert_eq!(estimator.current_watermark(), Timestamp::MIN);
        estimator.observe(&1, at(1));
        assert_eq!(estimator.current_watermark(), at(1));
        estimator.observe(&1, at(2));
        estimator.finish(&1);
        assert_eq!(estimator.current_watermark(), at(101));
    }

    #[test]
    fn b034_when_all_are_idle_it_is_the_greatest_in_any_order() {
        for first in [0, 1] {
            let clock = ManualClock::default();
            let mut estimator = Idling::new(PerPartitionState::of([0, 1]), idling(&clock));
            estimator.observe(&0, at(5));
            estimator.observe(&1, at(4));
            assert_eq!(estimator.current_watermark(), at(4));
            clock.set(at(8));
            // The other one is idle later, at the same watermark.
            estimator.observe(&(1 - first), at(0));
            clock.set(at(15));
            assert_eq!(estimator.current_watermark(), if first == 0 { at(4) } else { at(5) });
            assert!(!estimator.is_idle());
            clock.set(at(30));
            assert_eq!((estimator.current_watermark(), estimator.is_idle()), (at(5), true));
        }
    }

    #[test]
    fn one_that_wakes_behind_holds_the_watermark_and_does_not_move_it_back() {
        let clock = ManualClock::default();
        let mut estimator = Idling::new(PerPartitionState::of([0, 1]), idling(&clock));
        clock.set(at(15));
        estimator.observe(&0, at(20));
        assert_eq!(estimator.current_watermark(), at(20));
        estimator.observe(&1, at(7));
        estimator.observe(&0, at(30));
        assert_eq!(estimator.current_watermark(), at(20));
        estimator.observe(&1, at(25));
        assert_eq!(estimator.current_watermark(), at(25));
    }

    #[test]
    fn without_partitions_nobody_waits_for_it() {
        let mut estimator = Plains::new(PerPartitionState::of([]), monotonic);
        assert_eq!((estimator.current_watermark(), estimator.is_idle()), (Timestamp::MIN, true));
        estimator.register(&3);
        assert!(!estimator.is_idle());
        estimator.observe(&3, at(9));
        estimator.finish(&3);
        assert_eq!((estimator.current_watermark(), estimator.is_idle()), (at(9), true));
    }

    #[test]
    fn partitions_keep_their_own_histograms() {
        let mut rng = fastrand::Rng::with_seed(11);
        let make =
            |_: &u32, state: Option<SourceWatermarkState>| SourceWatermark::new(state.unwrap_or_default());
        let mut estimator = PerPartition::new(PerPartitionState::of([0, 1]), make);
        for i in 0..6000 {
            for (partition, jitter) in [(0, 2000), (1, 20_000)] {
                let ts = Timestamp::saturating_from_millis(100 * i - rng.i64(0..jitter));
                estimator.observe(&partition, ts);
            }
        }
        let mut estimator = PerPartition::new(estimator.state(), make);
        let [narrow, wide] = [0, 1].map(|p| estimator.register(&p).delay().as_millis());
        assert!((1200..2000).contains(&narrow) && (17_000..20_000).contains(&wide), "{narrow}, {wide}");
        let least = estimator.register(&1).current_watermark();
        assert_eq!(estimator.current_watermark(), least);
    }

    #[test]
    fn obeys_the_laws() {
        let make = |state| Plains::new(state, monotonic);
        let times = [3, 1, 12, 7, 8].map(Timestamp::from_secs);
        let feed = |e: &mut Plains, ts: Timestamp| e.observe(&((ts.as_millis() / 1000 % 3) as u32), ts);
        for state in [PerPartitionState::of([]), PerPartitionState::of([0, 1, 2])] {
            assert_eq!(check_estimator_laws(make, state, &times, feed), Ok(()));
        }
    }
}
