//! Not being waited for while nothing comes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EstimatorKind, ManualWatermark, Observing, TimestampObserving, WatermarkError, WatermarkEstimator,
};
use crate::{ClockRef, Duration, Timestamp};

/// An estimator that says that it is *idle* once there was no output for longer than a timeout, by the run's clock.
///
/// Nobody waits for what is idle: it is left out of the minimum of watermarks, with the next output it is back. Its own
/// watermark stays where it is. See [`is_idle`](WatermarkEstimator::is_idle) for what follows from it.
///
/// It is idle when *more* than the timeout has passed since the last output, at the first look after that: when a
/// bundle ends, and, while the source waits to be resumed, a millisecond after the timeout at the latest. So a source
/// whose outputs are never further apart than the timeout is never idle. A source whose work is done is not idle
/// either: it is gone.
///
/// Source: Flink's [`withIdleness`](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#dealing-with-idle-sources).
///
/// ```
/// use purlin_sdk::{
///     Duration, ManualClock, Timestamp,
///     sdf::{IdlenessState, Monotonic, TimestampObserving, WatermarkEstimator, WithIdleness},
/// };
/// let clock = ManualClock::default();
/// let state = IdlenessState::new(Timestamp::MIN, &clock);
/// let mut estimator = WithIdleness::new(state, Duration::from_secs(10), clock.handle(), Monotonic::new);
/// clock.advance(Duration::from_secs(10));
/// assert!(!estimator.is_idle());
/// clock.advance(Duration::from_secs(5));
/// assert!(estimator.is_idle());
/// estimator.observe_timestamp(Timestamp::EPOCH);
/// assert!(!estimator.is_idle());
/// ```
#[derive(Clone)]
pub struct WithIdleness<E> {
    inner: E,
    timeout: Duration,
    clock: ClockRef,
    last: Timestamp,
}

/// What a [`WithIdleness`] knows: the state of the estimator within, and when there was an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdlenessState<S> {
    inner: S,
    last: Timestamp,
}

impl<S> IdlenessState<S> {
    /// That of a source which begins now: the timeout counts from here.
    pub fn new(inner: S, clock: &dyn crate::Clock) -> IdlenessState<S> {
        IdlenessState { inner, last: clock.now() }
    }
}

impl<E: WatermarkEstimator> WithIdleness<E> {
    /// An estimator that goes on from `state`; `make` makes the one within from its own. A negative timeout counts as
    /// zero.
    pub fn new(
        state: IdlenessState<E::State>,
        timeout: Duration,
        clock: ClockRef,
        make: impl FnOnce(E::State) -> E,
    ) -> WithIdleness<E> {
        let IdlenessState { inner, last } = state;
        WithIdleness { inner: make(inner), timeout: timeout.max(Duration::ZERO), clock, last }
    }

    /// The estimator within, for one with methods of its own. What it is told does not count as an output.
    pub fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }

    fn timed_out(&self) -> bool {
        self.clock.now() - self.last > self.timeout
    }
}

impl<E: WatermarkEstimator> WatermarkEstimator for WithIdleness<E> {
    type State = IdlenessState<E::State>;
    type Kind = Observing;

    fn current_watermark(&mut self) -> Timestamp {
        self.inner.current_watermark()
    }

    fn state(&self) -> IdlenessState<E::State> {
        IdlenessState { inner: self.inner.state(), last: self.last }
    }

    fn follows_clock(&self) -> bool {
        self.inner.follows_clock()
    }

    fn is_idle(&mut self) -> bool {
        self.timed_out() || self.inner.is_idle()
    }

    fn changes_at(&mut self) -> Option<Timestamp> {
        let idle = (!self.timed_out()).then(|| self.last + self.timeout + Duration::from_millis(1));
        idle.into_iter().chain(self.inner.changes_at()).min()
    }
}

impl<E: WatermarkEstimator> TimestampObserving for WithIdleness<E> {
    fn observe_timestamp(&mut self, ts: Timestamp) {
        self.last = self.last.max(self.clock.now());
        E::Kind::observe(&mut self.inner, ts);
    }
}

impl<E: ManualWatermark> ManualWatermark for WithIdleness<E> {
    /// Sets it in the estimator within. That alone does not wake what is idle.
    fn set_watermark(&mut self, ts: Timestamp) -> Result<(), WatermarkError> {
        self.inner.set_watermark(ts)
    }
}

impl<E: fmt::Debug> fmt::Debug for WithIdleness<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithIdleness")
            .field("inner", &self.inner)
            .field("timeout", &self.timeout)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Clock, ManualClock,
        sdf::{Manual, Monotonic, check_estimator_laws},
    };

    fn monotonic(clock: &ManualClock, timeout: Duration) -> WithIdleness<Monotonic> {
        let state = IdlenessState::new(Timestamp::MIN, clock);
        WithIdleness::new(state, timeout, clock.handle(), Monotonic::new)
    }

    #[test]
    fn b042_a_steady_stream_is_never_idle() {
        let clock = ManualClock::at(Timestamp::from_secs(100));
        let mut estimator = monotonic(&clock, Duration::from_millis(100));
        for _ in 0..200 {
            // It is not looked at while the data come, and then long after.
            estimator.observe_timestamp(clock.now());
            assert!(!estimator.is_idle());
            clock.advance(Duration::from_millis(10));
        }
        assert!(!estimator.is_idle());
    }

    #[test]
    fn b044_it_is_idle_at_the_first_look_after_the_timeout() {
        for _ in 0..3 {
            let clock = ManualClock::default();
            let mut estimator = monotonic(&clock, Duration::from_secs(10));
            estimator.observe_timestamp(Timestamp::EPOCH);
            assert_eq!(estimator.changes_at(), Some(Timestamp::EPOCH + Duration::from_millis(10_001)));
            let idle = [5, 10, 15, 20, 25].map(|secs| {
                clock.set(Timestamp::from_secs(secs));
                estimator.is_idle()
            });
            assert_eq!(idle, [false, false, true, true, true]);
            // Nothing more will come of the clock alone.
            assert_eq!(estimator.changes_at(), None);
        }
    }

    #[test]
    fn the_watermark_is_that_of_the_estimator_within() {
        let clock = ManualClock::default();
        let state = IdlenessState::new(Timestamp::MIN, &clock);
        let mut estimator = WithIdleness::new(state, Duration::from_secs(1), clock.handle(), Manual::new);
        clock.advance(Duration::from_secs(2));
        estimator.set_watermark(Timestamp::from_secs(7)).unwrap();
        assert!(estimator.is_idle(), "no output came");
        assert!(estimator.set_watermark(Timestamp::from_secs(6)).is_err());
        assert_eq!(estimator.current_watermark(), Timestamp::from_secs(7));
    }

    #[test]
    fn obeys_the_laws() {
        let clock = ManualClock::default();
        let make = |state| WithIdleness::new(state, Duration::from_secs(2), clock.handle(), Monotonic::new);
        let times = [3, 1, 2, 9].map(Timestamp::from_secs);
        let feed = |e: &mut WithIdleness<Monotonic>, ts| {
            // One of the timestamps stands for a time without outputs.
            if ts == Timestamp::from_secs(9) {
                clock.advance(Duration::from_secs(3));
            } else {
                e.observe_timestamp(ts);
            }
        };
        let state = IdlenessState::new(Timestamp::MIN, &clock);
        assert_eq!(check_estimator_laws(make, state, &times, feed), Ok(()));
    }
}
