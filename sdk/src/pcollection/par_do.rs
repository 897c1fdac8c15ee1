//! DoFns applied to collections.

use std::{fmt, marker::PhantomData, panic::Location, sync::Arc};

use super::{PCollection, closures::FnDoFn};
use crate::{
    DoFn, Element, Emitter, Failed, Pipeline, ProcessContext, Result, Step, Tag, View,
    coder_slot::CoderSlot,
    exec::{ParDoFactory, Proto, TagPortMaker},
    graph::{NodeId, Op},
    named,
    pipeline::NewNode,
    window::WindowingStrategy,
};

/// A DoFn with what it is given: side inputs, further outputs.
///
/// ```
/// # use purlin_sdk::*;
/// # const SHORT: Tag<String> = Tag::new("short");
/// # let p = Pipeline::new();
/// # let words = p.create("Words", ["a", "longer"].map(str::to_owned));
/// let limit = p.create("Limit", [3_usize]).view_as_singleton("AsSingleton");
/// let limit_view = limit.clone();
/// let parts = words.par_do_with(
///     "Split",
///     ParDo::from_fn(move |w: String, cx, out: &mut Emitter<'_, String>| {
///         if w.len() < cx.side(&limit_view)? { out.emit_to(SHORT, w) } else { out.emit(w) }
///         Ok(())
///     })
///     .side(&limit)
///     .tag(SHORT),
/// );
/// let (long, short) = (parts.main(), parts.tagged(SHORT));
/// ```
pub struct ParDo<D: DoFn> {
    dofn: D,
    views: Vec<Arc<str>>,
    tags: Vec<DeclaredTag>,
    dead_letters: Option<Tag<Failed<D::Input>>>,
}

/// A further output, before it is in the pipeline.
pub(crate) struct DeclaredTag {
    name: &'static str,
    make: AddOutput,
    port: TagPortMaker,
}

/// Adds the output to the pipeline and gives its collection, type-erased.
type AddOutput = Box<dyn FnOnce(&Pipeline, NodeId, WindowingStrategy, bool) -> Box<dyn std::any::Any>>;

impl DeclaredTag {
    pub(crate) fn new<T: Element>(tag: Tag<T>) -> DeclaredTag {
        let coder = CoderSlot::<T>::default_of_type();
        let port = TagPortMaker::new(tag.name(), coder.clone());
        let make = Box::new(move |p: &Pipeline, node, strategy, bounded| {
            Box::new(p.output_with::<T>(node, strategy, bounded, coder)) as Box<dyn std::any::Any>
        });
        DeclaredTag { name: tag.name(), make, port }
    }

    pub(crate) fn port(&self) -> &TagPortMaker {
        &self.port
    }
}

impl<D: DoFn> ParDo<D> {
    /// The DoFn with no side inputs and no further outputs.
    pub fn of(dofn: D) -> ParDo<D> {
        ParDo { dofn, views: Vec::new(), tags: Vec::new(), dead_letters: None }
    }

    /// Lets the DoFn read `view`. May be called several times.
    #[must_use]
    pub fn side<V>(mut self, view: &View<V>) -> ParDo<D> {
        self.views.push(view.path().clone());
        self
    }

    /// Lets the DoFn read views that are known by their paths.
    pub(crate) fn sides(mut self, views: Vec<Arc<str>>) -> ParDo<D> {
        self.views.extend(views);
        self
    }

    /// Declares a further output. May be called several times.
    #[must_use]
    pub fn tag<T: Element>(mut self, tag: Tag<T>) -> ParDo<D> {
        self.tags.push(DeclaredTag::new(tag));
        self
    }

    /// Declares an output for elements on which `process` returns an error: they come out there, with the error, and
    /// what was emitted for them is taken back from the main output. A panic still fails the bundle.
    #[must_use]
    pub fn dead_letters(mut self, tag: Tag<Failed<D::Input>>) -> ParDo<D> {
        self.dead_letters = Some(tag);
        self.tag(tag)
    }
}

impl ParDo<Never> {
    /// A closure as a DoFn.
    pub fn from_fn<T: Element, O: Element, F>(f: F) -> ParDo<FnDoFn<T, O, F>>
    where
        F: Fn(T, &ProcessContext<'_>, &mut Emitter<'_, O>) -> Result + Clone + Send + 'static,
    {
        ParDo::of(FnDoFn { f, types: PhantomData })
    }
}

/// Stands where a `ParDo` has no DoFn yet: [`ParDo::from_fn`] is called on it.
#[derive(Clone, Copy, Debug)]
pub enum Never {}

