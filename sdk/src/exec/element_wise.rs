//! Kernels made for closures that see nothing but the element.

use std::marker::PhantomData;

use super::{Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port, Proto};
use crate::{
    Element,
    batch::{AnyBatch, Batch, ErasedBatch},
    coder_slot::CoderSlot,
};

/// Makes the kernels of a `map`.
pub(crate) struct MapFactory<T, O, F> {
    f: Proto<F>,
    coder: CoderSlot<O>,
    types: PhantomData<fn(T)>,
}

impl<T, O, F: Clone> MapFactory<T, O, F> {
    pub(crate) fn new(f: F, coder: CoderSlot<O>) -> MapFactory<T, O, F> {
        MapFactory { f: Proto::new(f), coder, types: PhantomData }
    }
}

impl<T: Element, O: Element, F: Fn(T) -> O + Clone + Send + 'static> KernelFactory for MapFactory<T, O, F> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let out = Port::new(0, &spec.step, &self.coder);
        Box::new(MapKernel { f: self.f.get(), out, types: PhantomData::<fn(T)> })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

struct MapKernel<T, O, F> {
    f: F,
    out: Port<O>,
    types: PhantomData<fn(T)>,
}

impl<T: Element, O: Element, F: Fn(T) -> O + Send> Kernel for MapKernel<T, O, F> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(Batch { values, meta }) = input.as_any().downcast_mut::<Batch<T>>() else { return Ok(()) };
        // One for one: the columns are right as they are.
        std::mem::swap(&mut self.out.batch.meta, meta);
        self.out.batch.values.extend(values.drain(..).map(&self.f));
        meta.clear();
        self.out.flush(down)
    }
}

/// Makes the kernels of a `filter`.
pub(crate) struct FilterFactory<T, F> {
    f: Proto<F>,
    coder: CoderSlot<T>,
}

impl<T, F: Clone> FilterFactory<T, F> {
    pub(crate) fn new(f: F, coder: CoderSlot<T>) -> FilterFactory<T, F> {
        FilterFactory { f: Proto::new(f), coder }
    }
}

impl<T: Element, F: Fn(&T) -> bool + Clone + Send + 'static> KernelFactory for FilterFactory<T, F> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(FilterKernel { f: self.f.get(), out: Port::new(0, &spec.step, &self.coder) })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

struct FilterKernel<T, F> {
    f: F,
    out: Port<T>,
}

impl<T: Element, F: Fn(&T) -> bool + Send> Kernel for FilterKernel<T, F> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<T>>() else { return Ok(()) };
        self.out.keep(batch, down, &self.f)
    }
}

/// Makes the kernels of a `flat_map`.
pub(crate) struct FlatMapFactory<T, O, F> {
    f: Proto<F>,
    coder: CoderSlot<O>,
    types: PhantomData<fn(T)>,
}

impl<T, O, F: Clone> FlatMapFactory<T, O, F> {
    pub(crate) fn new(f: F, coder: CoderSlot<O>) -> FlatMapFactory<T, O, F> {
        FlatMapFactory { f: Proto::new(f), coder, types: PhantomData }
    }
}

impl<T, O, I, F> KernelFactory for FlatMapFactory<T, O, F>
where
    T: Element,
    O: Element,
    I: IntoIterator<Item = O>,
    F: Fn(T) -> I + Clone + Send + 'static,
{
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let out = Port::new(0, &spec.step, &self.coder);
        Box::new(FlatMapKernel { f: self.f.get(), out, types: PhantomData::<fn(T)> })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

struct FlatMapKernel<T, O, F> {
    f: F,
    out: Port<O>,
    types: PhantomData<fn(T)>,
}

impl<T, O, I, F> Kernel for FlatMapKernel<T, O, F>
where
    T: Element,
    O: Element,
    I: IntoIterator<Item = O>,
    F: Fn(T) -> I + Send,
{
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<T>>() else { return Ok(()) };
        let f = &self.f;
        self.out.expand(batch, down, |value, out| out.extend(f(value)))
    }
}
