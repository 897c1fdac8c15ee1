//! What the parts of a query share.

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use purlin_sdk::{Duration, Pipeline, Timestamp, live::LiveScript};

use super::{Epoch, EventTime, WatermarkId, event_time::WatermarkNode, operators::Operators};

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
}

impl Default for QueryContext {
    fn default() -> QueryContext {
        QueryContext(Arc::new(Shared {
            script: LiveScript::without_driver(Timestamp::EPOCH),
            epoch: RwLock::new(Epoch::none()),
            watermarks: Mutex::default(),
            results: Mutex::default(),
            operators: Operators::default(),
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
