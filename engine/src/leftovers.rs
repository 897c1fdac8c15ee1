//! What a run that is over still had.

use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use purlin_sdk::{PipelineError, exec::Finalizer};

use crate::{BundleId, Engine, engine::InFlight, progress::Progress, state::StageState};

/// Elements and state that a run which is over had no use for: one that failed or was cancelled leaves what waited.
///
/// They are the user's and their end may do something, such as remove a temporary file. Whoever waits for the run finds
/// that done: the runner lets go of them first.
#[must_use = "what is left is let go of before the end of the run is told"]
pub struct Leftovers {
    stages: Vec<StageState>,
    bundles: [HashMap<BundleId, InFlight>; 2],
    finalizers: Vec<Finalizer>,
}

impl Leftovers {
    /// Lets go of them, without the engine's lock.
    ///
    /// # Errors
    /// When one of them panics over it.
    pub fn let_go(self) -> Result<(), PipelineError> {
        let Leftovers { stages, bundles, finalizers } = self;
        catch_unwind(AssertUnwindSafe(|| drop((stages, bundles, finalizers))))
            .map_err(|payload| PipelineError::panic(None, None, &*payload))
    }
}

impl fmt::Debug for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leftovers").field("stages", &self.stages).finish_non_exhaustive()
    }
}

impl Engine {
    /// What waits and what was gathered, of a run that is over. Its watermarks and metrics stay.
    pub fn take_leftovers(&mut self) -> Leftovers {
        let taken = self.stages.iter_mut().map(|state| {
            let mut left = std::mem::replace(state, StageState::new(state.shards.len()));
            state.progress = std::mem::replace(&mut left.progress, Progress::new());
            state.moved_at = left.moved_at;
            left
        });
        Leftovers {
            stages: taken.collect(),
            bundles: [std::mem::take(&mut self.in_flight), std::mem::take(&mut self.lingering)],
            finalizers: self.cutting.take_finalizers(),
        }
    }
}
