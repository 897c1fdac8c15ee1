//! A run of closures that keep their types: one kernel, one loop, named steps.

use std::marker::PhantomData;

use super::{Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port, Proto};
use crate::{
    Element, Step,
    batch::{AnyBatch, Batch, ErasedBatch},
    coder_slot::CoderSlot,
    fused::FusedChain,
};

/// Which step of a fused run is at work, remembered only while a panic unwinds through it.
pub(crate) mod failing_step {
    use std::cell::RefCell;

    use crate::Step;

    thread_local! {
        static FAILING: RefCell<Option<Step>> = const { RefCell::new(None) };
    }

    pub(crate) fn clear() {
        FAILING.with(|f| *f.borrow_mut() = None);
    }

    pub(crate) fn take() -> Option<Step> {
        FAILING.with(|f| f.borrow_mut().take())
    }

    pub(super) fn set(step: &Step) {
        FAILING.with(|f| {
            f.borrow_mut().get_or_insert_with(|| step.clone());
        });
    }
}

/// One step of a fused run.
#[derive(Clone, Debug)]
pub(crate) struct FusedStep(Step);

struct Unwinding<'a>(&'a Step);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        failing_step::set(self.0);
    }
}

impl FusedStep {
    pub(crate) fn new(step: Step) -> FusedStep {
        FusedStep(step)
    }

    /// Calls `f`; should it panic, this step is known to be where. Costs nothing when it does not.
    #[inline(always)]
    pub(crate) fn call<R>(&self, f: impl FnOnce() -> R) -> R {
        let unwinding = Unwinding(&self.0);
        let result = f();
        std::mem::forget(unwinding);
        result
    }
}

/// Makes the kernels of a fused run.
pub(crate) struct FusedFactory<T, O, C> {
    chain: Proto<C>,
    coder: CoderSlot<O>,
    types: PhantomData<fn(T)>,
}

impl<T, O, C: Clone> FusedFactory<T, O, C> {
    pub(crate) fn new(chain: C, coder: CoderSlot<O>) -> FusedFactory<T, O, C> {
        FusedFactory { chain: Proto::new(chain), coder, types: PhantomData }
    }
}

impl<T: Element, O: Element, C: FusedChain<T, O>> KernelFactory for FusedFactory<T, O, C> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let out = Port::new(0, &spec.step, &self.coder);
        Box::new(FusedKernel { chain: self.chain.get(), out, types: PhantomData::<fn(T)> })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

struct FusedKernel<T, O, C> {
    chain: C,
    out: Port<O>,
    types: PhantomData<fn(T)>,
}

impl<T: Element, O: Element, C: FusedChain<T, O>> Kernel for FusedKernel<T, O, C> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<T>>() else { return Ok(()) };
        let chain = &self.chain;
        if C::AT_MOST_ONE {
            return self.out.narrow(batch, down, chain);
        }
        self.out.expand(batch, down, |value, out| chain.run(value, &mut |o| out.push(o)))
    }
}
