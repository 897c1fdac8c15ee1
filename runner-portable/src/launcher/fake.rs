//! A job service for tests, in this process.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};
use tokio_stream::{
    Stream, StreamExt,
    wrappers::{ReceiverStream, TcpListenerStream},
};
use tonic::{Request, Response, Status, Streaming, transport::Server};

use super::MAX_MESSAGE;
use crate::proto::{
    job_management::{
        ArtifactRequestWrapper, ArtifactResponseWrapper, CancelJobRequest, CancelJobResponse,
        DescribePipelineOptionsRequest, DescribePipelineOptionsResponse, DrainJobRequest, DrainJobResponse,
        GetArtifactRequest, GetJobMetricsRequest, GetJobMetricsResponse, GetJobPipelineRequest,
        GetJobPipelineResponse, GetJobStateRequest, GetJobsRequest, GetJobsResponse, JobMessage,
        JobMessagesRequest, JobMessagesResponse, JobStateEvent, PrepareJobRequest, PrepareJobResponse,
        RunJobRequest, RunJobResponse, artifact_request_wrapper, artifact_response_wrapper,
        artifact_staging_service_server::{ArtifactStagingService, ArtifactStagingServiceServer},
        job_message::MessageImportance,
        job_messages_response::Response as Told,
        job_service_server::{JobService, JobServiceServer},
        job_state::Enum as State,
    },
    pipeline::{ApiServiceDescriptor, ArtifactInformation},
};

/// What the service does with a job.
#[derive(Clone, Default)]
pub(super) struct Script {
    /// What it tells of the job, at once.
    pub(super) told: Vec<JobMessagesResponse>,
    /// Whether it dies after that, and not only stays silent.
    pub(super) dies: bool,
    /// Whether it cannot prepare anything.
    pub(super) is_other: bool,
    /// The files that it asks for.
    pub(super) files: Vec<ArtifactInformation>,
}

pub(super) fn state(of: State) -> JobMessagesResponse {
    JobMessagesResponse {
        response: Some(Told::StateResponse(JobStateEvent { state: of.into(), timestamp: None })),
    }
}

pub(super) fn error(text: &str) -> JobMessagesResponse {
    let message = JobMessage {
        importance: MessageImportance::JobMessageError.into(),
        message_text: text.to_owned(),
        ..JobMessage::default()
    };
    JobMessagesResponse { response: Some(Told::MessageResponse(message)) }
}

/// What the service was given.
#[derive(Default)]
pub(super) struct Given {
    pub(super) prepared: Mutex<Option<PrepareJobRequest>>,
    pub(super) files: Mutex<Vec<Vec<u8>>>,
    pub(super) drained: AtomicBool,
}

/// A service that runs.
pub(super) struct Fake {
    pub(super) endpoint: String,
    pub(super) given: Arc<Given>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Fake {
    pub(super) fn start(script: Script) -> Fake {
        let given = Arc::new(Given::default());
        let (stop, mut stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let mine = given.clone();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let endpoint = listener.local_addr().unwrap().to_string();
                let (die, mut dies) = mpsc::channel(1);
                let service = Arc::new(Service {
                    script,
                    given: mine,
                    endpoint: endpoint.clone(),
                    die,
                    listeners: Mutex::new(Vec::new()),
                    state: Mutex::new(State::Running),
                });
                let jobs = JobServiceServer::from_arc(service.clone()).max_decoding_message_size(MAX_MESSAGE);
                let staging = ArtifactStagingServiceServer::from_arc(service);
                let serving = Server::builder()
                    .add_service(jobs)
                    .add_service(staging)
                    .serve_with_incoming(TcpListenerStream::new(listener));
                tell.send(endpoint).unwrap();
                tokio::select! {
                    served = serving => served.unwrap(),
                    _ = &mut stopped => {}
                    _ = dies.recv() => {}
                }
            });
            runtime.shutdown_background();
        });
        Fake { endpoint: told.recv().unwrap(), given, stop: Some(stop), thread: Some(thread) }
    }
}