impl DoFn for Never {
    type Input = ();
    type Output = ();
    fn process(&mut self, _: (), _: &ProcessContext<'_>, _: &mut Emitter<'_, ()>) -> Result {
        match *self {}
    }
}

impl<D: DoFn> fmt::Debug for ParDo<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParDo of {}", std::any::type_name::<D>())
    }
}

/// The outputs of a `par_do_with`.
pub struct ParDoOutputs<O> {
    step: Step,
    main: PCollection<O>,
    tagged: Vec<(&'static str, Box<dyn std::any::Any>)>,
}

impl<O: Element> ParDoOutputs<O> {
    /// The main output.
    pub fn main(&self) -> PCollection<O> {
        self.main.clone()
    }

    /// The output `tag`. One that was not declared by [`ParDo::tag`] is a build error.
    #[track_caller]
    pub fn tagged<T: Element>(&self, tag: Tag<T>) -> PCollection<T> {
        let pipeline = self.main.pipeline();
        let found = self.tagged.iter().find(|(name, _)| *name == tag.name());
        if let Some(pc) = found.and_then(|(_, pc)| pc.downcast_ref::<PCollection<T>>()) {
            return pc.clone();
        }
        let reason = match found {
            None => format!("the output `{}` was not declared", tag.name()),
            Some(_) => format!(
                "the output `{}` was declared with another element type than `{}`",
                tag.name(),
                std::any::type_name::<T>()
            ),
        };
        let at = Step::new(self.step.path(), Location::caller());
        let declare = tag.name().to_uppercase();
        pipeline.error(&at, format!("{reason}: add `.tag({declare})` to the `ParDo` that is applied there"));
        // A stand-in, so that building goes on and finds what else is wrong.
        let step = Step::new(format!("{}/{}", self.step.path(), tag.name()), Location::caller());
        let node = pipeline.add(step, vec![], Op::Impulse);
        pipeline.output(node, self.main.windowing(), self.main.is_bounded())
    }
}

impl<O> fmt::Debug for ParDoOutputs<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "outputs of {}", self.step)
    }
}

impl<T: Element> PCollection<T> {
    /// Applies a DoFn.
    #[track_caller]
    pub fn par_do<D: DoFn<Input = T>>(&self, name: &str, dofn: D) -> PCollection<D::Output> {
        self.par_do_at(name, Location::caller(), ParDo::of(dofn)).main
    }

    /// Applies a DoFn with side inputs and further outputs.
    #[track_caller]
    pub fn par_do_with<D: DoFn<Input = T>>(&self, name: &str, par_do: ParDo<D>) -> ParDoOutputs<D::Output> {
        self.par_do_at(name, Location::caller(), par_do)
    }

    fn par_do_at<D: DoFn<Input = T>>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        par_do: ParDo<D>,
    ) -> ParDoOutputs<D::Output> {
        let ParDo { dofn, views, tags, dead_letters } = par_do;
        let pipeline = self.pipeline();
        let step = pipeline.name(name, site);
        let coder = CoderSlot::default_of_type();
        let payload = pipeline.payload(&step, named::payload_of(&dofn));
        let factory = ParDoFactory {
            dofn: Proto::new(dofn),
            views: views.clone().into(),
            coder: coder.clone(),
            tags: tags.iter().map(|t| t.port.clone()).collect(),
            dead_letters,
        };
        let op = Op::Element(Arc::new(factory));
        let node =
            pipeline.add_node(NewNode { step: step.clone(), inputs: vec![self.id()], views, op, payload });
        outputs_of(self, step, node, coder, tags, self.is_bounded())
    }
}

/// Adds the outputs of a transform of `input`.
pub(crate) fn outputs_of<T, O: Element>(
    input: &PCollection<T>,
    step: Step,
    node: NodeId,
    coder: CoderSlot<O>,
    tags: Vec<DeclaredTag>,
    bounded: bool,
) -> ParDoOutputs<O> {
    let pipeline = input.pipeline();
    let mut seen = std::collections::HashSet::new();
    for tag in &tags {
        if !seen.insert(tag.name) {
            pipeline.error(&step, format!("the output `{}` is declared twice", tag.name));
        }
    }
    let strategy = input.windowing();
    let main = pipeline.output_with(node, strategy.clone(), bounded, coder);
    let tagged =
        tags.into_iter().map(|t| (t.name, (t.make)(pipeline, node, strategy.clone(), bounded))).collect();
    ParDoOutputs { step, main, tagged }
}
