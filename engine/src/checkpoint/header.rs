//! What a cut says of the whole pipeline and of each stage.

use std::collections::BTreeSet;

use purlin_sdk::{
    BuildErrors, PipelineError, Timestamp,
    graph::{Graph, GraphSpec},
    metrics::MetricsSnapshot,
    window::Window,
};
use serde::{Deserialize, Serialize};

use crate::test_stream::StreamPosition;

/// The first segment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) graph: SavedGraph,
    pub(super) key_groups: u32,
    pub(super) now: Timestamp,
    pub(super) draining: bool,
    pub(super) metrics: MetricsSnapshot,
    pub(super) streams: StreamPosition,
    /// The watermark of live streams, if there are any.
    pub(super) live: Option<Timestamp>,
    pub(super) stages: Vec<StageHeader>,
}

/// The graph that the cut is of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedGraph {
    /// As JSON, since it holds the configuration of DoFns, which is JSON.
    json: String,
    stateless: BTreeSet<String>,
}

/// One stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StageHeader {
    /// The path of the transform that it begins with, and where two begin with it, which of them.
    pub(super) name: String,
    /// The type of what waits for it.
    pub(super) element: String,
    pub(super) input: Timestamp,
    pub(super) output: Timestamp,
    /// The watermark that whoever controls one that is assigned here put in force.
    pub(super) in_force: Timestamp,
    /// A grouping's open windows, with where each holds the output watermark.
    pub(super) windows: Vec<(Window, Timestamp)>,
    /// A view's windows below this are gone.
    pub(super) values_from: Timestamp,
    /// Key groups whose bundle failed, until when they rest in processing time, and how often they were tried.
    pub(super) resting: Vec<(u32, Timestamp, u32)>,
}

impl SavedGraph {
    pub(super) fn of(graph: &Graph) -> Result<SavedGraph, PipelineError> {
        let json = serde_json::to_string(&graph.spec())
            .map_err(|e| PipelineError::runner(format!("the graph cannot be written as JSON: {e}")))?;
        Ok(SavedGraph { json, stateless: graph.stateless() })
    }

    /// Whether a run of `graph` can go on from here, but for what waits in front of stages that are gone.
    pub(super) fn check(&self, graph: &Graph) -> Result<(), PipelineError> {
        let was: GraphSpec = serde_json::from_str(&self.json)
            .map_err(|e| PipelineError::runner(format!("the graph in the checkpoint cannot be read: {e}")))?;
        let now = graph.spec();
        let obstacles = was.obstacles(&self.stateless, &now, &graph.stateless());
        if obstacles.is_empty() {
            return Ok(());
        }
        Err(PipelineError::runner(format!(
            "this pipeline cannot go on from the checkpoint, which is of another one (fingerprint {:016x} there, {:016x} \
             here). Transforms that keep nothing may come and go; these are different:\n  {}\nGive transforms the names \
             that they had, drain the old run and begin anew, or begin anew in another checkpoint directory",
            was.fingerprint(),
            now.fingerprint(),
            obstacles.join("\n  ")
        )))
    }
}

/// What is wrong with a graph, as an error of a run.
pub(super) fn not_built(errors: BuildErrors) -> PipelineError {
    errors.into()
}
