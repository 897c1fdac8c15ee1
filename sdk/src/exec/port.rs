//! Where a kernel gathers one of its outputs.

use std::{any::Any, fmt};

use super::{
    Downstream, KernelResult,
    narrow::{CHUNK, MOVED, in_place},
};
use crate::{
    Element, Phase, PipelineError, Step,
    batch::{BATCH_SIZE, Batch, Column, Row},
    coder::{CoderRef, Scratch, recoded},
    coder_slot::{CoderSlot, Same},
    fused::FusedChain,
};

/// A kernel that makes several elements of one hands on what it has when it has this many.
const OVERFULL: usize = 2 * BATCH_SIZE;

/// One output of a kernel: the batch that is being filled.
pub(crate) struct Port<T> {
    number: usize,
    step: Step,
    coder: CoderRef<T>,
    same: Option<Same<T>>,
    pub(crate) batch: Batch<T>,
}

impl<T: Element> Port<T> {
    pub(crate) fn new(number: usize, step: &Step, coder: &CoderSlot<T>) -> Port<T> {
        Port { number, step: step.clone(), coder: coder.get(), same: coder.same(), batch: Batch::default() }
    }

    /// Hands on what is there.
    pub(crate) fn flush(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        if down.cx().env.checks.recode {
            self.recode()?;
        }
        down.send(self.number, &mut self.batch)
    }

    /// Hands on what is there once it makes a batch, and lets it be worked off.
    #[inline]
    pub(crate) fn flush_full(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        if self.batch.len() < BATCH_SIZE {
            return Ok(());
        }
        self.flush(down)?;
        down.pump()
    }

    /// Takes all of `input` and gathers what `f` makes of each element, with that element's timestamp, windows and
    /// pane.
    #[inline]
    pub(crate) fn expand<I>(
        &mut self,
        input: &mut Batch<I>,
        down: &mut Downstream<'_>,
        mut f: impl FnMut(I, &mut Vec<T>),
    ) -> KernelResult {
        let Batch { values, meta } = input;
        if let Some(times) = meta.only_times_differ() {
            self.batch.meta.clear();
            self.batch.meta.windows = meta.windows.clone();
            self.batch.meta.panes = meta.panes.clone();
            let mut ours = self.batch.meta.take_times();
            for (value, at) in values.drain(..).zip(times) {
                f(value, &mut self.batch.values);
                match self.batch.values.len() - ours.len() {
                    0 => {}
                    1 => ours.push(*at),
                    _ => ours.resize(self.batch.values.len(), *at),
                }
                if ours.len() >= OVERFULL {
                    self.batch.meta.times = Column::Each(ours);
                    self.flush_full(down)?;
                    self.batch.meta.windows = meta.windows.clone();
                    self.batch.meta.panes = meta.panes.clone();
                    ours = self.batch.meta.take_times();
                }
            }
            self.batch.meta.times = Column::Each(ours);
        } else if meta.is_constant() {
            self.batch.meta.clone_from(meta);
            for value in values.drain(..) {
                f(value, &mut self.batch.values);
                if self.batch.values.len() >= OVERFULL {
                    self.flush_full(down)?;
                    self.batch.meta.clone_from(meta);
                }
            }
        } else {
            for (i, value) in values.drain(..).enumerate() {
                let before = self.batch.values.len();
                f(value, &mut self.batch.values);
                let more = self.batch.values.len() - before;
                self.batch.meta.append(before, Row::of(meta, i), more);
                if before + more >= OVERFULL {
                    self.flush_full(down)?;
                }
            }
        }
        meta.clear();
        self.flush(down)
    }

