//! The data plane: one stream to each place that data come from and go to, shared by all bundles.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::PipelineError;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};

use super::{
    channel::{MAX_MESSAGE, WorkerId, connect},
    inbox::{Inboxes, Piece},
};
use crate::proto::fn_execution::{Elements, beam_fn_data_client::BeamFnDataClient};

/// So many messages may wait to be sent, before who sends must wait.
const WAITING: usize = 32;

/// Sends to one place.
pub(super) type Outgoing = mpsc::Sender<Elements>;

/// All streams of data.
pub(super) struct DataPlane {
    worker: WorkerId,
    inboxes: Arc<Inboxes>,
    /// An entry is made under the lock, so that there are never two streams to one place, and lives as long as its stream.
    links: Arc<AsyncMutex<HashMap<String, Outgoing>>>,
    tasks: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl DataPlane {
    pub(super) fn new(worker: WorkerId, inboxes: Arc<Inboxes>) -> DataPlane {
        DataPlane { worker, inboxes, links: Arc::default(), tasks: Mutex::default() }
    }

    /// What sends to `url`; opens the stream at the first call.
    ///
    /// # Errors
    /// When nobody answers there.
    pub(super) async fn link(&self, url: &str) -> Result<Outgoing, PipelineError> {
        let mut links = self.links.lock().await;
        if let Some(link) = links.get(url) {
            return Ok(link.clone());
        }
        let channel = connect("data", url, &self.worker).await?;
        let mut client = BeamFnDataClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let (outgoing, waiting) = mpsc::channel(WAITING);
        let (inboxes, all, place) = (self.inboxes.clone(), self.links.clone(), url.to_owned());
        // Some engines answer only when something is sent, so nobody waits here for the answer.
        let task = tokio::spawn(async move {
            let ended = match client.data(ReceiverStream::new(waiting)).await {
                Ok(answer) => receive(answer.into_inner(), &inboxes).await,
                Err(e) => format!("refused: {}", e.message()),
            };
            // Whoever comes next opens it anew; whoever waits for it must not.
            all.lock().await.remove(&place);
            inboxes.fail(&format!("the engine's stream of data at `{place}` ended: {ended}"));
        });
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        links.insert(url.to_owned(), outgoing.clone());
        Ok(outgoing)
    }

    /// Ends all streams at once.
    pub(super) async fn close(&self) {
        self.links.lock().await.clear();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            task.abort();
        }
    }
}

/// Puts what comes into the inboxes of its bundles until the stream ends, and says how it did.
async fn receive(mut stream: tonic::Streaming<Elements>, inboxes: &Inboxes) -> String {
    loop {
        match stream.next().await {
            Some(Ok(elements)) => take(elements, inboxes),
            Some(Err(e)) => return e.message().to_owned(),
            None => return "the engine closed it".to_owned(),
        }
    }
}

/// Puts `elements` into the inboxes of their bundles.
pub(super) fn take(elements: Elements, inboxes: &Inboxes) {
    for data in elements.data {
        if let Some(inbox) = inboxes.of(&data.instruction_id) {
            inbox.put(Piece::Data { transform: data.transform_id, bytes: data.data, is_last: data.is_last });
        }
    }
    for timers in elements.timers {
        if let Some(inbox) = inboxes.of(&timers.instruction_id) {
            inbox.put(Piece::Timers {
                transform: timers.transform_id,
                family: timers.timer_family_id,
                bytes: timers.timers,
                is_last: timers.is_last,
            });
        }
    }
}
