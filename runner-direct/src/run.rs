//! The runner and its loop.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, PoisonError, Weak},
    thread,
    time::Duration,
};

use purlin_engine::{Engine, EngineConfig, Next, RunMetrics};
use purlin_sdk::{
    ClockRef, ManualClock, PipelineError, RunControl, RunHandle, RunOutcome, RunResult, RunShared, RunState,
    Runner, SystemClock, Timestamp,
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
        DirectRunner { seed: None, retries: 0, clock: Time::Virtual(ManualClock::at(Timestamp::EPOCH)) }
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
        let engine = Engine::new(&graph, env, config)?;
        // What DoFns see as processing time is what their finalizers and parked work go by.
        let clock = engine.stream_clock().map_or(clock, ManualClock::handle);
        let shared = RunShared::new();
        let signal = Arc::new(Signal { shared: Arc::downgrade(&shared), ..Signal::default() });
        shared.attach(signal.clone());
        let (time, retries) = (self.clock.clone(), self.retries);
        let mut run = Run { engine, shared: shared.clone(), signal, time, clock };
        thread::Builder::new()
            .name("purlin-direct".into())
            .spawn(move || {
                let note = format!("repeat this run with --seed={seed}");
                // Whoever waits for the run must hear of its end, also when the fault is the runner's own.
                let result = catch_unwind(AssertUnwindSafe(|| run.finish()))
                    .unwrap_or_else(|payload| Err(PipelineError::panic(None, None, &*payload)));
                // Before the engine is dropped, and with it what the pipeline was made of, whose `Drop` may panic.
                run.shared.finish(result.map_err(|e| e.after_retries(retries).with_note(note)));
            })
            .map_err(|e| PipelineError::runner(format!("a thread cannot be started: {e}")))?;
        Ok(RunHandle::new(shared))
    }
}

/// Wakes the loop while it waits for the wall clock, stops the bundle at work when the run is cancelled, and keeps what
/// was counted for the handle.
#[derive(Default)]
struct Signal {
    shared: Weak<RunShared>,
    at_work: Mutex<Option<Arc<BundleControl>>>,
    woken: Mutex<bool>,
    condvar: Condvar,
    metrics: Mutex<Option<RunMetrics>>,
}

impl RunControl for Signal {
    fn wake(&self) {
        self.stop_if_cancelled();
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condvar.notify_all();
    }

    fn metrics(&self) -> MetricsSnapshot {
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone();
        metrics.map(|metrics| metrics.snapshot()).unwrap_or_default()
    }
}

impl Signal {
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

    fn wait(&self, timeout: Duration) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.condvar.wait_timeout_while(woken, timeout, |woken| !*woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

struct Run {
    engine: Engine,
    shared: Arc<RunShared>,
    signal: Arc<Signal>,
    time: Time,
    clock: ClockRef,
}

impl Run {
    fn finish(&mut self) -> RunResult {
        loop {
            if self.shared.cancel_requested() {
                self.engine.cancel();
            } else if self.shared.drain_requested() {
                self.engine.drain();
            }
            match self.engine.next(self.clock.now()) {
                Next::Task(task) => {
                    self.signal.begin(task.control());
                    let finished = task.run();
                    if self.shared.cancel_requested() {
                        // Then the bundle's error is that it was cancelled.
                        self.engine.cancel();
                    }
                    for finalizer in self.engine.commit(finished, self.clock.now()) {
                        finalizer.run(self.clock.now());
                    }
                    *self.signal.metrics.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(self.engine.metrics().clone());
                }
                Next::Wait(until) => self.wait(until),
                Next::Over => break,
            }
        }
        let mut result = match self.engine.failure() {
            Some(error) => Err(error.clone()),
            None => Ok(RunOutcome { state: self.state(), metrics: self.engine.metrics().snapshot() }),
        };
        for teardown in self.engine.shut_down() {
            let done = teardown.run();
            if let (Ok(_), Err(error)) = (&result, done) {
                result = Err(error);
            }
        }
        result
    }

    fn state(&self) -> RunState {
        if self.engine.is_cancelled() {
            RunState::Cancelled
        } else if self.engine.is_draining() {
            RunState::Drained
        } else {
            RunState::Done
        }
    }

    fn wait(&self, until: Option<Timestamp>) {
        match (&self.time, until) {
            (Time::Virtual(clock), Some(at)) => clock.set(at),
            (Time::Real, Some(at)) => self.signal.wait((at - self.clock.now()).to_std()),
            // There is always something parked when the one thread has nothing to run.
            (_, None) => self.signal.wait(Duration::from_millis(10)),
        }
    }
}
