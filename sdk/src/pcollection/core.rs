//! The handle.

use std::{fmt, panic::Location, sync::Arc};

use crate::{
    Element, PTransform, Pipeline, Timestamp,
    batch::Batch,
    coder::Coder,
    coder_slot::CoderSlot,
    core::WindowInto,
    exec::{KernelFactory, Proto, WithTimestampsFactory},
    fused::{Fused, FusedChain, Start},
    graph::{CollectionId, Op},
    window::WindowingStrategy,
};

/// An immutable, unordered collection of `T`, with an end or without, each element with a timestamp and in windows.
///
/// This is a handle: cheap to clone, and may be used by any number of transforms.
pub struct PCollection<T> {
    pipeline: Pipeline,
    id: CollectionId,
    coder: CoderSlot<T>,
}

impl<T> Clone for PCollection<T> {
    fn clone(&self) -> PCollection<T> {
        PCollection { pipeline: self.pipeline.clone(), id: self.id, coder: self.coder.clone() }
    }
}

impl<T> PCollection<T> {
    pub(crate) fn new(pipeline: Pipeline, id: CollectionId, coder: CoderSlot<T>) -> PCollection<T> {
        PCollection { pipeline, id, coder }
    }

    /// The pipeline that it belongs to.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The collection's number in the graph.
    pub fn id(&self) -> CollectionId {
        self.id
    }

    /// How it is windowed.
    pub fn windowing(&self) -> WindowingStrategy {
        self.pipeline.strategy(self.id)
    }

    /// Whether it has an end.
    pub fn is_bounded(&self) -> bool {
        self.pipeline.is_bounded(self.id)
    }
}

impl<T: Element> PCollection<T> {
    /// Encodes the elements by `coder` instead of the type's default coder. What is derived from this collection
    /// afterwards and has the same elements (a `filter`, a flatten, ...) is encoded likewise.
    ///
    /// ```
    /// use purlin_sdk::{Pipeline, coder::Json};
    /// let p = Pipeline::new();
    /// p.create("Any", [serde_json::json!(1), serde_json::json!("a")]).with_coder(Json::of());
    /// p.build().unwrap();
    /// ```
    pub fn with_coder(self, coder: impl Coder<T>) -> PCollection<T> {
        self.coder.set(Arc::new(coder));
        self
    }

    /// Applies a transform.
    #[track_caller]
    pub fn apply<X: PTransform<PCollection<T>>>(&self, name: &str, transform: X) -> X::Out {
        let input = self.clone();
        self.pipeline.composite_at(name, Location::caller(), || transform.expand(input))
    }

    /// Groups what `expand` applies under one name.
    #[track_caller]
    pub fn composite<R>(&self, name: &str, expand: impl FnOnce(PCollection<T>) -> R) -> R {
        let input = self.clone();
        self.pipeline.composite_at(name, Location::caller(), || expand(input))
    }

    /// Runs closures as one loop that keeps their types: the fastest form of a chain of `map`, `filter` and `flat_map`.
    /// See [`Fused`].
    #[track_caller]
    pub fn fused<O: Element, C: FusedChain<T, O>>(
        &self,
        name: &str,
        chain: impl FnOnce(Fused<T, T, Start>) -> Fused<T, O, C>,
    ) -> PCollection<O> {
        let site = Location::caller();
        let step = self.pipeline.name(name, site);
        let (names, chain) = chain(Fused::new(step.path().to_owned())).into_parts();
        let mut seen = std::collections::HashMap::new();
        for (inner, at) in names {
            if inner.contains('/') {
                self.pipeline.error(&step, crate::pipeline::slash_in(&inner));
            }
            if let Some(first) = seen.insert(inner.clone(), at) {
                let message =
                    format!("the name `{inner}` is given twice in this run, at {first} and at {at}");
                self.pipeline.error(&step, message);
            }
        }
        let coder = CoderSlot::default_of_type();
        let factory = crate::exec::FusedFactory::new(chain, coder.clone());
        let node = self.pipeline.add(step, vec![self.id], Op::Element(Arc::new(factory)));
        self.pipeline.output_with(node, self.windowing(), self.is_bounded(), coder)
    }

