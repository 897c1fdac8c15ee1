//! Elements that wait until all with earlier timestamps have come.

use std::collections::BTreeMap;

use super::timers::Turn;
use crate::{Duration, Timestamp, window::PaneInfo};

/// An element that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting<V> {
    /// Its key and window.
    pub(super) slot: usize,
    pub(super) value: V,
    pub(super) pane: PaneInfo,
}

/// Elements by their timestamps; those with the same one in the order in which they came.
pub(super) type Queue<V> = BTreeMap<Turn, Waiting<V>>;

/// The watermark that must be passed before an element at `timestamp` is processed: then all before it have come, or are
/// too late. Never after the window's expiry, see [`Window::expiry`](crate::window::Window::expiry).
pub(super) fn turn_of(timestamp: Timestamp, lateness: Duration) -> Timestamp {
    timestamp
        .max((timestamp + lateness).min(Timestamp::GLOBAL_WINDOW_MAX))
        .min(Timestamp::MAX - Duration::from_millis(1))
}
