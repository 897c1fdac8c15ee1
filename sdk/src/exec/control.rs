//! What other threads may ask of a running bundle.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{PipelineError, Timestamp, batch::AnyBatch, sdf::Progress};

/// A restriction that was split while its DoFn runs.
#[derive(Debug)]
pub struct SplitOutcome {
    /// What the running DoFn keeps, as it would be tried again after a failure.
    pub primary: AnyBatch,
    /// What it gave away.
    pub residual: AnyBatch,
    /// Where the residual holds the output watermark.
    pub hold: Timestamp,
}

/// A splittable DoFn at work, seen from another thread.
pub trait SplitPoint: Send + Sync {
    /// Splits off the part of what remains that lies beyond `fraction` of it.
    ///
    /// # Errors
    /// When the user's tracker panics.
    fn try_split(&self, fraction: f64) -> Result<Option<SplitOutcome>, PipelineError>;

    /// How far it is with its restriction; nothing remains when the work is over.
    fn progress(&self) -> Progress;

    /// How much work remains, in the units of its restriction's progress.
    fn remaining(&self) -> f64 {
        self.progress().remaining
    }
}

/// Shared between the thread that runs a bundle and those that want something of it.
pub struct BundleControl {
    begun: Instant,
    cancelled: AtomicBool,
    checkpoint: AtomicBool,
    split_point: Mutex<Option<Arc<dyn SplitPoint>>>,
}

impl Default for BundleControl {
    fn default() -> BundleControl {
        BundleControl {
            begun: Instant::now(),
            cancelled: AtomicBool::new(false),
            checkpoint: AtomicBool::new(false),
            split_point: Mutex::new(None),
        }
    }
}

impl BundleControl {
    /// How long ago the bundle was handed out, by the wall clock: what it is worth to split it.
    pub fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Asks the bundle to stop; what it did is thrown away.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the bundle was asked to stop.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Asks a splittable DoFn to give back the rest of its restriction at its next claim.
    pub fn request_checkpoint(&self) {
        self.checkpoint.store(true, Ordering::Relaxed);
    }

    /// Whether a checkpoint was asked for.
    #[inline]
    pub fn checkpoint_requested(&self) -> bool {
        self.checkpoint.load(Ordering::Relaxed)
    }

    /// The splittable DoFn that runs now.
    pub fn split_point(&self) -> Option<Arc<dyn SplitPoint>> {
        self.split_point.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_split_point(&self, point: Option<Arc<dyn SplitPoint>>) {
        *self.split_point.lock().unwrap_or_else(PoisonError::into_inner) = point;
    }
}

impl fmt::Debug for BundleControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleControl").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}
