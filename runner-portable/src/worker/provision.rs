//! What the engine tells a worker before it begins.

use purlin_sdk::PipelineError;

use super::{
    WorkerEndpoints,
    channel::{MAX_MESSAGE, WorkerId, connect},
    options::WorkerOptions,
};
use crate::proto::{
    fn_execution::{GetProvisionInfoRequest, provision_service_client::ProvisionServiceClient},
    pipeline::ApiServiceDescriptor,
};

/// Fills in what `endpoints` leave open, and takes the options that concern the worker.
///
/// # Errors
/// When the provisioning service cannot be reached, or nobody says where instructions come from.
pub(super) async fn provision(
    mut endpoints: WorkerEndpoints,
) -> Result<(WorkerEndpoints, WorkerOptions), PipelineError> {
    let mut options = WorkerOptions::default();
    if let Some(url) = endpoints.provision.as_deref().filter(|url| !url.is_empty()) {
        let channel = connect("provision", url, &WorkerId::new(&endpoints.worker_id)?).await?;
        let mut client = ProvisionServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
        let answer = client.get_provision_info(GetProvisionInfoRequest {}).await;
        let answer = answer.map_err(|e| {
            PipelineError::runner(format!("the engine's provision endpoint `{url}` refused: {}", e.message()))
        })?;
        let info = answer.into_inner().info.unwrap_or_default();
        let url =
            |endpoint: Option<ApiServiceDescriptor>| endpoint.map(|e| e.url).filter(|url| !url.is_empty());
        if endpoints.control.is_empty() {
            endpoints.control = url(info.control_endpoint).unwrap_or_default();
        }
        if endpoints.logging.is_empty() {
            endpoints.logging = url(info.logging_endpoint).unwrap_or_default();
        }
        endpoints.status = endpoints.status.or_else(|| url(info.status_endpoint));
        if let Some(given) = &info.pipeline_options {
            options = WorkerOptions::of(given);
        }
    }
    if endpoints.control.is_empty() {
        let what = "the engine did not say where instructions come from: neither how it started this worker nor its \
                    provision service names a control endpoint";
        return Err(PipelineError::runner(what));
    }
    Ok((endpoints, options))
}
