//! The clock as a watermark.

use std::fmt;

use super::{Plain, WatermarkEstimator};
use crate::{ClockRef, Timestamp};

/// The watermark of a source that stamps its outputs with the time at which it makes them: the clock.
///
/// It moves while the source is silent, so windows close without data; and it never goes back, even where the clock
/// does. It is no estimator for outputs with timestamps of their own: those would be late as soon as they are found.
///
/// Source: Beam's `WatermarkEstimators.WallTime`.
///
/// ```
/// use purlin_sdk::{Duration, ManualClock, Timestamp, sdf::{WallTime, WatermarkEstimator}};
/// let clock = ManualClock::at(Timestamp::from_secs(100));
/// let mut estimator = WallTime::new(Timestamp::MIN, clock.handle());
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(100));
/// clock.advance(Duration::from_secs(3));
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(103));
/// ```
#[derive(Clone)]
pub struct WallTime {
    last: Timestamp,
    clock: ClockRef,
}

impl WallTime {
    /// An estimator that goes on from `state`, the watermark so far, and follows `clock`.
    pub fn new(state: Timestamp, clock: ClockRef) -> WallTime {
        WallTime { last: state, clock }
    }
}

impl WatermarkEstimator for WallTime {
    type State = Timestamp;
    type Kind = Plain;

    fn current_watermark(&mut self) -> Timestamp {
        self.last = self.last.max(self.clock.now());
        self.last
    }

    fn state(&self) -> Timestamp {
        self.last
    }

    fn follows_clock(&self) -> bool {
        true
    }
}

impl fmt::Debug for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WallTime").field("last", &self.last).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use super::*;
    use crate::{Clock, Duration, ManualClock, sdf::check_estimator_laws};

    /// A clock that somebody sets back.
    #[derive(Default)]
    struct Unsteady(AtomicI64);

    impl Clock for Unsteady {
        fn now(&self) -> Timestamp {
            Timestamp::from_secs(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn stays_when_the_clock_goes_back() {
        let clock = Arc::new(Unsteady::default());
        let mut estimator = WallTime::new(Timestamp::MIN, clock.clone());
        let reported = [10, 4, 11].map(|secs| {
            clock.0.store(secs, Ordering::Relaxed);
            estimator.current_watermark()
        });
        assert_eq!(reported, [10, 10, 11].map(Timestamp::from_secs));
        assert!(estimator.follows_clock());
    }

    #[test]
    fn a_restored_one_is_not_behind_although_the_clock_is() {
        let mut estimator = WallTime::new(Timestamp::from_secs(50), ManualClock::default().handle());
        assert_eq!(estimator.current_watermark(), Timestamp::from_secs(50));
        assert_eq!(estimator.state(), Timestamp::from_secs(50));
    }

    #[test]
    fn obeys_the_laws() {
        let clock = ManualClock::default();
        let make = |state| WallTime::new(state, clock.handle());
        let tick = |_: &mut WallTime, _| clock.advance(Duration::from_secs(1));
        assert_eq!(check_estimator_laws(make, Timestamp::MIN, &[Timestamp::EPOCH; 3], tick), Ok(()));
    }
}
