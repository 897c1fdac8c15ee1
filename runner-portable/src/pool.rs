//! A pool of workers in this process: what an engine asks to start one.
//!
//! Source: `BeamFnExternalWorkerPool` of `beam_fn_api.proto`.

use std::{
    collections::HashMap,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use purlin_sdk::PipelineError;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

use crate::proto::fn_execution::{
    StartWorkerRequest, StartWorkerResponse, StopWorkerRequest, StopWorkerResponse,
    beam_fn_external_worker_pool_server::{BeamFnExternalWorkerPool, BeamFnExternalWorkerPoolServer},
};

/// How long workers may take to end when they are not needed any more.
const END: Duration = Duration::from_secs(5);

type Work = Pin<Box<dyn Future<Output = Result<(), PipelineError>> + Send>>;

/// Starts a worker, which works until the engine lets it go.
pub(crate) type StartWorker = Arc<dyn Fn(StartWorkerRequest) -> Work + Send + Sync>;

/// A pool that listens.
pub(crate) struct WorkerPool {
    address: SocketAddr,
    workers: Arc<Workers>,
    failed: mpsc::UnboundedReceiver<PipelineError>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

/// The workers that were started.
struct Workers {
    start: StartWorker,
    failed: mpsc::UnboundedSender<PipelineError>,
    running: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Workers {
    fn running(&self) -> MutexGuard<'_, HashMap<String, JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkerPool {
    /// Listens at `address`, such as `127.0.0.1:0` for any free port.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub(crate) async fn listen(address: &str, start: StartWorker) -> Result<WorkerPool, PipelineError> {
        let failed = |e: std::io::Error| {
            PipelineError::runner(format!("the worker pool cannot listen at {address}: {e}"))
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (tell, failed) = mpsc::unbounded_channel();
        let workers = Arc::new(Workers { start, failed: tell, running: Mutex::new(HashMap::new()) });
        let service = BeamFnExternalWorkerPoolServer::from_arc(Arc::new(Pool(workers.clone())));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = Server::builder().add_service(service).serve_with_incoming_shutdown(
            TcpListenerStream::new(listener),
            async move {
                // Dropped or told: it is over.
                let _ = stopped.await;
            },
        );
        let server = tokio::spawn(async move {
            if let Err(e) = serving.await {
                tracing::error!("the worker pool at {address} ended: {e}");
            }
        });
        Ok(WorkerPool { address, workers, failed, stop, server })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for a worker that could not begin or broke off, which may never be.
    pub(crate) async fn failure(&mut self) -> PipelineError {
        match self.failed.recv().await {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }

    /// Waits for the workers to end, since the engine has let them go, and ends those that do not.
    pub(crate) async fn end(self) {
        let running = std::mem::take(&mut *self.workers.running());
        let until = tokio::time::Instant::now() + END;
        for (id, mut worker) in running {
            if tokio::time::timeout_at(until, &mut worker).await.is_err() {
                tracing::warn!("worker {id} was not let go by the engine, and is ended");
                worker.abort();
            }
        }
        // When the server is over already, nobody listens.
        let _ = self.stop.send(());
        let abort = self.server.abort_handle();
        if tokio::time::timeout(END, self.server).await.is_err() {
            abort.abort();
        }
    }

    /// Listens until the process ends.
    pub(crate) async fn forever(self) {
        let WorkerPool { server, stop, .. } = self;
        if let Err(e) = server.await {
            tracing::error!("the worker pool ended: {e}");
        }
        drop(stop);
    }
}

struct Pool(Arc<Workers>);

#[tonic::async_trait]
impl BeamFnExternalWorkerPool for Pool {
    async fn start_worker(
        &self,
        request: Request<StartWorkerRequest>,
    ) -> Result<Response<StartWorkerResponse>, Status> {
        let request = request.into_inner();
        let id = request.worker_id.clone();
        let refuse = |error: String| Ok(Response::new(StartWorkerResponse { error }));
        if id.is_empty() {
            return refuse("a worker needs an id".to_owned());
        }
        let mut running = self.0.running();
        running.retain(|_, worker| !worker.is_finished());
        if running.contains_key(&id) {
            return refuse(format!("there is a worker `{id}` already"));
        }
        let work = (self.0.start)(request);
        let (name, failed) = (id.clone(), self.0.failed.clone());
        let worker = tokio::spawn(async move {
            match work.await {
                Ok(()) => tracing::debug!("worker {name} is done"),
                Err(e) => {
                    tracing::error!("worker {name} ended: {e}");
                    // When nobody listens, the run is over.
                    let _ = failed.send(e);
                }
            }
        });
        running.insert(id, worker);
        refuse(String::new())
    }

    async fn stop_worker(
        &self,
        request: Request<StopWorkerRequest>,
    ) -> Result<Response<StopWorkerResponse>, Status> {
        let id = request.into_inner().worker_id;
        let Some(abort) = self.0.running().get(&id).map(JoinHandle::abort_handle) else {
            return Ok(Response::new(StopWorkerResponse { error: format!("there is no worker `{id}`") }));
        };
        // The engine ends its stream of instructions, and with it the worker; the answer must not wait for that.
        tokio::spawn(async move {
            tokio::time::sleep(END).await;
            abort.abort();
        });
        Ok(Response::new(StopWorkerResponse { error: String::new() }))
    }
}
