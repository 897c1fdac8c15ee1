//! Elements that wait until all with earlier timestamps have come.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Duration, Timestamp, batch::Firing, window::Window};

/// An element that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waiting<V> {
    /// Its key and window.
    pub(super) slot: usize,
    pub(super) value: V,
    pub(super) firing: Firing,
}

/// When an element is processed, and before which others of its key and window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Turn {
    /// The watermark must have passed this.
    pub(super) due: Timestamp,
    /// The element's timestamp.
    pub(super) timestamp: Timestamp,
    /// A number for the order in which elements came.
    pub(super) order: u64,
}

impl Turn {
    /// When the watermark has passed the timestamp and the allowed lateness, all elements before it have come, or are
    /// too late. That is no later than when the window expires, also for a timestamp that lies after its end.
    pub(super) fn of(timestamp: Timestamp, window: &Window, lateness: Duration, order: u64) -> Turn {
        let due = (timestamp + lateness).min(window.expiry(lateness));
        Turn { due, timestamp, order }
    }
}

/// Elements in the order of their turns.
pub(super) type Queue<V> = BTreeMap<Turn, Waiting<V>>;
