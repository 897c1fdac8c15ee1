//! The runners that cases are run on.

use std::{str::FromStr, time::Duration};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{Pipeline, RunHandle, Runner};

/// How long a run may take before it counts as hanging. No correct run comes near it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Seeds of the direct runner.
const SEEDS: u64 = 5;

/// Numbers of threads of the threaded runner.
const THREADS: [usize; 3] = [1, 2, 16];

/// Which runners to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The direct runner, with five seeds.
    Direct,
    /// The threaded runner, with 1, 2 and 16 threads.
    Threaded,
    /// Both.
    All,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        match text {
            "direct" => Ok(Choice::Direct),
            "threaded" => Ok(Choice::Threaded),
            "all" => Ok(Choice::All),
            other => Err(format!("`{other}` is no runner: direct, threaded and all are")),
        }
    }
}

/// A runner, and what to call it.
pub struct Setup {
    /// Its name, with its seed or its number of threads.
    pub name: String,
    /// The runner.
    pub runner: Box<dyn Runner>,
}

/// The runners of `choice`.
pub fn setups(choice: Choice) -> Vec<Setup> {
    let direct = (0..SEEDS).map(|seed| Setup {
        name: format!("direct, seed {seed}"),
        runner: Box::new(DirectRunner::new().seed(seed)),
    });
    let threaded = THREADS.iter().map(|n| Setup {
        name: format!("threaded, {n} threads"),
        runner: Box::new(ThreadedRunner::new().parallelism(*n)),
    });
    match choice {
        Choice::Direct => direct.collect(),
        Choice::Threaded => threaded.collect(),
        Choice::All => direct.chain(threaded).collect(),
    }
}

/// Builds a pipeline and starts it.
///
/// # Errors
/// What is wrong with the case or the pipeline.
pub(super) fn start(
    runner: &dyn Runner,
    build: impl FnOnce(&Pipeline) -> Result<(), String>,
) -> Result<RunHandle, String> {
    let p = Pipeline::new();
    build(&p)?;
    p.run_on(runner).map_err(|e| e.to_string())
}

/// Waits for the end of a run.
///
/// # Errors
/// When it fails or hangs.
pub(super) fn end(handle: &RunHandle) -> Result<(), String> {
    match handle.wait_timeout(PATIENCE) {
        Some(result) => result.map(drop).map_err(|e| e.to_string()),
        None => {
            handle.cancel();
            Err(format!("the run hangs in state {}", handle.state()))
        }
    }
}

/// Runs the pipeline that `build` makes to its end.
///
/// # Errors
/// What is wrong with the case or the pipeline, or why the run failed.
pub(super) fn run(
    runner: &dyn Runner,
    build: impl FnOnce(&Pipeline) -> Result<(), String>,
) -> Result<(), String> {
    end(&start(runner, build)?)
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}
