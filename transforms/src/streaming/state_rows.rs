//! How many rows of state operators have.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use purlin_sdk::BundleContext;

use super::operators::Handle;

/// Counts, on each operator of a query, rows that came too late: what they belong to was final. A row that is late for
/// two windows counts twice.
pub const ROWS_DROPPED_BY_WATERMARK: &str = "rows_dropped_by_watermark";

/// Counts, on each operator of a query, rows of state that were not there before: groups, sessions, rows that a join
/// keeps.
pub const STATE_ROWS_ADDED: &str = "state_rows_added";

/// Counts, on each operator of a query, rows of state that an epoch added or changed, each once an epoch.
pub const STATE_ROWS_UPDATED: &str = "state_rows_updated";

/// Counts, on each operator of a query, rows of state that were removed.
pub const STATE_ROWS_REMOVED: &str = "state_rows_removed";

/// What an operator did in the epoch at work, in bundles that were committed.
#[derive(Debug, Default)]
pub struct StateRows {
    total: AtomicI64,
    updated: AtomicU64,
    removed: AtomicU64,
    dropped: AtomicU64,
}

impl StateRows {
    /// Rows of state since the query was started: those that it was started with do not count.
    pub fn total(&self) -> u64 {
        u64::try_from(self.total.load(Ordering::SeqCst)).unwrap_or(0)
    }

    /// Rows that the epoch added or changed.
    pub fn updated(&self) -> u64 {
        self.updated.load(Ordering::SeqCst)
    }

    /// Rows that it removed.
    pub fn removed(&self) -> u64 {
        self.removed.load(Ordering::SeqCst)
    }

    /// Rows that were late.
    pub fn dropped_by_watermark(&self) -> u64 {
        self.dropped.load(Ordering::SeqCst)
    }

    pub(super) fn begin_epoch(&self) {
        for count in [&self.updated, &self.removed, &self.dropped] {
            count.store(0, Ordering::SeqCst);
        }
    }
}

/// What a bundle does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) added: u64,
    pub(super) updated: u64,
    pub(super) removed: u64,
    pub(super) dropped: u64,
}

impl Tally {
    /// Adds it to what the operator did, once the bundle is committed.
    pub(super) fn report(&mut self, cx: &BundleContext<'_>, operator: &Handle) {
        let tally = std::mem::take(self);
        if tally == Tally::default() {
            return;
        }
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        for (name, n) in [
            (ROWS_DROPPED_BY_WATERMARK, tally.dropped),
            (STATE_ROWS_ADDED, tally.added),
            (STATE_ROWS_UPDATED, tally.updated),
            (STATE_ROWS_REMOVED, tally.removed),
        ] {
            if n > 0 {
                cx.counter(name).inc(count(n));
            }
        }
        let rows = operator.rows();
        cx.finalize(move || {
            rows.total.fetch_add(count(tally.added) - count(tally.removed), Ordering::SeqCst);
            rows.updated.fetch_add(tally.updated, Ordering::SeqCst);
            rows.removed.fetch_add(tally.removed, Ordering::SeqCst);
            rows.dropped.fetch_add(tally.dropped, Ordering::SeqCst);
            Ok(())
        });
    }
}
