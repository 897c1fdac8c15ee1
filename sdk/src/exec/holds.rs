//! Timestamps at which the output watermark is held.

use std::collections::BTreeMap;

use crate::Timestamp;

/// A multiset of timestamps.
#[derive(Debug, Default)]
pub(crate) struct Holds(BTreeMap<Timestamp, usize>);

impl Holds {
    pub(crate) fn add(&mut self, at: Timestamp) {
        *self.0.entry(at).or_insert(0) += 1;
    }

    pub(crate) fn remove(&mut self, at: Timestamp) {
        if let Some(n) = self.0.get_mut(&at) {
            *n -= 1;
            if *n == 0 {
                self.0.remove(&at);
            }
        }
    }

    /// The earliest, but none past the end of the global window: past it a watermark closes that window downstream.
    pub(crate) fn first(&self) -> Timestamp {
        self.0.keys().next().map_or(Timestamp::MAX, |at| (*at).min(Timestamp::GLOBAL_WINDOW_MAX))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
