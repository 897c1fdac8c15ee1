//! What timestamp a grouped result gets.

use serde::{Deserialize, Serialize};

use super::{Window, WindowFn};
use crate::Timestamp;

/// How a pane's timestamp comes from its elements'. It also says where the group holds the watermark until it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum TimestampCombiner {
    /// The window's last timestamp, see [`Window::result_timestamp`].
    #[default]
    EndOfWindow,
    /// The earliest element's timestamp.
    Earliest,
    /// The latest element's timestamp.
    Latest,
    /// The earliest of what the window function makes of the elements' timestamps, see
    /// [`WindowFn::output_time`](super::WindowFn::output_time). Source: Beam's `OUTPUT_AT_EARLIEST_TRANSFORMED`.
    EarliestTransformed,
}

impl TimestampCombiner {
    /// The timestamp that an element at `ts` in `window` of `window_fn` gives on its own.
    #[inline]
    pub fn assign(self, window_fn: &dyn WindowFn, window: &Window, ts: Timestamp) -> Timestamp {
        match self {
            TimestampCombiner::EndOfWindow => window.result_timestamp(),
            TimestampCombiner::Earliest | TimestampCombiner::Latest => ts,
            TimestampCombiner::EarliestTransformed => window_fn.output_time(ts, window),
        }
    }

    /// The timestamp of two together.
    #[inline]
    pub fn combine(self, a: Timestamp, b: Timestamp) -> Timestamp {
        match self {
            TimestampCombiner::Earliest | TimestampCombiner::EarliestTransformed => a.min(b),
            TimestampCombiner::EndOfWindow | TimestampCombiner::Latest => a.max(b),
        }
    }
}
