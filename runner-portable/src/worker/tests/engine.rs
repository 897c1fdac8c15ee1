//! An engine in this process, as far as a worker sees one.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use purlin_sdk::{PipelineError, graph::Graph};
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
};
use tokio_stream::{
    Stream, StreamExt,
    wrappers::{TcpListenerStream, UnboundedReceiverStream},
};
use tonic::{Request, Response, Status, Streaming, transport::Server};

use crate::{
    proto::{
        fn_execution::{
            Elements, GetProcessBundleDescriptorRequest, GetProvisionInfoRequest, GetProvisionInfoResponse,
            InstructionRequest, InstructionResponse, LogControl, LogEntry, ProcessBundleDescriptor,
            ProcessBundleRequest, ProcessBundleResponse, ProvisionInfo, WorkerStatusRequest,
            WorkerStatusResponse,
            beam_fn_control_server::{BeamFnControl, BeamFnControlServer},
            beam_fn_data_server::{BeamFnData, BeamFnDataServer},
            beam_fn_logging_server::{BeamFnLogging, BeamFnLoggingServer},
            beam_fn_worker_status_server::{BeamFnWorkerStatus, BeamFnWorkerStatusServer},
            elements, instruction_request, instruction_response, log_entry,
            provision_service_server::{ProvisionService, ProvisionServiceServer},
        },
        pipeline::ApiServiceDescriptor,
    },
    worker::{WorkerEndpoints, WorkerGraph, run},
};

/// The fingerprint of all pipelines here.
pub(super) const FINGERPRINT: &str = "f";

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What came from the worker, and what goes to it.
#[derive(Default)]
struct State {
    descriptors: HashMap<String, ProcessBundleDescriptor>,
    asked: HashMap<String, usize>,
    instructions: Option<mpsc::UnboundedSender<Result<InstructionRequest, Status>>>,
    responses: HashMap<String, InstructionResponse>,
    data: Option<mpsc::UnboundedSender<Result<Elements, Status>>>,
    streams: usize,
    output: HashMap<(String, String), (Vec<u8>, bool)>,
    status: Option<mpsc::UnboundedSender<Result<WorkerStatusRequest, Status>>>,
    statuses: Vec<WorkerStatusResponse>,
    logs: Vec<LogEntry>,
    open_logs: usize,
    without_worker_id: Vec<&'static str>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
    url: Mutex<String>,
}

#[derive(Clone)]
struct Service(Arc<Shared>);

impl Service {
    fn change<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let done = f(&mut self.lock());
        self.0.changed.notify_waiters();
        done
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check<T>(&self, request: &Request<T>, what: &'static str) {
        if request.metadata().get("worker_id").is_none_or(|id| id != "w1") {
            self.change(|s| s.without_worker_id.push(what));
        }
    }

    /// Waits until `look` finds something.
    async fn until<R>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<R>) -> R {
        let found = async {
            loop {
                let changed = self.0.changed.notified();
                tokio::pin!(changed);
                // Told of changes from here on, before looking.
                changed.as_mut().enable();
                if let Some(found) = look(&mut self.lock()) {
                    return found;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(std::time::Duration::from_secs(60), found).await {
            Ok(found) => found,
            Err(_) => panic!("waited in vain for {what}"),
        }
    }
}

#[tonic::async_trait]
impl BeamFnControl for Service {
    type ControlStream = Answers<InstructionRequest>;

    async fn control(
        &self,
        request: Request<Streaming<InstructionResponse>>,
    ) -> Result<Response<Self::ControlStream>, Status> {
        self.check(&request, "control");
        let (send, requests) = mpsc::unbounded_channel();
        self.change(|s| s.instructions = Some(send));
        let (service, mut responses) = (self.clone(), request.into_inner());
        tokio::spawn(async move {
            while let Some(Ok(response)) = responses.next().await {
                service.change(|s| s.responses.insert(response.instruction_id.clone(), response));
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(requests))))
    }

    async fn get_process_bundle_descriptor(
        &self,
        request: Request<GetProcessBundleDescriptorRequest>,
    ) -> Result<Response<ProcessBundleDescriptor>, Status> {
        self.check(&request, "descriptor");
        let id = request.into_inner().process_bundle_descriptor_id;
        self.change(|s| *s.asked.entry(id.clone()).or_default() += 1);
        if id == "nowhere" {
            return Err(Status::not_found("no such descriptor"));
        }
        // A test may describe it later.
        Ok(Response::new(self.until("a descriptor", |s| s.descriptors.get(&id).cloned()).await))
    }
}

#[tonic::async_trait]
impl BeamFnData for Service {
    type DataStream = Answers<Elements>;

    async fn data(
        &self,
        request: Request<Streaming<Elements>>,
    ) -> Result<Response<Self::DataStream>, Status> {
        self.check(&request, "data");
        let (send, elements) = mpsc::unbounded_channel();
        self.change(|s| {
            s.data = Some(send);
            s.streams += 1;
        });
        let (service, mut output) = (self.clone(), request.into_inner());
        tokio::spawn(async move {
            while let Some(Ok(elements)) = output.next().await {
                service.change(|s| {
                    for data in elements.data {
                        let place = s.output.entry((data.instruction_id, data.transform_id)).or_default();
                        place.0.extend(data.data);
                        place.1 |= data.is_last;
                    }
                    for timers in elements.timers {
                        let at = format!("{}/{}", timers.transform_id, timers.timer_family_id);
                        let place = s.output.entry((timers.instruction_id, at)).or_default();
                        place.0.extend(timers.timers);
                        place.1 |= timers.is_last;
                    }
                });
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(elements))))
    }
}

#[tonic::async_trait]
impl BeamFnLogging for Service {
    type LoggingStream = Answers<LogControl>;

    async fn logging(
        &self,
        request: Request<Streaming<log_entry::List>>,
    ) -> Result<Response<Self::LoggingStream>, Status> {
        self.check(&request, "logging");
        let (service, mut lists) = (self.clone(), request.into_inner());
        self.change(|s| s.open_logs += 1);
        let (send, nothing) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(list)) = lists.next().await {
                service.change(|s| s.logs.extend(list.log_entries));
            }
            service.change(|s| s.open_logs -= 1);
            drop(send);
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(nothing))))
    }
}

