//! What a bundle does to the world outside it.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{AnyTable, Shard, ViewValue};
use crate::{Duration, Phase, PipelineError, Result, Step, Timestamp, batch::AnyBatch, window::Window};

/// A callback that runs once the bundle is committed.
pub struct Finalizer {
    /// The transform that asked for it.
    pub step: Step,
    /// The processing time after which it must not run any more.
    pub expiry: Timestamp,
    /// What to do.
    pub callback: Box<dyn FnOnce() -> Result + Send>,
}

impl Finalizer {
    /// Calls it, unless it is too late. Its failure loses no data, so it is logged and goes no further.
    pub fn run(self, now: Timestamp) {
        if now > self.expiry {
            return;
        }
        let Finalizer { step, callback, .. } = self;
        match catch_unwind(AssertUnwindSafe(callback)) {
            Ok(Ok(())) => {}
            Ok(Err(e)) => tracing::warn!(transform = step.path(), "a bundle finalizer failed: {e}"),
            Err(p) => {
                let error = PipelineError::panic(Some(step), Some(Phase::Finalize), &*p);
                tracing::warn!("{error}");
            }
        }
    }
}

impl fmt::Debug for Finalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "finalizer of {}", self.step)
    }
}

/// Everything that a bundle leaves behind, for the engine to commit as one.
#[derive(Default)]
pub struct Effects {
    /// Batches for other stages, by the number of the stage's outgoing edge.
    pub outputs: Vec<(usize, AnyBatch)>,
    /// Elements for key groups, by the number of the grouping among those that the stage feeds.
    pub keyed: Vec<KeyedBatch>,
    /// The shards that the bundle may fold into, one a grouping that the stage feeds (nothing for keyed groupings).
    pub shards: Vec<Option<Box<dyn Shard>>>,
    /// Tables that were emptied, for the shards to use again.
    pub spare_tables: Vec<Box<dyn AnyTable>>,
    /// Windows that got data, from the shards.
    pub windows: Vec<WindowReport>,
    /// Restrictions to go on with.
    pub residuals: Vec<Residual>,
    /// Callbacks for after the commit.
    pub finalizers: Vec<Finalizer>,
    /// Values of a side input that were built, the latest of a window last.
    pub views: Vec<(Window, ViewValue)>,
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effects")
            .field("outputs", &self.outputs)
            .field("residuals", &self.residuals.len())
            .finish_non_exhaustive()
    }
}

/// Elements for one key group.
#[derive(Debug)]
pub struct KeyedBatch {
    /// Which of the groupings that the stage feeds.
    pub group: usize,
    /// Which of its key groups.
    pub key_group: usize,
    /// The elements.
    pub batch: AnyBatch,
}

/// A window that got data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowReport {
    /// Which of the groupings that the stage feeds.
    pub group: usize,
    /// The window.
    pub window: Window,
    /// Where its data hold the watermark.
    pub hold: Timestamp,
}

/// The rest of a restriction.
pub struct Residual {
    /// The element with the restriction that is left.
    pub batch: AnyBatch,
    /// Where it holds the output watermark.
    pub hold: Timestamp,
    /// How long to wait before going on.
    pub delay: Duration,
    /// Whether nobody should wait for its watermark.
    pub idle: bool,
}

impl fmt::Debug for Residual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "residual holding at {}, to go on after {}", self.hold, self.delay)
    }
}
