//! An async DoFn at work: some elements under way, the others wait.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use futures::stream::{FuturesOrdered, FuturesUnordered, Stream};

use super::{
    BundleCx, Downstream, Kernel, KernelFactory, KernelResult, KernelSpec, Port, Proto, TagPort, TagPortMaker,
};
use crate::{
    AsyncContext, AsyncDoFn, Phase, PipelineError, Result, Step,
    async_dofn::{self, Emission, Emitted, Surroundings},
    batch::{AnyBatch, Batch, ErasedBatch, Meta, Row, WindowSet},
    coder_slot::CoderSlot,
    dofn::{EmitRules, Emitter, SetupContext, StepScope},
    window::Window,
};

/// How many elements are under way at once, and in which order they come out.
#[derive(Clone, Debug)]
pub(crate) struct AsyncOptions {
    pub(crate) concurrency: usize,
    pub(crate) ordered: bool,
    pub(crate) reactor: Reactor,
}

/// What futures need around them while they are polled.
#[derive(Clone, Debug, Default)]
pub(crate) enum Reactor {
    #[default]
    None,
    #[cfg(feature = "tokio")]
    Tokio(tokio::runtime::Handle),
}

impl Reactor {
    /// Polls within the reactor.
    fn within<R>(&self, poll: impl FnOnce() -> R) -> R {
        match self {
            Reactor::None => poll(),
            #[cfg(feature = "tokio")]
            Reactor::Tokio(handle) => {
                let _guard = handle.enter();
                poll()
            }
        }
    }
}

/// Makes the kernels of an async ParDo.
pub(crate) struct AsyncFactory<D: AsyncDoFn> {
    pub(crate) dofn: Proto<D>,
    pub(crate) options: AsyncOptions,
    pub(crate) views: Arc<[Arc<str>]>,
    pub(crate) coder: CoderSlot<D::Output>,
    pub(crate) tags: Vec<TagPortMaker>,
}

impl<D: AsyncDoFn> KernelFactory for AsyncFactory<D> {
    fn kernel(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(AsyncKernel {
            step: spec.step.clone(),
            dofn: Arc::new(self.dofn.get()),
            views: self.views.clone(),
            out: Port::new(0, &spec.step, &self.coder),
            tags: self.tags.iter().enumerate().map(|(i, t)| t.port(i + 1, &spec.step)).collect(),
            under_way: UnderWay::new(&self.options),
            options: self.options.clone(),
        })
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<D::Input>::default())
    }
}

struct AsyncKernel<D: AsyncDoFn> {
    step: Step,
    dofn: Arc<D>,
    views: Arc<[Arc<str>]>,
    out: Port<D::Output>,
    tags: Vec<TagPort>,
    under_way: UnderWay<D::Output>,
    options: AsyncOptions,
}

/// An element that is done.
struct Done<O> {
    result: Result,
    meta: Meta,
    emitted: Emitted<O>,
}

type Doing<O> = Pin<Box<dyn Future<Output = Done<O>> + Send>>;

/// Elements under way.
enum UnderWay<O> {
    AsTheyCome(FuturesUnordered<Doing<O>>),
    InOrder(FuturesOrdered<Doing<O>>),
}

impl<O> UnderWay<O> {
    fn new(options: &AsyncOptions) -> UnderWay<O> {
        if options.ordered {
            UnderWay::InOrder(FuturesOrdered::new())
        } else {
            UnderWay::AsTheyCome(FuturesUnordered::new())
        }
    }

    fn len(&self) -> usize {
        match self {
            UnderWay::AsTheyCome(all) => all.len(),
            UnderWay::InOrder(all) => all.len(),
        }
    }

