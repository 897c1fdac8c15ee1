//! What a pipeline function gets.

use std::{any::Any, cell::RefCell, fmt, panic::Location, rc::Rc, sync::Arc};

use super::{Builder, NewNode};
use crate::{
    BuildError, BuildErrors, Element, PCollection, PTransform, PipelineError, RunHandle, Runner, Step,
    Timestamp,
    coder_slot::CoderSlot,
    exec::CreateFactory,
    graph::{CollectionId, Graph, NodeId, Op},
    live::{LiveScript, LiveStream},
    window::WindowingStrategy,
};

/// A pipeline that is being built. Cheap to clone; all clones are the same pipeline.
///
/// Building never fails and never panics: what is wrong with it is gathered and told, all at once and with source
/// lines, when it is to run.
///
/// ```
/// use purlin_sdk::Pipeline;
/// let p = Pipeline::new();
/// p.create("Numbers", [1, 2, 3]).map("Double", |n| n * 2);
/// assert_eq!(p.build().unwrap().nodes.last().unwrap().step.path(), "Double");
/// ```
#[derive(Clone)]
pub struct Pipeline(Rc<RefCell<Builder>>);

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline::new()
    }
}

impl Pipeline {
    /// An empty pipeline without options.
    pub fn new() -> Pipeline {
        Pipeline::with_options(())
    }

