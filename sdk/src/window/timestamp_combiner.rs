//! What timestamp a grouped result gets.

use serde::{Deserialize, Serialize};

use super::Window;
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
}

impl TimestampCombiner {
    /// The timestamp that an element at `ts` in `window` gives on its own.
    #[inline]
    pub fn assign(self, window: &Window, ts: Timestamp) -> Timestamp {
        match self {
            TimestampCombiner::EndOfWindow => window.result_timestamp(),
            TimestampCombiner::Earliest | TimestampCombiner::Latest => ts,
        }
    }

    /// The timestamp of two together.
    #[inline]
    pub fn combine(self, a: Timestamp, b: Timestamp) -> Timestamp {
        match self {
            TimestampCombiner::Earliest => a.min(b),
            TimestampCombiner::EndOfWindow | TimestampCombiner::Latest => a.max(b),
        }
    }
}
