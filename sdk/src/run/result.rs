//! How a run ended.

use std::fmt;

use crate::{PipelineError, metrics::MetricsSnapshot};

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// At work.
    Running,
    /// Sources are coming to their end; what is under way is finished.
    Draining,
    /// Everything was processed.
    Done,
    /// It was drained, and what was under way is finished.
    Drained,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed,
}

impl RunState {
    /// Whether it is over.
    pub fn is_terminal(self) -> bool {
        !matches!(self, RunState::Running | RunState::Draining)
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunState::Running => "RUNNING",
            RunState::Draining => "DRAINING",
            RunState::Done => "DONE",
            RunState::Drained => "DRAINED",
            RunState::Cancelled => "CANCELLED",
            RunState::Failed => "FAILED",
        })
    }
}

/// A run that is over and did not fail.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// `Done`, `Drained` or `Cancelled`.
    pub state: RunState,
    /// What was counted.
    pub metrics: MetricsSnapshot,
}

/// What waiting for a run gives.
pub type RunResult = Result<RunOutcome, PipelineError>;
