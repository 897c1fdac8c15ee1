//! Where the data of a timestamp are gathered, found without hashing.

use crate::Timestamp;

/// How many short spans of time it tells apart before it begins anew.
const SLOTS: usize = 256;

/// For each short span of time the place that its last element had. Out-of-order data of many windows then find theirs
/// without a search; whoever asks looks whether the place is right.
pub(super) struct Near {
    shift: u32,
    places: Box<[u32]>,
}

impl Near {
    /// For places that each cover at least `shortest` milliseconds.
    pub(super) fn new(shortest: i64) -> Near {
        // Eight spans a place: few of them have an edge between two places within, where the guess fails.
        let shift = shortest.max(1).ilog2().saturating_sub(3);
        Near { shift, places: vec![0; SLOTS].into() }
    }

    #[inline]
    fn slot(&self, ts: Timestamp) -> usize {
        (ts.as_millis() >> self.shift) as usize % SLOTS
    }

    /// Where `ts` probably belongs.
    #[inline]
    pub(super) fn guess(&self, ts: Timestamp) -> usize {
        self.places[self.slot(ts)] as usize
    }

    /// Notes that `ts` belongs to `place`.
    pub(super) fn note(&mut self, ts: Timestamp, place: usize) {
        let slot = self.slot(ts);
        self.places[slot] = u32::try_from(place).unwrap_or(0);
    }
}
