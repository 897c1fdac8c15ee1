//! Windows of one size that start every period.

use serde::{Deserialize, Serialize};

use super::{
    AssignContext, IntervalWindow, StandardWindows, Window, WindowFn, WindowFnSpec, fixed::start_of,
};
use crate::{Duration, Result, Timestamp, batch::WindowSet};

/// Windows `[k * period + offset, k * period + offset + size)`. With a period below the size they overlap; with a
/// period above it there are gaps, and an element in a gap is in no window. An element is in 100,000 windows at most, which
/// is a build error otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlidingWindows {
    size: Duration,
    period: Duration,
    offset: Duration,
}

/// In how many windows an element may be: it is copied for each of them.
const MOST_WINDOWS: i64 = 100_000;

impl SlidingWindows {
    /// Windows of `size`, one starting every `period`.
    pub const fn of(size: Duration, period: Duration) -> SlidingWindows {
        SlidingWindows { size, period, offset: Duration::ZERO }
    }

    /// The same windows moved by `offset`, which is taken modulo the period.
    #[must_use]
    pub const fn offset(mut self, offset: Duration) -> SlidingWindows {
        self.offset = offset;
        self
    }
}

/// A span of time whose elements are all in the same sliding windows. Times are in milliseconds and may lie before or
/// after all timestamps, where windows are cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Its first timestamp.
    pub(crate) start: i64,
    /// The first one behind it.
    pub(crate) end: i64,
    /// The start of its last window. The others start a period earlier each.
    pub(crate) last: i64,
    /// In how many windows it is.
    pub(crate) windows: i64,
}

impl SlidingWindows {
    /// The windows that `ts` lies in, the last one first.
    pub(crate) fn set_of(&self, ts: Timestamp) -> WindowSet {
        let slice = self.slice_of(ts.as_millis());
        let window = |n| Window::Interval(self.window_of(&slice, n));
        match slice.windows {
            1 => WindowSet::One(window(0)),
            many => WindowSet::Many((0..many).map(window).collect()),
        }
    }

    /// The slice that the time `ms` lies in, where windows overlap. Windows start and end once a period each, so a
    /// period has one slice, or two where its length does not divide the windows'.
    #[inline]
    pub(crate) fn slice_of(&self, ms: i64) -> Slice {
        let (size, period) = (self.size.as_millis().max(1), self.period.as_millis().max(1));
        let into = ms.saturating_sub(self.offset.as_millis().rem_euclid(period)).rem_euclid(period);
        let last = ms - into;
        let (whole, rest) = (size / period, size % period);
        if into < rest {
            Slice { start: last, end: last + rest, last, windows: whole + 1 }
        } else {
            Slice { start: last + rest, end: last + period, last, windows: whole }
        }
    }

    /// The window `n` of a slice, counted from its last one.
    #[inline]
    pub(crate) fn window_of(&self, slice: &Slice, n: i64) -> IntervalWindow {
        let start = slice.last - n * self.period.as_millis();
        IntervalWindow::new(
            Timestamp::saturating_from_millis(start),
            Timestamp::saturating_from_millis(start + self.size.as_millis()),
        )
    }

    /// The slice whose windows are `set`, the last one first.
    pub(crate) fn slice_in(&self, set: &[Window]) -> Option<Slice> {
        let last = set.first()?.as_interval()?.start().as_millis();
        let (size, period) = (self.size.as_millis(), self.period.as_millis());
        let first_part = set.len() as i64 > size / period;
        let slice = self.slice_of(if first_part { last } else { last + size % period });
        let same = slice.windows == set.len() as i64
            && set.iter().zip(0..).all(|(w, n)| w.as_interval() == Some(self.window_of(&slice, n)));
        same.then_some(slice)
    }

    /// The length of its shortest slice in milliseconds.
    pub(crate) fn shortest_slice(&self) -> i64 {
        let (size, period) = (self.size.as_millis().max(1), self.period.as_millis().max(1));
        match size % period {
            0 => period,
            rest => rest.min(period - rest),
        }
    }
}

