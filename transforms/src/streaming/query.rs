//! The handle on a query.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use purlin_sdk::{ClockRef, PipelineError, Timestamp, live::LiveScript};
use serde::Serialize;

use super::QueryProgress;

/// A streaming query at work. Cheap to clone; dropping it does not end the query. Source: Spark's `StreamingQuery`.
#[derive(Clone)]
pub struct StreamingQuery(pub(crate) Arc<QueryShared>);

/// What a query and its handles share.
pub(crate) struct QueryShared {
    pub(crate) id: String,
    pub(crate) run_id: String,
    pub(crate) name: Option<String>,
    pub(crate) script: Arc<LiveScript>,
    pub(crate) clock: ClockRef,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether the pipeline runs, or did.
    started: bool,
    stop: bool,
    /// How often somebody asked for all data that are there to be processed.
    asked: u64,
    /// Which of those were answered.
    answered: u64,
    /// Up to which time of the clock everything is done that can be.
    idle_since: Option<Timestamp>,
    status: QueryStatus,
    progress: VecDeque<QueryProgress>,
    kept: usize,
    end: Option<Result<(), PipelineError>>,
    /// The one that drives the query.
    thread: Option<ThreadId>,
}

/// What a query is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryStatus {
    /// In words.
    pub message: String,
    /// Whether the sources had something new when they were last looked at.
    pub is_data_available: bool,
    /// Whether an epoch is at work.
    pub is_trigger_active: bool,
}

impl StreamingQuery {
    /// The query's id: with a checkpoint location the same after a restart.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The id of this start.
    pub fn run_id(&self) -> &str {
        &self.0.run_id
    }

    /// The name that it was given.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// What it is doing.
    pub fn status(&self) -> QueryStatus {
        self.0.lock().status.clone()
    }

    /// What it did in its last epoch.
    pub fn last_progress(&self) -> Option<QueryProgress> {
        self.0.lock().progress.back().cloned()
    }

    /// What it did in its last epochs, the last one last; 100 unless another number was asked for.
    pub fn recent_progress(&self) -> Vec<QueryProgress> {
        self.0.lock().progress.iter().cloned().collect()
    }

    /// Whether it is at work.
    pub fn is_active(&self) -> bool {
        self.0.lock().end.is_none()
    }

    /// Why it failed, when it did.
    pub fn exception(&self) -> Option<PipelineError> {
        self.0.lock().end.clone().and_then(Result::err)
    }

    /// Ends the query when the epoch at work is done, and waits for that. What is gathered stays in the checkpoint, if
    /// there is one. One that was declared and does not run yet ends as soon as it does.
    ///
    /// Called by the query's own sink or source it returns at once, and the query ends after the epoch. A DoFn of the query
    /// must not call it: it would wait for itself.
    pub fn stop(&self) {
        self.0.lock().stop = true;
        self.0.script.nudge();
        let mut state = self.0.lock();
        if state.is_own_thread() {
            return;
        }
        while state.started && state.end.is_none() {
            state = self.0.wait(state);
        }
    }

    /// Waits for the query's end.
    ///
    /// # Errors
    /// Why it failed.
    pub fn await_termination(&self) -> Result<(), PipelineError> {
        let mut state = self.0.lock();
        state.not_own_thread("await_termination")?;
        loop {
            match &state.end {
                Some(end) => return end.clone(),
                None => state = self.0.wait(state),
            }
        }
    }

