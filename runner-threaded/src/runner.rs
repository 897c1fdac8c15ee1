//! The runner and its options.

use std::{path::PathBuf, sync::Arc};

use purlin_engine::{CheckpointOptions, EngineConfig};
use purlin_sdk::{
    ClockRef, Duration, ManualClock, PipelineError, RunHandle, Runner, SystemClock,
    exec::{Checks, RunEnv},
    graph::Graph,
};

use crate::run::Run;

/// Runs a pipeline on several threads.
///
/// ```
/// use purlin_runner_threaded::ThreadedRunner;
/// use purlin_sdk::Pipeline;
///
/// let p = Pipeline::new();
/// p.create("Numbers", 0..1000).map("Double", |n| n * 2);
/// p.run_on(&ThreadedRunner::new().parallelism(2)).unwrap().wait().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct ThreadedRunner {
    config: EngineConfig,
    clock: Option<ManualClock>,
    checkpoints: CheckpointOptions,
}

impl Default for ThreadedRunner {
    fn default() -> ThreadedRunner {
        ThreadedRunner::new()
    }
}

impl ThreadedRunner {
    /// How many threads there may be.
    pub const MOST_THREADS: usize = 1024;

    /// As many threads as the machine has cores, on the wall clock.
    pub fn new() -> ThreadedRunner {
        let parallelism = std::thread::available_parallelism().map_or(1, usize::from);
        ThreadedRunner {
            config: EngineConfig { parallelism, ..EngineConfig::default() },
            clock: None,
            checkpoints: CheckpointOptions::default(),
        }
    }

    /// How many bundles may run at once, at least one; each on a thread of its own. More than
    /// [`MOST_THREADS`](Self::MOST_THREADS) are refused when the pipeline is started.
    #[must_use]
    pub fn parallelism(mut self, threads: usize) -> ThreadedRunner {
        self.config.parallelism = threads.max(1);
        self
    }

    /// Tries a bundle again, this often, whose error is retryable.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> ThreadedRunner {
        self.config.retries = retries;
        self
    }

    /// How many bytes of elements may wait between stages; above 70 % of it sources pause.
    #[must_use]
    pub fn memory_budget(mut self, bytes: usize) -> ThreadedRunner {
        self.config.memory_budget = bytes;
        self
    }

    /// How many elements a bundle takes at most.
    #[must_use]
    pub fn bundle_elements(mut self, elements: usize) -> ThreadedRunner {
        self.config.bundle_elements = elements.max(1);
        self
    }

    /// Writes checkpoints into the directory `dir`, of which a run that was killed goes on: see
    /// [`restore`](Self::restore). The directory is made if it is not there; it must have no checkpoints of another run.
    ///
    /// The pipeline does not stop for a checkpoint.
    ///
    /// ```
    /// use purlin_runner_threaded::ThreadedRunner;
    /// use purlin_sdk::{Duration, Pipeline};
    ///
    /// # let temp = tempfile::tempdir().unwrap();
    /// # let dir = temp.path().join("checkpoints");
    /// let p = Pipeline::new();
    /// p.create("Numbers", [1, 2, 3]).key_by("Parity", |n| n % 2).group_by_key("Group");
    /// let every = Duration::from_secs(2);
    /// let runner = ThreadedRunner::new().checkpoint_dir(&dir).checkpoint_every(every).restore(true);
    /// p.run_on(&runner).unwrap().wait().unwrap();
    /// ```
    #[must_use]
    pub fn checkpoint_dir(mut self, dir: impl Into<PathBuf>) -> ThreadedRunner {
        self.checkpoints.dir = Some(dir.into());
        self
    }

    /// How long, in processing time, between two checkpoints: 10 seconds unless it is said. A run whose sinks wait for a
    /// checkpoint and that has nothing else to do makes one at once.
    #[must_use]
    pub fn checkpoint_every(mut self, every: Duration) -> ThreadedRunner {
        self.checkpoints.every = every;
        self
    }

    /// Whether to go on from the newest checkpoint in the checkpoint directory. When there is none yet, the run begins
    /// at its beginning; of another pipeline it is refused.
    #[must_use]
    pub fn restore(mut self, restore: bool) -> ThreadedRunner {
        self.checkpoints.restore = restore;
        self
    }

    /// Lives on `clock`, which it moves ahead whenever there is nothing to do until then.
    #[must_use]
    pub fn clock(mut self, clock: ManualClock) -> ThreadedRunner {
        self.clock = Some(clock);
        self
    }
}

impl Runner for ThreadedRunner {
    fn name(&self) -> &str {
        "threaded"
    }

    fn run(&self, graph: Graph) -> Result<RunHandle, PipelineError> {
        if self.config.parallelism > Self::MOST_THREADS {
            return Err(PipelineError::runner(format!(
                "{} threads were asked for, and {} is the most; this machine runs {} at once, and more only help where \
                 they wait for something outside",
                self.config.parallelism,
                Self::MOST_THREADS,
                std::thread::available_parallelism().map_or(1, usize::from)
            )));
        }
        let clock: ClockRef = match &self.clock {
            Some(clock) => clock.handle(),
            None => Arc::new(SystemClock),
        };
        let env = RunEnv {
            options: graph.options.clone(),
            clock: clock.clone(),
            parallelism: self.config.parallelism,
            atomic: self.config.retries > 0,
            checks: Checks::default(),
        };
        let (engine, checkpoints) = self.checkpoints.start(&graph, env, self.config.clone())?;
        // What DoFns see as processing time is what their finalizers and parked work go by.
        let clock = engine.stream_clock().map_or(clock, ManualClock::handle);
        Run::start(
            engine,
            self.config.parallelism,
            clock,
            self.clock.clone(),
            self.config.retries,
            checkpoints,
        )
    }
}
