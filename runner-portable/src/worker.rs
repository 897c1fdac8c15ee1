//! The worker: what an engine sends bundles to.
//!
//! It holds one stream to the engine on which instructions come (`control`), and one to each place that data come from
//! and go to (`data`). For each descriptor of a bundle (`plan`) it keeps kernels that are set up (`pool`), and runs every
//! bundle on a thread of its own (`bundle`), since a bundle may wait for another.
//!
//! Source: `beam_fn_api.proto` of Beam 2.77, and Beam's Python worker where the protocol's text is silent.

mod bundle;
mod bundles;
mod channel;
mod coders;
mod control;
mod data;
mod descriptors;
mod inbox;
mod io;
mod logging;
mod metrics;
mod node;
mod options;
mod plan;
mod pool;
mod provision;
mod residuals;
mod sides;
mod sink;
mod source;
mod split;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod timers;

use std::sync::Arc;

use purlin_sdk::{PipelineError, graph::Graph};

use crate::{failures::Failures, leftovers::Leftovers};

/// The pipeline that bundles are of, as this process has built it.
pub(crate) struct WorkerGraph {
    /// The pipeline.
    pub(crate) graph: Graph,
    /// What the engine's payloads must name, or the bundles are of another pipeline.
    pub(crate) fingerprint: String,
    /// Where errors go on their way to the engine.
    pub(crate) failures: Arc<Failures>,
    /// Where what is left at the end of a worker goes.
    pub(crate) leftovers: Arc<Leftovers>,
}

impl WorkerGraph {
    /// Of a pipeline whose errors the engine alone hands on.
    pub(crate) fn new(graph: Graph, fingerprint: String) -> WorkerGraph {
        let failures = Arc::new(Failures::of(&graph));
        WorkerGraph { graph, fingerprint, failures, leftovers: Arc::default() }
    }
}

/// Where the engine is.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerEndpoints {
    /// The name that the engine gave this worker.
    pub(crate) worker_id: String,
    /// Where instructions come from; empty when provisioning says so.
    pub(crate) control: String,
    /// Where log entries go; empty when provisioning says so, or nowhere.
    pub(crate) logging: String,
    /// Where to ask for the rest.
    pub(crate) provision: Option<String>,
    /// Where the engine asks how the worker is.
    pub(crate) status: Option<String>,
}

/// Serves bundles until the engine ends the stream of instructions.
///
/// # Errors
/// When an endpoint cannot be reached, or the stream breaks.
pub(crate) async fn run(graph: Arc<WorkerGraph>, endpoints: WorkerEndpoints) -> Result<(), PipelineError> {
    let (endpoints, options) = provision::provision(endpoints).await?;
    control::serve(graph, endpoints, options).await
}
