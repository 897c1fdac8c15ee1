//! The runner and its loop.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Duration,
};

use crate::simulate::Simulation;
use purlin_engine::{CheckpointOptions, Checkpoints, Engine, EngineConfig, Next, Teardown};
use purlin_sdk::{
    ClockRef, ManualClock, PipelineError, RunControl, RunHandle, RunOutcome, RunResult, RunShared, RunState,
    Runner, StallReport, SystemClock, Timestamp,
    exec::{BundleControl, Checks, RunEnv},
    graph::Graph,
    metrics::MetricsSnapshot,
};

/// Runs a pipeline on one thread, and checks what users must obey.
///
/// By default it lives on a clock of its own, which starts at the epoch and jumps ahead whenever there is nothing to
/// do until then; [`real_clock`](DirectRunner::real_clock) makes it live on the wall clock.
///
/// ```
/// use purlin_runner_direct::DirectRunner;
/// use purlin_sdk::Pipeline;
///
/// let p = Pipeline::new();
/// p.create("Numbers", [1, 2, 3]).map("Double", |n| n * 2);
/// let outcome = p.run_on(&DirectRunner::new().seed(7)).unwrap().wait().unwrap();
/// assert_eq!(outcome.state.to_string(), "DONE");
/// ```
#[derive(Clone, Debug)]
pub struct DirectRunner {
    seed: Option<u64>,
    retries: u32,
    clock: Time,
    restore_often: bool,
    checkpoints: CheckpointOptions,
}

#[derive(Clone, Debug)]
enum Time {
    /// Jumps ahead when there is nothing to do.
    Virtual(ManualClock),
    Real,
}

impl Default for DirectRunner {
    fn default() -> DirectRunner {
        DirectRunner::new()
    }
}

impl DirectRunner {
    /// A runner with a seed of its own choice for each run.
    pub fn new() -> DirectRunner {
        DirectRunner {
            seed: None,
            retries: 0,
            clock: Time::Virtual(ManualClock::at(Timestamp::EPOCH)),
            restore_often: false,
            checkpoints: CheckpointOptions::default(),
        }
    }

    /// Draws everything that is left open from this seed, so that the run can be repeated.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> DirectRunner {
        self.seed = Some(seed);
        self
    }

    /// Tries a bundle again, this often, whose error is retryable.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> DirectRunner {
        self.retries = retries;
        self
    }

    /// Writes checkpoints into the directory `dir`, of which a run that was killed goes on: see
    /// [`restore`](Self::restore). The directory is made if it is not there; it must have no checkpoints of another run.
    ///
    /// ```
    /// use purlin_runner_direct::DirectRunner;
    /// use purlin_sdk::Pipeline;
    ///
    /// # let temp = tempfile::tempdir().unwrap();
    /// # let dir = temp.path().join("checkpoints");
    /// let p = Pipeline::new();
    /// p.create("Numbers", [1, 2, 3]).key_by("Parity", |n| n % 2).group_by_key("Group");
    /// let runner = DirectRunner::new().checkpoint_dir(&dir).restore(true);
    /// p.run_on(&runner).unwrap().wait().unwrap();
    /// ```
    #[must_use]
    pub fn checkpoint_dir(mut self, dir: impl Into<PathBuf>) -> DirectRunner {
        self.checkpoints.dir = Some(dir.into());
        self
    }

    /// How long, in processing time, between two checkpoints: 10 seconds unless it is said. A run whose sinks wait for a
    /// checkpoint and that has nothing else to do makes one at once.
    #[must_use]
    pub fn checkpoint_every(mut self, every: purlin_sdk::Duration) -> DirectRunner {
        self.checkpoints.every = every;
        self
    }

    /// Whether to go on from the newest checkpoint in the checkpoint directory. When there is none yet, the run begins
    /// at its beginning; of another pipeline it is refused.
    #[must_use]
    pub fn restore(mut self, restore: bool) -> DirectRunner {
        self.checkpoints.restore = restore;
        self
    }

    /// Breaks the run off at random moments, and goes on from a snapshot, as a run does that was killed and restored: what
    /// is not in the snapshot is seen to be missing. A pipeline whose state cannot be kept runs as if this were not said.
    #[must_use]
    pub fn restore_often(mut self) -> DirectRunner {
        self.restore_often = true;
        self
    }

    /// Lives on `clock`, which it moves ahead whenever there is nothing to do until then.
    #[must_use]
    pub fn clock(mut self, clock: ManualClock) -> DirectRunner {
        self.clock = Time::Virtual(clock);
        self
    }

    /// Lives on the wall clock.
    #[must_use]
    pub fn real_clock(mut self) -> DirectRunner {
        self.clock = Time::Real;
        self
    }
}

