//! What a run and its handle share.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    time::{Duration, Instant},
};

use super::{RunResult, RunState, StallReport};
use crate::metrics::MetricsSnapshot;

/// What a handle may ask of a run.
pub trait RunControl: Send + Sync {
    /// Called after a request was made, from the thread that made it: wakes the run up so that it sees it.
    fn wake(&self);

    /// What was counted so far.
    fn metrics(&self) -> MetricsSnapshot;

    /// What holds the watermarks now.
    fn stall_report(&self) -> StallReport;
}

/// The runner's side of a run: what was asked for, and where the end is told.
pub struct RunShared {
    cancel: AtomicBool,
    drain: AtomicBool,
    control: Mutex<Option<Arc<dyn RunControl>>>,
    end: Mutex<End>,
    ended: Condvar,
    status: Mutex<BTreeMap<String, String>>,
}

#[derive(Default)]
struct End {
    result: Option<RunResult>,
    wakers: Vec<Waker>,
}

impl RunShared {
    /// A run that has not ended.
    pub fn new() -> Arc<RunShared> {
        Arc::new(RunShared {
            cancel: AtomicBool::new(false),
            drain: AtomicBool::new(false),
            control: Mutex::new(None),
            end: Mutex::new(End::default()),
            ended: Condvar::new(),
            status: Mutex::new(BTreeMap::new()),
        })
    }

    /// Sets whom requests are told.
    pub fn attach(&self, control: Arc<dyn RunControl>) {
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = Some(control);
    }

    /// Whether the run is to be cancelled.
    pub fn cancel_requested(&self) -> bool {
        self.cancel.load(Ordering::Acquire)
    }

    /// Whether the run is to be drained.
    pub fn drain_requested(&self) -> bool {
        self.drain.load(Ordering::Acquire)
    }

    /// How far something in the run is, such as a streaming query, in place of what it said before.
    pub fn set_status(&self, of: &str, status: String) {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).insert(of.to_owned(), status);
    }

    pub(super) fn status(&self) -> BTreeMap<String, String> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the run. Only the first end counts.
    pub fn finish(&self, result: RunResult) {
        let wakers = {
            let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            end.result.get_or_insert(result);
            std::mem::take(&mut end.wakers)
        };
        // The run holds the control and the control may hold the run: let go.
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.ended.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn request(&self, cancel: bool) {
        let flag = if cancel { &self.cancel } else { &self.drain };
        flag.store(true, Ordering::Release);
        if let Some(control) = self.control() {
            control.wake();
        }
    }

    pub(crate) fn control(&self) -> Option<Arc<dyn RunControl>> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn result(&self) -> Option<RunResult> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).result.clone()
    }

    pub(super) fn result_or_wake(&self, waker: &Waker) -> Option<RunResult> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.result.is_none() && !end.wakers.iter().any(|w| w.will_wake(waker)) {
            end.wakers.push(waker.clone());
        }
        end.result.clone()
    }

    pub(super) fn wait(&self, timeout: Option<Duration>) -> Option<RunResult> {
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        while end.result.is_none() {
            end = match deadline {
                None => self.ended.wait(end).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    self.ended.wait_timeout(end, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        end.result.clone()
    }

    pub(super) fn state(&self) -> RunState {
        match self.result() {
            Some(Ok(outcome)) => outcome.state,
            Some(Err(_)) => RunState::Failed,
            None if self.drain_requested() => RunState::Draining,
            None => RunState::Running,
        }
    }
}

impl fmt::Debug for RunShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run in state {}", self.state())
    }
}