#[tonic::async_trait]
impl BeamFnWorkerStatus for Service {
    type WorkerStatusStream = Answers<WorkerStatusRequest>;

    async fn worker_status(
        &self,
        request: Request<Streaming<WorkerStatusResponse>>,
    ) -> Result<Response<Self::WorkerStatusStream>, Status> {
        self.check(&request, "status");
        let (send, requests) = mpsc::unbounded_channel();
        self.change(|s| s.status = Some(send));
        let (service, mut answers) = (self.clone(), request.into_inner());
        tokio::spawn(async move {
            while let Some(Ok(answer)) = answers.next().await {
                service.change(|s| s.statuses.push(answer));
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(requests))))
    }
}

#[tonic::async_trait]
impl ProvisionService for Service {
    async fn get_provision_info(
        &self,
        request: Request<GetProvisionInfoRequest>,
    ) -> Result<Response<GetProvisionInfoResponse>, Status> {
        self.check(&request, "provision");
        let url = self.0.url.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let here = Some(ApiServiceDescriptor { url, authentication: None });
        let info = ProvisionInfo {
            control_endpoint: here.clone(),
            logging_endpoint: here.clone(),
            status_endpoint: here,
            ..ProvisionInfo::default()
        };
        Ok(Response::new(GetProvisionInfoResponse { info: Some(info) }))
    }
}

/// The engine, with one worker.
pub(super) struct Engine {
    service: Service,
    pub(super) url: String,
    worker: tokio::task::JoinHandle<Result<(), PipelineError>>,
}

