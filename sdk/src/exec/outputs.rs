//! An enum of outputs taken apart: see `#[derive(Outputs)]`.

use super::{Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, TagPort, TagPortMaker};
use crate::{
    Phase, PipelineError, Step,
    batch::{AnyBatch, Batch, ErasedBatch, Row},
    outputs::{OutputRouter, Outputs},
};

/// Makes the kernels that take an enum of outputs apart.
pub(crate) struct SplitOutputs<E> {
    pub(crate) ports: Vec<TagPortMaker>,
    pub(crate) types: std::marker::PhantomData<fn(E)>,
}

impl<E: Outputs> KernelFactory for SplitOutputs<E> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(SplitKernel::<E> {
            step: spec.step.clone(),
            ports: self.ports.iter().enumerate().map(|(i, p)| p.port(i, &spec.step)).collect(),
            types: std::marker::PhantomData,
        })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<E>::default())
    }
}

struct SplitKernel<E> {
    step: Step,
    ports: Vec<TagPort>,
    types: std::marker::PhantomData<fn(E)>,
}

impl<E: Outputs> Kernel for SplitKernel<E> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(Batch { values, meta }) = input.as_any().downcast_mut::<Batch<E>>() else { return Ok(()) };
        for (i, value) in values.drain(..).enumerate() {
            let mut router = OutputRouter::new(&mut self.ports, down.reborrow(), Row::of(meta, i));
            value.route(&mut router);
            router.end().unwrap_or_else(|| {
                let what = "`route` put an element where `declare` declared no output for it";
                Err(PipelineError::contract(self.step.clone(), Phase::Process, what))
            })?;
        }
        meta.clear();
        self.ports.iter_mut().try_for_each(|p| p.port.flush(down))
    }
}