    /// Puts the elements into windows, for the groupings that follow.
    ///
    /// ```
    /// # use purlin_sdk::{Duration, Pipeline, window::FixedWindows};
    /// # let p = Pipeline::new();
    /// p.create("Clicks", ["a"; 3].map(str::to_owned))
    ///     .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)));
    /// ```
    #[track_caller]
    pub fn window_into(&self, name: &str, windows: impl Into<WindowInto>) -> PCollection<T> {
        windows.into().apply_at(self, name, Location::caller())
    }

    /// Gives each element the timestamp that `f` reads from it. It must not lie before the one that it has: see
    /// [`WithTimestamps`](crate::WithTimestamps) for an allowed skew.
    #[track_caller]
    pub fn with_timestamps<F>(&self, name: &str, f: F) -> PCollection<T>
    where
        F: Fn(&T) -> Timestamp + Clone + Send + 'static,
    {
        self.with_timestamps_at(name, Location::caller(), f, crate::Duration::ZERO)
    }

    pub(crate) fn with_timestamps_at<F>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        f: F,
        skew: crate::Duration,
    ) -> PCollection<T>
    where
        F: Fn(&T) -> Timestamp + Clone + Send + 'static,
    {
        let coder = self.coder.copied();
        let factory = WithTimestampsFactory { f: Proto::new(f), skew, coder: coder.clone() };
        self.element_wise(name, site, Arc::new(factory), coder)
    }

    /// The same elements with timestamps, windows and panes, spread anew over workers; nothing before it is fused with
    /// what follows.
    #[track_caller]
    pub fn reshuffle(&self, name: &str) -> PCollection<T> {
        self.reshuffle_at(name, Location::caller(), self.coder.copied())
    }

    pub(crate) fn reshuffle_at(
        &self,
        name: &str,
        site: &'static Location<'static>,
        coder: CoderSlot<T>,
    ) -> PCollection<T> {
        let step = self.pipeline.name(name, site);
        let op = Op::Redistribute(Arc::new(|| Box::new(Batch::<T>::default())));
        let node = self.pipeline.add(step, vec![self.id], op);
        self.pipeline.output_with(node, self.windowing(), self.is_bounded(), coder)
    }

    /// The elements of this collection and of `others`, which must be in the same windows. Several collections without
    /// a first one are flattened by [`Pipeline::flatten`].
    ///
    /// ```
    /// # let p = purlin_sdk::Pipeline::new();
    /// let (a, b) = (p.create("A", [1, 2]), p.create("B", [3]));
    /// let all = a.flatten_with("All", [b]);
    /// ```
    #[doc(alias = "union")]
    #[doc(alias = "concat")]
    #[doc(alias = "merge")]
    #[track_caller]
    pub fn flatten_with(
        &self,
        name: &str,
        others: impl IntoIterator<Item = PCollection<T>>,
    ) -> PCollection<T> {
        let all = std::iter::once(self.clone()).chain(others);
        crate::core::flatten_at(&self.pipeline, name, Location::caller(), all.collect())
    }

    pub(crate) fn coder_slot(&self) -> &CoderSlot<T> {
        &self.coder
    }

    /// Adds a transform that works element by element and keeps windows and boundedness.
    pub(crate) fn element_wise<O: Element>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        factory: Arc<dyn KernelFactory>,
        coder: CoderSlot<O>,
    ) -> PCollection<O> {
        let step = self.pipeline.name(name, site);
        let node = self.pipeline.add(step, vec![self.id], Op::Element(factory));
        self.pipeline.output_with(node, self.windowing(), self.is_bounded(), coder)
    }
}

impl<T> fmt::Debug for PCollection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pipeline.step_of(self.id) {
            Some(step) => write!(f, "output of {step}"),
            None => f.write_str("PCollection"),
        }
    }
}
