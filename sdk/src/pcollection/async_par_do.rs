//! Async DoFns applied to collections.

use std::{fmt, marker::PhantomData, panic::Location, sync::Arc};

use super::{
    PCollection, ParDoOutputs,
    par_do::{DeclaredTag, outputs_of},
};
use crate::{
    AsyncContext, AsyncDoFn, Element, Result, Tag, View,
    coder_slot::CoderSlot,
    exec::{AsyncFactory, AsyncOptions, Proto, Reactor},
    graph::Op,
    pipeline::NewNode,
};

/// An async DoFn with what it is given: how many elements at once, side inputs, further outputs.
pub struct AsyncParDo<D: AsyncDoFn> {
    dofn: D,
    options: AsyncOptions,
    views: Vec<Arc<str>>,
    tags: Vec<DeclaredTag>,
}

/// How many elements are under way at once where nobody says.
const CONCURRENCY: usize = 16;

impl<D: AsyncDoFn> AsyncParDo<D> {
    /// The DoFn with 16 elements at once, in the order in which they are done.
    pub fn of(dofn: D) -> AsyncParDo<D> {
        let options = AsyncOptions { concurrency: CONCURRENCY, ordered: false, reactor: Reactor::None };
        AsyncParDo { dofn, options, views: Vec::new(), tags: Vec::new() }
    }

    /// How many elements of a bundle are under way at once, at least one. With several workers each has as many.
    #[must_use]
    pub fn concurrency(mut self, elements: usize) -> AsyncParDo<D> {
        self.options.concurrency = elements;
        self
    }

    /// What elements of a bundle emit comes out in the order of the elements. One that takes long then holds up what the
    /// others have emitted, not what they do.
    #[must_use]
    pub fn ordered(mut self) -> AsyncParDo<D> {
        self.options.ordered = true;
        self
    }

    /// Runs the futures with tokio's reactor and timers: those of the runtime that the pipeline is built in, if it is
    /// built in one, otherwise of a runtime that all pipelines of the process share.
    ///
    /// # Errors
    /// When a runtime cannot be started.
    #[cfg(feature = "tokio")]
    pub fn on_tokio(mut self) -> std::io::Result<AsyncParDo<D>> {
        self.options.reactor = Reactor::Tokio(crate::async_dofn::tokio_handle()?);
        Ok(self)
    }

    /// Lets the DoFn read `view`. May be called several times.
    #[must_use]
    pub fn side<V>(mut self, view: &View<V>) -> AsyncParDo<D> {
        self.views.push(view.path().clone());
        self
    }

    /// Declares a further output. May be called several times.
    #[must_use]
    pub fn tag<T: Element>(mut self, tag: Tag<T>) -> AsyncParDo<D> {
        self.tags.push(DeclaredTag::new(tag));
        self
    }
}

impl<D: AsyncDoFn> fmt::Debug for AsyncParDo<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParDo of {}, {} elements at once", std::any::type_name::<D>(), self.options.concurrency)
    }
}

impl<T: Element> PCollection<T> {
    /// Applies a DoFn that waits for something outside, to many elements at once.
    #[track_caller]
    pub fn par_do_async<D: AsyncDoFn<Input = T>>(
        &self,
        name: &str,
        par_do: AsyncParDo<D>,
    ) -> ParDoOutputs<D::Output> {
        let AsyncParDo { dofn, options, views, tags } = par_do;
        let pipeline = self.pipeline();
        let step = pipeline.name(name, Location::caller());
        if options.concurrency == 0 {
            pipeline.error(&step, "no element could ever be under way: its concurrency is 0; the least is 1");
        }
        let coder = CoderSlot::default_of_type();
        let factory = AsyncFactory {
            dofn: Proto::new(dofn),
            options,
            views: views.clone().into(),
            coder: coder.clone(),
            tags: tags.iter().map(|t| t.port().clone()).collect(),
        };
        let op = Op::Element(Arc::new(factory));
        let inputs = vec![self.id()];
        let payload = serde_json::Value::Null;
        let node = pipeline.add_node(NewNode { step: step.clone(), inputs, views, op, payload });
        outputs_of(self, step, node, coder, tags, self.is_bounded())
    }

    /// Replaces each element by what the future of `f` gives, with `concurrency` elements of a bundle under way at once.
    ///
    /// ```
    /// # use purlin_sdk::Pipeline;
    /// # async fn look_up(n: i64) -> std::io::Result<String> { Ok(n.to_string()) }
    /// # let p = Pipeline::new();
    /// p.create("Numbers", [1, 2, 3]).map_async("LookUp", 8, |n| async move { Ok(look_up(n).await?) });
    /// # assert!(p.build().is_ok());
    /// ```
    #[track_caller]
    pub fn map_async<O, F, Fut>(&self, name: &str, concurrency: usize, f: F) -> PCollection<O>
    where
        O: Element,
        F: Fn(T) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<O>> + Send + 'static,
    {
        let dofn = AsyncFn { f, types: PhantomData };
        self.par_do_async(name, AsyncParDo::of(dofn).concurrency(concurrency)).main()
    }
}

/// A closure as an async DoFn.
struct AsyncFn<T, O, F> {
    f: F,
    types: PhantomData<fn(T) -> O>,
}

impl<T, O, F: Clone> Clone for AsyncFn<T, O, F> {
    fn clone(&self) -> AsyncFn<T, O, F> {
        AsyncFn { f: self.f.clone(), types: PhantomData }
    }
}

impl<T, O, F, Fut> AsyncDoFn for AsyncFn<T, O, F>
where
    T: Element,
    O: Element,
    F: Fn(T) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<O>> + Send + 'static,
{
    type Input = T;
    type Output = O;

    fn process(&self, element: T, cx: AsyncContext<O>) -> impl Future<Output = Result> + Send {
        let done = (self.f)(element);
        async move {
            cx.emit(done.await?);
            Ok(())
        }
    }
}
