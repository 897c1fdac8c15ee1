//! Work on restrictions.

use std::sync::{Arc, Mutex};

use super::{
    op::ItemOf,
    shared::{Running, Shared},
};
use crate::{
    BundleContext, Duration, Phase, PipelineError, ProcessContext, SetupContext, Step,
    batch::{Batch, ErasedBatch, Meta, Row},
    coder::{CoderRef, Context},
    coder_slot::CoderSlot,
    dofn::{EmitRules, Emitter, Observed, StepScope},
    exec::{BundleCx, Downstream, Kernel, KernelResult, Port, Residual, TagPort},
    sdf::{
        Claims, Continuation, EstimatorKind, RestrictionTracker, SdfContext, SplittableDoFn,
        WatermarkEstimator,
    },
};

pub(super) struct ProcessKernel<D: SplittableDoFn> {
    step: Step,
    dofn: D,
    views: Arc<[Arc<str>]>,
    out: Port<D::Output>,
    tags: Vec<TagPort>,
    items: CoderRef<ItemOf<D>>,
}

/// How long an element whose estimator follows the clock is left alone, so that its watermark keeps moving.
const CLOCK_STEP: Duration = Duration::from_millis(100);

/// How long a restriction is left alone that asked to wait for `delay`: no longer than its watermark stays as it is.
fn wait<E: WatermarkEstimator>(estimator: &mut E, delay: Duration, cx: &BundleCx) -> Duration {
    let delay = if estimator.follows_clock() { delay.min(CLOCK_STEP) } else { delay };
    match estimator.changes_at() {
        // At least a little, or one that is wrong about when it changes would keep the pipeline busy.
        Some(at) => delay.min((at - cx.env.clock.now()).max(Duration::from_millis(1))),
        None => delay,
    }
}

impl<D: SplittableDoFn> ProcessKernel<D> {
    pub(super) fn new(
        step: &Step,
        dofn: D,
        views: Arc<[Arc<str>]>,
        coder: &CoderSlot<D::Output>,
        tags: Vec<TagPort>,
        items: CoderRef<ItemOf<D>>,
    ) -> ProcessKernel<D> {
        ProcessKernel { step: step.clone(), dofn, views, out: Port::new(0, step, coder), tags, items }
    }

    fn user(&self, phase: Phase) -> impl FnOnce(crate::DoFnError) -> PipelineError + use<D> {
        let step = self.step.clone();
        move |e| PipelineError::user(step, phase, e)
    }

    /// The restriction with its tracker and estimator; nothing when draining leaves nothing of it.
    fn begin(
        &self,
        item: ItemOf<D>,
        row: Row<'_>,
        cx: &BundleCx,
    ) -> Result<Option<Arc<Shared<D>>>, PipelineError> {
        let ItemOf::<D> { element, mut restriction, state, watermark, estimated, mut truncated, .. } = item;
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        let scx = SdfContext::new(scope, row);
        if cx.draining && !truncated {
            cx.phase(Phase::Truncate);
            let left = self.dofn.truncate(&element, restriction, &scx).map_err(self.user(Phase::Truncate))?;
            let Some(left) = left else { return Ok(None) };
            restriction = left;
            truncated = true;
        }
        cx.phase(Phase::Watermark);
        let estimator = self
            .dofn
            .new_watermark_estimator(state.clone(), &element, &restriction, &scx)
            .map_err(self.user(Phase::Watermark))?;
        cx.phase(Phase::Process);
        let tracker =
            self.dofn.new_tracker(&element, restriction, &scx).map_err(self.user(Phase::Process))?;
        let mut meta = Meta::default();
        meta.append(0, row, 1);
        let running = Running {
            tracker,
            estimator,
            claimed: false,
            residuals: Vec::new(),
            checkpointed: false,
            over: false,
            reported: watermark,
            estimated,
            went_back: None,
        };
        let step = self.step.clone();
        Ok(Some(Arc::new(Shared { step, element, state, truncated, meta, running: Mutex::new(running) })))
    }

