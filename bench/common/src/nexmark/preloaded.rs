//! Events that are in memory before the clock starts: making one takes longer than most queries do.

use std::mem;
use std::sync::{Mutex, PoisonError};

use super::{Event, Nexmark};
use crate::generate::BATCH;

/// Events in blocks, which are taken once each.
#[derive(Debug, Default)]
pub struct Preloaded {
    blocks: Vec<Mutex<Vec<Event>>>,
}

impl Preloaded {
    /// The first `n` events.
    pub fn new(n: u64) -> Preloaded {
        let block = |first: u64| Mutex::new((first..n.min(first + BATCH)).map(Nexmark::event).collect());
        Preloaded { blocks: (0..n).step_by(BATCH as usize).map(block).collect() }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Takes a block's events. There is nothing in a block that was taken before, nor in one that does not exist.
    pub fn take(&self, block: u64) -> Vec<Event> {
        let events = self.blocks.get(block as usize);
        events
            .map(|events| mem::take(&mut *events.lock().unwrap_or_else(PoisonError::into_inner)))
            .unwrap_or_default()
    }

    /// No event of a block or of a later one lies before this time, in milliseconds.
    pub const fn watermark(&self, block: u64) -> i64 {
        Nexmark::time(block.saturating_mul(BATCH))
    }

    /// Takes all events in order.
    pub fn drain(&self) -> impl Iterator<Item = Event> {
        (0..self.blocks()).flat_map(|block| self.take(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_come_once_and_none_is_late() {
        let all = Preloaded::new(3_000);
        assert_eq!(all.blocks(), 3);
        let first = all.take(0);
        assert_eq!(first.len(), BATCH as usize);
        assert!(all.watermark(1) <= all.take(1)[0].time());
        assert!(all.take(0).is_empty() && all.take(9).is_empty());
        assert_eq!(Preloaded::new(2_500).drain().count(), 2_500);
    }
}
