//! Transforms and collections.

use std::{any::Any, fmt, sync::Arc};

use crate::{
    Step,
    batch::AnyBatch,
    coder::CoderSpec,
    exec::{AssignFactory, BatchCodec, GroupFactory, KernelFactory, SdfFactory, ViewFactory},
    live::LiveStream,
    testing::TestStreamSource,
    window::WindowingStrategy,
};

/// The number of a transform, in the order in which they were applied: producers come before consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// The number of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectionId(pub usize);

/// A pipeline that was checked and can run.
#[derive(Clone)]
pub struct Graph {
    /// The primitive transforms; each after those whose outputs it reads.
    pub nodes: Vec<Node>,
    /// The collections between them.
    pub collections: Vec<Collection>,
    /// The pipeline's own options.
    pub options: Arc<dyn Any + Send + Sync>,
}

/// A primitive transform.
#[derive(Clone)]
pub struct Node {
    /// Its path, and where it was applied.
    pub step: Step,
    /// What it reads.
    pub inputs: Vec<CollectionId>,
    /// Paths of the views that it looks at.
    pub views: Vec<Arc<str>>,
    /// What it makes: the main output first.
    pub outputs: Vec<CollectionId>,
    /// What it is.
    pub op: Op,
    /// Configuration that goes into the graph's JSON.
    pub payload: serde_json::Value,
}

/// The kinds of primitive transform.
#[derive(Clone)]
pub enum Op {
    /// One empty byte string at the beginning of time, in the global window.
    Impulse,
    /// Scripted elements, watermarks and processing time, for tests.
    TestStream(Arc<dyn TestStreamSource>),
    /// Elements and watermarks that are decided while the pipeline runs.
    Live(LiveStream),
    /// Element by element: ParDo, map, windows, timestamps.
    Element(Arc<dyn KernelFactory>),
    /// All elements of all inputs.
    Flatten(Arc<dyn Fn() -> AnyBatch + Send + Sync>),
    /// The same elements, spread anew over workers.
    Redistribute(Arc<dyn Fn() -> AnyBatch + Send + Sync>),
    /// By key and window: a grouping, or a DoFn with state.
    Group(Arc<dyn GroupFactory>),
    /// A side input.
    View(Arc<dyn ViewFactory>),
    /// A splittable DoFn.
    Splittable(Arc<dyn SdfFactory>),
    /// A watermark that is not that of the input.
    AssignWatermark(Arc<dyn AssignFactory>),
}

impl Op {
    /// Beam's URN of the primitive, or our own where Beam has none.
    pub fn urn(&self) -> &'static str {
        match self {
            Op::Impulse => "beam:transform:impulse:v1",
            Op::TestStream(_) => "beam:transform:teststream:v1",
            Op::Live(_) => "purlin:transform:live_stream:v1",
            Op::Element(_) | Op::Splittable(_) => "beam:transform:pardo:v1",
            Op::Flatten(_) => "beam:transform:flatten:v1",
            Op::Redistribute(_) => "beam:transform:reshuffle:v1",
            Op::Group(factory) => factory.urn(),
            Op::View(_) => "beam:transform:create_view:v1",
            Op::AssignWatermark(_) => "purlin:transform:assign_watermark:v1",
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.urn())
    }
}

/// A collection.
#[derive(Clone, Debug)]
pub struct Collection {
    /// What makes it.
    pub producer: NodeId,
    /// How it is windowed.
    pub strategy: WindowingStrategy,
    /// Whether it has an end.
    pub bounded: bool,
    /// The Rust type of its elements.
    pub element: &'static str,
    /// How its elements are encoded.
    pub coder: CoderSpec,
    /// Encodes batches of its elements so.
    pub codec: Arc<dyn BatchCodec>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?} -> {:?}", self.step, self.op, self.inputs, self.outputs)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.nodes).finish()
    }
}
