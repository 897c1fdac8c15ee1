//! How the worker is, for an engine that asks.

use std::{fmt::Write, sync::Arc};

use purlin_sdk::PipelineError;
use tokio::sync::mpsc;
use tokio_stream::{StreamExt, wrappers::ReceiverStream};

use super::{
    bundles::Bundles,
    channel::{MAX_MESSAGE, WorkerId, connect},
};
use crate::proto::fn_execution::{
    WorkerStatusResponse, beam_fn_worker_status_client::BeamFnWorkerStatusClient,
};

/// Answers until the engine ends the stream.
///
/// # Errors
/// When nobody answers at `url`.
pub(super) async fn serve(url: &str, worker: &WorkerId, bundles: Arc<Bundles>) -> Result<(), PipelineError> {
    let channel = connect("worker status", url, worker).await?;
    let mut client = BeamFnWorkerStatusClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
    let (answers, waiting) = mpsc::channel(4);
    let refused = |e: tonic::Status| {
        PipelineError::runner(format!("the engine's worker status endpoint `{url}` failed: {}", e.message()))
    };
    let mut requests =
        client.worker_status(ReceiverStream::new(waiting)).await.map_err(refused)?.into_inner();
    while let Some(request) = requests.next().await {
        let id = request.map_err(refused)?.id;
        let answer = WorkerStatusResponse { id, error: String::new(), status_info: report(&bundles) };
        if answers.send(answer).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The bundles that are open, the oldest first.
fn report(bundles: &Bundles) -> String {
    let mut open = bundles.report();
    open.sort_by_key(|bundle| bundle.since);
    let mut text = format!("purlin {}\n{} bundles open\n", env!("CARGO_PKG_VERSION"), open.len());
    for bundle in open {
        let doing = if bundle.running { "runs" } else { "waits to start" };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  {} of {}: {doing}, for {:.1} s",
            bundle.instruction,
            bundle.descriptor,
            bundle.since.elapsed().as_secs_f64()
        );
    }
    text
}