impl Runner for DirectRunner {
    fn name(&self) -> &str {
        "direct"
    }

    fn run(&self, graph: Graph) -> Result<RunHandle, PipelineError> {
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let config = EngineConfig {
            seed: Some(seed),
            retries: self.retries,
            parallelism: 1,
            ..EngineConfig::default()
        };
        let clock: ClockRef = match &self.clock {
            Time::Virtual(clock) => clock.handle(),
            Time::Real => Arc::new(SystemClock),
        };
        let env = RunEnv {
            options: graph.options.clone(),
            clock: clock.clone(),
            parallelism: 1,
            // As if every bundle might be tried again, so that what must be atomic is seen to be.
            atomic: true,
            checks: Checks { recode: true },
        };
        let (engine, mut checkpoints) = self.checkpoints.start(&graph, env.clone(), config.clone())?;
        let simulation = self
            .restore_often
            .then(|| Simulation::new(seed, graph, env, config))
            .filter(|s| s.is_possible(&engine));
        // What DoFns see as processing time is what their finalizers and parked work go by.
        let clock = engine.stream_clock().map_or(clock, ManualClock::handle);
        checkpoints.iter_mut().for_each(|checkpoints| checkpoints.note(clock.now()));
        let shared = RunShared::new();
        let signal = Arc::new(Signal::new(&shared, engine));
        shared.attach(signal.clone());
        let (time, retries) = (self.clock.clone(), self.retries);
        signal.lock().go_live(&shared)?;
        let mut run = Run { shared: shared.clone(), signal, time, clock, simulation, checkpoints };
        thread::Builder::new()
            .name("purlin-direct".into())
            .spawn(move || {
                let note = format!("repeat this run with --seed={seed}");
                // Whoever waits for the run must hear of its end, also when the fault is the runner's own.
                let result = catch_unwind(AssertUnwindSafe(|| run.finish()))
                    .unwrap_or_else(|payload| Err(PipelineError::panic(None, None, &*payload)));
                // Whoever hears of the end may go on from the checkpoints, whose directory is one run's at a time.
                drop(run.checkpoints.take());
                // Before the engine is dropped, and with it what the pipeline was made of, whose `Drop` may panic.
                run.shared.finish(result.map_err(|e| e.after_retries(retries).with_note(note)));
            })
            .map_err(|e| PipelineError::runner(format!("a thread cannot be started: {e}")))?;
        Ok(RunHandle::new(shared))
    }
}

/// What the loop and the handle share: wakes the loop while it waits for the wall clock, and stops the bundle at work
/// when the run is cancelled.
struct Signal {
    shared: Weak<RunShared>,
    at_work: Mutex<Option<Arc<BundleControl>>>,
    woken: Mutex<bool>,
    condvar: Condvar,
    /// Not locked while a bundle is at work.
    engine: Mutex<Engine>,
}

impl RunControl for Signal {
    fn wake(&self) {
        self.stop_if_cancelled();
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condvar.notify_all();
    }

    fn metrics(&self) -> MetricsSnapshot {
        self.lock().metrics().snapshot()
    }

    fn stall_report(&self) -> StallReport {
        self.lock().stall_report()
    }
}

