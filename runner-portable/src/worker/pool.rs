//! Kernels that are set up, kept from bundle to bundle.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::{
    PipelineError,
    exec::{BundleCx, Effects, RunEnv, StageInstance},
};

use super::{io::CurrentIo, plan::Plan, timers::KeyedInstance};

/// The bundles of one descriptor.
pub(super) struct Stage {
    pub(super) plan: Plan,
    idle: Mutex<Vec<Instance>>,
}

/// Kernels, and where they find their bundle.
pub(super) struct Instance {
    pub(super) kernels: StageInstance,
    pub(super) io: CurrentIo,
    /// Keyed DoFns among them.
    pub(super) keyed: Arc<[KeyedInstance]>,
}

impl Stage {
    pub(super) fn new(plan: Plan) -> Stage {
        Stage { plan, idle: Mutex::default() }
    }

    /// Kernels for one bundle: idle ones, or new ones.
    ///
    /// # Errors
    /// When what is the user's panics while it is cloned.
    pub(super) fn take(&self) -> Result<Instance, PipelineError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(idle) = idle {
            return Ok(idle);
        }
        catch_unwind(AssertUnwindSafe(|| self.plan.instance()))
            .unwrap_or_else(|payload| Err(PipelineError::panic(self.a_step(), None, &*payload)))
    }

    /// Keeps kernels for the next bundle. Those of a bundle that failed are not given back.
    pub(super) fn give_back(&self, instance: Instance) {
        instance.io.set(None);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(instance);
    }

    fn a_step(&self) -> Option<purlin_sdk::Step> {
        self.plan.slots.first().map(|slot| slot.step.clone())
    }

    /// Tears all idle kernels down.
    ///
    /// # Errors
    /// The first of those that fail.
    pub(super) fn teardown(&self, env: &Arc<RunEnv>) -> Result<(), PipelineError> {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        let mut torn = Ok(());
        for instance in idle {
            torn = torn.and(instance.teardown(env));
        }
        torn
    }
}

impl Instance {
    /// Tears the kernels down. What fails is in the log too: not everybody has somebody to tell it to.
    ///
    /// # Errors
    /// The first of those that fail.
    pub(super) fn teardown(self, env: &Arc<RunEnv>) -> Result<(), PipelineError> {
        let cx = BundleCx::new(env.clone(), Effects::default());
        let torn = catch_unwind(AssertUnwindSafe(|| self.kernels.teardown(&cx)));
        let torn = torn.unwrap_or_else(|payload| Err(PipelineError::panic(None, None, &*payload)));
        torn.inspect_err(|e| tracing::error!("{e}"))
    }
}