    /// Waits for the query's end, but not longer than `timeout`; whether it has ended.
    ///
    /// # Errors
    /// Why it failed.
    pub fn await_termination_for(&self, timeout: Duration) -> Result<bool, PipelineError> {
        let started = Instant::now();
        let mut state = self.0.lock();
        state.not_own_thread("await_termination_for")?;
        loop {
            if let Some(end) = &state.end {
                return end.clone().map(|()| true);
            }
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until all that the sources have by now is in the sink: for tests. On a query that waits for a time it waits
    /// with it.
    ///
    /// # Errors
    /// Why the query failed.
    pub fn process_all_available(&self) -> Result<(), PipelineError> {
        let mut state = self.0.lock();
        state.not_own_thread("process_all_available")?;
        state.asked += 1;
        let mine = state.asked;
        drop(state);
        self.0.script.nudge();
        let mut state = self.0.lock();
        loop {
            if let Some(end) = &state.end {
                return end.clone();
            }
            if state.answered >= mine {
                return Ok(());
            }
            state = self.0.wait(state);
        }
    }

    /// Waits until the query has nothing to do before its clock goes on: for tests that move the clock by hand.
    ///
    /// # Errors
    /// Why the query failed.
    pub fn await_idle(&self) -> Result<(), PipelineError> {
        self.0.script.nudge();
        let mut state = self.0.lock();
        state.not_own_thread("await_idle")?;
        loop {
            if let Some(end) = &state.end {
                return end.clone();
            }
            if state.idle_since == Some(self.0.clock.now()) {
                return Ok(());
            }
            state = self.0.wait(state);
        }
    }
}

impl State {
    /// Whether it is the thread that drives the query, on which sinks and sources are called.
    fn is_own_thread(&self) -> bool {
        self.end.is_none() && self.thread == Some(thread::current().id())
    }

    fn not_own_thread(&self, call: &str) -> Result<(), PipelineError> {
        if self.is_own_thread() {
            return Err(PipelineError::runner(format!(
                "`{call}` was called by a sink or a source of the query that it is to wait for, so that it would wait for \
                 itself: call it on another thread, or end the query by `stop`"
            )));
        }
        Ok(())
    }
}

impl QueryShared {
    pub(crate) fn new(
        id: String,
        name: Option<String>,
        script: Arc<LiveScript>,
        clock: ClockRef,
        kept: usize,
    ) -> Arc<QueryShared> {
        let status = QueryStatus { message: "Initializing sources".into(), ..QueryStatus::default() };
        Arc::new(QueryShared {
            id,
            run_id: uuid::Uuid::new_v4().to_string(),
            name,
            script,
            clock,
            state: Mutex::new(State { status, kept, ..State::default() }),
            changed: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The pipeline runs.
    pub(crate) fn begin(&self) {
        let mut state = self.lock();
        state.started = true;
        state.thread = Some(thread::current().id());
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().stop
    }

    /// How often somebody asked for all data to be processed by now.
    pub(crate) fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// Whether somebody asked since.
    pub(crate) fn was_asked_since(&self, answered: u64) -> bool {
        self.lock().asked > answered
    }

    /// What was asked for until `asked` is done: there was nothing (more) to process.
    pub(crate) fn answer(&self, asked: u64) {
        self.lock().answered = asked;
        self.changed.notify_all();
    }

    /// There is nothing to do before the clock goes on from here.
    pub(crate) fn idle(&self, at: Option<Timestamp>) {
        self.lock().idle_since = at;
        self.changed.notify_all();
    }

    pub(crate) fn set_status(&self, message: &str, is_data_available: bool, is_trigger_active: bool) {
        self.lock().status = QueryStatus { message: message.into(), is_data_available, is_trigger_active };
    }

    pub(crate) fn report(&self, progress: QueryProgress) {
        tracing::info!(target: "purlin::streaming", progress = %progress.json(), "epoch done");
        self.script.set_status(self.name.as_deref().unwrap_or(&self.id), progress.line());
        let mut state = self.lock();
        state.progress.push_back(progress);
        while state.progress.len() > state.kept {
            state.progress.pop_front();
        }
    }

    pub(crate) fn end(&self, end: Result<(), PipelineError>) {
        let mut state = self.lock();
        let message = if end.is_ok() { "Stopped" } else { "Terminated with exception" };
        state.status = QueryStatus { message: message.into(), ..QueryStatus::default() };
        state.end = Some(end);
        self.changed.notify_all();
    }
}

impl fmt::Debug for StreamingQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "streaming query {} ({})", self.name().unwrap_or("without a name"), self.status().message)
    }
}
