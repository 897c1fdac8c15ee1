//! What an estimator is, and the two things it may do besides.

use super::{EstimatorKind, WatermarkError};
use crate::{Element, Timestamp};

/// Says how far the outputs for one element and restriction have come in event time.
///
/// The convention is Beam's: a watermark `w` says that outputs still to come have timestamps >= `w`. State is made once
/// per element and restriction; it is saved with each residual and handed back when the estimator is made again, so
/// an estimator made from [`state`](Self::state) must report what this one does. Primary and residual of a split both
/// start from the same state.
///
/// The watermark an estimator reports must not go back. The kernel does not rely on it: a lower value is ignored.
///
/// Source: Beam's `WatermarkEstimator` and `@NewWatermarkEstimator`.
///
/// ```
/// use purlin_sdk::{Timestamp, sdf::{Plain, WatermarkEstimator, check_estimator_laws}};
///
/// /// For sources whose outputs are never late: the watermark stays where it was put.
/// struct Fixed(Timestamp);
/// impl WatermarkEstimator for Fixed {
///     type State = Timestamp;
///     type Kind = Plain;
///     fn current_watermark(&mut self) -> Timestamp { self.0 }
///     fn state(&self) -> Timestamp { self.0 }
/// }
/// let times = [Timestamp::from_secs(1), Timestamp::EPOCH];
/// check_estimator_laws(Fixed, Timestamp::EPOCH, &times, |_, _| {}).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a watermark estimator",
    note = "the estimators that come with the SDK are `Monotonic`, `Manual`, `WallTime`, `BoundedOutOfOrderness` and `SourceWatermark`"
)]
pub trait WatermarkEstimator: Send + Sized + 'static {
    /// What is saved of it.
    type State: Element;
    /// [`Plain`](super::Plain), or [`Observing`](super::Observing) for an estimator that wants to see the timestamp of
    /// every output. It has no default, so that nobody forgets to choose.
    type Kind: EstimatorKind<Self>;

    /// The watermark now. It must not be lower than the last one.
    fn current_watermark(&mut self) -> Timestamp;

    /// What an estimator that goes on from here is made from.
    fn state(&self) -> Self::State;

    /// Whether the watermark moves with the clock alone. A restriction that waits to be resumed is then looked at
    /// earlier, so that its watermark keeps moving.
    fn follows_clock(&self) -> bool {
        false
    }

    /// Whether there was nothing for so long that nobody should wait for it. What is idle is left out where watermarks
    /// are combined, and is back with the next output: then it holds the watermark again, but never moves it back.
    ///
    /// It is asked when a call of `process` is over and there is a rest to be resumed. By default never; see
    /// [`WithIdleness`](super::WithIdleness).
    fn is_idle(&mut self) -> bool {
        false
    }

    /// When, by the run's clock, the watermark may move or [`is_idle`](Self::is_idle) change without another output. A
    /// restriction that waits to be resumed is looked at then at the latest.
    fn changes_at(&mut self) -> Option<Timestamp> {
        None
    }
}

/// An estimator that is given the timestamp of every output of its DoFn, main or tagged.
///
/// It does not start by itself: the estimator's [`Kind`](WatermarkEstimator::Kind) must be
/// [`Observing`](super::Observing).
///
/// Source: Beam's `TimestampObservingWatermarkEstimator`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not observe timestamps, but its `Kind` is `Observing`",
    label = "`TimestampObserving` is not implemented",
    note = "implement `TimestampObserving` for `{Self}`, or choose `type Kind = Plain`"
)]
pub trait TimestampObserving: WatermarkEstimator {
    /// Takes note of the timestamp of an output. Timestamps come in any order.
    fn observe_timestamp(&mut self, ts: Timestamp);
}

/// An estimator whose watermark the DoFn sets.
///
/// Source: Beam's `ManualWatermarkEstimator`.
#[diagnostic::on_unimplemented(
    message = "the watermark of `{Self}` cannot be set",
    note = "it finds the watermark by itself; for a watermark that `process` sets, the DoFn's `Estimator` must be `Manual` or another `ManualWatermark`"
)]
pub trait ManualWatermark: WatermarkEstimator {
    /// Promises that outputs still to come have timestamps >= `ts`.
    ///
    /// # Errors
    /// When it is lower than the watermark so far, which stays.
    fn set_watermark(&mut self, ts: Timestamp) -> Result<(), WatermarkError>;
}