impl Engine {
    /// An engine whose worker has built `graph`.
    pub(super) async fn start(graph: Graph) -> Engine {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = listener.local_addr().unwrap().to_string();
        let service = Service(Arc::default());
        url.clone_into(&mut service.0.url.lock().unwrap());
        let server = Server::builder()
            .add_service(BeamFnControlServer::new(service.clone()))
            .add_service(BeamFnDataServer::new(service.clone()).max_decoding_message_size(usize::MAX))
            .add_service(BeamFnLoggingServer::new(service.clone()))
            .add_service(BeamFnWorkerStatusServer::new(service.clone()))
            .add_service(ProvisionServiceServer::new(service.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(server);
        let endpoints = WorkerEndpoints {
            worker_id: "w1".to_owned(),
            provision: Some(url.clone()),
            ..WorkerEndpoints::default()
        };
        let graph = Arc::new(WorkerGraph::new(graph, FINGERPRINT.to_owned()));
        let worker = tokio::spawn(run(graph, endpoints));
        service.until("the worker", |s| s.instructions.as_ref().map(|_| ())).await;
        Engine { service, url, worker }
    }

    pub(super) fn describe(&self, descriptor: ProcessBundleDescriptor) {
        self.service.change(|s| s.descriptors.insert(descriptor.id.clone(), descriptor));
    }

    /// Sends an instruction.
    pub(super) fn send(&self, id: &str, request: Option<instruction_request::Request>) {
        let request = InstructionRequest { instruction_id: id.to_owned(), request };
        self.service.lock().instructions.as_ref().unwrap().send(Ok(request)).unwrap();
    }

    /// Asks for a bundle.
    pub(super) fn process(&self, id: &str, descriptor: &str) {
        let request = ProcessBundleRequest {
            process_bundle_descriptor_id: descriptor.to_owned(),
            ..ProcessBundleRequest::default()
        };
        self.send(id, Some(instruction_request::Request::ProcessBundle(request)));
    }

    /// Waits for the answer to an instruction.
    pub(super) async fn answer(&self, id: &str) -> InstructionResponse {
        self.service.until(id, |s| s.responses.remove(id)).await
    }

    /// Waits for the answer to a bundle that does not fail.
    pub(super) async fn processed(&self, id: &str) -> ProcessBundleResponse {
        let answer = self.answer(id).await;
        match answer.response {
            Some(instruction_response::Response::ProcessBundle(response)) => response,
            _ => panic!("the bundle {id} failed: {}", answer.error),
        }
    }

    /// Sends data; the first waits for the worker's stream.
    pub(super) async fn data(&self, id: &str, transform: &str, data: &[u8], is_last: bool) {
        let data = elements::Data {
            instruction_id: id.to_owned(),
            transform_id: transform.to_owned(),
            data: data.to_vec(),
            is_last,
        };
        let elements = Elements { data: vec![data], timers: Vec::new() };
        let stream = self.service.until("a stream of data", |s| s.data.clone()).await;
        stream.send(Ok(elements)).unwrap();
    }

    /// Fires timers; the first waits for the worker's stream.
    pub(super) async fn fire(&self, id: &str, transform: &str, family: &str, timers: &[u8], is_last: bool) {
        let timers = elements::Timers {
            instruction_id: id.to_owned(),
            transform_id: transform.to_owned(),
            timer_family_id: family.to_owned(),
            timers: timers.to_vec(),
            is_last,
        };
        let elements = Elements { data: Vec::new(), timers: vec![timers] };
        let stream = self.service.until("a stream of data", |s| s.data.clone()).await;
        stream.send(Ok(elements)).unwrap();
    }

    /// Waits for all that a bundle sends out at `transform`.
    pub(super) async fn output(&self, id: &str, transform: &str) -> Vec<u8> {
        let place = (id.to_owned(), transform.to_owned());
        let done = |s: &mut State| match s.output.get(&place) {
            Some((_, true)) => s.output.remove(&place).map(|(bytes, _)| bytes),
            _ => None,
        };
        self.service.until("output", done).await
    }

    /// How many bytes came so far that a bundle sends out at `transform`, once there are some.
    pub(super) async fn some_output(&self, id: &str, transform: &str) -> usize {
        let place = (id.to_owned(), transform.to_owned());
        self.service
            .until("some output", |s| s.output.get(&place).map(|(b, _)| b.len()).filter(|n| *n > 0))
            .await
    }

    /// How often the worker asked for a descriptor.
    pub(super) fn asked(&self, id: &str) -> usize {
        self.service.lock().asked.get(id).copied().unwrap_or(0)
    }

    /// Waits until the worker asks for a descriptor.
    pub(super) async fn is_asked(&self, id: &str) {
        self.service.until("being asked", |s| s.asked.get(id).map(|_| ())).await;
    }

    /// How many streams of data the worker opened.
    pub(super) fn streams(&self) -> usize {
        self.service.lock().streams
    }

    /// Waits for an entry that `wanted` knows.
    pub(super) async fn log(&self, wanted: impl Fn(&LogEntry) -> bool) -> LogEntry {
        self.service.until("a log entry", |s| s.logs.iter().find(|entry| wanted(entry)).cloned()).await
    }

    /// Asks how the worker is.
    pub(super) async fn status(&self) -> String {
        let stream = self.service.until("the status stream", |s| s.status.clone()).await;
        stream.send(Ok(WorkerStatusRequest { id: "q".to_owned() })).unwrap();
        self.service.until("a status", |s| s.statuses.pop()).await.status_info
    }

    /// Breaks the stream of data.
    pub(super) async fn break_data(&self) {
        let stream = self.service.until("a stream of data", |s| s.data.take()).await;
        stream.send(Err(Status::unavailable("the engine lost it"))).unwrap();
    }

    /// Ends the stream of instructions, and waits for the worker.
    pub(super) async fn end(self) -> Result<(), PipelineError> {
        self.service.change(|s| s.instructions = None);
        let ended = self.worker.await.unwrap();
        self.service.until("the end of the log", |s| (s.open_logs == 0).then_some(())).await;
        let state = self.service.lock();
        assert!(state.without_worker_id.is_empty(), "without worker_id: {:?}", state.without_worker_id);
        ended
    }
}
