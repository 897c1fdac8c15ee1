//! Stages as data.

use std::{collections::HashMap, fmt, sync::Arc};

use purlin_sdk::{
    Duration, Step,
    batch::AnyBatch,
    exec::{BatchCodec, GroupFactory, KernelFactory, SdfFactory, ViewFactory},
    live::LiveStream,
    testing::TestStreamSource,
    watermark::{Alignment, WatermarkControl},
    window::WindowingStrategy,
};

/// The number of a stage. Stages are in topological order: what a stage reads has a lower number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageId(pub(crate) usize);

/// Makes an empty batch of some type.
pub(crate) type NewBatch = Arc<dyn Fn() -> AnyBatch + Send + Sync>;

/// A pipeline cut into stages.
#[derive(Debug)]
pub struct Plan {
    pub(crate) stages: Vec<Stage>,
    /// The stage of each view, by the view's path.
    pub(crate) views: HashMap<Arc<str>, StageId>,
}

/// Transforms that run as one bundle.
pub(crate) struct Stage {
    pub(crate) root: Root,
    /// The kernels, in topological order.
    pub(crate) slots: Vec<SlotPlan>,
    /// Where elements leave it.
    pub(crate) edges: Vec<Edge>,
    /// The groupings and views that it feeds.
    pub(crate) feeds: Vec<Feed>,
    /// The stages whose watermarks bound this one's.
    pub(crate) upstream: Vec<StageId>,
    /// All stages with key groups before it, where its trigger waits for them.
    pub(crate) keyed_upstream: Vec<StageId>,
    /// Where it assigns a watermark: what decides on it in place of its generators, if anything.
    pub(crate) assigns: Option<Option<Arc<dyn WatermarkControl>>>,
    /// The sources that it is kept together with, or for one that assigns a watermark, those that it comes from.
    pub(crate) alignment: Option<Alignment>,
    /// The side input that it builds, and how that is windowed.
    pub(crate) view: Option<(Arc<dyn ViewFactory>, WindowingStrategy)>,
    /// For how long elements for an expired window may still come to it.
    pub(crate) lateness: Duration,
    /// The views that its root looks at.
    pub(crate) views: Vec<(Arc<str>, StageId)>,
    /// Bundles smaller than this are not worth being spread over workers; one where it was asked to spread elements.
    pub(crate) least_bundle: usize,
    /// Writes and reads what waits in front of it.
    pub(crate) codec: Arc<dyn BatchCodec>,
    /// The Rust type of that, for messages.
    pub(crate) element: &'static str,
    /// Whether it must only see elements that a checkpoint holds for good.
    pub(crate) stable_input: bool,
    /// Where it begins, for messages.
    pub(crate) step: Step,
    /// What it is called in checkpoints: the path of where it begins, and where two begin there, which of them.
    pub(crate) name: String,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {:?}: {:?}", self.step, self.root, self.slots)
    }
}

/// What a stage's bundles start from.
pub(crate) enum Root {
    /// One empty byte string.
    Impulse,
    /// Scripted events.
    TestStream(Arc<dyn TestStreamSource>),
    /// Events that are decided while it runs.
    Live(LiveStream),
    /// Elements from other stages.
    Elements,
    /// Elements with restrictions.
    Splittable,
    /// Windows that closed.
    Group(Arc<dyn GroupFactory>),
    /// Key groups.
    KeyGroups(Arc<dyn GroupFactory>),
    /// Windows of a side input that closed.
    View(Arc<dyn ViewFactory>),
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Root::Impulse => "impulse",
            Root::TestStream(_) => "test stream",
            Root::Live(_) => "live stream",
            Root::Elements => "elements",
            Root::Splittable => "splittable DoFn",
            Root::Group(..) => "grouping",
            Root::KeyGroups(_) => "grouping by key groups",
            Root::View(..) => "side input",
        })
    }
}

/// One kernel of a stage.
#[derive(Debug)]
pub(crate) struct SlotPlan {
    pub(crate) step: Step,
    pub(crate) kind: SlotKind,
    /// For each output, the slots that read it.
    pub(crate) routes: Vec<Vec<usize>>,
}

/// What makes the kernel.
pub(crate) enum SlotKind {
    /// Hands everything on.
    Relay(NewBatch),
    /// A transform.
    Kernel(Arc<dyn KernelFactory>),
    /// The first half of a splittable DoFn.
    Pair(Arc<dyn SdfFactory>),
    /// The second half of a splittable DoFn.
    Process(Arc<dyn SdfFactory>),
    /// The start behind a grouping.
    GroupRoot(Arc<dyn GroupFactory>),
    /// The end before a grouping, with its number among the stage's feeds.
    GroupCollector(Arc<dyn GroupFactory>, usize),
    /// Builds a side input.
    ViewRoot(Arc<dyn ViewFactory>),
    /// Makes values of a side input of panes.
    PaneBuilder(Arc<dyn ViewFactory>),
    /// The end before a side input, with its number among the stage's feeds.
    ViewCollector(Arc<dyn ViewFactory>, usize),
    /// The end before another stage, with the edge's number.
    Boundary(NewBatch, usize),
}

impl fmt::Debug for SlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SlotKind::Relay(_) => "relay",
            SlotKind::Kernel(_) => "kernel",
            SlotKind::Pair(_) => "pair with restriction",
            SlotKind::Process(_) => "process restriction",
            SlotKind::GroupRoot(_) => "merge groups",
            SlotKind::GroupCollector(..) => "gather groups",
            SlotKind::ViewRoot(_) => "build side input",
            SlotKind::PaneBuilder(_) => "build side input of panes",
            SlotKind::ViewCollector(..) => "gather side input",
            SlotKind::Boundary(..) => "boundary",
        })
    }
}

/// Where elements leave a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) to: StageId,
    /// Whether the elements are to be spread over workers.
    pub(crate) spread: bool,
}

/// A grouping or view that a stage feeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feed {
    pub(crate) to: StageId,
}

impl Stage {
    /// Stages that read this one's output watermark.
    pub(crate) fn downstream(&self) -> impl Iterator<Item = StageId> {
        self.edges.iter().map(|e| e.to).chain(self.feeds.iter().map(|f| f.to))
    }
}
