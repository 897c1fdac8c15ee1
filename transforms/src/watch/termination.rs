//! When to stop polling.

use std::fmt;

use purlin_sdk::{Duration, Timestamp};
use serde::{Deserialize, Serialize};

/// When a [`Watch`](crate::Watch) stops to poll an element. It is looked at after each poll, by the run's clock.
///
/// ```
/// use purlin_sdk::Duration;
/// use purlin_transforms::Termination;
/// // After a day, or earlier when nothing new came for an hour.
/// let until = Termination::either_of(
///     Termination::after_total_of(Duration::from_days(1)),
///     Termination::after_time_since_new_output(Duration::from_hours(1)),
/// );
/// # let _ = until;
/// ```
/// Source: Beam's `Watch.Growth.TerminationCondition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Never,
    AfterTotalOf(Duration),
    AfterTimeSinceNewOutput(Duration),
    AfterIterations(u64),
    EitherOf(Box<(Kind, Kind)>),
    AllOf(Box<(Kind, Kind)>),
}

impl Termination {
    /// Not at all: until a poll says that it is complete.
    pub fn never() -> Termination {
        Termination(Kind::Never)
    }

    /// When more than this time has passed since the element came.
    pub fn after_total_of(time: Duration) -> Termination {
        Termination(Kind::AfterTotalOf(time))
    }

    /// When more than this time has passed since a poll found something new. Before anything was found it does not stop.
    pub fn after_time_since_new_output(time: Duration) -> Termination {
        Termination(Kind::AfterTimeSinceNewOutput(time))
    }

    /// When the element was polled `n` times; it is polled once in any case.
    pub fn after_iterations(n: u64) -> Termination {
        Termination(Kind::AfterIterations(n))
    }

    /// When one of the two says so.
    pub fn either_of(a: Termination, b: Termination) -> Termination {
        Termination(Kind::EitherOf(Box::new((a.0, b.0))))
    }

    /// When both say so.
    pub fn all_of(a: Termination, b: Termination) -> Termination {
        Termination(Kind::AllOf(Box::new((a.0, b.0))))
    }

    pub(super) fn holds(&self, polls: &Polls, now: Timestamp) -> bool {
        self.0.holds(polls, now)
    }
}

impl Kind {
    fn holds(&self, polls: &Polls, now: Timestamp) -> bool {
        match self {
            Kind::Never => false,
            Kind::AfterTotalOf(time) => now - polls.first > *time,
            Kind::AfterTimeSinceNewOutput(time) => polls.new.is_some_and(|new| now - new > *time),
            Kind::AfterIterations(n) => polls.count >= *n,
            Kind::EitherOf(both) => both.0.holds(polls, now) || both.1.holds(polls, now),
            Kind::AllOf(both) => both.0.holds(polls, now) && both.1.holds(polls, now),
        }
    }
}

/// The polls of an element so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Polls {
    /// When the element came.
    pub(super) first: Timestamp,
    /// When a poll found something new, last.
    pub(super) new: Option<Timestamp>,
    /// How many there were.
    pub(super) count: u64,
}

impl Polls {
    pub(super) fn none(now: Timestamp) -> Polls {
        Polls { first: now, new: None, count: 0 }
    }

    pub(super) fn and_one(self, found_something: bool, now: Timestamp) -> Polls {
        let new = if found_something { Some(now) } else { self.new };
        Polls { new, count: self.count.saturating_add(1), ..self }
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Never => f.write_str("for ever"),
            Kind::AfterTotalOf(time) => write!(f, "after {time}"),
            Kind::AfterTimeSinceNewOutput(time) => write!(f, "after {time} without new output"),
            Kind::AfterIterations(n) => write!(f, "after {n} polls"),
            Kind::EitherOf(both) => write!(f, "either of ({}) and ({})", both.0, both.1),
            Kind::AllOf(both) => write!(f, "all of ({}) and ({})", both.0, both.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn secs(n: i64) -> Duration {
        Duration::from_secs(n)
    }

    /// The seconds of `0..10` at which it holds, when the polls at `news` found something.
    fn holds(termination: &Termination, news: &[i64]) -> Vec<i64> {
        let mut polls = Polls::none(at(0));
        (0..10)
            .filter(|t| {
                polls = polls.and_one(news.contains(t), at(*t));
                termination.holds(&polls, at(*t))
            })
            .collect()
    }

    #[test]
    fn each_holds_when_it_should() {
        let total = || Termination::after_total_of(secs(5));
        let silent = || Termination::after_time_since_new_output(secs(3));
        assert_eq!(holds(&Termination::never(), &[0]), Vec::<i64>::new());
        assert_eq!(holds(&total(), &[]), [6, 7, 8, 9]);
        assert_eq!(holds(&silent(), &[]), Vec::<i64>::new());
        assert_eq!(holds(&silent(), &[1, 4]), [8, 9]);
        assert_eq!(holds(&silent(), &[0, 6]), [4, 5]);
        assert_eq!(holds(&Termination::after_iterations(8), &[]), [7, 8, 9]);
        assert_eq!(holds(&Termination::after_iterations(0), &[])[0], 0);
        assert_eq!(holds(&Termination::either_of(total(), silent()), &[1]), [5, 6, 7, 8, 9]);
        assert_eq!(holds(&Termination::all_of(total(), silent()), &[0, 5]), [9]);
        assert_eq!(holds(&Termination::all_of(total(), Termination::never()), &[0]), Vec::<i64>::new());
    }
}
