//! Where a stage ends, and where several of its collections become one.

use super::{Downstream, Kernel, KernelResult};
use crate::batch::{BATCH_SIZE, ErasedBatch};

/// Hands everything on: the start of a stage, or a flatten inside one.
#[derive(Clone, Copy, Debug)]
pub struct Relay;

impl Kernel for Relay {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        down.send_erased(0, input)
    }
}

/// Gathers what leaves the stage on one edge.
#[derive(Debug)]
pub struct Boundary {
    edge: usize,
}

impl Boundary {
    /// The end of the stage's outgoing edge number `edge`.
    pub fn new(edge: usize) -> Boundary {
        Boundary { edge }
    }
}

impl Kernel for Boundary {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let mut effects = down.cx().effects();
        let outputs = &mut effects.outputs;
        // Small batches join the one before, so that an edge carries few.
        if let Some((edge, last)) = outputs.last_mut()
            && *edge == self.edge
            && last.len() + input.len() <= BATCH_SIZE
            && last.append(input)
        {
            return Ok(());
        }
        outputs.push((self.edge, input.take()));
        Ok(())
    }
}
