//! A bundle of work on its way to a worker and back.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use purlin_sdk::{
    PipelineError,
    exec::{BundleControl, BundleCx, BundleDone, BundleInput, Effects, RunEnv, StageInstance},
};

use crate::{Plan, StageId, test_stream::Mark};

/// The number of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BundleId(pub(crate) u64);

/// A bundle of work. Run it without the engine's lock, then give the engine what came of it.
pub struct Task {
    pub(crate) id: BundleId,
    pub(crate) stage: StageId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) input: BundleInput,
    /// Kernels that are set up; made anew when there were none to spare.
    pub(crate) instance: Option<StageInstance>,
    pub(crate) cx: BundleCx,
    /// What is called instead of kernels.
    pub(crate) mark: Option<Mark>,
}

impl Task {
    /// What other threads may ask of the bundle while it runs.
    pub fn control(&self) -> &Arc<BundleControl> {
        &self.cx.control
    }

    /// Runs the bundle. Never panics: a panic of the user's is an error of the bundle. After an error the kernels are
    /// torn down.
    pub fn run(self) -> Finished {
        let Task { id, stage, plan, input, instance, cx, mark } = self;
        if let Some(told) = mark {
            let result = caught(&plan, stage, || {
                told();
                Ok(())
            });
            return Finished { id, instance, result, done: cx.into_done() };
        }
        // Making an instance clones what is the user's, and throwing one away drops it: both may panic.
        let made = match instance {
            Some(instance) => Ok(instance),
            None => caught(&plan, stage, || Ok(plan.instance(stage))),
        };
        let mut input = Some(input);
        let result = made.and_then(|mut instance| {
            let result = match input.take_if(|_| !cx.control.is_cancelled()) {
                Some(input) => instance.run(input, &cx),
                None => Err(PipelineError::cancelled()),
            };
            match result {
                Ok(()) => Ok(instance),
                Err(error) => {
                    // The bundle's error is the one to tell, whatever teardown says.
                    let _ = caught(&plan, stage, || instance.teardown(&cx));
                    Err(error)
                }
            }
        });
        let (instance, mut result) = match result {
            Ok(instance) => (Some(instance), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let left = caught(&plan, stage, || {
            drop(input);
            Ok(())
        });
        result = result.and(left);
        Finished { id, instance, result, done: cx.into_done() }
    }
}

/// Makes a panic of the user's an error of the stage.
fn caught<R>(
    plan: &Plan,
    stage: StageId,
    work: impl FnOnce() -> Result<R, PipelineError>,
) -> Result<R, PipelineError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        Err(PipelineError::panic(Some(plan.stages[stage.0].step.clone()), None, &*payload))
    })
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "bundle {} of `{}`: {:?}",
            self.id.0,
            self.plan.stages[self.stage.0].step.path(),
            self.input
        )
    }
}

/// What came of a bundle.
pub struct Finished {
    pub(crate) id: BundleId,
    pub(crate) instance: Option<StageInstance>,
    pub(crate) result: Result<(), PipelineError>,
    pub(crate) done: BundleDone,
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bundle {}: {:?}", self.id.0, self.result)
    }
}

impl Finished {
    /// Whether the bundle did what it should.
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }
}

/// Kernels that are no longer needed.
#[derive(Debug)]
pub struct Teardown {
    pub(crate) instance: StageInstance,
    pub(crate) env: Arc<RunEnv>,
}

impl Teardown {
    /// Tears them down, and drops them.
    ///
    /// # Errors
    /// The first error of a teardown, or panic of a `Drop`.
    pub fn run(self) -> Result<(), PipelineError> {
        self.instance.teardown(&BundleCx::new(self.env, Effects::default()))
    }
}
