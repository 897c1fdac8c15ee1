//! The state of one bundle.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::{DoFnError, Result};

use super::link::{Answer, StateLink};
use crate::proto::fn_execution::{
    StateAppendRequest, StateClearRequest, StateGetRequest, StateKey, state_key::Type,
    state_request::Request, state_response::Response,
};

/// What a bundle asks of and changes in the engine's state.
pub(in crate::worker) struct BundleState {
    link: Arc<StateLink>,
    instruction: String,
    /// Changes that the engine has not said yet that it has.
    changes: Mutex<Vec<Answer>>,
}

impl BundleState {
    pub(super) fn new(link: Arc<StateLink>, instruction: &str) -> BundleState {
        BundleState { link, instruction: instruction.to_owned(), changes: Mutex::default() }
    }

    fn send(&self, key: Type, request: Request) -> Result<Answer> {
        self.link.send(&self.instruction, StateKey { r#type: Some(key) }, request)
    }

    /// All that lies under each of these keys, asked for at once.
    ///
    /// # Errors
    /// When the engine does not give it.
    pub(in crate::worker) fn get(&self, keys: &[Type]) -> Result<Vec<Vec<u8>>> {
        let get = |key: &Type, continuation_token| {
            self.send(key.clone(), Request::Get(StateGetRequest { continuation_token }))
        };
        let mut all = vec![Vec::new(); keys.len()];
        let mut open = VecDeque::with_capacity(keys.len());
        for (n, key) in keys.iter().enumerate() {
            open.push_back((n, get(key, Vec::new())?));
        }
        while let Some((n, answer)) = open.pop_front() {
            let Response::Get(part) = answer.wait()? else {
                return Err(DoFnError::msg("the engine was asked for state and answers something else"));
            };
            match all[n].is_empty() {
                true => all[n] = part.data,
                false => all[n].extend_from_slice(&part.data),
            }
            // The rest of it is asked for behind what was asked for already.
            if !part.continuation_token.is_empty() {
                open.push_back((n, get(&keys[n], part.continuation_token)?));
            }
        }
        Ok(all)
    }

    /// Adds bytes to what lies under a key.
    ///
    /// # Errors
    /// When the stream is gone.
    pub(in crate::worker) fn append(&self, key: Type, data: Vec<u8>) -> Result {
        self.change(key, Request::Append(StateAppendRequest { data }))
    }

    /// Removes what lies under a key.
    ///
    /// # Errors
    /// When the stream is gone.
    pub(in crate::worker) fn clear(&self, key: Type) -> Result {
        self.change(key, Request::Clear(StateClearRequest {}))
    }

    fn change(&self, key: Type, request: Request) -> Result {
        let answer = self.send(key, request)?;
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        Ok(())
    }

    /// Waits until the engine has all changes.
    ///
    /// # Errors
    /// The first that it refused.
    pub(in crate::worker) fn settle(&self) -> Result {
        let changes = std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner));
        changes.into_iter().try_for_each(|answer| answer.wait().map(drop))
    }
}
