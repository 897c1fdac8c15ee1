//! From elements to elements with restrictions.

use super::op::ItemOf;
use crate::{
    DoFnError, Phase, PipelineError, Step, Timestamp,
    batch::{Batch, ErasedBatch, Row},
    coder_slot::CoderSlot,
    dofn::StepScope,
    exec::{Downstream, Kernel, KernelResult, Port},
    sdf::{SdfContext, SplittableDoFn},
};

pub(super) struct PairKernel<D: SplittableDoFn> {
    step: Step,
    dofn: D,
    out: Port<ItemOf<D>>,
}

/// Parts of an initial split for each bundle that may run at once: enough that workers end at about the same time, few
/// enough that a part is worth a bundle.
const PARTS_PER_WORKER: usize = 4;

impl<D: SplittableDoFn> PairKernel<D> {
    pub(super) fn new(step: &Step, dofn: D, items: &CoderSlot<ItemOf<D>>) -> PairKernel<D> {
        PairKernel { step: step.clone(), dofn, out: Port::new(0, step, items) }
    }

    fn pair(&mut self, element: D::Input, row: Row<'_>, down: &mut Downstream<'_>) -> KernelResult {
        let bundle = down.cx();
        let failed = |phase| move |e: DoFnError| (phase, e);
        let made = (|| {
            let scope = StepScope { cx: bundle, step: &self.step, views: &[] };
            let cx = SdfContext::new(scope, row);
            bundle.phase(Phase::InitialRestriction);
            let all =
                self.dofn.initial_restriction(&element, &cx).map_err(failed(Phase::InitialRestriction))?;
            bundle.phase(Phase::Split);
            let desired = PARTS_PER_WORKER * bundle.env.parallelism;
            let parts = self.dofn.split(&element, all, desired, &cx).map_err(failed(Phase::Split))?;
            let mut items = Vec::with_capacity(parts.len());
            for restriction in parts {
                let size = self.dofn.size(&element, &restriction, &cx).map_err(failed(Phase::Split))?;
                if !(size >= 0.0 && size.is_finite()) {
                    let what = DoFnError::msg(format!(
                        "the size of a restriction must not be below zero, but is {size}"
                    ));
                    return Err((Phase::Split, what));
                }
                bundle.phase(Phase::Watermark);
                let state = self
                    .dofn
                    .initial_watermark_state(&element, &restriction, &cx)
                    .map_err(failed(Phase::Watermark))?;
                items.push((restriction, state, size));
            }
            Ok(items)
        })();
        let items = made.map_err(|(phase, e)| PipelineError::user(self.step.clone(), phase, e))?;
        for (restriction, state, size) in items {
            let watermark = row.time();
            let item = ItemOf::<D> {
                element: element.clone(),
                restriction,
                state,
                size,
                watermark,
                // Nothing yet.
                estimated: Timestamp::MIN,
                truncated: false,
            };
            self.out.batch.push(item, row);
        }
        self.out.flush_full(down)
    }
}

impl<D: SplittableDoFn> Kernel for PairKernel<D> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<D::Input>>() else { return Ok(()) };
        batch.explode();
        let Batch { values, meta } = batch;
        for (i, element) in values.drain(..).enumerate() {
            self.pair(element, Row::of(meta, i), down)?;
        }
        meta.clear();
        self.out.flush(down)
    }
}
