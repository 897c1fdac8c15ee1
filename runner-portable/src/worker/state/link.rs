//! One stream of state.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use purlin_sdk::{DoFnError, Result};
use tokio::sync::{mpsc, oneshot};

use crate::proto::fn_execution::{
    StateKey, StateRequest, StateResponse, state_request::Request, state_response::Response,
};

/// What came of a request.
type Outcome = std::result::Result<StateResponse, String>;

/// Sends requests and hands their answers out.
pub(super) struct StateLink {
    outgoing: mpsc::Sender<StateRequest>,
    next: AtomicU64,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: HashMap<String, oneshot::Sender<Outcome>>,
    /// Why nothing is answered any more.
    broken: Option<String>,
}

/// A request that was sent.
pub(super) struct Answer {
    what: &'static str,
    outcome: oneshot::Receiver<Outcome>,
}

impl StateLink {
    pub(super) fn new(outgoing: mpsc::Sender<StateRequest>) -> StateLink {
        StateLink { outgoing, next: AtomicU64::new(1), waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is answered any more.
    pub(super) fn is_broken(&self) -> bool {
        self.waiting().broken.is_some()
    }

    /// Sends a request of the bundle `instruction`. Blocks while many wait to be sent.
    ///
    /// # Errors
    /// When the stream is gone.
    pub(super) fn send(&self, instruction: &str, key: StateKey, request: Request) -> Result<Answer> {
        let what = match &request {
            Request::Get(_) => "give",
            Request::Append(_) => "take",
            Request::Clear(_) => "clear",
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let (answer, outcome) = oneshot::channel();
        {
            let mut waiting = self.waiting();
            if let Some(why) = &waiting.broken {
                return Err(gone(why));
            }
            waiting.requests.insert(id.clone(), answer);
        }
        let request = StateRequest {
            id,
            instruction_id: instruction.to_owned(),
            state_key: Some(key),
            request: Some(request),
        };
        match self.outgoing.blocking_send(request) {
            Ok(()) => Ok(Answer { what, outcome }),
            Err(_) => Err(gone(self.waiting().broken.as_deref().unwrap_or("it was closed"))),
        }
    }

    /// An answer came.
    pub(super) fn answered(&self, response: StateResponse) {
        // One that nobody waits for is of a bundle that failed meanwhile.
        if let Some(request) = self.waiting().requests.remove(&response.id) {
            let _ = request.send(Ok(response));
        }
    }

    /// Nothing is answered any more.
    pub(super) fn fail(&self, why: &str) {
        let mut waiting = self.waiting();
        waiting.broken.get_or_insert_with(|| why.to_owned());
        for (_, request) in waiting.requests.drain() {
            let _ = request.send(Err(why.to_owned()));
        }
    }
}

impl Answer {
    /// Waits for the answer.
    ///
    /// # Errors
    /// When the engine refuses, or is gone.
    pub(super) fn wait(self) -> Result<Response> {
        let outcome = self.outcome.blocking_recv();
        let outcome = outcome.unwrap_or_else(|_| Err("the worker ends".to_owned()));
        let StateResponse { id, error, response } = outcome.map_err(|why| gone(&why))?;
        if !error.is_empty() {
            return Err(DoFnError::msg(format!("the engine does not {} state: {error}", self.what)));
        }
        response.ok_or_else(|| DoFnError::msg(format!("the engine's answer {id} about state says nothing")))
    }
}

fn gone(why: &str) -> DoFnError {
    DoFnError::msg(format!("the engine's stream of state is gone: {why}"))
}
