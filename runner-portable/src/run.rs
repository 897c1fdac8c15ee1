//! A run: the pool of workers, where the code runs here, and the job at the engine.

use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc},
    time::Duration,
};

use purlin_sdk::{
    PipelineError, RunControl, RunShared, RunState, StallReport, graph::Graph, metrics::MetricsSnapshot,
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::mpsc as channels,
};

use crate::{
    failures::Failures,
    launcher::{ARGUMENTS, FINGERPRINT, Files, Job, OptionValue, Request, Submission, snapshot, watch},
    leftovers::Leftovers,
    pipeline::{Artifact, Environment, environment, fingerprint, translate},
    pool::{StartWorker, WorkerPool},
    proto::{fn_execution::StartWorkerRequest, pipeline::ApiServiceDescriptor},
    urns,
    worker::{self, WorkerEndpoints, WorkerGraph},
};

/// The option by which a user says that the engine never runs a bundle twice, so that what a DoFn sees is stable as it
/// is, although the engine does not know that word.
const STABLE_INPUT: &str = "purlin_stable_input";

/// How long what still runs here may take after the end.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// How long after a worker broke off the engine may still say how the job ended.
const GRACE: Duration = Duration::from_secs(5);

/// How long whoever asks for metrics waits.
const PATIENCE: Duration = Duration::from_secs(6);

/// What is to be run, and how.
pub(crate) struct Launch {
    pub(crate) graph: Graph,
    pub(crate) endpoint: String,
    pub(crate) environment: Environment,
    pub(crate) job_name: String,
    pub(crate) options: BTreeMap<String, OptionValue>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) arguments: Vec<String>,
    /// This program's file.
    pub(crate) program: String,
}

/// A runtime for what speaks to the engine.
pub(crate) fn runtime() -> Result<Runtime, PipelineError> {
    Builder::new_multi_thread().worker_threads(2).thread_name("purlin-engine").enable_all().build().map_err(
        |e| PipelineError::runner(format!("the runtime that speaks to the engine cannot be started: {e}")),
    )
}

/// Submits the pipeline, says whether that went well, and follows the job to its end.
pub(crate) fn follow(
    launch: Launch,
    shared: &Arc<RunShared>,
    tell: &mpsc::Sender<Result<(), PipelineError>>,
) {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(e) => return drop(tell.send(Err(e))),
    };
    let result = runtime.block_on(async {
        let started = match start(launch).await {
            Ok(started) => started,
            // Whoever waits is told; nobody follows a job that there is not.
            Err(e) => {
                drop(tell.send(Err(e)));
                return None;
            }
        };
        let Started { job, mut pool, failures, leftovers } = started;
        let (requests, mut requested) = channels::unbounded_channel();
        let control = Control {
            job: job.clone(),
            shared: Arc::downgrade(shared),
            requests,
            runtime: Handle::current(),
        };
        shared.attach(Arc::new(control));
        drop(tell.send(Ok(())));
        let result = tokio::select! {
            result = watch(&job, &mut requested, &failures) => result,
            error = broken(&mut pool) => {
                // The engine would wait for the worker, some for minutes.
                if let Err(e) = job.cancel().await {
                    tracing::warn!("the job cannot be cancelled: {e}");
                }
                Err(error.with_note("it was a worker in this process, and the job was cancelled"))
            }
        };
        if let Some(pool) = pool {
            pool.end().await;
        }
        Some((result, leftovers))
    });
    runtime.shutdown_timeout(SHUTDOWN);
    if let Some((result, leftovers)) = result {
        let done = result.as_ref().is_ok_and(|outcome| outcome.state == RunState::Done);
        let settled = if done { leftovers.settle() } else { Ok(()) };
        shared.finish(settled.and(result));
    }
}

/// Waits for a worker in this process that breaks off while the job goes on.
async fn broken(pool: &mut Option<WorkerPool>) -> PipelineError {
    let Some(pool) = pool else { return std::future::pending().await };
    let error = pool.failure().await;
    // Workers break off when an engine ends, which it should be able to say.
    tokio::time::sleep(GRACE).await;
    error
}

struct Started {
    job: Job,
    pool: Option<WorkerPool>,
    failures: Arc<Failures>,
    leftovers: Arc<Leftovers>,
}

