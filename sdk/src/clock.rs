//! Where processing time comes from.
//!
//! Nothing in the model asks the machine for the time: whoever needs it holds a [`ClockRef`] that the runner hands
//! out, so that a test can move time by hand and a run can be repeated.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use crate::{Duration, Timestamp};

/// A source of processing time.
pub trait Clock: Send + Sync {
    /// The time now. It may go back when the machine's clock is set; who must not go back keeps the maximum.
    fn now(&self) -> Timestamp;
}

/// A clock that many hold.
pub type ClockRef = Arc<dyn Clock>;

/// The machine's wall clock.
///
/// ```
/// use purlin_sdk::{Clock, SystemClock, Timestamp};
/// assert!(SystemClock.now() > Timestamp::EPOCH);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that stands still until it is moved, and never goes back.
///
/// Clones are handles to one clock.
///
/// ```
/// use purlin_sdk::{Clock, Duration, ManualClock, Timestamp};
/// let clock = ManualClock::at(Timestamp::from_secs(100));
/// let held_by_the_runner = clock.clone();
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(held_by_the_runner.now(), Timestamp::from_secs(105));
/// clock.set(Timestamp::from_secs(90)); // earlier: nothing happens
/// assert_eq!(clock.now(), Timestamp::from_secs(105));
/// ```
#[derive(Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `time`.
    pub fn at(time: Timestamp) -> ManualClock {
        ManualClock(Arc::new(AtomicI64::new(time.as_millis())))
    }

    /// Moves the clock to `time`. An earlier time than it shows leaves it as it is.
    pub fn set(&self, time: Timestamp) {
        self.0.fetch_max(time.as_millis(), Ordering::SeqCst);
    }

    /// Moves the clock on by `step`, at most to [`Timestamp::MAX`]. A negative step leaves it as it is.
    pub fn advance(&self, step: Duration) {
        let step = step.max(Duration::ZERO);
        // The closure always returns a value, so the update never fails.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |millis| {
            Some((Timestamp::saturating_from_millis(millis) + step).as_millis())
        });
    }

    /// This clock as the handle that runners and estimators take.
    pub fn handle(&self) -> ClockRef {
        Arc::new(self.clone())
    }
}

impl Default for ManualClock {
    /// A clock that shows [`Timestamp::EPOCH`].
    fn default() -> ManualClock {
        ManualClock::at(Timestamp::EPOCH)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::saturating_from_millis(self.0.load(Ordering::SeqCst))
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualClock").field(&self.now()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_never_goes_back() {
        let clock = ManualClock::at(Timestamp::from_secs(10));
        clock.set(Timestamp::from_secs(5));
        clock.advance(Duration::from_secs(-5));
        clock.advance(Duration::MIN);
        assert_eq!(clock.now(), Timestamp::from_secs(10));
        clock.set(Timestamp::from_secs(11));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), Timestamp::from_secs(12));
    }

    #[test]
    fn a_manual_clock_stops_at_both_ends_of_time() {
        let clock = ManualClock::at(Timestamp::MIN);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
        clock.advance(Duration::from_millis(1));
        assert_eq!(clock.now(), Timestamp::MAX);
    }

    #[test]
    fn handles_show_one_time() {
        let clock = ManualClock::default();
        let handle = clock.handle();
        assert_eq!(handle.now(), Timestamp::EPOCH);
        clock.set(Timestamp::from_secs(1));
        assert_eq!(handle.now(), Timestamp::from_secs(1));
    }
}
