//! What a query did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purlin_transforms::streaming::{QueryProgress, QueryStatus};

use super::cells::{Column, Row};

/// A batch that the sink was given.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) run: usize,
    pub(super) id: u64,
    pub(super) rows: Vec<Row>,
}

/// One start of a query.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) columns: Vec<Column>,
    pub(super) progress: Vec<QueryProgress>,
}

/// What was seen of a query when the program looked.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) run: usize,
    pub(super) is_active: bool,
    pub(super) failed: bool,
    pub(super) last_batch: Option<u64>,
    pub(super) progress: usize,
    pub(super) status: QueryStatus,
}

/// What happened in a case.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Those that the sink took.
    pub(super) batches: Vec<Batch>,
    /// Those that it failed on.
    pub(super) failed: Vec<Batch>,
    pub(super) runs: Vec<Run>,
    pub(super) looks: Vec<Look>,
}

/// Shared with the sink.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder(Arc<Mutex<Recorded>>);

impl Recorder {
    pub(super) fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
