//! One bundle, from its instruction to its answer.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use purlin_sdk::{
    PipelineError,
    exec::{BundleCx, BundleInput, Effects, Finalizer, RunEnv, SdfLimits},
};

use super::{
    bundles::Running,
    metrics::{Report, ShortIds},
    options::WorkerOptions,
    pool::Instance,
    sides::Sides,
};
use crate::proto::fn_execution::ProcessBundleResponse;

/// What bundles share.
pub(super) struct Common {
    pub(super) env: Arc<RunEnv>,
    pub(super) options: WorkerOptions,
    pub(super) ids: ShortIds,
}

/// Runs a bundle on this thread, which may wait for its data. Never panics.
///
/// # Errors
/// What failed it. Its kernels are gone then.
pub(super) fn run(
    running: &Running,
    common: &Common,
) -> Result<(ProcessBundleResponse, Vec<Finalizer>), PipelineError> {
    // What is the user's is caught where it is called; this is for what is ours.
    catch_unwind(AssertUnwindSafe(|| run_caught(running, common)))
        .unwrap_or_else(|payload| Err(PipelineError::panic(None, None, &*payload)))
}

fn run_caught(
    running: &Running,
    common: &Common,
) -> Result<(ProcessBundleResponse, Vec<Finalizer>), PipelineError> {
    let stage = &running.stage;
    let mut instance = stage.take()?;
    instance.io.set(Some(running.io.clone()));
    let mut cx = BundleCx::new(common.env.clone(), Effects::default());
    cx.control = running.control.clone();
    cx.now = common.env.clock.now();
    cx.limits = match &stage.plan.process {
        Some(process) if !process.bounded => common.options.checkpoint,
        _ => SdfLimits::default(),
    };
    if let Some(state) = &running.state {
        cx.views.source = Some(Arc::new(Sides::new(stage.plan.sides.clone(), state.clone())));
        instance.keyed.iter().for_each(|keyed| keyed.begin(state));
    }
    let ran = instance.kernels.run(BundleInput::Batches(Vec::new()), &cx);
    let ran = ran.and_then(|()| settled(running, &instance));
    if let Err(error) = ran {
        // The bundle's own error is the one to tell.
        let _ = instance.teardown(&common.env);
        return Err(error);
    }
    stage.give_back(instance);
    let mut done = cx.into_done();
    let mut response = ProcessBundleResponse::default();
    for residual in std::mem::take(&mut done.effects.residuals) {
        let Some(process) = &stage.plan.process else {
            return Err(PipelineError::runner("a bundle without a splittable DoFn left some work"));
        };
        response.residual_roots.extend(process.residual(residual)?);
    }
    let finalizers = std::mem::take(&mut done.effects.finalizers);
    response.requires_finalization = !finalizers.is_empty();
    (response.monitoring_infos, response.monitoring_data) =
        Report::over(&stage.plan, &done, running).encode(&common.ids);
    Ok((response, finalizers))
}

/// The engine has all changes of state, and the timers that were set.
fn settled(running: &Running, instance: &Instance) -> Result<(), PipelineError> {
    instance.keyed.iter().try_for_each(|keyed| keyed.end(&running.io))?;
    match &running.state {
        Some(state) => state.settle().map_err(|e| PipelineError::runner(e.to_string())),
        None => Ok(()),
    }
}
