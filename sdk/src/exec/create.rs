//! A collection whose elements are in the pipeline itself.

use std::sync::Arc;

use super::{Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port};
use crate::{
    Element, Timestamp,
    batch::{AnyBatch, Batch, ErasedBatch, Row},
    coder_slot::CoderSlot,
};

/// Makes the kernel of a `create`.
pub(crate) struct CreateFactory<T> {
    pub(crate) values: Arc<Vec<(T, Option<Timestamp>)>>,
    pub(crate) coder: CoderSlot<T>,
}

impl<T: Element> KernelFactory for CreateFactory<T> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(CreateKernel { values: self.values.clone(), out: Port::new(0, &spec.step, &self.coder) })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<Vec<u8>>::default())
    }
}

struct CreateKernel<T> {
    values: Arc<Vec<(T, Option<Timestamp>)>>,
    out: Port<T>,
}

impl<T: Element> Kernel for CreateKernel<T> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        for i in 0..input.len() {
            for (value, timestamp) in self.values.iter() {
                let row = Row { timestamp: *timestamp, ..Row::of(input.meta(), i) };
                self.out.batch.push(value.clone(), row);
                self.out.flush_full(down)?;
            }
        }
        drop(input.take());
        self.out.flush(down)
    }
}
