//! When each number of a sequence is due.

use purlin_sdk::{Duration, Timestamp};
use serde::{Deserialize, Serialize};

/// `per_period` numbers, from `first` on, in each `period` from `start` on, evenly spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Schedule {
    pub(super) start: Timestamp,
    pub(super) first: i64,
    pub(super) per_period: u64,
    pub(super) period: Duration,
}

/// What is wrong with `per_period` numbers in each `period`, if anything.
pub(super) fn problem(per_period: u64, period: Duration) -> Option<String> {
    if period <= Duration::ZERO {
        return Some(format!("a period of {period} is not above zero; give it one of 1ms or more"));
    }
    (per_period == 0).then(|| "a rate of no numbers at all gives nothing; give it one or more".to_owned())
}

impl Schedule {
    /// When `number` is due, to the millisecond before.
    pub(super) fn due(&self, number: i64) -> Timestamp {
        let steps = i128::from(number) - i128::from(self.first);
        let after =
            (steps * i128::from(self.period.as_millis())).div_euclid(i128::from(self.per_period.max(1)));
        let after = i64::try_from(after).unwrap_or(if after < 0 { i64::MIN } else { i64::MAX });
        self.start + Duration::from_millis(after)
    }

    /// The first number that is not due by `now`.
    pub(super) fn next(&self, now: Timestamp) -> i64 {
        if now < self.start {
            return self.first;
        }
        // A number is due in the millisecond in which its exact time lies.
        let passed = i128::from((now - self.start).as_millis()) + 1;
        let periods = passed * i128::from(self.per_period);
        let period = i128::from(self.period.as_millis().max(1));
        let due = periods / period + i128::from(periods % period != 0);
        i64::try_from(i128::from(self.first) + due).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(first: i64, per_period: u64, period: i64) -> Schedule {
        Schedule { start: Timestamp::EPOCH, first, per_period, period: Duration::from_millis(period) }
    }

    #[test]
    fn numbers_are_spread_over_the_period() {
        let s = schedule(10, 3, 1000);
        let due: Vec<_> = (10..15).map(|n| s.due(n).as_millis()).collect();
        assert_eq!(due, [0, 333, 666, 1000, 1333]);
    }

    #[test]
    fn nothing_wraps_at_the_ends() {
        let s = schedule(i64::MIN, 1, i64::MAX);
        assert_eq!(s.due(i64::MAX), Timestamp::MAX);
        assert_eq!(schedule(i64::MAX, u64::MAX, 1).next(Timestamp::MAX), i64::MAX);
        assert_eq!(schedule(0, 1, i64::MAX).due(i64::MIN), Timestamp::MIN);
    }

    proptest! {
        #[test]
        fn the_next_number_is_the_first_that_is_not_due(per in 1..2000_u64, period in 1..5000_i64, now in 0..10_000_i64) {
            let s = schedule(-5, per, period);
            let now = Timestamp::saturating_from_millis(now);
            let next = s.next(now);
            prop_assert!(s.due(next) > now);
            prop_assert!(s.due(next - 1) <= now);
        }
    }
}
