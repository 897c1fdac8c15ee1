//! Where an operator stands in its query.

use std::sync::OnceLock;

use purlin_sdk::{Duration, Timestamp};

use super::{Epoch, Phase};

/// A millisecond: as far as an event-time timer's time is before the watermark at which it fires.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// Where an operator stands in its query: known when the pipeline is built, before it runs.
#[derive(Debug, Default)]
pub(super) struct Place(OnceLock<Placed>);

/// What is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// How many operators with state there are up to this one, itself included: what it shows it shows at the tick with
    /// this number, when those before it have shown theirs.
    pub(super) depth: u32,
    /// How far its watermarks are behind the query's: joins before it hold rows back.
    pub(super) shift: Duration,
    /// Whether its inputs have a watermark.
    pub(super) watermarked: [bool; 2],
    /// The delay of the first input's watermark.
    pub(super) delay: Duration,
}

impl Default for Placed {
    fn default() -> Placed {
        Placed { depth: 1, shift: Duration::ZERO, watermarked: [true; 2], delay: Duration::ZERO }
    }
}

impl Place {
    /// Said once; the graph of a pipeline does not change.
    pub(super) fn settle(&self, placed: Placed) {
        let _ = self.0.set(placed);
    }

    pub(super) fn get(&self) -> Placed {
        self.0.get().copied().unwrap_or_default()
    }
}

impl Placed {
    /// Rows at or before this are late on input `side`; nothing when it has no watermark.
    pub(super) fn late(&self, epoch: &Epoch, side: usize) -> Option<Timestamp> {
        self.watermarked[side].then(|| self.shifted(epoch.late))
    }

    fn shifted(&self, watermark: Timestamp) -> Timestamp {
        // A watermark begins at 1970, shifted or not.
        (watermark - self.shift).max(Timestamp::EPOCH)
    }

    /// The time of a timer that fires when the operator's watermark has come to `time`.
    pub(super) fn alarm(&self, time: Timestamp) -> Timestamp {
        (time + self.shift - TICK).min(Timestamp::GLOBAL_WINDOW_MAX)
    }

    /// Whether it is the operator's turn to show what it has.
    pub(super) fn may_show(&self, epoch: &Epoch) -> bool {
        epoch.phase >= Phase::Results && epoch.tick >= self.depth
    }
}
