//! Work that waits.

use purlin_sdk::{Timestamp, batch::AnyBatch};

use crate::progress::Held;

/// Where something at `timestamp` holds a watermark. Past the end of the global window a watermark would close it, and at
/// the end of time every window; so what is still to come never lets it go further than that end.
pub(crate) fn held_at(timestamp: Timestamp) -> Timestamp {
    timestamp.min(Timestamp::GLOBAL_WINDOW_MAX)
}

/// A batch that waits to be processed.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) batch: AnyBatch,
    /// The earliest timestamp in it.
    pub(crate) time: Timestamp,
    /// Where it holds the output watermark.
    pub(crate) hold: Timestamp,
    /// Whether nobody waits for it: the rest of a restriction that is idle.
    pub(crate) idle: bool,
    /// Whether work on it began: it is what is left of a restriction.
    pub(crate) begun: bool,
    /// How often it was tried.
    pub(crate) attempts: u32,
    /// Roughly how much memory it takes.
    pub(crate) bytes: usize,
    /// The key group that it is for.
    pub(crate) key_group: Option<usize>,
}

impl Item {
    /// Elements, which hold the watermark at their timestamps.
    pub(crate) fn elements(batch: AnyBatch) -> Item {
        let time = held_at(batch.min_timestamp());
        let bytes = batch.bytes();
        Item { batch, time, hold: time, idle: false, begun: false, attempts: 0, bytes, key_group: None }
    }

    /// The rest of a restriction.
    pub(crate) fn residual(batch: AnyBatch, hold: Timestamp) -> Item {
        Item { hold, begun: true, ..Item::elements(batch) }
    }

    /// What it does to the watermarks.
    pub(crate) fn held(&self) -> Held {
        Held { time: self.time, hold: self.hold, idle: self.idle }
    }
}
