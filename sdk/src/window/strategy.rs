//! How a collection is windowed.

use std::{fmt, sync::Arc};

use super::{GlobalWindows, TimestampCombiner, WindowFn};
use crate::Duration;

/// How a collection is windowed: the window function, and what groupings downstream of it do.
#[derive(Clone)]
pub struct WindowingStrategy {
    /// What put the elements into their windows.
    pub window_fn: Arc<dyn WindowFn>,
    /// The timestamp of grouped results.
    pub timestamp_combiner: TimestampCombiner,
    /// How long after the watermark passed a window's end its data still count.
    pub allowed_lateness: Duration,
    /// Whether merging windows were already merged by a grouping; then they stay as they are.
    pub merged: bool,
}

impl WindowingStrategy {
    /// The global window: what every pipeline starts with.
    pub fn global() -> WindowingStrategy {
        WindowingStrategy {
            window_fn: Arc::new(GlobalWindows),
            timestamp_combiner: TimestampCombiner::default(),
            allowed_lateness: Duration::ZERO,
            merged: false,
        }
    }

    /// Whether a grouping must merge windows.
    pub fn needs_merging(&self) -> bool {
        self.window_fn.is_merging() && !self.merged
    }

    /// Whether the two put elements into the same windows.
    pub fn same_windows(&self, other: &WindowingStrategy) -> bool {
        self.window_fn.spec() == other.window_fn.spec()
    }
}

impl fmt::Display for WindowingStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.window_fn.spec())
    }
}

impl fmt::Debug for WindowingStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({:?}, lateness {})",
            self.window_fn.spec(),
            self.timestamp_combiner,
            self.allowed_lateness
        )
    }
}
