//! What the workers of a run share.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use crossbeam::deque::{Stealer, Worker as Deque};
use purlin_engine::{Checkpoints, Engine, Task, Teardown};
use purlin_sdk::{
    ClockRef, ManualClock, PipelineError, RunControl, RunHandle, RunOutcome, RunResult, RunShared, RunState,
    StallReport, Timestamp, metrics::MetricsSnapshot,
};

use crate::{checkpointer::Checkpointer, worker::Worker};

/// A run: the engine, and where workers sleep.
pub(crate) struct Run {
    engine: Mutex<Engine>,
    /// Told when there is something to do, and when the run is over.
    pub(crate) news: Condvar,
    pub(crate) idle: AtomicUsize,
    /// Whether an idle worker looks for what it can split. One is enough: what it splits off is taken by itself, and then
    /// the next one looks.
    pub(crate) looking: AtomicBool,
    alive: AtomicUsize,
    pub(crate) stealers: Vec<Stealer<Box<Task>>>,
    pub(crate) shared: Arc<RunShared>,
    pub(crate) clock: ClockRef,
    /// Told when a cut may be due or can be made. Goes with the engine's lock.
    pub(crate) cut: Condvar,
    /// When the next checkpoint is due, in milliseconds since the epoch; never without checkpoints.
    pub(crate) checkpoint_due: AtomicI64,
    checkpointer: Mutex<Option<JoinHandle<String>>>,
    /// Whether all workers have left.
    pub(crate) is_over: AtomicBool,
    /// Whether the clock is that of a test stream.
    pub(crate) lives_on_a_script: bool,
    /// A clock to move ahead when there is nothing to do.
    pub(crate) virtual_clock: Option<ManualClock>,
    retries: u32,
}

impl Run {
    /// Starts the workers.
    pub(crate) fn start(
        engine: Engine,
        workers: usize,
        clock: ClockRef,
        virtual_clock: Option<ManualClock>,
        retries: u32,
        mut checkpoints: Option<Checkpoints>,
    ) -> Result<RunHandle, PipelineError> {
        let deques: Vec<Deque<Box<Task>>> = (0..workers).map(|_| Deque::new_lifo()).collect();
        let shared = RunShared::new();
        checkpoints.iter_mut().for_each(|checkpoints| checkpoints.note(clock.now()));
        let due = checkpoints.as_ref().map_or(i64::MAX, |checkpoints| checkpoints.due().as_millis());
        let run = Arc::new(Run {
            cut: Condvar::new(),
            checkpoint_due: AtomicI64::new(due),
            checkpointer: Mutex::new(None),
            is_over: AtomicBool::new(false),
            lives_on_a_script: engine.stream_clock().is_some(),
            engine: Mutex::new(engine),
            news: Condvar::new(),
            idle: AtomicUsize::new(0),
            looking: AtomicBool::new(false),
            alive: AtomicUsize::new(workers),
            stealers: deques.iter().map(Deque::stealer).collect(),
            shared: shared.clone(),
            clock,
            virtual_clock,
            retries,
        });
        shared.attach(run.clone());
        run.lock().go_live(&shared)?;
        if let Some(checkpoints) = checkpoints {
            let checkpointer = Checkpointer::new(run.clone(), checkpoints);
            let spawned = thread::Builder::new()
                .name("purlin-checkpoints".into())
                .spawn(move || checkpointer.work())
                .map_err(|e| {
                    PipelineError::runner(format!("the thread for checkpoints cannot be started: {e}"))
                })?;
            *run.checkpointer.lock().unwrap_or_else(PoisonError::into_inner) = Some(spawned);
        }
        for (i, deque) in deques.into_iter().enumerate() {
            let mine = run.clone();
            let spawned = thread::Builder::new()
                .name(format!("purlin-{i}"))
                .spawn(move || Worker::new(mine, deque).work());
            if let Err(e) = spawned {
                // The workers that did start see the failure and end the run.
                let missing = workers - i;
                let error = PipelineError::runner(format!("thread {i} of {workers} cannot be started: {e}"));
                run.lock().fail(error);
                run.news.notify_all();
                if run.alive.fetch_sub(missing, Ordering::AcqRel) == missing {
                    run.end();
                }
                break;
            }
        }
        Ok(RunHandle::new(shared))
    }

    /// The engine. Of the user's code only `Serialize` of a few elements, `Clone` where bundles may be tried again, and
    /// the mapping of windows to side inputs run under its lock. The engine makes a panic there the run's failure; after
    /// one of its own its state is still the best there is to end the run with.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker leaves; the last one ends the run.
    pub(crate) fn leave(&self) {
        if self.alive.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end();
        }
    }

    fn end(&self) {
        let way_on = self.end_checkpoints();
        let (teardowns, leftovers, mut result) = {
            let mut engine = self.lock();
            let (teardowns, leftovers) = (engine.shut_down(), engine.take_leftovers());
            let result = result_of(&engine);
            let result = result.map_err(|e| way_on.iter().fold(e, |e, note| e.with_note(note.as_str())));
            (teardowns, leftovers, result)
        };
        let torn_down = teardowns.into_iter().map(Teardown::run);
        for done in torn_down.chain(std::iter::once_with(|| leftovers.let_go())) {
            if let (Ok(_), Err(error)) = (&result, done) {
                result = Err(error);
            }
        }
        self.shared.finish(result.map_err(|e| e.after_retries(self.retries)));
    }
}

impl Run {
    /// Has the last checkpoint made, and gives what to tell with an error that ended the run.
    fn end_checkpoints(&self) -> Option<String> {
        let checkpointer = self.checkpointer.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        {
            let _engine = self.lock();
            self.is_over.store(true, Ordering::SeqCst);
            self.cut.notify_all();
        }
        checkpointer.join().ok()
    }

    /// Tells whoever makes checkpoints when there is something to do for it.
    pub(crate) fn tell_checkpointer(&self, engine: &Engine, now: Timestamp) {
        if engine.is_snapshot_requested() || self.is_checkpoint_due(now) {
            self.cut.notify_all();
        }
    }

    pub(crate) fn is_checkpoint_due(&self, now: Timestamp) -> bool {
        self.checkpoint_due.load(Ordering::SeqCst) <= now.as_millis()
    }
}

fn result_of(engine: &Engine) -> RunResult {
    if let Some(error) = engine.failure() {
        return Err(error.clone());
    }
    let state = if engine.is_cancelled() {
        RunState::Cancelled
    } else if engine.is_draining() {
        RunState::Drained
    } else {
        RunState::Done
    };
    Ok(RunOutcome { state, metrics: engine.metrics().snapshot() })
}

impl RunControl for Run {
    fn wake(&self) {
        // Here and not by a worker: all of them may be at work in bundles, which are to hear of it. Under the lock no
        // worker is between looking at the request and going to sleep.
        let mut engine = self.lock();
        if self.shared.cancel_requested() {
            engine.cancel();
        } else if self.shared.drain_requested() {
            engine.drain();
        }
        drop(engine);
        self.news.notify_all();
        self.cut.notify_all();
    }

    fn metrics(&self) -> MetricsSnapshot {
        self.lock().metrics().snapshot()
    }

    fn stall_report(&self) -> StallReport {
        self.lock().stall_report()
    }
}
