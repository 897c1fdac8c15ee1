//! What is the user's and is called by the engine itself: `Serialize` of a few elements, `Clone` of what may be tried
//! again, `side_window`, `Drop`. It must not leave the engine half-way: a panic ends the run, and says where it was.

use std::panic::{AssertUnwindSafe, catch_unwind};

use purlin_sdk::{Phase, PipelineError};

use crate::{Engine, StageId};

impl Engine {
    /// Does `work`; nothing when it panics, and then the run has failed.
    pub(crate) fn guarded<R>(&mut self, work: impl FnOnce(&mut Engine) -> R) -> Option<R> {
        self.at.set(None);
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(done) => Some(done),
            Err(payload) => {
                let (stage, phase) = self.at.take().unzip();
                let step = stage.map(|id| self.plan.stages[id.0].step.clone());
                self.fail(PipelineError::panic(step, phase, &*payload));
                None
            }
        }
    }

    /// Remembers whose code may be called now. Returns what was remembered before.
    pub(crate) fn enter(&self, stage: StageId, phase: Phase) -> Option<(StageId, Phase)> {
        self.at.replace(Some((stage, phase)))
    }
}
