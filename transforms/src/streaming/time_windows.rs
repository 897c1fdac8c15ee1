//! Windows of a query's time.

use std::fmt;

use purlin_sdk::{Duration, Pipeline, Timestamp};
use serde::{Deserialize, Serialize};

/// A window, `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TimeWindow {
    /// The first time in it.
    pub start: Timestamp,
    /// The first time after it.
    pub end: Timestamp,
}

impl TimeWindow {
    /// The last time in it: what a result for it has as its timestamp.
    pub fn max_timestamp(&self) -> Timestamp {
        self.end - Duration::from_millis(1)
    }
}

impl fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

/// Windows of equal size, at equal distances since 1970.
///
/// ```
/// use purlin_sdk::{Duration, Timestamp};
/// use purlin_transforms::streaming::TimeWindows;
/// let minutes = Duration::from_minutes;
/// let windows = TimeWindows::sliding(minutes(10), minutes(5)).starting_at(minutes(1));
/// let of: Vec<_> = windows.of(Timestamp::from_secs(12 * 60)).map(|w| w.start.as_millis() / 60_000).collect();
/// assert_eq!(of, [11, 6]);
/// ```
/// Source: Spark's `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindows {
    size: Duration,
    slide: Duration,
    start: Duration,
}

impl TimeWindows {
    /// One after the other.
    pub fn tumbling(size: Duration) -> TimeWindows {
        TimeWindows::sliding(size, size)
    }

    /// One every `slide`, each of `size`.
    pub fn sliding(size: Duration, slide: Duration) -> TimeWindows {
        TimeWindows { size, slide, start: Duration::ZERO }
    }

    /// They begin that much later, or earlier when it is below zero. It must be less than their distance.
    #[must_use]
    pub fn starting_at(self, start: Duration) -> TimeWindows {
        TimeWindows { start, ..self }
    }

    /// The windows that `time` is in, the latest first.
    pub fn of(&self, time: Timestamp) -> impl Iterator<Item = TimeWindow> + use<> {
        let TimeWindows { size, slide, start } = *self;
        let (time, size) = (i128::from(time.as_millis()), i128::from(size.as_millis()));
        let slide = i128::from(slide.as_millis()).max(1);
        let last = time - (time - i128::from(start.as_millis())).rem_euclid(slide);
        let starts = (0..).map(move |i| last - i * slide).take_while(move |start| start + size > time);
        starts.map(move |start| TimeWindow { start: at(start), end: at(start + size) })
    }

    /// Tells what cannot be.
    #[track_caller]
    pub(super) fn check(&self, pipeline: &Pipeline) {
        let TimeWindows { size, slide, start } = *self;
        if size <= Duration::ZERO || slide <= Duration::ZERO {
            pipeline.build_error(format!(
                "its windows have a size of {size} and a distance of {slide}; both must be more than zero"
            ));
        } else if slide > size {
            pipeline.build_error(format!(
                "its windows of {size} are {slide} apart, so some times would be in none; make them as large as that"
            ));
        } else if start >= slide || start <= -slide {
            pipeline.build_error(format!(
                "its windows start at {start}, which is not less than their distance of {slide}; take whole distances \
                 off"
            ));
        }
    }
}

impl fmt::Display for TimeWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "windows of {} every {}, from {}", self.size, self.slide, self.start)
    }
}

fn at(millis: i128) -> Timestamp {
    let millis = i64::try_from(millis).unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX });
    Timestamp::saturating_from_millis(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_are_in_windows_too() {
        let windows = TimeWindows::tumbling(Duration::from_secs(10)).starting_at(Duration::from_secs(-3));
        let of = |secs: i64| windows.of(Timestamp::from_secs(secs)).collect::<Vec<_>>();
        let window = |start: i64| TimeWindow {
            start: Timestamp::from_secs(start),
            end: Timestamp::from_secs(start + 10),
        };
        assert_eq!(of(-1), [window(-3)]);
        assert_eq!(of(-4), [window(-13)]);
        assert_eq!(of(7), [window(7)]);
        let sliding = TimeWindows::sliding(Duration::from_secs(7), Duration::from_secs(3));
        let starts: Vec<_> =
            sliding.of(Timestamp::from_secs(-1)).map(|w| w.start.as_millis() / 1000).collect();
        assert_eq!(starts, [-3, -6]);
    }
}
