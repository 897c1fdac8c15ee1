//! This program, started as a worker by an engine.

use std::{ffi::OsString, fmt, sync::Arc, time::Duration};

use prost_types::Struct;
use purlin_sdk::{PipelineError, graph::Graph};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    transport::Channel,
};

use crate::{
    artifacts::fetch,
    launcher::{ARGUMENTS, FINGERPRINT, MAX_MESSAGE, connect, text_option},
    pipeline::{WORKER_VARIABLE, fingerprint},
    pool::WorkerPool,
    proto::fn_execution::{
        GetProvisionInfoRequest, InstructionResponse, beam_fn_control_client::BeamFnControlClient,
        provision_service_client::ProvisionServiceClient,
    },
    run::{runtime, start_worker},
    worker::{self, WorkerEndpoints, WorkerGraph},
};

/// How long the engine may take to say what this worker is for.
const PATIENCE: Duration = Duration::from_secs(8);

/// How an engine calls a program of ours that is to be a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCall {
    id: String,
    provision: String,
}

impl WorkerCall {
    /// The call that a command line is, if it is one: engines give a worker's id and where to ask for the rest, and
    /// nothing else of the pipeline's options.
    ///
    /// ```
    /// use purlin_runner_portable::WorkerCall;
    /// let line = ["program", "--id=1-1", "--provision_endpoint=localhost:40000"].map(Into::into);
    /// assert!(WorkerCall::of(&line).is_some());
    /// assert!(WorkerCall::of(&["program", "--id=7"].map(Into::into)).is_none());
    /// ```
    pub fn of(arguments: &[OsString]) -> Option<WorkerCall> {
        let value = |name: &str| {
            let mut rest = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
            while let Some(argument) = rest.next() {
                match argument.strip_prefix(name) {
                    Some("") => return rest.next().map(str::to_owned),
                    Some(given) if given.starts_with('=') => return Some(given[1..].to_owned()),
                    _ => {}
                }
            }
            None
        };
        let id = value("--id")?;
        // Prism quotes it as for a shell, which is not there.
        let id = id.strip_prefix('\'').and_then(|id| id.strip_suffix('\'')).unwrap_or(&id).to_owned();
        Some(WorkerCall { id, provision: value("--provision_endpoint")? })
    }

    /// Whether the engine was told to say so in the environment: then a program that does not understand the call
    /// should say what is wrong.
    pub fn is_announced() -> bool {
        std::env::var_os(WORKER_VARIABLE).is_some()
    }

    /// Asks the engine what this worker is for.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn provision(self) -> Result<Provisioned, PipelineError> {
        let runtime = runtime()?;
        runtime.block_on(self.ask())
    }

    async fn ask(self) -> Result<Provisioned, PipelineError> {
        let WorkerCall { id, provision } = self;
        let channel = connect("the engine's provision service", &provision).await?;
        let name = name(&id)?;
        let mut client = ProvisionServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
        let asked = client.get_provision_info(named(GetProvisionInfoRequest {}, &name));
        let failed = |what: &str| {
            PipelineError::runner(format!(
                "the engine's provision service at `{provision}` does not say what worker {id} is for: {what}"
            ))
        };
        let answer = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(answer)) => answer.into_inner(),
            Ok(Err(status)) => return Err(failed(status.message())),
            Err(_) => return Err(failed("it did not answer in time")),
        };
        let info = answer.info.unwrap_or_default();
        let files = tempfile::Builder::new()
            .prefix("purlin-worker-")
            .tempdir()
            .map_err(|e| PipelineError::runner(format!("there is no place for the worker's files: {e}")))?;
        if let Some(artifacts) = info.artifact_endpoint {
            fetch(&artifacts.url, info.dependencies, files.path()).await?;
        }
        Ok(Provisioned {
            files,
            control: info.control_endpoint.map(|endpoint| endpoint.url).unwrap_or_default(),
            options: info.pipeline_options.unwrap_or_default(),
            id,
            provision,
        })
    }
}

/// What an engine says of a worker that it started.
pub struct Provisioned {
    id: String,
    provision: String,
    control: String,
    options: Struct,
    /// Where the files for this worker are, until it ends.
    files: TempDir,
}

impl fmt::Debug for Provisioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} of {}", self.id, self.control)
    }
}

impl Provisioned {
    /// The command line that the pipeline was submitted with, without the program's name.
    ///
    /// # Errors
    /// When the job was not submitted by a program of ours.
    pub fn arguments(&self) -> Result<Vec<String>, PipelineError> {
        let failed = |what: &str| {
            PipelineError::runner(format!(
                "the job's options do not say with what command line it was submitted ({what}): it was not submitted by \
                 this program, or by one of another version"
            ))
        };
        let text = text_option(&self.options, ARGUMENTS).ok_or_else(|| failed(ARGUMENTS))?;
        serde_json::from_str(text).map_err(|e| failed(&e.to_string()))
    }