impl Signal {
    fn new(shared: &Arc<RunShared>, engine: Engine) -> Signal {
        Signal {
            shared: Arc::downgrade(shared),
            at_work: Mutex::default(),
            woken: Mutex::default(),
            condvar: Condvar::new(),
            engine: Mutex::new(engine),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bundle begins.
    fn begin(&self, control: &Arc<BundleControl>) {
        *self.at_work.lock().unwrap_or_else(PoisonError::into_inner) = Some(control.clone());
        // The request may have come just before.
        self.stop_if_cancelled();
    }

    fn stop_if_cancelled(&self) {
        if self.shared.upgrade().is_some_and(|shared| shared.cancel_requested())
            && let Some(control) = &*self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
        {
            control.cancel();
        }
    }

    /// Until it is woken, or for this long.
    fn wait(&self, timeout: Option<Duration>) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut woken = match timeout {
            Some(timeout) => {
                let waited = self.condvar.wait_timeout_while(woken, timeout, |woken| !*woken);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.condvar.wait_while(woken, |woken| !*woken);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        *woken = false;
    }
}

struct Run {
    shared: Arc<RunShared>,
    signal: Arc<Signal>,
    time: Time,
    clock: ClockRef,
    simulation: Option<Simulation>,
    checkpoints: Option<Checkpoints>,
}

impl Run {
    fn finish(&mut self) -> RunResult {
        loop {
            self.checkpoint_if_due();
            // The lock is let go of before the bundle is run.
            let next = {
                let mut engine = self.signal.lock();
                if self.shared.cancel_requested() {
                    engine.cancel();
                } else if self.shared.drain_requested() {
                    engine.drain();
                }
                engine.next(self.clock.now())
            };
            match next {
                Next::Task(task) => {
                    self.signal.begin(task.control());
                    let finished = task.run();
                    let finalizers = {
                        let mut engine = self.signal.lock();
                        if self.shared.cancel_requested() {
                            // Then the bundle's error is that it was cancelled.
                            engine.cancel();
                        }
                        engine.commit(finished, self.clock.now())
                    };
                    if !finalizers.is_empty() {
                        finalizers.into_iter().for_each(|f| f.run(self.clock.now()));
                        self.signal.lock().finalized();
                    }
                    let mut engine = self.signal.lock();
                    if let Some(simulation) = &mut self.simulation
                        && let Err(error) = simulation.perhaps_restore(&mut engine)
                    {
                        engine.fail(error);
                    }
                    if let Some(clock) = engine.stream_clock() {
                        self.clock = clock.handle();
                    }
                }
                Next::Wait(until) => self.wait(until),
                Next::Idle => self.signal.wait(None),
                Next::Over => break,
            }
        }
        if self.checkpoints.is_some() && !self.signal.lock().is_failing() {
            self.checkpoint();
        }
        let (mut result, teardowns, leftovers) = {
            let mut engine = self.signal.lock();
            (self.result_of(&engine), engine.shut_down(), engine.take_leftovers())
        };
        let before = self.simulation.as_mut().map(Simulation::shut_down).unwrap_or_default();
        let torn_down = before.into_iter().chain(teardowns).map(Teardown::run);
        for done in torn_down.chain(std::iter::once_with(|| leftovers.let_go())) {
            if let (Ok(_), Err(error)) = (&result, done) {
                result = Err(error);
            }
        }
        result
    }

    fn checkpoint_if_due(&mut self) {
        let Some(checkpoints) = &self.checkpoints else { return };
        let engine = self.signal.lock();
        let due = checkpoints.due() <= self.clock.now() || engine.waits_for_checkpoint();
        let can = engine.can_snapshot();
        drop(engine);
        if due && can {
            self.checkpoint();
        }
    }

    fn checkpoint(&mut self) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        checkpoints.note(self.clock.now());
        let finalizers = {
            let mut engine = self.signal.lock();
            let written = engine.snapshot().and_then(|snapshot| checkpoints.write(&snapshot));
            if let Err(error) = written {
                engine.fail(error);
            }
            engine.snapshot_is_durable()
        };
        for finalizer in finalizers {
            finalizer.run(self.clock.now());
        }
    }

    fn result_of(&self, engine: &Engine) -> RunResult {
        if let Some(error) = engine.failure() {
            return Err(match &self.checkpoints {
                Some(checkpoints) => error.clone().with_note(checkpoints.way_on()),
                None => error.clone(),
            });
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

    fn wait(&self, until: Option<Timestamp>) {
        if self.signal.lock().waits_for_checkpoint() {
            // Which is made at once.
            return;
        }
        let until = match (&self.time, &self.checkpoints) {
            (Time::Real, Some(checkpoints)) => until.map(|at| at.min(checkpoints.due())),
            _ => until,
        };
        match (&self.time, until) {
            (Time::Virtual(clock), Some(at)) => clock.set(at),
            (Time::Real, Some(at)) => self.signal.wait(Some((at - self.clock.now()).to_std())),
            // There is always something parked when the one thread has nothing to run.
            (_, None) => self.signal.wait(Some(Duration::from_millis(10))),
        }
    }
}
