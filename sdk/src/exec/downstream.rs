//! How a kernel hands on what it made.

use std::fmt;

use super::{
    BundleCx,
    instance::{Slot, run_slot},
    kernel::KernelResult,
};
use crate::{
    Element, PipelineError,
    batch::{BATCH_SIZE, Batch, ErasedBatch},
};

/// When a consumer's input is this long it is worked off before more is added.
const HIGH_WATER: usize = 4 * BATCH_SIZE;

/// The kernels behind the one at work.
pub struct Downstream<'a> {
    pub(super) tail: &'a mut [Slot],
    pub(super) first: usize,
    pub(super) routes: &'a [Vec<usize>],
    pub(super) cx: &'a BundleCx,
}

impl<'a> Downstream<'a> {
    /// The bundle.
    pub fn cx(&self) -> &'a BundleCx {
        self.cx
    }

    /// The same, for as long as the borrow lasts.
    pub(crate) fn reborrow(&mut self) -> Downstream<'_> {
        Downstream { tail: &mut *self.tail, first: self.first, routes: self.routes, cx: self.cx }
    }

    /// Hands all of `batch` to every consumer of output `port`; the batch is empty afterwards and may have got other
    /// buffers.
    pub fn send<T: Element>(&mut self, port: usize, batch: &mut Batch<T>) -> KernelResult {
        if batch.is_empty() {
            return Ok(());
        }
        self.cx.counts().went_out(self.first - 1, batch.len());
        let mut high = false;
        if let Some((last, others)) = self.routes.get(port).and_then(|r| r.split_last()) {
            for consumer in others {
                let input = input_of::<T>(self.tail, *consumer, self.first)?;
                input.append_clone(batch);
                high |= input.len() >= HIGH_WATER;
            }
            let input = input_of::<T>(self.tail, *last, self.first)?;
            input.append(batch);
            high |= input.len() >= HIGH_WATER;
        }
        batch.clear();
        if high { self.pump() } else { Ok(()) }
    }

    /// Like [`send`](Self::send), for a batch whose element type is not known here.
    ///
    /// # Errors
    /// What failed in the transforms behind, when it is worked off at once.
    pub fn send_erased(&mut self, port: usize, batch: &mut dyn ErasedBatch) -> KernelResult {
        self.cx.counts().went_out(self.first - 1, batch.len());
        let Some((last, others)) = self.routes.get(port).and_then(|r| r.split_last()) else {
            drop(batch.take());
            return Ok(());
        };
        let mut high = false;
        for (consumer, copy) in others.iter().map(|c| (c, true)).chain([(last, false)]) {
            let slot = consumer.checked_sub(self.first).and_then(|i| self.tail.get_mut(i));
            let sent = slot.is_some_and(|slot| {
                let sent =
                    if copy { slot.input.append(&mut *batch.copy()) } else { slot.input.append(batch) };
                high |= slot.input.len() >= HIGH_WATER;
                sent
            });
            if !sent {
                return Err(PipelineError::runner(format!(
                    "the plan connects an output to kernel {consumer}, which takes something else"
                )));
            }
        }
        if high { self.pump() } else { Ok(()) }
    }

    /// Runs every kernel behind this one that has input, front to back.
    pub fn pump(&mut self) -> KernelResult {
        if !self.cx.descend() {
            return Ok(());
        }
        let position = self.cx.position();
        let mut done = Ok(());
        for i in 0..self.tail.len() {
            if !self.tail[i].input.is_empty() {
                done = run_slot(self.tail, i, self.first, self.cx);
                if done.is_err() {
                    break;
                }
            }
        }
        self.cx.ascend();
        self.cx.restore(position);
        done
    }
}

fn input_of<T: Element>(
    tail: &mut [Slot],
    consumer: usize,
    first: usize,
) -> Result<&mut Batch<T>, PipelineError> {
    consumer
        .checked_sub(first)
        .and_then(|i| tail.get_mut(i))
        .and_then(|slot| slot.input.as_any().downcast_mut())
        .ok_or_else(|| {
            PipelineError::runner(format!(
                "the plan connects an output of `{}` to kernel {consumer}, which takes something else",
                std::any::type_name::<T>()
            ))
        })
}

impl fmt::Debug for Downstream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} kernels from {} on", self.tail.len(), self.first)
    }
}
