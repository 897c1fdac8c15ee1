//! The events of W2x and W3 as threads take them in turn.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Params;
use crate::generate::{BATCH, Event, Generator, JITTER_MS};

/// A thread's source: it claims batches in turn with the other threads, so that their event times stay together, and
/// stores each event once.
#[derive(Debug)]
pub(super) struct Source {
    events: Generator,
    n: u64,
    stored: Vec<Event>,
}

impl Source {
    pub(super) fn new(params: &Params) -> Self {
        Self { events: Generator::new(params.keys), n: params.n, stored: Vec::with_capacity(BATCH as usize) }
    }

    /// The next batch, or none at the end. A thread's later batches all lie after its earlier ones.
    pub(super) fn claim(&self, claims: &AtomicU64) -> Option<Range<u64>> {
        // Only the counter itself is shared, so no order with other memory is needed.
        let start = claims.fetch_add(BATCH, Ordering::Relaxed);
        (start < self.n).then(|| start..self.n.min(start.saturating_add(BATCH)))
    }

    /// Stores a batch's events.
    pub(super) fn fill(&mut self, batch: Range<u64>) -> &[Event] {
        self.stored.clear();
        self.stored.extend(batch.map(|index| self.events.event(index)));
        black_box(&self.stored)
    }

    /// No event lies after this time, in milliseconds.
    pub(super) fn last_time(&self) -> i64 {
        Generator::watermark(self.n).saturating_add(JITTER_MS)
    }
}