impl WindowFn for SlidingWindows {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        let (size, period) = (self.size.as_millis().max(1), self.period.as_millis().max(1));
        let ts = cx.timestamp();
        let mut start = start_of(ts, period, self.offset.as_millis());
        let after = ts.as_millis().saturating_sub(size);
        while start > after {
            out.push(Window::interval(
                Timestamp::saturating_from_millis(start),
                Timestamp::saturating_from_millis(start.saturating_add(size)),
            ));
            match start.checked_sub(period) {
                Some(earlier) => start = earlier,
                None => break,
            }
        }
        Ok(())
    }

    fn validate(&self) -> std::result::Result<(), String> {
        if self.size <= Duration::ZERO || self.period <= Duration::ZERO {
            return Err(format!(
                "sliding windows need a size and a period above zero, not {} every {}",
                self.size, self.period
            ));
        }
        let windows = (self.size.as_millis() - 1) / self.period.as_millis() + 1;
        if windows > MOST_WINDOWS {
            return Err(format!(
                "with sliding windows of {} every {} each element would be in {windows} windows, and {MOST_WINDOWS} is the \
                 most: take a longer period or a shorter size. For what is to be known of all time so far, use the global \
                 window with a trigger that fires again and again",
                self.size, self.period
            ));
        }
        Ok(())
    }

    fn standard(&self) -> Option<StandardWindows> {
        let offset = StandardWindows::within(self.offset, self.period);
        Some(StandardWindows::Sliding { size: self.size, period: self.period, offset })
    }

    fn as_sliding(&self) -> Option<SlidingWindows> {
        // Within the length of time nothing about slices overflows.
        let fits = self.size <= Timestamp::MAX - Timestamp::EPOCH && self.period > Duration::ZERO;
        (fits && self.size > self.period).then_some(*self)
    }

    fn spec(&self) -> WindowFnSpec {
        let offset = self.offset.as_millis().rem_euclid(self.period.as_millis().max(1));
        WindowFnSpec {
            urn: "beam:window_fn:sliding_windows:v1".into(),
            parameters: format!(
                "SlidingWindows({} every {}, offset {})",
                self.size,
                self.period,
                Duration::from_millis(offset)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(f: SlidingWindows, ts: i64) -> Vec<(i64, i64)> {
        let mut out = Vec::new();
        f.assign(&AssignContext::at(Timestamp::saturating_from_millis(ts)), &mut out).unwrap();
        out.sort();
        out.iter()
            .map(|w| w.as_interval().unwrap())
            .map(|w| (w.start().as_millis(), w.end().as_millis()))
            .collect()
    }

    fn sliding(size: i64, period: i64, offset: i64) -> SlidingWindows {
        SlidingWindows::of(Duration::from_millis(size), Duration::from_millis(period))
            .offset(Duration::from_millis(offset))
    }

    #[test]
    fn b091_negative_timestamps_in_sliding_windows() {
        assert_eq!(starts(sliding(10, 5, 2), -1), [(-8, 2), (-3, 7)]);
    }

    #[test]
    fn too_many_windows_are_refused() {
        sliding(100_000, 1, 0).validate().unwrap();
        sliding(500_000, 5, 0).validate().unwrap();
        for f in [
            sliding(100_001, 1, 0),
            sliding(500_001, 5, 0),
            SlidingWindows::of(Duration::MAX, Duration::from_secs(5)),
        ] {
            let error = f.validate().unwrap_err();
            assert!(error.contains("100000 is the most") && error.contains("longer period"), "{error}");
        }
    }

    #[test]
    fn b092_an_element_in_a_gap_is_in_no_window() {
        let f = sliding(5, 10, 0);
        assert_eq!(starts(f, 4), [(0, 5)]);
        for ts in 5..10 {
            assert!(starts(f, ts).is_empty(), "@{ts}");
        }
        assert_eq!(starts(f, 10), [(10, 15)]);
    }

    #[test]
    fn b094_precise_far_from_the_origin() {
        let ts = 1_709_315_512_577;
        let first = |period| starts(sliding(1600, period, 0), ts).iter().map(|w| w.0).collect::<Vec<_>>();
        assert_eq!(first(700), [1_709_315_511_400, 1_709_315_512_100]);
        assert_eq!(first(800), [1_709_315_511_200, 1_709_315_512_000]);
    }
}