    /// Serves bundles of `graph` until the engine lets the worker go. A graph or a program that is not the one that was
    /// submitted is told to the engine.
    ///
    /// # Errors
    /// When the engine cannot be reached, and when the graph or the program is another one.
    pub fn serve(self, graph: Graph) -> Result<(), PipelineError> {
        let fingerprint = fingerprint(&graph);
        let submitted = text_option(&self.options, FINGERPRINT).map(str::to_owned);
        if let Some(submitted) = submitted.filter(|submitted| *submitted != fingerprint) {
            return self.refuse(&mismatch(&submitted, &fingerprint));
        }
        let _until_the_end = self.files;
        let endpoints = WorkerEndpoints {
            worker_id: self.id,
            provision: Some(self.provision),
            ..WorkerEndpoints::default()
        };
        let graph = Arc::new(WorkerGraph::new(graph, fingerprint));
        let runtime = runtime()?;
        let done = runtime.block_on(worker::run(graph, endpoints));
        runtime.shutdown_timeout(Duration::from_secs(2));
        done
    }

    /// Answers everything that the engine asks of this worker with `error`, until it asks no more.
    ///
    /// # Errors
    /// Always: `error`, or why the engine could not be told.
    pub fn refuse(self, error: &PipelineError) -> Result<(), PipelineError> {
        let runtime = runtime()?;
        runtime.block_on(self.answer_all(error))?;
        Err(error.clone())
    }

    async fn answer_all(&self, error: &PipelineError) -> Result<(), PipelineError> {
        let channel: Channel = connect("the engine's control service", &self.control).await?;
        let mut client = BeamFnControlClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
        let (answers, to_engine) = mpsc::channel(16);
        let broken = |status: Status| {
            PipelineError::runner(format!("the engine's control service broke off: {}", status.message()))
        };
        let stream = named(ReceiverStream::new(to_engine), &name(&self.id)?);
        let mut asked = client.control(stream).await.map_err(broken)?.into_inner();
        while let Some(instruction) = asked.message().await.map_err(broken)? {
            let answer = InstructionResponse {
                instruction_id: instruction.instruction_id,
                error: error.to_string(),
                ..InstructionResponse::default()
            };
            if answers.send(answer).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn mismatch(submitted: &str, here: &str) -> PipelineError {
    PipelineError::runner(format!(
        "this worker does not have the pipeline that was submitted: that was {submitted}, and here it is {here}. When the \
         programs differ, put the same file on every machine; when the graphs do, what builds the pipeline depends on \
         more than the command line, such as a file or the time"
    ))
}

fn name(id: &str) -> Result<MetadataValue<Ascii>, PipelineError> {
    MetadataValue::try_from(id).map_err(|_| {
        PipelineError::runner(format!("the engine named this worker {id:?}, which gRPC cannot send"))
    })
}

/// A call that says which worker it is of.
fn named<T>(call: T, id: &MetadataValue<Ascii>) -> Request<T> {
    let mut request = Request::new(call);
    request.metadata_mut().insert("worker_id", id.clone());
    request
}

/// Starts workers of `graph` for whoever asks at `address`, until the process ends; `told` is told where it listens.
///
/// # Errors
/// When the address cannot be listened at.
pub fn serve_pool(
    address: &str,
    graph: Graph,
    told: impl FnOnce(std::net::SocketAddr),
) -> Result<(), PipelineError> {
    let fingerprint = fingerprint(&graph);
    let graph = Arc::new(WorkerGraph::new(graph, fingerprint));
    runtime()?.block_on(async {
        let pool = WorkerPool::listen(address, start_worker(graph)).await?;
        told(pool.address());
        pool.forever().await;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &[&str]) -> Option<WorkerCall> {
        let line: Vec<OsString> =
            std::iter::once("program").chain(arguments.iter().copied()).map(Into::into).collect();
        WorkerCall::of(&line)
    }

    #[test]
    fn engines_write_a_call_in_their_own_ways() {
        let expected = Some(WorkerCall { id: "job-1[a]".to_owned(), provision: "localhost:1".to_owned() });
        assert_eq!(call(&["--id=job-1[a]", "--provision_endpoint=localhost:1"]), expected);
        assert_eq!(call(&["--id='job-1[a]'", "--provision_endpoint=localhost:1"]), expected);
        assert_eq!(
            call(&["--provision_endpoint", "localhost:1", "--id", "job-1[a]", "--semi_persist_dir=/tmp"]),
            expected
        );
        assert_eq!(call(&["--identity=3", "--provision_endpoint=localhost:1"]), None);
        assert_eq!(call(&["--runner=direct"]), None);
    }
}
