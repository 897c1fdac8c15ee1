//! From elements to elements with restrictions.

use super::op::ItemOf;
use crate::{
    DoFnError, Phase, PipelineError, Step, Timestamp,
    batch::{Batch, ErasedBatch, Row},
    coder_slot::CoderSlot,
    dofn::StepScope,
    exec::{BundleCx, Downstream, Kernel, KernelResult, Port},
    sdf::{RestrictionOf, SdfContext, SplittableDoFn, WatermarkStateOf},
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
            split_and_size(&self.dofn, &element, all, bundle, &cx)
        })();
        let items = made.map_err(|(phase, e)| PipelineError::user(self.step.clone(), phase, e))?;
        for (restriction, state, size) in items {
            let item = begun::<D>(element.clone(), restriction, state, size, row.time());
            self.out.batch.push(item, row);
        }
        self.out.flush_full(down)
    }
}

/// An element with work that nobody began.
pub(super) fn begun<D: SplittableDoFn>(
    element: D::Input,
    restriction: RestrictionOf<D>,
    state: WatermarkStateOf<D>,
    size: f64,
    watermark: Timestamp,
) -> ItemOf<D> {
    // Nothing is estimated yet.
    ItemOf::<D> { element, restriction, state, size, watermark, estimated: Timestamp::MIN, truncated: false }
}

/// A part of a restriction, the state of its estimator, and its size.
type Part<D> = (RestrictionOf<D>, WatermarkStateOf<D>, f64);

/// The parts that `all` is cut into before work begins.
pub(super) fn split_and_size<D: SplittableDoFn>(
    dofn: &D,
    element: &D::Input,
    all: RestrictionOf<D>,
    bundle: &BundleCx,
    cx: &SdfContext<'_>,
) -> Result<Vec<Part<D>>, (Phase, DoFnError)> {
    bundle.phase(Phase::Split);
    let desired = PARTS_PER_WORKER * bundle.env.parallelism;
    let parts = dofn.split(element, all, desired, cx).map_err(|e| (Phase::Split, e))?;
    let mut made = Vec::with_capacity(parts.len());
    for restriction in parts {
        let size = size_of(dofn, element, &restriction, cx)?;
        bundle.phase(Phase::Watermark);
        let state =
            dofn.initial_watermark_state(element, &restriction, cx).map_err(|e| (Phase::Watermark, e))?;
        made.push((restriction, state, size));
    }
    Ok(made)
}

/// How much work `restriction` is.
pub(super) fn size_of<D: SplittableDoFn>(
    dofn: &D,
    element: &D::Input,
    restriction: &RestrictionOf<D>,
    cx: &SdfContext<'_>,
) -> Result<f64, (Phase, DoFnError)> {
    let size = dofn.size(element, restriction, cx).map_err(|e| (Phase::Split, e))?;
    if size >= 0.0 && size.is_finite() {
        return Ok(size);
    }
    let what = DoFnError::msg(format!("the size of a restriction must not be below zero, but is {size}"));
    Err((Phase::Split, what))
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
