//! A watermark that moves at intervals.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    EstimatorKind, ManualWatermark, Observing, TimestampObserving, WatermarkError, WatermarkEstimator,
};
use crate::{Clock, ClockRef, Duration, Timestamp};

/// An estimator whose watermark moves only when an interval of processing time is over: 200 ms by default.
///
/// Windows downstream are looked at each time the watermark moves. Where a source comes back for each output, they
/// would be for each of them; this makes it a few times a second.
///
/// Source: Flink's [auto-watermark interval](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#writing-a-periodic-watermarkgenerator).
///
/// ```
/// use purlin_sdk::{
///     Duration, ManualClock, Timestamp,
///     sdf::{Monotonic, Periodic, PeriodicState, TimestampObserving, WatermarkEstimator},
/// };
/// let clock = ManualClock::default();
/// let state = PeriodicState::new(Timestamp::MIN, &clock);
/// let mut estimator = Periodic::new(state, Periodic::<Monotonic>::INTERVAL, clock.handle(), Monotonic::new);
/// estimator.observe_timestamp(Timestamp::from_secs(9));
/// assert_eq!(estimator.current_watermark(), Timestamp::MIN);
/// clock.advance(Duration::from_millis(200));
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(9));
/// ```
#[derive(Clone)]
pub struct Periodic<E> {
    inner: E,
    every: Duration,
    clock: ClockRef,
    emitted: Timestamp,
    last: Timestamp,
}

/// What a [`Periodic`] knows: the state of the estimator within, what was emitted and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodicState<S> {
    inner: S,
    emitted: Timestamp,
    last: Timestamp,
}

impl<S> PeriodicState<S> {
    /// That of a source that begins now: the first interval counts from here.
    pub fn new(inner: S, clock: &dyn Clock) -> PeriodicState<S> {
        PeriodicState { inner, emitted: Timestamp::MIN, last: clock.now() }
    }
}

impl<E> Periodic<E> {
    /// The usual interval.
    pub const INTERVAL: Duration = Duration::from_millis(200);
}

impl<E: WatermarkEstimator> Periodic<E> {
    /// An estimator that goes on from `state`; `make` makes the one within from its own. An interval that is not above
    /// zero is none: the watermark then moves at every look.
    pub fn new(
        state: PeriodicState<E::State>,
        every: Duration,
        clock: ClockRef,
        make: impl FnOnce(E::State) -> E,
    ) -> Periodic<E> {
        let PeriodicState { inner, emitted, last } = state;
        Periodic { inner: make(inner), every: every.max(Duration::ZERO), clock, emitted, last }
    }

    /// The estimator within, for one with methods of its own.
    pub fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }
}

impl<E: WatermarkEstimator> WatermarkEstimator for Periodic<E> {
    type State = PeriodicState<E::State>;
    type Kind = Observing;

    fn current_watermark(&mut self) -> Timestamp {
        let now = self.clock.now();
        if now - self.last >= self.every {
            self.last = now;
            self.emitted = self.emitted.max(self.inner.current_watermark());
        }
        self.emitted
    }

    fn state(&self) -> PeriodicState<E::State> {
        PeriodicState { inner: self.inner.state(), emitted: self.emitted, last: self.last }
    }

    fn follows_clock(&self) -> bool {
        self.inner.follows_clock()
    }

    fn is_idle(&mut self) -> bool {
        self.inner.is_idle()
    }

    fn changes_at(&mut self) -> Option<Timestamp> {
        let next = self.last + self.every;
        let new = (self.inner.current_watermark() > self.emitted).then_some(next);
        new.into_iter().chain(self.inner.changes_at()).min()
    }
}

impl<E: WatermarkEstimator> TimestampObserving for Periodic<E> {
    #[inline]
    fn observe_timestamp(&mut self, ts: Timestamp) {
        E::Kind::observe(&mut self.inner, ts);
    }
}

impl<E: ManualWatermark> ManualWatermark for Periodic<E> {
    /// Sets it in the estimator within; it is seen when the interval is over.
    fn set_watermark(&mut self, ts: Timestamp) -> Result<(), WatermarkError> {
        self.inner.set_watermark(ts)
    }
}

impl<E: fmt::Debug> fmt::Debug for Periodic<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Periodic")
            .field("inner", &self.inner)
            .field("every", &self.every)
            .field("emitted", &self.emitted)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ManualClock,
        sdf::{BoundedOutOfOrderness, check_estimator_laws},
    };

    #[test]
    fn b061_a_tick_emits_what_is_new() {
        let clock = ManualClock::default();
        let second = Duration::from_secs(1);
        let state = PeriodicState::new(Timestamp::MIN, &clock);
        let mut estimator = Periodic::new(state, second, clock.handle(), |highest| {
            BoundedOutOfOrderness::new(highest, Duration::from_secs(2))
        });
        let mut tick = |seen: &[i64]| {
            seen.iter().for_each(|secs| estimator.observe_timestamp(Timestamp::from_secs(*secs)));
            let before = estimator.current_watermark();
            let next = estimator.changes_at();
            assert_eq!(next.is_some(), !seen.is_empty() && seen != [8], "{next:?}");
            clock.advance(second);
            (before, estimator.current_watermark())
        };
        let seven = Timestamp::from_secs(7);
        assert_eq!(tick(&[5, 9]), (Timestamp::MIN, seven));
        assert_eq!(tick(&[]), (seven, seven));
        assert_eq!(tick(&[8]), (seven, seven));
    }

    #[test]
    fn b057_ticks_before_the_first_record_say_nothing() {
        let clock = ManualClock::default();
        let state = PeriodicState::new(Timestamp::MIN, &clock);
        let mut estimator = Periodic::new(state, Periodic::<()>::INTERVAL, clock.handle(), |highest| {
            BoundedOutOfOrderness::new(highest, Duration::from_secs(60))
        });
        for _ in 0..3 {
            clock.advance(Duration::from_millis(200));
            assert_eq!(estimator.current_watermark(), Timestamp::MIN);
        }
        estimator.observe_timestamp(Timestamp::EPOCH);
        clock.advance(Duration::from_millis(200));
        assert_eq!(estimator.current_watermark(), Timestamp::from_secs(-60));
    }

    #[test]
    fn obeys_the_laws() {
        let clock = ManualClock::default();
        let make = |state| {
            Periodic::new(state, Duration::from_secs(2), clock.handle(), |highest| {
                BoundedOutOfOrderness::new(highest, Duration::from_secs(2))
            })
        };
        let feed = |e: &mut Periodic<BoundedOutOfOrderness>, ts| {
            clock.advance(Duration::from_secs(1));
            e.observe_timestamp(ts);
        };
        let times = [3, 1, 12, 7, 8].map(Timestamp::from_secs);
        let state = PeriodicState::new(Timestamp::MIN, &clock);
        assert_eq!(check_estimator_laws(make, state, &times, feed), Ok(()));
    }
}
