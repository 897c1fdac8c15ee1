//! What the parts of a query share.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use purlin_sdk::{
    BuildError, Duration, Pipeline, Step, Timestamp,
    graph::{CollectionId, Graph, Op},
    live::LiveScript,
};

use super::{
    Epoch, EventTime, OutputMode, QueryTrigger, StateOperatorProgress, WatermarkId, WatermarkPolicy,
    event_time::WatermarkNode,
    feed::{AnySource, Feed},
    legality::{Legality, wants_closing_epoch},
    operators::Operators,
};

/// What the sources, operators and sink of a pipeline's streaming query share: the epoch at work, and what was seen of
/// event time. A pipeline has one.
#[derive(Clone)]
pub struct QueryContext(Arc<Shared>);

struct Shared {
    script: Arc<LiveScript>,
    epoch: RwLock<Epoch>,
    watermarks: Mutex<Vec<WatermarkNode>>,
    /// What the bundles of the epoch at work that were committed gave to the sink.
    results: Mutex<Vec<Box<dyn Any + Send>>>,
    operators: Operators,
    sources: Mutex<Sources>,
    declared: AtomicBool,
}

#[derive(Default)]
struct Sources {
    count: usize,
    /// Until the query takes them.
    feeds: Vec<Feed>,
}

impl Default for QueryContext {
    fn default() -> QueryContext {
        QueryContext(Arc::new(Shared {
            script: LiveScript::without_driver(Timestamp::EPOCH),
            epoch: RwLock::new(Epoch::none()),
            watermarks: Mutex::default(),
            results: Mutex::default(),
            operators: Operators::default(),
            sources: Mutex::default(),
            declared: AtomicBool::new(false),
        }))
    }
}

impl QueryContext {
    /// That of the pipeline.
    pub fn of(pipeline: &Pipeline) -> QueryContext {
        pipeline.extension()
    }

    pub(super) fn operators(&self) -> &Operators {
        &self.0.operators
    }

    /// The epoch at work.
    pub fn epoch(&self) -> Epoch {
        *self.0.epoch.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new source; its number among the query's.
    pub(crate) fn add_source(&self, step: Step, source: Box<dyn AnySource>) -> usize {
        let mut sources = self.0.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.feeds.push(Feed { step, source });
        sources.count += 1;
        sources.count - 1
    }

    pub(crate) fn take_sources(&self) -> Vec<Feed> {
        std::mem::take(&mut self.0.sources.lock().unwrap_or_else(PoisonError::into_inner).feeds)
    }

    /// Notes that the pipeline has a query; whether it had one before.
    pub(crate) fn declare(&self) -> bool {
        self.0.declared.swap(true, Ordering::SeqCst)
    }

    /// What is wrong with streaming sources that feed no query.
    pub(crate) fn missing_sink(&self, graph: &Graph) -> Vec<BuildError> {
        if self.0.declared.load(Ordering::SeqCst) {
            return Vec::new();
        }
        let sources = graph.nodes.iter().filter(|node| matches!(node.op, Op::Live(_)));
        let why = "it is a source of streaming queries, and the pipeline has none: end it in \
                   `collection.write_stream()`, with a sink, and start that";
        sources.map(|node| BuildError::new(node.step.clone(), why)).collect()
    }

    /// What is wrong with the query whose result is `sink`.
    pub(crate) fn check(
        &self,
        graph: &Graph,
        sink: CollectionId,
        mode: OutputMode,
        trigger: QueryTrigger,
    ) -> Vec<BuildError> {
        Legality::new(graph, &self.operators().all(), sink).check(mode, trigger)
    }

    /// Whether an epoch without data can bring something about when the watermark has moved.
    pub(crate) fn wants_closing_epoch(&self, mode: OutputMode) -> bool {
        wants_closing_epoch(&self.operators().all(), mode)
    }

    /// How many operators keep state from epoch to epoch.
    pub(crate) fn stateful_operators(&self) -> u32 {
        let count =
            self.operators().all().iter().filter(|operator| operator.kind.state_name().is_some()).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// What they did in the epoch at work.
    pub(crate) fn state_operators(&self) -> Vec<StateOperatorProgress> {
        self.operators().all().iter().filter_map(StateOperatorProgress::of).collect()
    }

    /// Whether the query has a watermark.
    pub(crate) fn has_watermark(&self) -> bool {
        !self.watermarks().is_empty()
    }

    /// An epoch begins.
    pub(crate) fn begin_epoch(&self, epoch: Epoch) {
        self.watermarks().iter_mut().for_each(|node| node.seen = EventTime::default());
        self.operators().all().iter().for_each(|operator| operator.rows.begin_epoch());
        self.set_epoch(epoch);
    }

    /// An epoch is done: what the first `with_watermark` that had rows in it saw.
    pub(crate) fn end_epoch(&self) -> Option<EventTime> {
        let mut first = None;
        for node in self.watermarks().iter_mut() {
            node.latest = node.latest.max(node.seen.max);
            if node.seen.rows > 0 && first.is_none() {
                first = Some(node.seen);
            }
        }
        first
    }

    /// What the rows so far make of the watermark; nothing when it stays where it is.
    pub(crate) fn watermark_of(&self, policy: WatermarkPolicy) -> Option<Timestamp> {
        let nodes = self.watermarks();
        let found = nodes.iter().map(|node| node.latest.map(|latest| latest - node.delay));
        match policy {
            // One that has seen nothing yet holds it.
            WatermarkPolicy::Min => found.collect::<Option<Vec<_>>>()?.into_iter().min(),
            WatermarkPolicy::Max => found.flatten().max(),
        }
    }

    /// Goes on to another epoch or phase.
    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        *self.0.epoch.write().unwrap_or_else(PoisonError::into_inner) = epoch;
    }

    pub(crate) fn script(&self) -> &Arc<LiveScript> {
        &self.0.script
    }

    /// A new `with_watermark`.
    pub(crate) fn add_watermark(&self, delay: Duration) -> WatermarkId {
        let mut nodes = self.watermarks();
        nodes.push(WatermarkNode { delay, seen: EventTime::default(), latest: None });
        WatermarkId(nodes.len() - 1)
    }

    /// Rows that a committed bundle gave to a `with_watermark`.
    pub(crate) fn saw(&self, id: WatermarkId, rows: &EventTime) {
        if let Some(node) = self.watermarks().get_mut(id.0) {
            node.seen.merge(rows);
        }
    }

    pub(crate) fn watermarks(&self) -> MutexGuard<'_, Vec<WatermarkNode>> {
        self.0.watermarks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to what goes to the sink. Called for what was committed.
    pub(crate) fn give(&self, rows: Box<dyn Any + Send>) {
        self.0.results.lock().unwrap_or_else(PoisonError::into_inner).push(rows);
    }

    /// What was given since the last time.
    pub(crate) fn take_results(&self) -> Vec<Box<dyn Any + Send>> {
        std::mem::take(&mut *self.0.results.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for QueryContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QueryContext").field(&self.epoch()).finish()
    }
}