    fn push(&mut self, doing: Doing<O>) {
        match self {
            UnderWay::AsTheyCome(all) => all.push(doing),
            UnderWay::InOrder(all) => all.push_back(doing),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Done<O>>> {
        match self {
            UnderWay::AsTheyCome(all) => Pin::new(all).poll_next(cx),
            UnderWay::InOrder(all) => Pin::new(all).poll_next(cx),
        }
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// How long a bundle that only waits may go without looking whether it is cancelled.
const LOOK_UP: Duration = Duration::from_millis(20);

impl<D: AsyncDoFn> AsyncKernel<D> {
    /// Hands on what is done, until fewer than `most` elements are under way.
    fn advance(&mut self, most: usize, down: &mut Downstream<'_>) -> KernelResult {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut cx = Context::from_waker(&waker);
        while self.under_way.len() > 0 {
            let AsyncKernel { under_way, options, .. } = self;
            match options.reactor.within(|| under_way.poll(&mut cx)) {
                Poll::Ready(Some(done)) => self.hand_on(done, down)?,
                Poll::Ready(None) => return Ok(()),
                Poll::Pending if self.under_way.len() < most => return Ok(()),
                Poll::Pending => thread::park_timeout(LOOK_UP),
            }
            if down.cx().control.is_cancelled() {
                return Err(PipelineError::cancelled());
            }
        }
        Ok(())
    }

    fn hand_on(&mut self, done: Done<D::Output>, down: &mut Downstream<'_>) -> KernelResult {
        let Done { result, meta, emitted } = done;
        let AsyncKernel { step, dofn, out, tags, .. } = self;
        let cx = down.cx();
        cx.phase(Phase::Process);
        result.map_err(|e| PipelineError::user(step.clone(), Phase::Process, e))?;
        let rules = EmitRules { step, skew: dofn.allowed_timestamp_skew(), phase: Phase::Process };
        let mut emitter = Emitter::new(out, tags, down.reborrow(), Row::of(&meta, 0), rules);
        for emission in async_dofn::take(&emitted) {
            match emission {
                Emission::Main(value, None) => emitter.emit(value),
                Emission::Main(value, Some(timestamp)) => emitter.emit_at(value, timestamp),
                Emission::Tagged(emit) => emit(&mut emitter),
                Emission::Count(name, n) => cx.metrics().counter(step, name).inc(n),
            }
        }
        emitter.end_row()
    }

    fn begin(&self, value: D::Input, row: Row<'_>, around: &Surroundings) -> Doing<D::Output> {
        let windows = row.windows();
        let window = windows.as_slice().first().cloned().unwrap_or(Window::Global);
        let (timestamp, firing) = (row.time(), row.firing());
        let meta = Meta::constant(timestamp, WindowSet::One(window.clone()), firing);
        let emitted = Emitted::default();
        let cx = AsyncContext::new(around, timestamp, window, firing, emitted.clone());
        let dofn = self.dofn.clone();
        Box::pin(async move {
            let result = dofn.process(value, cx).await;
            Done { result, meta, emitted }
        })
    }
}

impl<D: AsyncDoFn> Kernel for AsyncKernel<D> {
    fn setup(&mut self, cx: &BundleCx) -> KernelResult {
        let AsyncKernel { step, dofn, views, options, .. } = self;
        let scope = StepScope { cx, step, views };
        // Nothing is under way before the setup, so the DoFn is this kernel's alone.
        let Some(dofn) = Arc::get_mut(dofn) else { return Ok(()) };
        options
            .reactor
            .within(|| dofn.setup(&SetupContext::new(scope)))
            .map_err(|e| PipelineError::user(step.clone(), Phase::Setup, e))
    }

    fn start(&mut self, _down: &mut Downstream<'_>) -> KernelResult {
        // A bundle that failed may have left some.
        self.under_way = UnderWay::new(&self.options);
        Ok(())
    }

    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let Some(batch) = input.as_any().downcast_mut::<Batch<D::Input>>() else { return Ok(()) };
        batch.explode();
        let Batch { values, meta } = batch;
        let cx = down.cx();
        let around = Surroundings {
            step: self.step.clone(),
            views: Arc::new(cx.views.clone()),
            given: self.views.clone(),
            options: cx.env.options.clone(),
        };
        for (i, value) in values.drain(..).enumerate() {
            let doing = self.begin(value, Row::of(meta, i), &around);
            self.under_way.push(doing);
            self.advance(self.options.concurrency, down)?;
        }
        meta.clear();
        Ok(())
    }

    fn finish(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        self.advance(1, down)?;
        self.out.flush(down)?;
        self.tags.iter_mut().try_for_each(|t| t.port.flush(down))
    }

    fn teardown(&mut self, cx: &BundleCx) -> KernelResult {
        self.under_way = UnderWay::new(&self.options);
        let AsyncKernel { step, dofn, views, options, .. } = self;
        let scope = StepScope { cx, step, views };
        let Some(dofn) = Arc::get_mut(dofn) else {
            let what =
                "its futures still hold the DoFn: they must end, or be dropped, before `process` returns";
            return Err(PipelineError::contract(step.clone(), Phase::Teardown, what));
        };
        options
            .reactor
            .within(|| dofn.teardown(&SetupContext::new(scope)))
            .map_err(|e| PipelineError::user(step.clone(), Phase::Teardown, e))
    }
}
