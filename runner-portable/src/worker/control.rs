//! The stream of instructions.

use std::{collections::HashMap, num::NonZero, sync::Arc, thread, time::Duration};

use purlin_sdk::{
    PipelineError, SystemClock, Timestamp,
    exec::{BundleControl, Checks, RunEnv},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_stream::{StreamExt, wrappers::UnboundedReceiverStream};
use tracing::Dispatch;

use super::{
    WorkerEndpoints, WorkerGraph,
    bundle::{self, Common},
    bundles::{Bundles, Known, Running},
    channel::{MAX_MESSAGE, WorkerId, connect},
    data::{self, DataPlane},
    descriptors::Descriptors,
    inbox::Inboxes,
    io::BundleIo,
    logging::{Log, LogTask, Tee, logged},
    metrics::{Report, ShortIds},
    options::WorkerOptions,
    state::StatePlane,
    status,
};
use crate::{
    failures::Failures,
    leftovers::Leftovers,
    proto::fn_execution::{
        FinalizeBundleResponse, HarnessMonitoringInfosResponse, InstructionRequest, InstructionResponse,
        MonitoringInfosMetadataResponse, ProcessBundleProgressResponse, ProcessBundleRequest,
        ProcessBundleResponse, ProcessBundleSplitRequest, ProcessBundleSplitResponse, RegisterResponse,
        SampleDataResponse, beam_fn_control_client::BeamFnControlClient, instruction_request::Request,
        instruction_response::Response, log_entry::severity::Enum as Severity,
    },
};

/// How long bundles that were told to stop are waited for when the engine has gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// What answers instructions.
struct Worker {
    descriptors: Descriptors,
    bundles: Arc<Bundles>,
    inboxes: Arc<Inboxes>,
    data: DataPlane,
    state: StatePlane,
    common: Common,
    log: Option<Arc<Log>>,
    tee: Option<Dispatch>,
    failures: Arc<Failures>,
    leftovers: Arc<Leftovers>,
}

/// Answers instructions until the engine ends the stream.
///
/// # Errors
/// When an endpoint does not answer, or the stream breaks.
pub(super) async fn serve(
    graph: Arc<WorkerGraph>,
    endpoints: WorkerEndpoints,
    options: WorkerOptions,
) -> Result<(), PipelineError> {
    let id = WorkerId::new(&endpoints.worker_id)?;
    let channel = connect("control", &endpoints.control, &id).await?;
    let (log, log_task) = match endpoints.logging.as_str() {
        "" => (None, None),
        url => {
            let (log, task) = Log::connect(url, &id).await?;
            (Some(Arc::new(log)), Some(task))
        }
    };
    let bundles = Arc::new(Bundles::default());
    let status = endpoints.status.filter(|url| !url.is_empty()).map(|url| {
        let (id, bundles) = (id.clone(), bundles.clone());
        tokio::spawn(async move {
            // An engine that does not ask is no reason to stop.
            if let Err(e) = status::serve(&url, &id, bundles).await {
                tracing::warn!("{e}");
            }
        })
    });
    let env = RunEnv {
        options: graph.graph.options.clone(),
        clock: Arc::new(SystemClock),
        parallelism: std::thread::available_parallelism().map_or(1, NonZero::get),
        atomic: false,
        checks: Checks::default(),
    };
    let inboxes = Arc::new(Inboxes::default());
    let (failures, leftovers) = (graph.failures.clone(), graph.leftovers.clone());
    let worker = Arc::new(Worker {
        failures,
        leftovers,
        descriptors: Descriptors::new(graph, channel.clone()),
        bundles,
        data: DataPlane::new(id.clone(), inboxes.clone()),
        state: StatePlane::new(id),
        inboxes,
        common: Common { env: Arc::new(env), options, ids: ShortIds::default() },
        tee: log.clone().map(Tee::dispatch),
        log,
    });
    let client = BeamFnControlClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let mut tasks = JoinSet::new();
    let ended = worker.clone().listen(client, &mut tasks, &endpoints.control).await;
    worker.close(tasks, log_task).await;
    if let Some(status) = status {
        status.abort();
    }
    ended
}

impl Worker {
    async fn listen(
        self: Arc<Worker>,
        mut client: BeamFnControlClient<super::channel::Channel>,
        tasks: &mut JoinSet<()>,
        url: &str,
    ) -> Result<(), PipelineError> {
        let (answers, waiting) = mpsc::unbounded_channel();
        let broken = |e: tonic::Status| {
            PipelineError::runner(format!(
                "the engine's stream of instructions at `{url}` broke: {}",
                e.message()
            ))
        };
        let answer = client.control(UnboundedReceiverStream::new(waiting)).await.map_err(broken)?;
        let mut requests = answer.into_inner();
        while let Some(request) = requests.next().await {
            let InstructionRequest { instruction_id, request } = request.map_err(broken)?;
            if let Some(Request::ProcessBundle(process)) = &request {
                // Noted here, so that whoever asks about it with the next instruction is not told that it is unknown.
                self.bundles.open(&instruction_id, &process.process_bundle_descriptor_id);
            }
            let (worker, answers) = (self.clone(), answers.clone());
            tasks.spawn(async move {
                let response = worker.answer(&instruction_id, request).await;
                // When nobody listens any more the stream has ended, and the loop above with it.
                let _ = answers.send(response);
            });
            while tasks.try_join_next().is_some() {}
        }
        Ok(())
    }

    /// What an instruction comes to; always an answer, since the engine waits for one.
    async fn answer(self: Arc<Worker>, instruction: &str, request: Option<Request>) -> InstructionResponse {
        let worker = self.clone();
        let id = instruction.to_owned();
        // A panic here would be a fault of ours, and must not leave the engine waiting.
        let done = tokio::spawn(async move { worker.response(&id, request).await }).await;
        let response = done.unwrap_or_else(|e| Err(PipelineError::runner(format!("the worker failed: {e}"))));
        match response {
            Ok(response) => InstructionResponse {
                instruction_id: instruction.to_owned(),
                error: String::new(),
                response: Some(response),
            },
            Err(e) => {
                if let Some(log) = &self.log {
                    log.send(Severity::Error, instruction, e.to_string(), String::new());
                }
                let error = self.failures.text(&e);
                InstructionResponse { instruction_id: instruction.to_owned(), error, response: None }
            }
        }
    }

    async fn response(
        self: Arc<Worker>,
        instruction: &str,
        request: Option<Request>,
    ) -> Result<Response, PipelineError> {
        match request {
            Some(Request::ProcessBundle(request)) => {
                let done = self.process(instruction, request).await;
                if done.is_err() {
                    self.bundles.close(instruction, Vec::new());
                }
                self.inboxes.close(instruction);
                done.map(Response::ProcessBundle)
            }
            Some(Request::ProcessBundleProgress(request)) => {
                let response = self.progress(&request.instruction_id).await?;
                Ok(Response::ProcessBundleProgress(response))
            }
            Some(Request::ProcessBundleSplit(request)) => {
                self.split(request).await.map(Response::ProcessBundleSplit)
            }
            Some(Request::FinalizeBundle(request)) => {
                let finalizers = self.bundles.finalizers(&request.instruction_id);
                let (tee, instruction) = (self.tee.clone(), request.instruction_id);
                let run = move || {
                    logged(tee.as_ref(), &instruction, || {
                        finalizers.into_iter().for_each(|f| f.run(Timestamp::now()));
                    });
                };
                on_a_thread(run).await?;
                Ok(Response::FinalizeBundle(FinalizeBundleResponse {}))
            }
            Some(Request::MonitoringInfos(request)) => {
                let known = request.monitoring_info_id.into_iter();
                let known = known.filter_map(|id| self.common.ids.info(&id).map(|info| (id, info)));
                let monitoring_info: HashMap<_, _> = known.collect();
                Ok(Response::MonitoringInfos(MonitoringInfosMetadataResponse { monitoring_info }))
            }
            // Nothing is counted for the worker as a whole.
            Some(Request::HarnessMonitoringInfos(_)) => {
                Ok(Response::HarnessMonitoringInfos(HarnessMonitoringInfosResponse::default()))
            }
            Some(Request::SampleData(_)) => Ok(Response::SampleData(SampleDataResponse::default())),
            Some(Request::Register(request)) => {
                for descriptor in &request.process_bundle_descriptor {
                    self.descriptors.register(descriptor)?;
                }
                Ok(Response::Register(RegisterResponse {}))
            }
            None => Err(PipelineError::runner(
                "the engine sent an instruction that this worker does not know; it may be newer than the worker",
            )),
        }
    }

    async fn process(
        self: &Arc<Worker>,
        instruction: &str,
        request: ProcessBundleRequest,
    ) -> Result<ProcessBundleResponse, PipelineError> {
        if let Some(elements) = request.elements {
            data::take(elements, &self.inboxes);
        }
        let stage = self.descriptors.stage(&request.process_bundle_descriptor_id).await?;
        let mut links = HashMap::new();
        for url in &stage.plan.urls {
            links.insert(url.clone(), self.data.link(url).await?);
        }
        let Some(inbox) = self.inboxes.of(instruction) else {
            return Err(PipelineError::runner(format!("the bundle `{instruction}` was there before")));
        };
        let io = BundleIo::new(instruction, inbox, links, stage.plan.sources.len());
        let state = match (&stage.plan.state_url, stage.plan.needs_state) {
            (Some(url), true) => Some(Arc::new(self.state.of(url, instruction).await?)),
            (None, true) => {
                let what =
                    "the engine's descriptor does not say where state is, and a transform of it needs some";
                return Err(PipelineError::runner(what));
            }
            (_, false) => None,
        };
        let control = Arc::new(BundleControl::default());
        let running = Arc::new(Running { io: Arc::new(io), control, stage, state });
        self.bundles.start(instruction, &running);
        let (worker, id) = (self.clone(), instruction.to_owned());
        let done = on_a_thread(move || {
            let done = logged(worker.tee.as_ref(), &id, || bundle::run(&running, &worker.common));
            // Closed before the engine is answered, and with that before it can ask for the callbacks.
            done.map(|(response, finalizers)| {
                worker.bundles.close(&id, finalizers);
                response
            })
        });
        done.await?
    }

    async fn progress(&self, instruction: &str) -> Result<ProcessBundleProgressResponse, PipelineError> {
        let running = match self.bundles.get(instruction) {
            Known::Running(running) => running,
            Known::Quiet => return Ok(ProcessBundleProgressResponse::default()),
            Known::Unknown => return Err(unknown(instruction)),
        };
        // A user's tracker may be slow to say how far it is.
        let report = on_a_thread(move || Report::running(&running)).await?;
        let (monitoring_infos, monitoring_data) = report.encode(&self.common.ids);
        Ok(ProcessBundleProgressResponse { monitoring_infos, monitoring_data, consuming_received_data: None })
    }

    async fn split(
        &self,
        request: ProcessBundleSplitRequest,
    ) -> Result<ProcessBundleSplitResponse, PipelineError> {
        let running = match self.bundles.get(&request.instruction_id) {
            Known::Running(running) => running,
            Known::Quiet => return Ok(ProcessBundleSplitResponse::default()),
            Known::Unknown => return Err(unknown(&request.instruction_id)),
        };
        let split = move || {
            let mut answer = ProcessBundleSplitResponse::default();
            for (transform, desired) in &request.desired_splits {
                running.split(&running.stage.plan, transform, desired, &mut answer)?;
            }
            Ok(answer)
        };
        on_a_thread(split).await?
    }

    /// Ends everything that hangs on the stream of instructions.
    async fn close(self: Arc<Worker>, mut tasks: JoinSet<()>, log_task: Option<LogTask>) {
        self.bundles.cancel();
        self.leftovers.finalizers(self.bundles.leftovers());
        self.inboxes.fail("the engine ended the stream of instructions");
        self.data.close().await;
        self.state.close().await;
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::warn!("bundles that were told to stop still run, and are left behind");
        }
        tasks.abort_all();
        let (worker, env) = (self.clone(), self.common.env.clone());
        let torn = on_a_thread(move || {
            let tee = worker.tee.clone();
            logged(tee.as_ref(), "", || worker.descriptors.teardown(&env))
        });
        if let Err(e) | Ok(Some(e)) = torn.await.map(Result::err) {
            self.leftovers.torn(e);
        }
        drop(self);
        if let Some(task) = log_task {
            task.close().await;
        }
    }
}

fn unknown(instruction: &str) -> PipelineError {
    PipelineError::runner(format!(
        "the engine asked about the bundle `{instruction}`, which this worker never had"
    ))
}

/// Does `work` on a thread of its own, where it may wait for as long as it likes: a pool would have an end, and on one of
/// tokio's the user's code would find itself in a runtime that it has nowhere else.
async fn on_a_thread<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, PipelineError> {
    let (tell, told) = oneshot::channel();
    let thread = thread::Builder::new().name("bundle".to_owned());
    let spawned = thread.spawn(move || {
        // When nobody waits for it any more the worker is ending.
        let _ = tell.send(work());
    });
    spawned.map_err(|e| PipelineError::runner(format!("the worker cannot start a thread: {e}")))?;
    told.await.map_err(|_| PipelineError::runner("the worker failed: a thread of it ended without a result"))
}
