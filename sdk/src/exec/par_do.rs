//! A DoFn at work.

use std::sync::Arc;

use super::{
    BundleCx, Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port, Proto, TagPort, TagPortMaker,
};
use crate::{
    DoFn, DoFnError, Phase, PipelineError, Step, Tag,
    batch::{AnyBatch, Batch, ErasedBatch, Row},
    coder_slot::CoderSlot,
    dofn::{
        BundleContext, BundleEmitter, EmitRules, Emitter, Failed, ProcessContext, SetupContext, StepScope,
    },
    named,
};

/// Makes the kernels of a ParDo.
pub(crate) struct ParDoFactory<D: DoFn> {
    pub(crate) dofn: Proto<D>,
    pub(crate) views: Arc<[Arc<str>]>,
    pub(crate) coder: CoderSlot<D::Output>,
    pub(crate) tags: Vec<TagPortMaker>,
    pub(crate) dead_letters: Option<Tag<Failed<D::Input>>>,
}

impl<D: DoFn> KernelFactory for ParDoFactory<D> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(ParDoKernel {
            step: spec.step.clone(),
            dofn: self.dofn.get(),
            views: self.views.clone(),
            out: Port::new(0, &spec.step, &self.coder),
            tags: self.tags.iter().enumerate().map(|(i, t)| t.port(i + 1, &spec.step)).collect(),
            dead_letters: self.dead_letters,
        })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<D::Input>::default())
    }

    fn requires_stable_input(&self) -> bool {
        D::REQUIRES_STABLE_INPUT
    }

    fn with_payload(&self, payload: &serde_json::Value) -> crate::Result<Option<Arc<dyn KernelFactory>>> {
        let Some(dofn) = named::restored::<D>(payload)? else { return Ok(None) };
        Ok(Some(Arc::new(ParDoFactory {
            dofn: Proto::new(dofn),
            views: self.views.clone(),
            coder: self.coder.clone(),
            tags: self.tags.clone(),
            dead_letters: self.dead_letters,
        })))
    }
}

struct ParDoKernel<D: DoFn> {
    step: Step,
    dofn: D,
    views: Arc<[Arc<str>]>,
    out: Port<D::Output>,
    tags: Vec<TagPort>,
    dead_letters: Option<Tag<Failed<D::Input>>>,
}

impl<D: DoFn> ParDoKernel<D> {
    fn failed(&self, phase: Phase, cause: DoFnError) -> PipelineError {
        PipelineError::user(self.step.clone(), phase, cause)
    }

    fn flush(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.out.flush(down)?;
        self.tags.iter_mut().try_for_each(|t| t.port.flush(down))
    }
}

impl<D: DoFn> Kernel for ParDoKernel<D> {
    fn setup(&mut self, cx: &BundleCx) -> KernelResult {
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        self.dofn.setup(&SetupContext::new(scope)).map_err(|e| self.failed(Phase::Setup, e))
    }

    fn start(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let scope = StepScope { cx: down.cx(), step: &self.step, views: &self.views };
        self.dofn.start_bundle(&BundleContext::new(scope)).map_err(|e| self.failed(Phase::StartBundle, e))
    }

    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<D::Input>>() else { return Ok(()) };
        batch.explode();
        let Batch { values, meta } = batch;
        if values.is_empty() {
            return Ok(());
        }
        let ParDoKernel { step, dofn, views, out, tags, dead_letters } = self;
        let scope = StepScope { cx: down.cx(), step, views };
        let rules = EmitRules { step, skew: dofn.allowed_timestamp_skew(), phase: Phase::Process };
        let first = Row::of(meta, 0);
        let mut pcx = ProcessContext::new(scope, first);
        let mut emitter = Emitter::new(out, tags, down.reborrow(), first, rules);
        let user = |e| PipelineError::user(step.clone(), Phase::Process, e);
        for (i, value) in values.drain(..).enumerate() {
            if scope.cx.control.is_cancelled() {
                return Err(PipelineError::cancelled());
            }
            let row = Row::of(meta, i);
            pcx.set_row(row);
            emitter.turn_to(row);
            match dead_letters {
                None => dofn.process(value, &pcx, &mut emitter).map_err(user)?,
                Some(tag) => {
                    let kept = value.clone();
                    let len = emitter.hold();
                    if let Err(e) = dofn.process(value, &pcx, &mut emitter) {
                        emitter.undo_to(len);
                        let letter =
                            Failed { element: kept, error: e.to_string(), step: step.path().to_owned() };
                        emitter.emit_to(*tag, letter);
                    }
                    emitter.release();
                }
            }
            emitter.end_row()?;
        }
        drop(emitter);
        meta.clear();
        self.flush(down)
    }

    fn finish(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let ParDoKernel { step, dofn, views, out, tags, .. } = self;
        let scope = StepScope { cx: down.cx(), step, views };
        let mut emitter = BundleEmitter::new(out, tags, down.reborrow(), step);
        dofn.finish_bundle(&BundleContext::new(scope), &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), Phase::FinishBundle, e))?;
        emitter.end()?;
        self.flush(down)
    }

    fn teardown(&mut self, cx: &BundleCx) -> KernelResult {
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        self.dofn.teardown(&SetupContext::new(scope)).map_err(|e| self.failed(Phase::Teardown, e))
    }
}
