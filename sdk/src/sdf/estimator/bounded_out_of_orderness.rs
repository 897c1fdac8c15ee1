//! The highest timestamp so far, less a fixed delay.

use super::{Observing, TimestampObserving, WatermarkEstimator};
use crate::{Duration, Timestamp};

/// The watermark of a source whose outputs come out of order by a known span at most: the highest timestamp so far
/// less that span.
///
/// It is [`Timestamp::MIN`] before the first output, and never lower. An output at the watermark is not late: with a
/// bound of 5 s, after one at 10 s the next may be at 5 s but not before.
///
/// The state is the highest timestamp, so a bound that is changed for a later run applies to it at once.
///
/// Source: Flink's [`forBoundedOutOfOrderness`](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/built_in/),
/// in Beam's convention; Flink's own number is one tick lower.
///
/// ```
/// use purlin_sdk::{Duration, Timestamp, sdf::{BoundedOutOfOrderness, TimestampObserving, WatermarkEstimator}};
/// let mut estimator = BoundedOutOfOrderness::new(Timestamp::MIN, Duration::from_secs(5));
/// assert_eq!(estimator.current_watermark(), Timestamp::MIN);
/// estimator.observe_timestamp(Timestamp::from_secs(10));
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedOutOfOrderness {
    /// The highest timestamp so far; MIN when there is none.
    highest: Timestamp,
    bound: Duration,
}

impl BoundedOutOfOrderness {
    /// An estimator that goes on from `state`, the highest timestamp so far or [`Timestamp::MIN`]. A negative bound
    /// counts as zero: it would put the watermark ahead of the data.
    pub fn new(state: Timestamp, bound: Duration) -> BoundedOutOfOrderness {
        BoundedOutOfOrderness { highest: state, bound: bound.max(Duration::ZERO) }
    }
}

impl WatermarkEstimator for BoundedOutOfOrderness {
    type State = Timestamp;
    type Kind = Observing;

    fn current_watermark(&mut self) -> Timestamp {
        self.highest - self.bound
    }

    fn state(&self) -> Timestamp {
        self.highest
    }
}

impl TimestampObserving for BoundedOutOfOrderness {
    #[inline]
    fn observe_timestamp(&mut self, ts: Timestamp) {
        self.highest = self.highest.max(ts);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sdf::check_estimator_laws;

    /// The watermark after each of `millis` is observed.
    fn watermarks<const N: usize>(bound: Duration, millis: [i64; N]) -> [i64; N] {
        let mut estimator = BoundedOutOfOrderness::new(Timestamp::MIN, bound);
        millis.map(|ms| {
            estimator.observe_timestamp(Timestamp::saturating_from_millis(ms));
            estimator.current_watermark().as_millis()
        })
    }

    #[test]
    fn b056_an_output_at_the_watermark_is_not_late() {
        assert_eq!(watermarks(Duration::from_secs(5), [10_000, 5000, 4000]), [5000; 3]);
        assert_eq!(watermarks(Duration::ZERO, [1000, 1000, 999]), [1000; 3]);
    }

    #[test]
    fn b057_nothing_wraps_before_the_first_record() {
        for bound in [Duration::from_secs(60), Duration::MAX] {
            let mut estimator = BoundedOutOfOrderness::new(Timestamp::MIN, bound);
            assert_eq!([(); 3].map(|()| estimator.current_watermark()), [Timestamp::MIN; 3]);
            estimator.observe_timestamp(Timestamp::EPOCH);
            assert_eq!(estimator.current_watermark(), (Timestamp::EPOCH - bound).max(Timestamp::MIN));
        }
    }

    #[test]
    fn a_negative_bound_is_none() {
        assert_eq!(watermarks(Duration::MIN, [7]), [7]);
    }

    #[test]
    fn the_state_is_made_from_data_and_not_from_the_bound() {
        let mut earlier = BoundedOutOfOrderness::new(Timestamp::MIN, Duration::from_secs(60));
        earlier.observe_timestamp(Timestamp::from_secs(100));
        let mut later = BoundedOutOfOrderness::new(earlier.state(), Duration::from_secs(10));
        assert_eq!(later.current_watermark(), Timestamp::from_secs(90));
    }

    proptest! {
        #[test]
        fn obeys_the_laws(
            state in any::<i64>(),
            bound in any::<i64>(),
            millis in prop::collection::vec(prop_oneof![any::<i64>(), -50..50_i64], 0..7),
        ) {
            let times: Vec<_> = millis.into_iter().map(Timestamp::saturating_from_millis).collect();
            let make = |state| BoundedOutOfOrderness::new(state, Duration::from_millis(bound));
            let state = Timestamp::saturating_from_millis(state);
            let feed = TimestampObserving::observe_timestamp;
            prop_assert_eq!(check_estimator_laws(make, state, &times, feed), Ok(()));
        }
    }
}
