//! A watermark with an upper bound.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EstimatorKind, ManualWatermark, Observing, TimestampObserving, WatermarkError, WatermarkEstimator,
};
use crate::{ClockRef, Duration, Timestamp};

/// An estimator whose watermark does not pass a bound: a time, or what the run's clock says.
///
/// A single output with a time in the future, by a device whose clock is wrong, makes most estimators put the watermark
/// there, and everything else late. Bound by the clock, the watermark goes on with it at worst.
///
/// ```
/// use purlin_sdk::{
///     Duration, ManualClock, Timestamp,
///     sdf::{Capped, CappedState, Monotonic, TimestampObserving, WatermarkEstimator},
/// };
/// let clock = ManualClock::at(Timestamp::from_secs(100));
/// let state = CappedState::new(Timestamp::MIN);
/// let mut estimator = Capped::by_clock(state, clock.handle(), Duration::ZERO, Monotonic::new);
/// estimator.observe_timestamp(Timestamp::from_secs(4_000_000_000));
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(100));
/// ```
#[derive(Clone)]
pub struct Capped<E> {
    inner: E,
    bound: Bound,
    reported: Timestamp,
}

#[derive(Clone)]
enum Bound {
    Time(Timestamp),
    Clock(ClockRef, Duration),
}

/// What a [`Capped`] knows: the state of the estimator within, and what was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CappedState<S> {
    inner: S,
    reported: Timestamp,
}

impl<S> CappedState<S> {
    /// That of a source that begins.
    pub fn new(inner: S) -> CappedState<S> {
        CappedState { inner, reported: Timestamp::MIN }
    }
}

impl<E: WatermarkEstimator> Capped<E> {
    /// An estimator that goes on from `state`, and does not pass `bound`.
    pub fn at(state: CappedState<E::State>, bound: Timestamp, make: impl FnOnce(E::State) -> E) -> Capped<E> {
        Capped { inner: make(state.inner), bound: Bound::Time(bound), reported: state.reported }
    }

    /// An estimator that goes on from `state`, and is not further `ahead` of `clock` than this.
    pub fn by_clock(
        state: CappedState<E::State>,
        clock: ClockRef,
        ahead: Duration,
        make: impl FnOnce(E::State) -> E,
    ) -> Capped<E> {
        Capped { inner: make(state.inner), bound: Bound::Clock(clock, ahead), reported: state.reported }
    }

    /// The estimator within, for one with methods of its own.
    pub fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }
}

impl<E: WatermarkEstimator> WatermarkEstimator for Capped<E> {
    type State = CappedState<E::State>;
    type Kind = Observing;

    fn current_watermark(&mut self) -> Timestamp {
        let bound = match &self.bound {
            Bound::Time(at) => *at,
            Bound::Clock(clock, ahead) => clock.now() + *ahead,
        };
        self.reported = self.reported.max(self.inner.current_watermark().min(bound));
        self.reported
    }

    fn state(&self) -> CappedState<E::State> {
        CappedState { inner: self.inner.state(), reported: self.reported }
    }

    /// Whether the estimator within does, or the clock is what bounds it.
    fn follows_clock(&self) -> bool {
        self.inner.follows_clock() || matches!(self.bound, Bound::Clock(..))
    }

    fn is_idle(&mut self) -> bool {
        self.inner.is_idle()
    }

    fn changes_at(&mut self) -> Option<Timestamp> {
        self.inner.changes_at()
    }
}

impl<E: WatermarkEstimator> TimestampObserving for Capped<E> {
    #[inline]
    fn observe_timestamp(&mut self, ts: Timestamp) {
        E::Kind::observe(&mut self.inner, ts);
    }
}

impl<E: ManualWatermark> ManualWatermark for Capped<E> {
    /// Sets it in the estimator within, also beyond the bound.
    fn set_watermark(&mut self, ts: Timestamp) -> Result<(), WatermarkError> {
        self.inner.set_watermark(ts)
    }
}

impl<E: fmt::Debug> fmt::Debug for Capped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Capped");
        shown.field("inner", &self.inner).field("reported", &self.reported);
        match &self.bound {
            Bound::Time(at) => shown.field("bound", at),
            Bound::Clock(_, ahead) => shown.field("ahead of the clock", ahead),
        };
        shown.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ManualClock,
        sdf::{Monotonic, check_estimator_laws},
    };

    #[test]
    fn it_does_not_pass_a_time() {
        let mut estimator =
            Capped::at(CappedState::new(Timestamp::MIN), Timestamp::from_secs(10), Monotonic::new);
        let seen = [5, 12, 20].map(|secs| {
            estimator.observe_timestamp(Timestamp::from_secs(secs));
            estimator.current_watermark()
        });
        assert_eq!(seen, [5, 10, 10].map(Timestamp::from_secs));
        assert!(!estimator.follows_clock());
    }

    #[test]
    fn what_the_clock_bounds_goes_on_with_it() {
        let clock = ManualClock::at(Timestamp::from_secs(7));
        let make = |state| Capped::by_clock(state, clock.handle(), Duration::from_secs(1), Monotonic::new);
        let mut estimator = make(CappedState::new(Timestamp::MIN));
        estimator.observe_timestamp(Timestamp::MAX);
        assert_eq!(estimator.current_watermark(), Timestamp::from_secs(8));
        assert!(estimator.follows_clock());
        clock.advance(Duration::from_secs(2));
        assert_eq!(estimator.current_watermark(), Timestamp::from_secs(10));
        // A clock that is behind after a restart moves nothing back.
        let early = ManualClock::default();
        let mut restored =
            Capped::by_clock(estimator.state(), early.handle(), Duration::ZERO, Monotonic::new);
        assert_eq!(restored.current_watermark(), Timestamp::from_secs(10));
    }

    #[test]
    fn obeys_the_laws() {
        let clock = ManualClock::default();
        let make = |state| Capped::by_clock(state, clock.handle(), Duration::ZERO, Monotonic::new);
        let feed = |e: &mut Capped<Monotonic>, ts| {
            clock.advance(Duration::from_secs(1));
            e.observe_timestamp(ts);
        };
        let times = [3, 1, 100, 7].map(Timestamp::from_secs);
        assert_eq!(check_estimator_laws(make, CappedState::new(Timestamp::MIN), &times, feed), Ok(()));
    }
}
