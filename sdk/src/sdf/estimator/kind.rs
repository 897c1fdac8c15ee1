//! Whether an estimator sees timestamps, as a type.

use super::{TimestampObserving, WatermarkEstimator};
use crate::Timestamp;

/// How a kernel feeds an estimator of type `E`: [`Plain`] or [`Observing`].
///
/// A method on the estimator that does nothing by default would be forgotten silently; a type that promises to observe
/// and cannot is refused by the compiler:
///
/// ```compile_fail,E0277
/// use purlin_sdk::{Timestamp, sdf::{Observing, WatermarkEstimator}};
/// struct Forgetful(Timestamp);
/// impl WatermarkEstimator for Forgetful {
///     type State = Timestamp;
///     type Kind = Observing;               // error: `Forgetful` does not observe timestamps
///     fn current_watermark(&mut self) -> Timestamp { self.0 }
///     fn state(&self) -> Timestamp { self.0 }
/// }
/// ```
///
/// A kernel calls it by the estimator's type, and the call for [`Plain`] is compiled to nothing:
///
/// ```
/// use purlin_sdk::{Timestamp, sdf::{EstimatorKind, Monotonic, WatermarkEstimator}};
/// fn feed<E: WatermarkEstimator>(estimator: &mut E, ts: Timestamp) {
///     <E::Kind as EstimatorKind<E>>::observe(estimator, ts);
/// }
/// let mut estimator = Monotonic::default();
/// feed(&mut estimator, Timestamp::EPOCH);
/// assert_eq!(estimator.current_watermark(), Timestamp::EPOCH);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind that the watermark estimator `{E}` can have",
    note = "a `Kind` is `Plain`, or `Observing` when `TimestampObserving` is implemented"
)]
pub trait EstimatorKind<E>: sealed::Sealed {
    /// Whether timestamps need to be gathered at all.
    const OBSERVES: bool;

    /// Gives the timestamp of an output to an estimator that wants it.
    fn observe(estimator: &mut E, ts: Timestamp);
}

/// The kind of an estimator that takes no notice of timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain;

impl<E: WatermarkEstimator> EstimatorKind<E> for Plain {
    const OBSERVES: bool = false;

    #[inline]
    fn observe(_: &mut E, _: Timestamp) {}
}

/// The kind of an estimator that is given the timestamp of every output. It must be [`TimestampObserving`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observing;

impl<E: TimestampObserving> EstimatorKind<E> for Observing {
    const OBSERVES: bool = true;

    #[inline]
    fn observe(estimator: &mut E, ts: Timestamp) {
        estimator.observe_timestamp(ts);
    }
}

/// Kernels know these two kinds only.
mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl Sealed for super::Observing {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::{Manual, Monotonic};

    fn observes<E: WatermarkEstimator>(_: &E) -> bool {
        <E::Kind as EstimatorKind<E>>::OBSERVES
    }

    #[test]
    fn only_observing_estimators_see_timestamps() {
        let mut monotonic = Monotonic::default();
        assert!(observes(&monotonic));
        Observing::observe(&mut monotonic, Timestamp::EPOCH);
        assert_eq!(monotonic.current_watermark(), Timestamp::EPOCH);

        let mut manual = Manual::default();
        assert!(!observes(&manual));
        Plain::observe(&mut manual, Timestamp::EPOCH);
        assert_eq!(manual.current_watermark(), Timestamp::MIN);
    }
}