    /// Like [`expand`](Self::expand), for a chain that makes at most one element of each.
    #[inline]
    pub(crate) fn narrow<I, C: FusedChain<I, T>>(
        &mut self,
        input: &mut Batch<I>,
        down: &mut Downstream<'_>,
        chain: &C,
    ) -> KernelResult {
        let Batch { values, meta } = input;
        let ours = &mut self.batch.values;
        if let Some(times) = meta.only_times_differ() {
            self.batch.meta.windows = meta.windows.clone();
            self.batch.meta.panes = meta.panes.clone();
            let mut our_times = self.batch.meta.take_times();
            ours.reserve(values.len());
            our_times.reserve(values.len());
            let mut values = values.drain(..);
            for times in times.chunks(CHUNK) {
                chain.run_chunk(values.by_ref().take(times.len()), &mut |i, made| {
                    ours.push(made);
                    our_times.push(times[i]);
                });
            }
            drop(values);
            self.batch.meta.times = Column::Each(our_times);
        } else if meta.is_constant() {
            self.batch.meta.clone_from(meta);
            ours.reserve(values.len());
            let mut values = values.drain(..);
            while values.len() > 0 {
                chain.run_chunk(values.by_ref().take(CHUNK), &mut |_, made| ours.push(made));
            }
        } else {
            return self.expand(input, down, |value, out| chain.run(value, &mut |made| out.push(made)));
        }
        meta.clear();
        self.flush(down)
    }

    /// Takes all of `input` and hands on the elements for which `f` says so.
    #[inline]
    pub(crate) fn keep(
        &mut self,
        input: &mut Batch<T>,
        down: &mut Downstream<'_>,
        f: impl Fn(&T) -> bool,
    ) -> KernelResult {
        let movable = input.meta.is_constant() || input.meta.only_times_differ().is_some();
        if size_of::<T>() > MOVED || !movable {
            return self.expand(input, down, |value, out| {
                if f(&value) {
                    out.push(value);
                }
            });
        }
        in_place(input, f);
        std::mem::swap(&mut self.batch, input);
        self.flush(down)
    }

    /// Replaces each value by what its encoding decodes to.
    fn recode(&mut self) -> KernelResult {
        let mut scratch = Scratch::default();
        for i in 0..self.batch.values.len() {
            let back = recoded(&*self.coder, &self.batch.values[i], &mut scratch)
                .map_err(|e| self.broken(&e.to_string()))?;
            if self.same.as_ref().is_some_and(|same| !same(&self.batch.values[i], &back)) {
                return Err(self.broken(
                    "its key comes back as another one, so that what is one group here may be two elsewhere. `Eq` \
                     looks at something that is not encoded as it is, as with `#[serde(skip)]` or \
                     `#[serde(serialize_with = \"..\")]`: make `Eq`, `Hash` and serde look at the same",
                ));
            }
            self.batch.values[i] = back;
        }
        Ok(())
    }

    #[cold]
    fn broken(&self, what: &str) -> PipelineError {
        PipelineError::contract(
            self.step.clone(),
            Phase::Coder,
            format!("an element of type `{}` does not survive its coder: {what}", std::any::type_name::<T>()),
        )
    }
}

/// A port whose element type only the tag knows.
pub(crate) trait ErasedPort: Send {
    fn as_any(&mut self) -> &mut dyn Any;
    fn flush(&mut self, down: &mut Downstream<'_>) -> KernelResult;
}

impl<T: Element> ErasedPort for Port<T> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn flush(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        Port::flush(self, down)
    }
}

/// A tagged output.
#[allow(missing_debug_implementations)]
pub(crate) struct TagPort {
    pub(crate) tag: &'static str,
    pub(crate) port: Box<dyn ErasedPort>,
}

impl TagPort {
    /// Adds an element, if the output holds such.
    pub(crate) fn push<T: Element>(
        &mut self,
        value: T,
        row: Row<'_>,
        down: &mut Downstream<'_>,
    ) -> Option<KernelResult> {
        let port = self.port.as_any().downcast_mut::<Port<T>>()?;
        port.batch.push(value, row);
        Some(port.flush_full(down))
    }
}

type MakePort = dyn Fn(usize, &Step) -> Box<dyn ErasedPort> + Send + Sync;

/// Makes the port of a tagged output for each new kernel.
#[derive(Clone)]
pub(crate) struct TagPortMaker {
    pub(crate) tag: &'static str,
    make: std::sync::Arc<MakePort>,
}

impl TagPortMaker {
    pub(crate) fn new<T: Element>(tag: &'static str, coder: CoderSlot<T>) -> TagPortMaker {
        TagPortMaker { tag, make: std::sync::Arc::new(move |n, step| Box::new(Port::new(n, step, &coder))) }
    }

    pub(crate) fn port(&self, number: usize, step: &Step) -> TagPort {
        TagPort { tag: self.tag, port: (self.make)(number, step) }
    }
}

impl fmt::Debug for TagPortMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag)
    }
}
