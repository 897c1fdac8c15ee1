//! Windows of one size, side by side.

use serde::{Deserialize, Serialize};

use super::{AssignContext, IntervalWindow, StandardWindows, Window, WindowFn, WindowFnSpec};
use crate::{Duration, Result, Timestamp};

/// Windows `[k * size + offset, (k + 1) * size + offset)`.
///
/// ```
/// use purlin_sdk::{Duration, Timestamp, window::FixedWindows};
/// let w = FixedWindows::of(Duration::from_secs(7)).window_of(Timestamp::from_secs(-8));
/// assert_eq!((w.start(), w.end()), (Timestamp::from_secs(-14), Timestamp::from_secs(-7)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedWindows {
    size: Duration,
    offset: Duration,
}

impl FixedWindows {
    /// Windows of `size`, aligned to the epoch.
    pub const fn of(size: Duration) -> FixedWindows {
        FixedWindows { size, offset: Duration::ZERO }
    }

    /// The same windows moved by `offset`, which is taken modulo the size.
    #[must_use]
    pub const fn offset(mut self, offset: Duration) -> FixedWindows {
        self.offset = offset;
        self
    }

    pub(crate) fn size(&self) -> Duration {
        self.size
    }

    /// The window that `ts` lies in. At the ends of time the window is cut off there.
    #[inline]
    pub fn window_of(&self, ts: Timestamp) -> IntervalWindow {
        // A size that `validate` refuses is taken as the least there is, so that nothing here divides by zero.
        let size = self.size.as_millis().max(1);
        let start = start_of(ts, size, self.offset.as_millis());
        IntervalWindow::new(
            Timestamp::saturating_from_millis(start),
            Timestamp::saturating_from_millis(start.saturating_add(size)),
        )
    }
}

/// The greatest `k * period + offset` that is not above `ts`. Timestamps are far enough from i64's ends that only the
/// offset, reduced first, could overflow.
pub(super) fn start_of(ts: Timestamp, period: i64, offset: i64) -> i64 {
    let shifted = ts.as_millis().saturating_sub(offset.rem_euclid(period));
    ts.as_millis().saturating_sub(shifted.rem_euclid(period))
}

impl WindowFn for FixedWindows {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        out.push(Window::Interval(self.window_of(cx.timestamp())));
        Ok(())
    }

    fn side_window(&self, main_max: Timestamp) -> Result<Window> {
        Ok(Window::Interval(self.window_of(main_max)))
    }

    fn validate(&self) -> std::result::Result<(), String> {
        if self.size <= Duration::ZERO {
            return Err(format!("fixed windows need a size above zero, not {}", self.size));
        }
        Ok(())
    }

    fn spec(&self) -> WindowFnSpec {
        let offset = self.offset.as_millis().rem_euclid(self.size.as_millis().max(1));
        WindowFnSpec {
            urn: "beam:window_fn:fixed_windows:v1".into(),
            parameters: format!("FixedWindows({}, offset {})", self.size, Duration::from_millis(offset)),
        }
    }

    fn standard(&self) -> Option<StandardWindows> {
        let offset = StandardWindows::within(self.offset, self.size);
        Some(StandardWindows::Fixed { size: self.size, offset })
    }

    fn as_fixed(&self) -> Option<FixedWindows> {
        Some(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(w: IntervalWindow) -> (i64, i64) {
        (w.start().as_millis(), w.end().as_millis())
    }

    #[test]
    fn b091_negative_timestamps_and_offsets() {
        let fixed = FixedWindows::of(Duration::from_millis(7));
        for (ts, expected) in [(-1, (-7, 0)), (-7, (-7, 0)), (-8, (-14, -7)), (0, (0, 7))] {
            assert_eq!(bounds(fixed.window_of(Timestamp::saturating_from_millis(ts))), expected, "@{ts}");
        }
        let plain = fixed.offset(Duration::from_millis(2));
        for offset in [2 - 7, 2 + 7, 2 + 7_000_000] {
            let same = fixed.offset(Duration::from_millis(offset));
            assert_eq!(same.spec(), plain.spec());
            assert_eq!(bounds(same.window_of(Timestamp::EPOCH)), (-5, 2));
        }
        assert!(FixedWindows::of(Duration::ZERO).validate().is_err());
    }

    #[test]
    fn b100_windows_at_the_ends_of_time() {
        let fixed = FixedWindows::of(Duration::from_secs(10)).offset(Duration::from_millis(3));
        for ts in [
            Timestamp::MIN,
            Timestamp::MIN + Duration::from_millis(1),
            Timestamp::MAX - Duration::from_millis(1),
        ] {
            let w = fixed.window_of(ts);
            assert!(w.contains(ts), "{ts} in {w}");
        }
        let w = FixedWindows::of(Duration::MAX).window_of(Timestamp::GLOBAL_WINDOW_MAX);
        assert!(w.contains(Timestamp::GLOBAL_WINDOW_MAX), "{w}");
    }
}
