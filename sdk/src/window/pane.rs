//! Which firing of a window an element came from.

use serde::{Deserialize, Serialize};

/// When a pane fired, seen from the watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PaneTiming {
    /// Before the watermark passed the window's end.
    Early,
    /// The first firing after the watermark passed the window's end.
    OnTime,
    /// After the on-time firing.
    Late,
    /// Not from a grouping.
    Unknown,
}

/// Which of a window's firings an element came from. Source: Beam's `PaneInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PaneInfo {
    /// The first firing of its key and window.
    pub is_first: bool,
    /// No firing of its key and window follows.
    pub is_last: bool,
    /// Early, on time or late.
    pub timing: PaneTiming,
    /// Firings of this key and window before this one.
    pub index: i64,
    /// Firings since the watermark passed the window's end, this one not counted; -1 for early panes.
    pub on_time_index: i64,
}

impl PaneInfo {
    /// What an element carries that never went through a grouping.
    pub const NO_FIRING: PaneInfo =
        PaneInfo { is_first: true, is_last: true, timing: PaneTiming::Unknown, index: 0, on_time_index: 0 };

    /// The only firing of its window, on time.
    pub const ON_TIME_AND_ONLY: PaneInfo =
        PaneInfo { is_first: true, is_last: true, timing: PaneTiming::OnTime, index: 0, on_time_index: 0 };
}
