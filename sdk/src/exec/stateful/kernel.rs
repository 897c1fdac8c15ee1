//! A keyed DoFn at work.

use std::{cell::Cell, sync::Arc};

use super::{bundle::Bundle, op::StatefulOp, store::KeyStore};
use crate::{
    DoFnError, KeyedDoFn, Phase, PipelineError, Step, Tag, Timestamp,
    batch::{AnyBatch, ErasedBatch},
    dofn::{BundleContext, BundleEmitter, SetupContext, StepScope},
    exec::{BundleCx, BundleInput, Downstream, Kernel, KernelResult, Port, TagPort},
    keyed_dofn::TimerRules,
    metrics::{DROPPED_DUE_TO_LATENESS, LATE_DATA_OUTPUT},
};

pub(super) type StoreOf<D> =
    KeyStore<<D as KeyedDoFn>::Key, <D as KeyedDoFn>::Value, <D as KeyedDoFn>::State>;

/// The start of a stage behind the key groups of a keyed DoFn.
pub(super) struct StatefulRoot<D: KeyedDoFn> {
    pub(super) step: Step,
    pub(super) dofn: D,
    pub(super) views: Arc<[Arc<str>]>,
    pub(super) out: Port<D::Output>,
    pub(super) tags: Vec<TagPort>,
    pub(super) late: Option<Tag<(D::Key, D::Value)>>,
    pub(super) time_sorted: bool,
}

impl<D: KeyedDoFn> StatefulRoot<D> {
    pub(super) fn new(step: &Step, op: &StatefulOp<D>) -> StatefulRoot<D> {
        StatefulRoot {
            step: step.clone(),
            dofn: op.dofn.get(),
            views: op.views.clone(),
            out: Port::new(0, step, &op.coder),
            tags: op.tags.iter().enumerate().map(|(i, t)| t.port(i + 1, step)).collect(),
            late: op.late,
            time_sorted: op.time_sorted,
        }
    }

    fn failed(&self, phase: Phase, cause: DoFnError) -> PipelineError {
        PipelineError::user(self.step.clone(), phase, cause)
    }

    fn flush(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.out.flush(down)?;
        self.tags.iter_mut().try_for_each(|t| t.port.flush(down))
    }

    fn run_group(
        &mut self,
        store: &mut StoreOf<D>,
        batches: Vec<AnyBatch>,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let cx = down.cx();
        store.begin(cx.env.atomic);
        let rules = TimerRules {
            lateness: store.keeping.lateness,
            skew: self.dofn.allowed_timestamp_skew(),
            now: Cell::new(cx.now),
            order: Cell::new(store.order),
        };
        let watermark = cx.watermark.unwrap_or(Timestamp::MIN);
        let mut bundle = Bundle { root: self, store, rules: &rules, watermark, dropped: 0, rescued: 0 };
        for mut batch in batches {
            if let Some(batch) = batch.as_any().downcast_mut() {
                bundle.elements(batch, down)?;
            }
        }
        bundle.times(down)?;
        bundle.expire(down)?;
        for (n, name) in [(bundle.dropped, DROPPED_DUE_TO_LATENESS), (bundle.rescued, LATE_DATA_OUTPUT)] {
            if n > 0 {
                cx.metrics().counter(&bundle.root.step, name).inc(n);
            }
        }
        store.tidy();
        store.order = rules.order.get();
        Ok(())
    }
}

impl<D: KeyedDoFn> Kernel for StatefulRoot<D> {
    fn setup(&mut self, cx: &BundleCx) -> KernelResult {
        let scope = StepScope { cx, step: &self.step, views: &self.views };
        self.dofn.setup(&SetupContext::new(scope)).map_err(|e| self.failed(Phase::Setup, e))
    }

    fn start(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let scope = StepScope { cx: down.cx(), step: &self.step, views: &self.views };
        self.dofn.start_bundle(&BundleContext::new(scope)).map_err(|e| self.failed(Phase::StartBundle, e))
    }

    fn run(&mut self, _input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        Err(PipelineError::runner(format!("{} was given elements outside a key group", self.step)))
    }

    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        let mut keyed = down.cx().keyed();
        let store = keyed.as_mut().and_then(|s| s.as_any().downcast_mut::<StoreOf<D>>());
        let (BundleInput::KeyGroup { batches }, Some(store)) = (input, store) else {
            let what = format!("{} was given something else than a key group", self.step);
            return Err(PipelineError::runner(what));
        };
        self.run_group(store, batches, down)?;
        self.flush(down)
    }

    fn finish(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let StatefulRoot { step, dofn, views, out, tags, .. } = self;
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
