//! Streams whose events are decided while the pipeline runs.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
};

use crate::{
    ManualClock, PipelineError, RunHandle, RunShared, Timestamp,
    batch::{AnyBatch, Batch},
    element::Element,
};

/// One thing that happens in the live streams of a pipeline.
pub enum LiveEvent {
    /// Elements arrive in the stream with this number.
    Elements(usize, AnyBatch),
    /// The watermark of all streams moves. It never goes back.
    Watermark(Timestamp),
    /// Processing time comes to this. It never goes back.
    Clock(Timestamp),
    /// Everything that the pipeline has gathered is written down. It must be settled, see [`LiveScript::settle`].
    Snapshot(Box<dyn FnOnce(Vec<u8>) + Send>),
    /// The run fails.
    Fail(PipelineError),
    /// The run ends where it is: windows that are open stay open, and nothing more comes out.
    Stop,
}

impl fmt::Debug for LiveEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveEvent::Elements(stream, batch) => write!(f, "{} elements in stream {stream}", batch.len()),
            LiveEvent::Watermark(at) => write!(f, "Watermark({at})"),
            LiveEvent::Clock(to) => write!(f, "Clock({to})"),
            LiveEvent::Snapshot(_) => f.write_str("Snapshot"),
            LiveEvent::Fail(error) => write!(f, "Fail({error})"),
            LiveEvent::Stop => f.write_str("Stop"),
        }
    }
}

type Driver = Box<dyn FnOnce(RunHandle) + Send>;

/// What happens in the live streams of a pipeline, told by a *driver* on a thread of its own: nothing that it does, such
/// as looking for new files, holds up the pipeline.
///
/// The engine takes the events one after another. It takes the next one when it has nothing else to do; who must know
/// that all before has been worked off waits with [`settle`](Self::settle). The pipeline lives on the script's clock.
pub struct LiveScript {
    clock: ManualClock,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    driver: Option<Driver>,
    events: VecDeque<LiveEvent>,
    /// Everything that was told is worked off, and nothing is under way.
    settled: bool,
    /// The run is over, or is being ended.
    over: bool,
    /// The pipeline is asked to come to its end.
    draining: bool,
    /// What the pipeline goes on from.
    snapshot: Option<Vec<u8>>,
    run: Weak<RunShared>,
}

impl LiveScript {
    /// A script whose clock shows `time`, and that `driver` tells once the pipeline runs.
    pub fn new(time: Timestamp, driver: impl FnOnce(RunHandle) + Send + 'static) -> Arc<LiveScript> {
        let script = LiveScript::without_driver(time);
        script.drive(driver);
        script
    }

    /// A script that has no driver yet.
    pub fn without_driver(time: Timestamp) -> Arc<LiveScript> {
        let state = State {
            driver: None,
            events: VecDeque::new(),
            settled: false,
            over: false,
            draining: false,
            snapshot: None,
            run: Weak::new(),
        };
        Arc::new(LiveScript {
            clock: ManualClock::at(time),
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    /// Says who tells it.
    pub fn drive(&self, driver: impl FnOnce(RunHandle) + Send + 'static) {
        self.lock().driver = Some(Box::new(driver));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock that the pipeline lives on.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Called by the runner when the run has begun: starts the driver.
    ///
    /// # Errors
    /// When there is none (left), or its thread cannot be started.
    pub fn attach(&self, run: &Arc<RunShared>) -> Result<(), PipelineError> {
        let driver = {
            let mut state = self.lock();
            state.run = Arc::downgrade(run);
            state.driver.take()
        };
        let Some(driver) = driver else {
            return Err(PipelineError::runner(
                "nobody feeds the live streams of this pipeline: a streaming query runs once; build it again to start \
                 it again",
            ));
        };
        let handle = RunHandle::new(run.clone());
        thread::Builder::new()
            .name("purlin-live".into())
            .spawn(move || driver(handle))
            .map(drop)
            .map_err(|e| PipelineError::runner(format!("a thread cannot be started: {e}")))
    }

    /// Adds an event.
    pub fn tell(&self, event: LiveEvent) {
        let mut state = self.lock();
        state.events.push_back(event);
        state.settled = false;
        let run = state.run.upgrade();
        drop(state);
        if let Some(control) = run.and_then(|run| run.control()) {
            control.wake();
        }
    }

    /// How far `of` is, see [`RunHandle::status`].
    pub fn set_status(&self, of: &str, status: String) {
        let run = self.lock().run.upgrade();
        if let Some(run) = run {
            run.set_status(of, status);
        }
    }

    /// Waits until everything that was told is worked off. `false` when the run is over instead.
    pub fn settle(&self) -> bool {
        let mut state = self.lock();
        while !state.settled && !state.over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.over
    }

    /// Sleeps for `time` at most, or until it is woken by [`nudge`](Self::nudge), by a drain, or by the end of the run.
    pub fn sleep(&self, time: std::time::Duration, awake: impl Fn() -> bool) {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, time, |s| !s.over && !s.draining && !awake());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Wakes the driver.
    pub fn nudge(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Whether the pipeline was asked to come to its end.
    pub fn is_draining(&self) -> bool {
        self.lock().draining
    }

    /// Whether the run is over, or is being ended.
    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Has the pipeline go on from what was [written down](LiveEvent::Snapshot) before. To be said before it runs.
    pub fn go_on_from(&self, snapshot: Vec<u8>) {
        self.lock().snapshot = Some(snapshot);
    }

    /// For the engine: what it goes on from, if anything; once.
    pub fn take_snapshot(&self) -> Option<Vec<u8>> {
        self.lock().snapshot.take()
    }

    /// For the engine: the next event. `quiet` says that nothing is pending and nothing runs.
    pub fn next(&self, quiet: bool) -> Option<LiveEvent> {
        let mut state = self.lock();
        let event = state.events.pop_front();
        if event.is_none() && quiet && !state.settled {
            state.settled = true;
            self.changed.notify_all();
        }
        event
    }

    /// For the engine: the pipeline is to come to its end.
    pub fn drain(&self) {
        self.lock().draining = true;
        self.changed.notify_all();
    }

    /// For the engine: the run is over.
    pub fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }
}

impl fmt::Debug for LiveScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveScript").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// One stream of a live script.
#[derive(Clone)]
pub struct LiveStream {
    /// The script.
    pub script: Arc<LiveScript>,
    /// The stream's number in it.
    pub number: usize,
    /// Makes an empty batch of its element type.
    output: fn() -> AnyBatch,
}

impl LiveStream {
    pub(crate) fn of<T: Element>(script: Arc<LiveScript>, number: usize) -> LiveStream {
        LiveStream { script, number, output: || Box::new(Batch::<T>::default()) }
    }

    /// An empty batch of its element type.
    pub fn output(&self) -> AnyBatch {
        (self.output)()
    }
}

impl fmt::Debug for LiveStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "live stream {}", self.number)
    }
}
