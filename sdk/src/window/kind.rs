//! A window of any kind, as elements carry it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CustomWindow, IntervalWindow};
use crate::{Duration, Timestamp};

/// A window: the global one, an interval, or a user's own.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Window {
    /// The one window that holds all of time.
    Global,
    /// A span of event time.
    Interval(IntervalWindow),
    /// A window type of the user's.
    Custom(CustomWindow),
}

impl Window {
    /// The window `[start, end)`.
    pub const fn interval(start: Timestamp, end: Timestamp) -> Window {
        Window::Interval(IntervalWindow::new(start, end))
    }

    /// The last timestamp that lies in the window.
    #[inline]
    pub fn max_timestamp(&self) -> Timestamp {
        match self {
            Window::Global => Timestamp::GLOBAL_WINDOW_MAX,
            Window::Interval(w) => w.max_timestamp(),
            Window::Custom(w) => w.max_timestamp(),
        }
    }

    /// The timestamp of what a grouping makes of the window: its last one, but none after that of the global window.
    ///
    /// A window that begins before the end of the global window may end after it, for instance one that a result of
    /// the global window is put into. Were its own results later than the global window's end, then putting them back
    /// into the global window, or looking up a side input there, would find it expired.
    ///
    /// ```
    /// use purlin_sdk::{Duration, Timestamp, window::Window};
    /// let end = Timestamp::GLOBAL_WINDOW_MAX;
    /// assert_eq!(Window::interval(end, end + Duration::from_secs(9)).result_timestamp(), end);
    /// ```
    #[inline]
    pub fn result_timestamp(&self) -> Timestamp {
        self.max_timestamp().min(Timestamp::GLOBAL_WINDOW_MAX)
    }

    /// The interval, when it is one.
    pub fn as_interval(&self) -> Option<IntervalWindow> {
        match self {
            Window::Interval(w) => Some(*w),
            _ => None,
        }
    }

    /// The watermark that must be passed for the window to be expired: its end plus the allowed lateness, but never
    /// past the end of the global window, so that every window expires when the watermark reaches the maximum.
    #[inline]
    pub fn expiry(&self, allowed_lateness: Duration) -> Timestamp {
        let max = self.max_timestamp();
        max.max((max + allowed_lateness).min(Timestamp::GLOBAL_WINDOW_MAX))
            .min(Timestamp::MAX - Duration::from_millis(1))
    }

    /// Whether data for this window come too late once the watermark is at `watermark`.
    #[inline]
    pub fn is_expired(&self, allowed_lateness: Duration, watermark: Timestamp) -> bool {
        self.expiry(allowed_lateness) < watermark
    }
}

impl From<IntervalWindow> for Window {
    fn from(w: IntervalWindow) -> Window {
        Window::Interval(w)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Global => f.write_str("global window"),
            Window::Interval(w) => write!(f, "{w}"),
            Window::Custom(w) => write!(f, "{w}"),
        }
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_saturates_at_the_end_of_the_global_window() {
        assert_eq!(Window::Global.expiry(Duration::from_days(3)), Timestamp::GLOBAL_WINDOW_MAX);
        let w = Window::interval(Timestamp::from_secs(0), Timestamp::from_secs(10));
        assert_eq!(w.expiry(Duration::MAX), Timestamp::GLOBAL_WINDOW_MAX);
        assert_eq!(w.expiry(Duration::from_secs(5)), Timestamp::saturating_from_millis(14_999));
    }

    #[test]
    fn every_window_expires_at_the_maximum_watermark() {
        let last = Window::interval(Timestamp::MAX - Duration::from_secs(1), Timestamp::MAX);
        for w in [Window::Global, last] {
            assert!(w.is_expired(Duration::MAX, Timestamp::MAX), "{w}");
        }
    }
}
