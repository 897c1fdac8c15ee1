//! What is left when workers in this process have ended.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use purlin_sdk::{PipelineError, Timestamp, exec::Finalizer};

/// Callbacks that no engine called for, and an error that none was told of.
///
/// Prism ends a job, and lets its workers go, when the last bundle is committed, and often does so before it calls for
/// the callbacks of that bundle. When a job is done everything in it is committed, and whoever follows the job knows.
#[derive(Default)]
pub(crate) struct Leftovers(Mutex<Left>);

#[derive(Default)]
struct Left {
    finalizers: Vec<Finalizer>,
    torn: Option<PipelineError>,
}

impl Leftovers {
    fn lock(&self) -> MutexGuard<'_, Left> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker begins: what one before it left was of bundles that the engine may try again.
    pub(crate) fn begin(&self) {
        self.lock().finalizers.clear();
    }

    /// A worker has ended, with callbacks of bundles that the engine was told of.
    pub(crate) fn finalizers(&self, finalizers: Vec<Finalizer>) {
        self.lock().finalizers.extend(finalizers);
    }

    /// Something failed to be torn down.
    pub(crate) fn torn(&self, error: PipelineError) {
        self.lock().torn.get_or_insert(error);
    }

    /// The job is done: calls back, and says what failed to be torn down.
    pub(crate) fn settle(&self) -> Result<(), PipelineError> {
        let Left { finalizers, torn } = std::mem::take(&mut *self.lock());
        finalizers.into_iter().for_each(|finalizer| finalizer.run(Timestamp::now()));
        torn.map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} callbacks", self.lock().finalizers.len())
    }
}