    fn work(&mut self, item: ItemOf<D>, row: Row<'_>, down: &mut Downstream<'_>) -> KernelResult {
        let cx = down.cx();
        let Some(shared) = self.begin(item, row, cx)? else { return Ok(()) };
        cx.control.set_split_point(Some(shared.clone()));
        let observed = Observed::default();
        let claims = Claims::new(&*shared, &observed, cx);
        let ProcessKernel { step, dofn, views, out, tags, .. } = self;
        let pcx = ProcessContext::new(StepScope { cx, step, views }, row);
        let rules = EmitRules { step, skew: dofn.allowed_timestamp_skew(), phase: Phase::Process };
        let observing = <<D::Estimator as WatermarkEstimator>::Kind as EstimatorKind<D::Estimator>>::OBSERVES;
        let mut emitter =
            Emitter::new(out, tags, down.reborrow(), row, rules).of_source(observing.then_some(&observed));
        let continuation = dofn
            .process(&shared.element, &claims, &pcx, &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), Phase::Process, e))?;
        emitter.end_row()?;
        drop(emitter);
        claims.settle();
        cx.control.set_split_point(None);
        self.end(&shared, continuation, cx)
    }

    /// Checks that the work is done, and gives back what is not.
    fn end(&self, shared: &Shared<D>, continuation: Continuation, cx: &BundleCx) -> KernelResult {
        let mut running = shared.lock();
        let running = &mut *running;
        running.over = true;
        if let Some(what) = running.tracker.violation() {
            return Err(PipelineError::contract(self.step.clone(), Phase::Process, what));
        }
        if let Continuation::Resume(delay) = continuation {
            shared.checkpoint(running);
            let delay = wait(&mut running.estimator, delay.max(Duration::ZERO), cx);
            if let (true, Some(rest)) = (running.checkpointed, running.residuals.last_mut()) {
                rest.delay = delay;
            }
        }
        // Only here is every output known to the estimator. What was split off while it ran is not idle: it was at work.
        if let (true, Some(rest)) = (running.checkpointed, running.residuals.last_mut()) {
            rest.idle = running.estimator.is_idle();
        }
        if cx.control.is_cancelled() {
            return Err(PipelineError::cancelled());
        }
        if !running.tracker.is_done() {
            let what = format!(
                "`process` returned and left work undone: {}. Claim until `try_claim` says no, also past the last \
                 position that has data, or return `Continuation::resume()`",
                running.tracker.pending()
            );
            return Err(PipelineError::contract(self.step.clone(), Phase::Process, what));
        }
        let mut residuals = std::mem::take(&mut running.residuals);
        if let (true, Some((from, to))) = (cx.env.checks.recode, running.went_back) {
            let what = format!(
                "the watermark estimator went back from {from} to {to}: what was promised not to come would come; \
                 keep the greatest watermark in its state"
            );
            return Err(PipelineError::contract(self.step.clone(), Phase::Watermark, what));
        }
        if cx.env.checks.recode {
            residuals.iter_mut().try_for_each(|r| self.recode(r))?;
        }
        cx.effects().residuals.extend(residuals);
        Ok(())
    }

    fn recode(&self, residual: &mut Residual) -> KernelResult {
        let Some(batch) = residual.batch.as_any().downcast_mut::<Batch<ItemOf<D>>>() else { return Ok(()) };
        for item in &mut batch.values {
            let mut bytes = Vec::new();
            *item = self
                .items
                .encode(item, Context::Nested, &mut bytes)
                .and_then(|()| self.items.decode(&mut bytes.as_slice(), Context::Nested))
                .map_err(|e| {
                    let what = format!("a restriction or estimator state does not survive its coder: {e}");
                    PipelineError::contract(self.step.clone(), Phase::Coder, what)
                })?;
        }
        Ok(())
    }
}

impl<D: SplittableDoFn> Kernel for ProcessKernel<D> {
    fn setup(&mut self, cx: &BundleCx) -> KernelResult {
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        self.dofn.setup(&SetupContext::new(scope)).map_err(self.user(Phase::Setup))
    }

    fn start(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let scope = StepScope { cx: down.cx(), step: &self.step, views: &self.views };
        self.dofn.start_bundle(&BundleContext::new(scope)).map_err(self.user(Phase::StartBundle))
    }

    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(Batch { values, meta }) = input.as_any().downcast_mut::<Batch<ItemOf<D>>>() else {
            return Ok(());
        };
        for (i, item) in values.drain(..).enumerate() {
            self.work(item, Row::of(meta, i), down)?;
            self.out.flush(down)?;
            self.tags.iter_mut().try_for_each(|t| t.port.flush(down))?;
        }
        meta.clear();
        Ok(())
    }

    fn finish(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let scope = StepScope { cx: down.cx(), step: &self.step, views: &self.views };
        self.dofn.finish_bundle(&BundleContext::new(scope)).map_err(self.user(Phase::FinishBundle))
    }

    fn teardown(&mut self, cx: &BundleCx) -> KernelResult {
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        self.dofn.teardown(&SetupContext::new(scope)).map_err(self.user(Phase::Teardown))
    }
}
