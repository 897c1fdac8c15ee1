//! A span of event time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Duration, Timestamp};

/// The half-open span `[start, end)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IntervalWindow {
    // Ordered by end first: windows close in this order.
    end: Timestamp,
    start: Timestamp,
}

impl IntervalWindow {
    /// The window `[start, end)`.
    pub const fn new(start: Timestamp, end: Timestamp) -> IntervalWindow {
        IntervalWindow { end, start }
    }

    /// The first timestamp in the window.
    #[inline]
    pub fn start(self) -> Timestamp {
        self.start
    }

    /// The first timestamp after the window.
    #[inline]
    pub fn end(self) -> Timestamp {
        self.end
    }

    /// The last timestamp in the window, one millisecond before its end.
    #[inline]
    pub fn max_timestamp(self) -> Timestamp {
        self.end - Duration::from_millis(1)
    }

    /// Whether `ts` lies in the window.
    #[inline]
    pub fn contains(self, ts: Timestamp) -> bool {
        self.start <= ts && ts < self.end
    }

    /// Whether the two share a timestamp; windows that only touch do not.
    pub fn intersects(self, other: IntervalWindow) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The smallest window that covers both.
    #[must_use]
    pub fn span(self, other: IntervalWindow) -> IntervalWindow {
        IntervalWindow::new(self.start.min(other.start), self.end.max(other.end))
    }
}

impl fmt::Display for IntervalWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

impl fmt::Debug for IntervalWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