struct Service {
    script: Script,
    given: Arc<Given>,
    endpoint: String,
    die: mpsc::Sender<()>,
    listeners: Mutex<Vec<mpsc::Sender<Result<JobMessagesResponse, Status>>>>,
    state: Mutex<State>,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl JobService for Service {
    type GetStateStreamStream = Answers<JobStateEvent>;
    type GetMessageStreamStream = Answers<JobMessagesResponse>;

    async fn prepare(
        &self,
        request: Request<PrepareJobRequest>,
    ) -> Result<Response<PrepareJobResponse>, Status> {
        if self.script.is_other {
            return Err(Status::unimplemented("Method not found"));
        }
        *self.given.prepared.lock().unwrap() = Some(request.into_inner());
        let url = self.endpoint.clone();
        Ok(Response::new(PrepareJobResponse {
            preparation_id: "p".into(),
            artifact_staging_endpoint: Some(ApiServiceDescriptor { url, ..ApiServiceDescriptor::default() }),
            staging_session_token: "t".into(),
        }))
    }

    async fn run(&self, _: Request<RunJobRequest>) -> Result<Response<RunJobResponse>, Status> {
        Ok(Response::new(RunJobResponse { job_id: "job-1".into() }))
    }

    async fn get_message_stream(
        &self,
        _: Request<JobMessagesRequest>,
    ) -> Result<Response<Self::GetMessageStreamStream>, Status> {
        let (tell, told) = mpsc::channel(64);
        for message in &self.script.told {
            if let Some(Told::StateResponse(event)) = &message.response {
                *self.state.lock().unwrap() = event.state();
            }
            tell.send(Ok(message.clone())).await.unwrap();
        }
        if self.script.dies {
            self.die.send(()).await.unwrap();
        }
        self.listeners.lock().unwrap().push(tell);
        Ok(Response::new(Box::pin(ReceiverStream::new(told))))
    }

    async fn get_state(&self, _: Request<GetJobStateRequest>) -> Result<Response<JobStateEvent>, Status> {
        let state = *self.state.lock().unwrap();
        Ok(Response::new(JobStateEvent { state: state.into(), timestamp: None }))
    }

    async fn cancel(&self, _: Request<CancelJobRequest>) -> Result<Response<CancelJobResponse>, Status> {
        *self.state.lock().unwrap() = State::Cancelled;
        let listeners = std::mem::take(&mut *self.listeners.lock().unwrap());
        for listener in listeners {
            listener.send(Ok(state(State::Cancelled))).await.unwrap();
        }
        Ok(Response::new(CancelJobResponse { state: State::Cancelling.into() }))
    }

    async fn drain(&self, _: Request<DrainJobRequest>) -> Result<Response<DrainJobResponse>, Status> {
        self.given.drained.store(true, Ordering::SeqCst);
        *self.state.lock().unwrap() = State::Drained;
        let listeners = std::mem::take(&mut *self.listeners.lock().unwrap());
        for listener in listeners {
            listener.send(Ok(state(State::Drained))).await.unwrap();
        }
        Ok(Response::new(DrainJobResponse { state: State::Draining.into() }))
    }

    async fn get_job_metrics(
        &self,
        _: Request<GetJobMetricsRequest>,
    ) -> Result<Response<GetJobMetricsResponse>, Status> {
        Ok(Response::new(GetJobMetricsResponse::default()))
    }

    async fn describe_pipeline_options(
        &self,
        _: Request<DescribePipelineOptionsRequest>,
    ) -> Result<Response<DescribePipelineOptionsResponse>, Status> {
        Err(Status::unimplemented("no options"))
    }

    async fn get_jobs(&self, _: Request<GetJobsRequest>) -> Result<Response<GetJobsResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_pipeline(
        &self,
        _: Request<GetJobPipelineRequest>,
    ) -> Result<Response<GetJobPipelineResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_state_stream(
        &self,
        _: Request<GetJobStateRequest>,
    ) -> Result<Response<Self::GetStateStreamStream>, Status> {
        Err(Status::unimplemented(""))
    }
}

#[tonic::async_trait]
impl ArtifactStagingService for Service {
    type ReverseArtifactRetrievalServiceStream = Answers<ArtifactRequestWrapper>;

    async fn reverse_artifact_retrieval_service(
        &self,
        request: Request<Streaming<ArtifactResponseWrapper>>,
    ) -> Result<Response<Self::ReverseArtifactRetrievalServiceStream>, Status> {
        let mut answers = request.into_inner();
        let (ask, asked) = mpsc::channel(1);
        let (files, given) = (self.script.files.clone(), self.given.clone());
        tokio::spawn(async move {
            assert_eq!(answers.next().await.unwrap().unwrap().staging_token, "t");
            for artifact in files {
                let get = GetArtifactRequest { artifact: Some(artifact) };
                let request = Some(artifact_request_wrapper::Request::GetArtifact(get));
                if ask.send(Ok(ArtifactRequestWrapper { request })).await.is_err() {
                    return;
                }
                let mut bytes = Vec::new();
                while let Some(Ok(answer)) = answers.next().await {
                    if let Some(artifact_response_wrapper::Response::GetArtifactResponse(part)) =
                        answer.response
                    {
                        bytes.extend(part.data);
                    }
                    if answer.is_last {
                        break;
                    }
                }
                given.files.lock().unwrap().push(bytes);
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(asked))))
    }
}
