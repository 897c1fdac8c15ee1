//! The parts of pairing that engines run one by one.

use super::{
    op::{ItemOf, SdfPart},
    pair::{begun, size_of, split_and_size},
};
use crate::{
    DoFnError, Phase, PipelineError, Step,
    batch::{Batch, ErasedBatch, Row},
    coder_slot::CoderSlot,
    dofn::StepScope,
    exec::{BundleCx, Downstream, Kernel, KernelResult, Port},
    sdf::{SdfContext, SplittableDoFn},
};

pub(super) struct PartKernel<D: SplittableDoFn> {
    part: SdfPart,
    step: Step,
    dofn: D,
    out: Port<ItemOf<D>>,
}

type Failed = (Phase, DoFnError);

impl<D: SplittableDoFn> PartKernel<D> {
    pub(super) fn new(part: SdfPart, step: &Step, dofn: D, items: &CoderSlot<ItemOf<D>>) -> PartKernel<D> {
        PartKernel { part, step: step.clone(), dofn, out: Port::new(0, step, items) }
    }

    /// The element with all of its work, whose size is not known yet.
    fn pair(&mut self, element: D::Input, row: Row<'_>, bundle: &BundleCx) -> Result<(), Failed> {
        let cx = SdfContext::new(StepScope { cx: bundle, step: &self.step, views: &[] }, row);
        bundle.phase(Phase::InitialRestriction);
        let all = self.dofn.initial_restriction(&element, &cx).map_err(|e| (Phase::InitialRestriction, e))?;
        bundle.phase(Phase::Watermark);
        let state =
            self.dofn.initial_watermark_state(&element, &all, &cx).map_err(|e| (Phase::Watermark, e))?;
        self.out.batch.push(begun::<D>(element, all, state, 0.0, row.time()), row);
        Ok(())
    }

    fn split(&mut self, item: ItemOf<D>, row: Row<'_>, bundle: &BundleCx) -> Result<(), Failed> {
        let cx = SdfContext::new(StepScope { cx: bundle, step: &self.step, views: &[] }, row);
        for (restriction, state, size) in
            split_and_size(&self.dofn, &item.element, item.restriction, bundle, &cx)?
        {
            let item = begun::<D>(item.element.clone(), restriction, state, size, item.watermark);
            self.out.batch.push(item, row);
        }
        Ok(())
    }

    fn truncate(&mut self, mut item: ItemOf<D>, row: Row<'_>, bundle: &BundleCx) -> Result<(), Failed> {
        let cx = SdfContext::new(StepScope { cx: bundle, step: &self.step, views: &[] }, row);
        if !item.truncated {
            bundle.phase(Phase::Truncate);
            let left =
                self.dofn.truncate(&item.element, item.restriction, &cx).map_err(|e| (Phase::Truncate, e))?;
            let Some(left) = left else { return Ok(()) };
            item.size = size_of(&self.dofn, &item.element, &left, &cx)?;
            item.restriction = left;
            item.truncated = true;
        }
        self.out.batch.push(item, row);
        Ok(())
    }

    fn failed(&self, (phase, cause): Failed) -> PipelineError {
        PipelineError::user(self.step.clone(), phase, cause)
    }
}

impl<D: SplittableDoFn> Kernel for PartKernel<D> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        // A restriction is in one window, since what is split off of it is.
        input.explode();
        let cx = down.cx();
        if let Some(Batch { values, meta }) = input.as_any().downcast_mut::<Batch<D::Input>>() {
            for (i, element) in values.drain(..).enumerate() {
                self.pair(element, Row::of(meta, i), cx).map_err(|e| self.failed(e))?;
                self.out.flush_full(down)?;
            }
            meta.clear();
        } else if let Some(Batch { values, meta }) = input.as_any().downcast_mut::<Batch<ItemOf<D>>>() {
            for (i, item) in values.drain(..).enumerate() {
                match self.part {
                    SdfPart::Truncate => self.truncate(item, Row::of(meta, i), cx),
                    SdfPart::Pair | SdfPart::SplitAndSize => self.split(item, Row::of(meta, i), cx),
                }
                .map_err(|e| self.failed(e))?;
                self.out.flush_full(down)?;
            }
            meta.clear();
        }
        self.out.flush(down)
    }
}
