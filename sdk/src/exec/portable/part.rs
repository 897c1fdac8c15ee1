//! A function on elements, with the coders on either side of it.

use std::{fmt, marker::PhantomData, sync::Arc};

use crate::{
    Element, Phase,
    batch::{AnyBatch, Batch, ErasedBatch},
    coder::{CoderError, CoderSpec},
    coder_slot::CoderSlot,
    exec::{BatchCodec, BundleCx, Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port},
};

/// What goes in or comes out: how it is encoded where it leaves the process.
#[derive(Clone, Debug)]
pub struct PartEnd {
    /// The coder, for the engine; an error when a type has none.
    pub coder: Result<CoderSpec, CoderError>,
    /// Encodes batches so.
    pub codec: Arc<dyn BatchCodec>,
}

impl PartEnd {
    pub(super) fn of<T: Element>(slot: &CoderSlot<T>) -> PartEnd {
        PartEnd { coder: slot.spec().map_err(|(_, e)| e), codec: Arc::new(slot.clone()) }
    }
}

/// A part of a transform that an engine runs as a transform of its own.
#[derive(Clone)]
pub struct PortablePart {
    /// Makes its kernels.
    pub factory: Arc<dyn KernelFactory>,
    /// What goes in.
    pub input: PartEnd,
    /// What comes out.
    pub output: PartEnd,
}

impl fmt::Debug for PortablePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} -> {:?}", self.input.coder, self.output.coder)
    }
}

type MakeKernel = dyn Fn(&KernelSpec) -> Box<dyn Kernel> + Send + Sync;

/// Makes kernels that take batches of `I`.
struct PartFactory<I> {
    make: Box<MakeKernel>,
    input: PhantomData<fn(I)>,
}

impl<I: Element> KernelFactory for PartFactory<I> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        (self.make)(spec)
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<I>::default())
    }
}

impl PortablePart {
    /// The part of `I` to `O` whose kernels `make` makes.
    pub(super) fn new<I: Element, O: Element>(
        input: &CoderSlot<I>,
        output: &CoderSlot<O>,
        make: impl Fn(&KernelSpec) -> Box<dyn Kernel> + Send + Sync + 'static,
    ) -> PortablePart {
        PortablePart {
            factory: Arc::new(PartFactory::<I> { make: Box::new(make), input: PhantomData }),
            input: PartEnd::of(input),
            output: PartEnd::of(output),
        }
    }

    /// One that makes one element of each, at the same place; `function` is made for every kernel.
    pub(super) fn each<I: Element, O: Element, F: Fn(I) -> O + Send + 'static>(
        phase: Phase,
        input: &CoderSlot<I>,
        output: &CoderSlot<O>,
        function: impl Fn() -> F + Send + Sync + 'static,
    ) -> PortablePart {
        PortablePart::telling(phase, input, output, move || {
            let function = function();
            move |value, _: &BundleCx| function(value)
        })
    }

    /// The same, of a function that tells the bundle when it comes to another phase than `phase`.
    pub(super) fn telling<I: Element, O: Element, F: Fn(I, &BundleCx) -> O + Send + 'static>(
        phase: Phase,
        input: &CoderSlot<I>,
        output: &CoderSlot<O>,
        function: impl Fn() -> F + Send + Sync + 'static,
    ) -> PortablePart {
        let out = output.clone();
        PortablePart::new(input, output, move |spec| {
            let out = Port::new(0, &spec.step, &out);
            Box::new(Each { phase, function: function(), out, input: PhantomData::<fn(I)> })
        })
    }
}

/// Applies a function to each element.
struct Each<I, O, F> {
    phase: Phase,
    function: F,
    out: Port<O>,
    input: PhantomData<fn(I)>,
}

impl<I: Element, O: Element, F: Fn(I, &BundleCx) -> O + Send> Kernel for Each<I, O, F> {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<I>>() else { return Ok(()) };
        let (cx, phase, function) = (down.cx(), self.phase, &self.function);
        self.out.expand(batch, down, |value, out| {
            cx.phase(phase);
            out.push(function(value, cx));
        })
    }
}