async fn start(launch: Launch) -> Result<Started, PipelineError> {
    let Launch { graph, endpoint, environment: place, job_name, mut options, artifacts, arguments, program } =
        launch;
    let fingerprint = fingerprint(&graph);
    let failures = Arc::new(Failures::of(&graph));
    let leftovers = Arc::new(Leftovers::default());
    // First, so that what no engine can do is told without one.
    let mut pipeline = translate(&graph, &fingerprint, environment(&place, "", &program, &artifacts))?;
    if options.get(STABLE_INPUT).is_some_and(|value| *value == OptionValue::text("assumed")) {
        pipeline.requirements.retain(|requirement| requirement != urns::requirement::STABLE_INPUT);
    }
    let pool = match place {
        Environment::Loopback => {
            let graph = Arc::new(WorkerGraph {
                graph,
                fingerprint: fingerprint.clone(),
                failures: failures.clone(),
                leftovers: leftovers.clone(),
            });
            Some(WorkerPool::listen("127.0.0.1:0", start_worker(graph)).await?)
        }
        Environment::External(_) | Environment::Process(_) => None,
    };
    if let (Some(pool), Some(components)) = (&pool, &mut pipeline.components) {
        let here = environment(&place, &pool.address().to_string(), &program, &artifacts);
        components.environments.insert(crate::pipeline::ENVIRONMENT.to_owned(), here);
    }
    let arguments = serde_json::to_string(&arguments)
        .map_err(|e| PipelineError::runner(format!("the command line cannot be written down: {e}")))?;
    options.insert(ARGUMENTS.to_owned(), OptionValue::text(arguments));
    options.insert(FINGERPRINT.to_owned(), OptionValue::text(fingerprint));
    let submission = Submission { endpoint, name: job_name, pipeline, options, files: Files(artifacts) };
    match Job::submit(submission).await {
        Ok(job) => Ok(Started { job, pool, failures, leftovers }),
        Err(e) => {
            if let Some(pool) = pool {
                pool.end().await;
            }
            Err(if e.to_string().contains(urns::requirement::STABLE_INPUT) { unstable(e) } else { e })
        }
    }
}

fn unstable(refused: PipelineError) -> PipelineError {
    refused.with_note(
        "a DoFn, such as one that writes files, must see the same elements again when its bundle is tried again. An engine \
         that never tries a bundle again, such as Prism and Beam's job service in Python, may run it all the same: say so \
         by --engine-option purlin_stable_input=assumed",
    )
}

/// Starts workers of `graph`.
pub(crate) fn start_worker(graph: Arc<WorkerGraph>) -> StartWorker {
    Arc::new(move |request: StartWorkerRequest| {
        let graph = graph.clone();
        graph.leftovers.begin();
        let url = |endpoint: Option<ApiServiceDescriptor>| endpoint.map(|e| e.url).unwrap_or_default();
        let endpoints = WorkerEndpoints {
            worker_id: request.worker_id,
            control: url(request.control_endpoint),
            logging: url(request.logging_endpoint),
            provision: request.provision_endpoint.map(|e| e.url),
            status: None,
        };
        Box::pin(worker::run(graph, endpoints))
    })
}

/// The handle's way to the job.
struct Control {
    job: Job,
    shared: std::sync::Weak<RunShared>,
    requests: channels::UnboundedSender<Request>,
    runtime: Handle,
}

impl RunControl for Control {
    fn wake(&self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let request = if shared.cancel_requested() { Request::Cancel } else { Request::Drain };
        // When nobody takes it, the run is over.
        let _ = self.requests.send(request);
    }

    fn metrics(&self) -> MetricsSnapshot {
        let (tell, told) = mpsc::channel();
        let job = self.job.clone();
        self.runtime.spawn(async move { tell.send(job.metrics().await) });
        match told.recv_timeout(PATIENCE) {
            Ok(Ok(results)) => snapshot(&results),
            Ok(Err(e)) => {
                tracing::warn!("what was counted is not known: {e}");
                MetricsSnapshot::default()
            }
            Err(_) => MetricsSnapshot::default(),
        }
    }

    /// What holds watermarks is known to the engine alone.
    fn stall_report(&self) -> StallReport {
        StallReport::default()
    }
}
