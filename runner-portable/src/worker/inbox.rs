//! What came for bundles, until they take it.
//!
//! Data often come before the instruction that they are for, so the first of the two makes the inbox.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Bundles that are over and may still be sent something: so many are remembered.
const REMEMBERED: usize = 10_000;

/// A piece of a bundle's input, cut between elements.
#[derive(Debug)]
pub(super) enum Piece {
    /// Elements for the source `transform`.
    Data { transform: String, bytes: Vec<u8>, is_last: bool },
    /// Timers of `family` that fired for `transform`.
    Timers { transform: String, family: String, bytes: Vec<u8>, is_last: bool },
}

/// The input of one bundle.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Piece>,
    broken: Option<String>,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, piece: Piece) {
        self.lock().pieces.push_back(piece);
        self.arrived.notify_one();
    }

    /// Nothing more comes, and why.
    pub(super) fn fail(&self, why: &str) {
        self.lock().broken.get_or_insert_with(|| why.to_owned());
        self.arrived.notify_one();
    }

    /// The next piece; waits for it.
    ///
    /// # Errors
    /// Why nothing more comes.
    pub(super) fn next(&self) -> Result<Piece, String> {
        let mut state = self.lock();
        loop {
            if let Some(why) = &state.broken {
                return Err(why.clone());
            }
            if let Some(piece) = state.pieces.pop_front() {
                return Ok(piece);
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The inboxes of all bundles.
#[derive(Debug, Default)]
pub(super) struct Inboxes(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    open: HashMap<String, Arc<Inbox>>,
    over: HashSet<String>,
    order: VecDeque<String>,
}

impl Inboxes {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The inbox of the bundle `instruction`; nothing when it is over.
    pub(super) fn of(&self, instruction: &str) -> Option<Arc<Inbox>> {
        let mut all = self.lock();
        if all.over.contains(instruction) {
            return None;
        }
        if let Some(inbox) = all.open.get(instruction) {
            return Some(inbox.clone());
        }
        let inbox = Arc::new(Inbox::default());
        all.open.insert(instruction.to_owned(), inbox.clone());
        Some(inbox)
    }

    /// Forgets what came for a bundle that is over, and what still will.
    pub(super) fn close(&self, instruction: &str) {
        let mut all = self.lock();
        all.open.remove(instruction);
        if all.over.insert(instruction.to_owned()) {
            all.order.push_back(instruction.to_owned());
        }
        if all.order.len() > REMEMBERED
            && let Some(oldest) = all.order.pop_front()
        {
            all.over.remove(&oldest);
        }
    }

    /// Nothing more comes for any bundle.
    pub(super) fn fail(&self, why: &str) {
        self.lock().open.values().for_each(|inbox| inbox.fail(why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(bytes: &[u8]) -> Piece {
        Piece::Data { transform: "s".to_owned(), bytes: bytes.to_vec(), is_last: false }
    }

    #[test]
    fn what_came_first_waits_and_what_comes_late_is_dropped() {
        let all = Inboxes::default();
        all.of("i1").unwrap().put(data(b"early"));
        let inbox = all.of("i1").unwrap();
        assert!(matches!(inbox.next(), Ok(Piece::Data { bytes, .. }) if bytes == b"early"));
        all.close("i1");
        assert!(all.of("i1").is_none() && all.of("i2").is_some());
        for i in 0..REMEMBERED {
            all.close(&format!("j{i}"));
        }
        assert!(all.of("i1").is_some(), "not all of them are remembered");
    }

    #[test]
    fn a_broken_stream_wakes_who_waits() {
        let all = Arc::new(Inboxes::default());
        let inbox = all.of("i1").unwrap();
        let waiting = std::thread::spawn(move || inbox.next().unwrap_err());
        all.fail("gone");
        assert_eq!(waiting.join().unwrap(), "gone");
    }
}
