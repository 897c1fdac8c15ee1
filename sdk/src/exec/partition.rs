//! One input, several outputs of the same type.

use super::{Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port, Proto};
use crate::{
    Element, Phase, PipelineError, Step,
    batch::{AnyBatch, Batch, ErasedBatch, Row},
    coder_slot::CoderSlot,
};

/// Makes the kernels of a `Partition`.
pub(crate) struct PartitionFactory<T, F> {
    pub(crate) f: Proto<F>,
    /// One a part.
    pub(crate) coders: Vec<CoderSlot<T>>,
}

impl<T: Element, F: Fn(&T) -> usize + Clone + Send + 'static> KernelFactory for PartitionFactory<T, F> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let coders = self.coders.iter().enumerate();
        let ports = coders.map(|(i, coder)| Port::new(i, &spec.step, coder)).collect();
        Box::new(PartitionKernel { step: spec.step.clone(), f: self.f.get(), ports })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

struct PartitionKernel<T, F> {
    step: Step,
    f: F,
    ports: Vec<Port<T>>,
}

impl<T: Element, F: Fn(&T) -> usize + Send> Kernel for PartitionKernel<T, F> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(Batch { values, meta }) = input.as_any().downcast_mut::<Batch<T>>() else { return Ok(()) };
        let parts = self.ports.len();
        for (i, value) in values.drain(..).enumerate() {
            let part = (self.f)(&value);
            let port = self.ports.get_mut(part).ok_or_else(|| {
                let what =
                    format!("an element belongs to part {part}, but there are only parts 0 to {}", parts - 1);
                PipelineError::contract(self.step.clone(), Phase::Process, what)
            })?;
            port.batch.push(value, Row::of(meta, i));
        }
        meta.clear();
        self.ports.iter_mut().try_for_each(|p| p.flush(down))
    }
}
