use std::sync::Arc;

use purlin_sdk::{PipelineError, graph::Graph};

pub(crate) struct WorkerGraph {
    pub(crate) graph: Graph,
    pub(crate) fingerprint: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerEndpoints {
    pub(crate) worker_id: String,
    pub(crate) control: String,
    pub(crate) logging: String,
    pub(crate) provision: Option<String>,
    pub(crate) status: Option<String>,
}

pub(crate) async fn run(_graph: Arc<WorkerGraph>, _endpoints: WorkerEndpoints) -> Result<(), PipelineError> {
    Err(PipelineError::runner("there is no worker yet"))
}
