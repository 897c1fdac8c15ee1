//! New windows, and new timestamps.

use std::sync::Arc;

use super::{Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port, Proto};
use crate::{
    Duration, Element, Phase, PipelineError, Step, Timestamp,
    batch::{AnyBatch, Batch, Column, ErasedBatch, Row, WindowSet, Windows},
    coder_slot::CoderSlot,
    metrics::ELEMENTS_IN_NO_WINDOW,
    window::{AssignContext, Window, WindowFn, check_assigned},
};

/// Makes the kernels of a `window_into`.
pub(crate) struct WindowIntoFactory<T> {
    pub(crate) window_fn: Arc<dyn WindowFn>,
    pub(crate) coder: CoderSlot<T>,
}

impl<T: Element> KernelFactory for WindowIntoFactory<T> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(WindowIntoKernel {
            step: spec.step.clone(),
            window_fn: self.window_fn.clone(),
            out: Port::new(0, &spec.step, &self.coder),
            assigned: Vec::new(),
        })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

struct WindowIntoKernel<T> {
    step: Step,
    window_fn: Arc<dyn WindowFn>,
    out: Port<T>,
    assigned: Vec<Window>,
}

impl<T: Element> Kernel for WindowIntoKernel<T> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<T>>() else { return Ok(()) };
        // As in Beam: an element in several windows is assigned once from each.
        batch.explode();
        let all = match (self.window_fn.as_fixed(), self.window_fn.as_sliding()) {
            (Some(fixed), _) => Some(Windows::Fixed(fixed)),
            (None, Some(sliding)) => Some(Windows::Sliding(sliding)),
            _ if self.window_fn.is_global() => Some(Windows::Const(WindowSet::One(Window::Global))),
            _ => None,
        };
        match all {
            Some(windows) => {
                std::mem::swap(&mut self.out.batch, batch);
                self.out.batch.meta.windows = windows;
                self.out.flush(down)
            }
            None => self.assign(batch, down),
        }
    }
}

impl<T: Element> WindowIntoKernel<T> {
    fn assign(&mut self, batch: &mut Batch<T>, down: &mut Downstream<'_>) -> KernelResult {
        let cx = down.cx();
        let Batch { values, meta } = batch;
        let mut nowhere = 0;
        for (i, value) in values.drain(..).enumerate() {
            let row = Row::of(meta, i);
            let before = row.windows();
            self.assigned.clear();
            let assign = AssignContext::of(row.time(), &value, before.as_slice().first());
            cx.phase(Phase::Window);
            self.window_fn
                .assign(&assign, &mut self.assigned)
                .map_err(|e| PipelineError::user(self.step.clone(), Phase::Window, e))?;
            check_assigned(&*self.window_fn, &self.assigned)
                .map_err(|what| PipelineError::contract(self.step.clone(), Phase::Window, what))?;
            match self.assigned.as_slice() {
                [] => nowhere += 1,
                [one] => self.out.batch.push(value, Row { window: Some(one), ..row }),
                many => {
                    let len = self.out.batch.len();
                    self.out.batch.meta.append_in(len, row, &WindowSet::of(many));
                    self.out.batch.values.push(value);
                }
            }
        }
        meta.clear();
        if nowhere > 0 {
            cx.metrics().counter(&self.step, ELEMENTS_IN_NO_WINDOW).inc(nowhere);
        }
        self.out.flush(down)
    }
}

/// Makes the kernels of a `with_timestamps`.
pub(crate) struct WithTimestampsFactory<T, F> {
    pub(crate) f: Proto<F>,
    pub(crate) skew: Duration,
    pub(crate) coder: CoderSlot<T>,
}

impl<T: Element, F: Fn(&T) -> Timestamp + Clone + Send + 'static> KernelFactory
    for WithTimestampsFactory<T, F>
{
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let out = Port::new(0, &spec.step, &self.coder);
        Box::new(WithTimestampsKernel { step: spec.step.clone(), f: self.f.get(), skew: self.skew, out })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

struct WithTimestampsKernel<T, F> {
    step: Step,
    f: F,
    skew: Duration,
    out: Port<T>,
}

impl<T: Element, F: Fn(&T) -> Timestamp + Send> Kernel for WithTimestampsKernel<T, F> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<T>>() else { return Ok(()) };
        let mut times = Vec::with_capacity(batch.len());
        for (i, value) in batch.values.iter().enumerate() {
            let (old, new) = (batch.meta.times.get(i), (self.f)(value));
            if new < old - self.skew {
                return Err(PipelineError::contract(
                    self.step.clone(),
                    Phase::Process,
                    format!(
                        "cannot output with timestamp {new}: it must not lie before the element's, {old}, by more than \
                         the allowed skew of {}; allow more by `WithTimestamps::allowed_skew`, or read the timestamps \
                         in the source",
                        self.skew
                    ),
                ));
            }
            times.push(new);
        }
        batch.meta.set_times(batch.values.len(), Column::Each(times));
        std::mem::swap(&mut self.out.batch, batch);
        self.out.flush(down)
    }
}