    /// An empty pipeline; DoFns can ask for `options` by `cx.options()`.
    pub fn with_options<O: Send + Sync + 'static>(options: O) -> Pipeline {
        Pipeline::with_shared_options(Arc::new(options))
    }

    pub(crate) fn with_shared_options(options: Arc<dyn Any + Send + Sync>) -> Pipeline {
        Pipeline(Rc::new(RefCell::new(Builder::new(options))))
    }

    /// Applies a transform that starts from nothing, such as a source.
    #[track_caller]
    pub fn apply<X: PTransform<Pipeline>>(&self, name: &str, transform: X) -> X::Out {
        self.composite_at(name, Location::caller(), || transform.expand(self.clone()))
    }

    /// Applies a transform to collections of this pipeline, such as a vector of them.
    #[track_caller]
    pub fn apply_to<In, X: PTransform<In>>(&self, name: &str, input: In, transform: X) -> X::Out {
        self.composite_at(name, Location::caller(), || transform.expand(input))
    }

    /// One empty byte string, at the beginning of time.
    #[track_caller]
    pub fn impulse(&self, name: &str) -> PCollection<Vec<u8>> {
        let step = self.name(name, Location::caller());
        let node = self.add(step, vec![], Op::Impulse);
        self.output(node, WindowingStrategy::global(), true)
    }

    /// The elements of `values`, at the beginning of time, in the global window.
    ///
    /// Elements own their data: of texts make `String`s.
    ///
    /// ```
    /// # let p = purlin_sdk::Pipeline::new();
    /// p.create("Words", ["to", "be"].map(str::to_owned));
    /// ```
    #[track_caller]
    pub fn create<T: Element>(&self, name: &str, values: impl IntoIterator<Item = T>) -> PCollection<T> {
        self.create_at(name, Location::caller(), values.into_iter().map(|v| (v, None)).collect())
    }

    /// The elements of `values`, each at its own time, in the global window.
    #[track_caller]
    pub fn create_timestamped<T: Element>(
        &self,
        name: &str,
        values: impl IntoIterator<Item = (T, Timestamp)>,
    ) -> PCollection<T> {
        self.create_at(name, Location::caller(), values.into_iter().map(|(v, t)| (v, Some(t))).collect())
    }

    fn create_at<T: Element>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        values: Vec<(T, Option<Timestamp>)>,
    ) -> PCollection<T> {
        self.composite_at(name, site, || {
            let impulse = self.impulse("Impulse");
            let coder = CoderSlot::default_of_type();
            let factory = CreateFactory { values: Arc::new(values), coder: coder.clone() };
            let made = impulse.element_wise("Values", site, Arc::new(factory), coder.clone());
            // As in Beam, the elements are spread over workers. A coder that is given to the result is also that of the
            // values, which nobody else can name.
            made.reshuffle_at("Spread", site, coder)
        })
    }

    /// For a composite transform that must have `what` for itself, such as the files that it writes: where another
    /// transform of this pipeline claimed the same before, that is a build error, in the words of `taken`, which is
    /// given the other one.
    ///
    /// ```
    /// use purlin_sdk::{PCollection, PTransform, Pipeline};
    ///
    /// struct WriteTo(&'static str);
    ///
    /// impl PTransform<PCollection<String>> for WriteTo {
    ///     type Out = PCollection<()>;
    ///     fn expand(self, lines: PCollection<String>) -> PCollection<()> {
    ///         let table = self.0;
    ///         lines.pipeline().claim(format!("table {table}"), |other| {
    ///             format!("{other} writes to the table `{table}` already; write to another one")
    ///         });
    ///         lines.map("Write", |_| ())
    ///     }
    /// }
    ///
    /// let p = Pipeline::new();
    /// let lines = p.create("Lines", ["to be".to_owned()]);
    /// lines.apply("One", WriteTo("lines"));
    /// lines.apply("Two", WriteTo("lines"));
    /// assert!(p.build().unwrap_err().to_string().contains("`One`"));
    /// ```
    #[track_caller]
    pub fn claim(&self, what: impl Into<String>, taken: impl FnOnce(&Step) -> String) {
        let (step, other) = self.0.borrow_mut().claim(what.into(), Location::caller());
        if let Some(other) = other {
            self.error(&step, taken(&other));
        }
    }

    /// What transforms of one library share in this pipeline: one value a type, made by its `Default` when it is first
    /// asked for. Make it a handle, such as an `Arc`: what comes out is a clone.
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// #[derive(Clone, Default)]
    /// struct Tables(Rc<Cell<usize>>);
    ///
    /// let p = purlin_sdk::Pipeline::new();
    /// p.extension::<Tables>().0.set(2);
    /// assert_eq!(p.extension::<Tables>().0.get(), 2);
    /// ```
    pub fn extension<T: Clone + Default + 'static>(&self) -> T {
        self.0.borrow_mut().extension()
    }

    /// Has `check` look at the whole graph each time that it is built without another error: what it finds is what is
    /// wrong with the pipeline. For what cannot be said before everything was applied.
    ///
    /// ```
    /// use purlin_sdk::{BuildError, Pipeline};
    ///
    /// let p = Pipeline::new();
    /// p.check(|graph| {
    ///     let views = graph.nodes.iter().filter(|node| !node.views.is_empty());
    ///     views.map(|node| BuildError::new(node.step.clone(), "side inputs are not allowed here")).collect()
    /// });
    /// p.create("Numbers", [1]);
    /// assert!(p.build().is_ok());
    /// ```
    pub fn check(&self, check: impl Fn(&Graph) -> Vec<BuildError> + 'static) {
        self.0.borrow_mut().check(check);
    }

    /// The transform that is being expanded, and where it was applied; outside of all of them, the pipeline at the
    /// caller's line.
    #[track_caller]
    pub fn current_step(&self) -> Step {
        self.0.borrow().scope(Location::caller())
    }

    /// A source that `script` feeds while the pipeline runs; `number` tells it from the script's other streams, which
    /// are numbered from zero. Unbounded, in the global window.
    #[track_caller]
    pub fn live_stream<T: Element>(
        &self,
        name: &str,
        script: &Arc<LiveScript>,
        number: usize,
    ) -> PCollection<T> {
        let step = self.name(name, Location::caller());
        let stream = LiveStream::of::<T>(script.clone(), number);
        let node = self.add(step, vec![], Op::Live(stream));
        self.output(node, WindowingStrategy::global(), false)
    }

    /// The graph.
    ///
    /// # Errors
    /// Everything that is wrong with the pipeline.
    pub fn build(&self) -> Result<Graph, BuildErrors> {
        self.0.borrow().finish()
    }

    /// Starts the pipeline on `runner`.
    ///
    /// # Errors
    /// What is wrong with the pipeline, or what the runner cannot do.
    pub fn run_on(&self, runner: &dyn Runner) -> Result<RunHandle, PipelineError> {
        runner.run(self.build()?)
    }

    /// Says that the transform that is being expanded cannot be built, and why: for transforms of your own, whose
    /// settings cannot all be checked by their types. The error is told with the others when the pipeline is to run, with
    /// the transform's path and the source line that applied it. Building goes on, so `expand` still returns what it
    /// would.
    ///
    /// `reason` says what is wrong and the way out. Outside of any composite transform the error is the pipeline's own:
    /// for options that cannot be.
    ///
    /// ```
    /// use purlin_sdk::{PCollection, PTransform, Pipeline};
    ///
    /// struct Every(usize);
    ///
    /// impl PTransform<PCollection<String>> for Every {
    ///     type Out = PCollection<String>;
    ///     fn expand(self, lines: PCollection<String>) -> PCollection<String> {
    ///         if self.0 == 0 {
    ///             lines.pipeline().build_error("it takes every 0th line, which is none; give it 1 or more");
    ///         }
    ///         let n = self.0.max(1);
    ///         lines.filter("Take", move |line| line.len() % n == 0)
    ///     }
    /// }
    ///
    /// let p = Pipeline::new();
    /// p.create("Lines", ["to be".to_owned()]).apply("Some", Every(0));
    /// let errors = p.build().unwrap_err();
    /// let error = errors.iter().next().unwrap();
    /// assert_eq!((error.step().path(), error.step().site().file()), ("Some", file!()));
    /// assert!(error.message().contains("every 0th line"));
    /// ```
    #[track_caller]
    pub fn build_error(&self, reason: impl Into<String>) {
        let step = self.0.borrow().scope(Location::caller());
        self.error(&step, reason);
    }

    pub(crate) fn composite_at<R>(
        &self,
        name: &str,
        site: &'static Location<'static>,
        expand: impl FnOnce() -> R,
    ) -> R {
        let step = self.name(name, site);
        self.0.borrow_mut().enter(&step);
        let out = expand();
        self.0.borrow_mut().leave();
        out
    }

    pub(crate) fn name(&self, name: &str, site: &'static Location<'static>) -> Step {
        self.0.borrow_mut().name(name, site)
    }

    pub(crate) fn add(&self, step: Step, inputs: Vec<CollectionId>, op: Op) -> NodeId {
        let payload = serde_json::Value::Null;
        self.add_node(NewNode { step, inputs, views: Vec::new(), op, payload })
    }

    pub(crate) fn add_node(&self, node: NewNode) -> NodeId {
        self.0.borrow_mut().add(node)
    }

    pub(crate) fn set_op(&self, node: NodeId, op: Op) {
        self.0.borrow_mut().set_op(node, op);
    }

    pub(crate) fn output<T: Element>(
        &self,
        node: NodeId,
        strategy: WindowingStrategy,
        bounded: bool,
    ) -> PCollection<T> {
        self.output_with(node, strategy, bounded, CoderSlot::default_of_type())
    }

    pub(crate) fn output_with<T: Element>(
        &self,
        node: NodeId,
        strategy: WindowingStrategy,
        bounded: bool,
        coder: CoderSlot<T>,
    ) -> PCollection<T> {
        let slot = coder.clone();
        let spec = Box::new(move || slot.spec());
        let codec = Arc::new(coder.clone());
        let id = self.0.borrow_mut().output(node, strategy, bounded, std::any::type_name::<T>(), spec, codec);
        PCollection::new(self.clone(), id, coder)
    }

    pub(crate) fn error(&self, step: &Step, message: impl Into<String>) {
        self.0.borrow_mut().error(step.clone(), message);
    }

    /// The configuration of a named function; one that is no JSON is a build error.
    pub(crate) fn payload(
        &self,
        step: &Step,
        payload: crate::Result<serde_json::Value>,
    ) -> serde_json::Value {
        payload.unwrap_or_else(|e| {
            let message = format!(
                "its registered configuration cannot be written as JSON: {e}. Give it fields that can be (a map's \
                 keys must be text or numbers), or leave it unregistered"
            );
            self.error(step, message);
            serde_json::Value::Null
        })
    }

    pub(crate) fn strategy(&self, id: CollectionId) -> WindowingStrategy {
        self.0.borrow().strategy(id)
    }

    pub(crate) fn is_bounded(&self, id: CollectionId) -> bool {
        self.0.borrow().bounded(id)
    }

    pub(crate) fn step_of(&self, id: CollectionId) -> Option<Step> {
        self.0.borrow().step_of(id)
    }

    pub(crate) fn is(&self, other: &Pipeline) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipeline")
    }
}
