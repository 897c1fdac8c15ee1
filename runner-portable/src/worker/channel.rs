//! Connections to the engine.

use std::time::Duration;

use purlin_sdk::PipelineError;
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::Endpoint,
};

/// A connection whose every call names the worker.
pub(super) type Channel = InterceptedService<tonic::transport::Channel, WorkerId>;

/// Messages may be this large: an element may be, and engines send what they have. tonic's limit is 4 MiB.
pub(super) const MAX_MESSAGE: usize = i32::MAX as usize;

/// The worker's name, which engines look for on every stream.
#[derive(Clone, Debug)]
pub(super) struct WorkerId(MetadataValue<Ascii>);

impl WorkerId {
    /// # Errors
    /// When the name cannot be sent.
    pub(super) fn new(name: &str) -> Result<WorkerId, PipelineError> {
        let value = MetadataValue::try_from(name).map_err(|_| {
            PipelineError::runner(format!("the engine named this worker {name:?}, which gRPC cannot send"))
        })?;
        Ok(WorkerId(value))
    }
}

impl Interceptor for WorkerId {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("worker_id", self.0.clone());
        Ok(request)
    }
}

/// Connects to `url`, which engines write as `host:port`.
///
/// # Errors
/// When nobody answers there.
pub(super) async fn connect(what: &str, url: &str, id: &WorkerId) -> Result<Channel, PipelineError> {
    let failed = |e: tonic::transport::Error| {
        PipelineError::runner(format!("the engine's {what} endpoint `{url}` does not answer: {}", causes(&e)))
    };
    let uri = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let endpoint = Endpoint::from_shared(uri)
        .map_err(failed)?
        .connect_timeout(Duration::from_secs(10))
        .http2_keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(300))
        // A bundle's data should not wait for a round trip every 64 KiB.
        .initial_stream_window_size(8 << 20)
        .initial_connection_window_size(16 << 20);
    let channel = endpoint.connect().await.map_err(failed)?;
    Ok(InterceptedService::new(channel, id.clone()))
}

/// An error and what it came from.
pub(super) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
