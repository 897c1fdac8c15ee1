//! The highest timestamp so far.

use super::{Observing, TimestampObserving, WatermarkEstimator};
use crate::Timestamp;

/// The watermark of a source whose outputs come in the order of their timestamps: the highest one so far.
///
/// An output that comes out of order is no error. It keeps its timestamp, may be late downstream, and the watermark
/// stays. Before the first output the watermark is the state, [`Timestamp::MIN`] by default.
///
/// Source: Beam's `WatermarkEstimators.MonotonicallyIncreasing`; Flink's `forMonotonousTimestamps` is one tick lower.
///
/// ```
/// use purlin_sdk::{Timestamp, sdf::{Monotonic, TimestampObserving, WatermarkEstimator}};
/// let mut estimator = Monotonic::default();
/// estimator.observe_timestamp(Timestamp::from_secs(10));
/// estimator.observe_timestamp(Timestamp::from_secs(7));
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monotonic(Timestamp);

impl Monotonic {
    /// An estimator that goes on from `state`, the watermark so far.
    pub const fn new(state: Timestamp) -> Monotonic {
        Monotonic(state)
    }
}

impl Default for Monotonic {
    fn default() -> Monotonic {
        Monotonic(Timestamp::MIN)
    }
}

impl WatermarkEstimator for Monotonic {
    type State = Timestamp;
    type Kind = Observing;

    fn current_watermark(&mut self) -> Timestamp {
        self.0
    }

    fn state(&self) -> Timestamp {
        self.0
    }
}

impl TimestampObserving for Monotonic {
    #[inline]
    fn observe_timestamp(&mut self, ts: Timestamp) {
        self.0 = self.0.max(ts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::check_estimator_laws;

    #[test]
    fn b007_a_regress_is_no_error() {
        let mut estimator = Monotonic::default();
        assert_eq!(estimator.current_watermark(), Timestamp::MIN);
        let reported = [10, 7, 12].map(|secs| {
            estimator.observe_timestamp(Timestamp::from_secs(secs));
            estimator.current_watermark()
        });
        assert_eq!(reported, [10, 10, 12].map(Timestamp::from_secs));
    }

    #[test]
    fn goes_on_from_its_state() {
        let mut estimator = Monotonic::new(Timestamp::from_secs(5));
        estimator.observe_timestamp(Timestamp::from_secs(3));
        assert_eq!(estimator.current_watermark(), Timestamp::from_secs(5));
    }

    #[test]
    fn obeys_the_laws() {
        let times = [Timestamp::MAX, Timestamp::from_secs(10), Timestamp::EPOCH, Timestamp::MIN];
        let feed = TimestampObserving::observe_timestamp;
        assert_eq!(check_estimator_laws(Monotonic::new, Timestamp::MIN, &times, feed), Ok(()));
        assert_eq!(check_estimator_laws(Monotonic::new, Timestamp::from_secs(7), &times, feed), Ok(()));
    }
}
