//! All streams of state.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::PipelineError;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};

use super::link::StateLink;
use crate::{
    proto::fn_execution::{StateResponse, beam_fn_state_client::BeamFnStateClient},
    worker::channel::{MAX_MESSAGE, WorkerId, connect},
};

/// So many requests may wait to be sent, before who asks must wait.
const WAITING: usize = 256;

/// One stream to each place that has state.
pub(in crate::worker) struct StatePlane {
    worker: WorkerId,
    /// An entry is made under the lock, so that there are never two streams to one place.
    links: AsyncMutex<HashMap<String, Arc<StateLink>>>,
    tasks: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl StatePlane {
    pub(in crate::worker) fn new(worker: WorkerId) -> StatePlane {
        StatePlane { worker, links: AsyncMutex::default(), tasks: Mutex::default() }
    }

    /// The state of one bundle at `url`; opens the stream at the first call.
    ///
    /// # Errors
    /// When nobody answers there.
    pub(in crate::worker) async fn of(
        &self,
        url: &str,
        instruction: &str,
    ) -> Result<super::BundleState, PipelineError> {
        Ok(super::BundleState::new(self.link(url).await?, instruction))
    }

    async fn link(&self, url: &str) -> Result<Arc<StateLink>, PipelineError> {
        let mut links = self.links.lock().await;
        if let Some(link) = links.get(url).filter(|link| !link.is_broken()) {
            return Ok(link.clone());
        }
        let channel = connect("state", url, &self.worker).await?;
        let mut client = BeamFnStateClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let (outgoing, waiting) = mpsc::channel(WAITING);
        let link = Arc::new(StateLink::new(outgoing));
        let answered = link.clone();
        // Some engines answer only when something is sent, so nobody waits here for the answer.
        let task = tokio::spawn(async move {
            let why = match client.state(ReceiverStream::new(waiting)).await {
                Ok(answer) => receive(answer.into_inner(), &answered).await,
                Err(e) => format!("refused: {}", e.message()),
            };
            answered.fail(&why);
        });
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        links.insert(url.to_owned(), link.clone());
        Ok(link)
    }

    /// Ends all streams at once. Who waits for an answer is told.
    pub(in crate::worker) async fn close(&self) {
        for (_, link) in self.links.lock().await.drain() {
            link.fail("the worker ends");
        }
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            task.abort();
        }
    }
}

/// Hands answers out until the stream ends, and says how it did.
async fn receive(mut stream: tonic::Streaming<StateResponse>, link: &StateLink) -> String {
    loop {
        match stream.next().await {
            Some(Ok(response)) => link.answered(response),
            Some(Err(e)) => return e.message().to_owned(),
            None => return "the engine closed it".to_owned(),
        }
    }
}
