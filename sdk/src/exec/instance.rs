//! The kernels of a stage, made and set up: what runs bundles.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{BundleCx, BundleInput, Downstream, Kernel, KernelResult, failing_step};
use crate::{Phase, PipelineError, Step, batch::AnyBatch};

/// One kernel of a stage.
pub struct Slot {
    /// The transform.
    pub step: Step,
    /// What runs it.
    pub kernel: Box<dyn Kernel>,
    /// What waits to be run through it.
    pub input: AnyBatch,
    /// For each of its outputs, the consumers among the slots behind it.
    pub routes: Vec<Vec<usize>>,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {:?}", self.step, self.routes)
    }
}

/// The kernels of a stage in topological order. Used by one thread at a time.
#[derive(Debug)]
pub struct StageInstance {
    slots: Vec<Slot>,
    set_up: usize,
}

impl StageInstance {
    /// An instance whose kernels are not set up.
    pub fn new(slots: Vec<Slot>) -> StageInstance {
        StageInstance { slots, set_up: 0 }
    }

    /// Runs a bundle; sets the kernels up before the first. A panic of the user's is an error like any other. After an
    /// error the instance may only be torn down.
    ///
    /// # Errors
    /// What failed the bundle.
    pub fn run(&mut self, input: BundleInput, cx: &BundleCx) -> KernelResult {
        caught(cx, &mut self.slots, |slots| {
            while self.set_up < slots.len() {
                let i = self.set_up;
                // Counted before the call: one whose setup failed is torn down too.
                self.set_up += 1;
                cx.enter(i, Phase::Setup);
                slots[i].kernel.setup(cx)?;
            }
            run_bundle(slots, input, cx)
        })
    }

    /// Tears every kernel down that was set up, whatever the others do, and returns the first error. What is the user's is
    /// dropped here, since its `Drop` may panic.
    pub fn teardown(mut self, cx: &BundleCx) -> KernelResult {
        let mut first = Ok(());
        for i in 0..self.set_up {
            let done = caught(cx, &mut self.slots, |slots| {
                cx.enter(i, Phase::Teardown);
                slots[i].kernel.teardown(cx)
            });
            first = first.and(done);
        }
        for slot in self.slots {
            first = first.and(dropped(slot));
        }
        first
    }
}

/// Drops a kernel.
fn dropped(slot: Slot) -> KernelResult {
    let step = slot.step.clone();
    catch_unwind(AssertUnwindSafe(|| drop(slot)))
        .map_err(|payload| PipelineError::panic(Some(step), Some(Phase::Teardown), &*payload))
}

fn run_bundle(slots: &mut [Slot], input: BundleInput, cx: &BundleCx) -> KernelResult {
    for i in 0..slots.len() {
        cx.enter(i, Phase::StartBundle);
        with_downstream(slots, i, 0, cx, |slot, down| slot.kernel.start(down))?;
    }
    cx.enter(0, Phase::Process);
    cx.counts().came_in(0, input.len());
    with_downstream(slots, 0, 0, cx, |slot, down| slot.kernel.run_root(input, down))?;
    for i in 0..slots.len() {
        if !slots[i].input.is_empty() {
            run_slot(slots, i, 0, cx)?;
        }
        cx.enter(i, Phase::FinishBundle);
        with_downstream(slots, i, 0, cx, |slot, down| slot.kernel.finish(down))?;
    }
    for (i, slot) in slots.iter_mut().enumerate() {
        cx.enter(i, Phase::FinishBundle);
        slot.kernel.seal(cx)?;
    }
    Ok(())
}

/// Runs what waits for slot `i` of `slots`, the first of which has the number `first`.
pub(super) fn run_slot(slots: &mut [Slot], i: usize, first: usize, cx: &BundleCx) -> KernelResult {
    if cx.control.is_cancelled() {
        return Err(PipelineError::cancelled());
    }
    cx.enter(first + i, Phase::Process);
    cx.counts().came_in(first + i, slots[i].input.len());
    with_downstream(slots, i, first, cx, |slot, down| slot.kernel.run(&mut **slot.input, down))
}

struct Working<'a> {
    kernel: &'a mut dyn Kernel,
    input: &'a mut AnyBatch,
}

fn with_downstream(
    slots: &mut [Slot],
    i: usize,
    first: usize,
    cx: &BundleCx,
    work: impl FnOnce(Working<'_>, &mut Downstream<'_>) -> KernelResult,
) -> KernelResult {
    let (head, tail) = slots.split_at_mut(i + 1);
    let Slot { kernel, input, routes, .. } = &mut head[i];
    let mut down = Downstream { tail, first: first + i + 1, routes, cx };
    work(Working { kernel: &mut **kernel, input }, &mut down)
}

fn caught(
    cx: &BundleCx,
    slots: &mut Vec<Slot>,
    work: impl FnOnce(&mut Vec<Slot>) -> KernelResult,
) -> KernelResult {
    failing_step::clear();
    // The instance is thrown away after a panic, so nothing half-changed is seen again.
    catch_unwind(AssertUnwindSafe(|| work(slots))).unwrap_or_else(|payload| {
        let (slot, phase) = cx.position().unzip();
        let step = failing_step::take().or_else(|| slot.and_then(|i| slots.get(i)).map(|s| s.step.clone()));
        Err(PipelineError::panic(step, phase, &*payload))
    })
}
