//! The connection to the job service.

use std::time::Duration;

use purlin_sdk::PipelineError;
use tonic::transport::{Channel, Endpoint};

use super::errors::causes;

/// Messages may be this large: a pipeline or a message of an engine may be. The default of both sides is 4 MiB.
pub(crate) const MAX_MESSAGE: usize = i32::MAX as usize;

/// How long to wait for somebody to answer at all.
const CONNECT: Duration = Duration::from_secs(5);

/// Connects to `address`, which is `host:port`.
///
/// # Errors
/// When the address is none, or nobody answers there.
pub(crate) async fn connect(what: &str, address: &str) -> Result<Channel, PipelineError> {
    let uri = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let endpoint = Endpoint::from_shared(uri).map_err(|e| {
        PipelineError::runner(format!(
            "the address of {what}, `{address}`, is none: {}; it is HOST:PORT, such as localhost:8073",
            causes(&e)
        ))
    })?;
    endpoint.connect_timeout(CONNECT).connect().await.map_err(|e| {
        PipelineError::runner(format!(
            "{what} at `{address}` does not answer: {}. Is the engine running, and is this the port of its job service?",
            causes(&e)
        ))
    })
}
