//! The runners that a pipeline must give the same result on, and what tests need around a run.
//!
//! Both runners live on clocks that move ahead when there is nothing to do, so no test waits for real time.

use std::{fmt, thread, time::Duration};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{Element, ManualClock, PCollection, Pipeline, PipelineError, RunHandle, RunResult, Runner};

use crate::Committed;

/// Seeds of the direct runner; each draws other bundles, orders, splits and checkpoints.
pub const SEEDS: u64 = 20;

/// Seeds of the direct runner that breaks runs off and goes on from snapshots of them.
pub const RESTORING_SEEDS: u64 = 6;

/// Numbers of threads of the threaded runner.
pub const THREADS: [usize; 3] = [1, 2, 16];

/// How long a run may take before it counts as hanging. No correct run comes near it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A runner under test, with the clock that it lives on.
pub struct Setup {
    /// The runner.
    pub runner: Box<dyn Runner>,
    /// Its clock.
    pub clock: ManualClock,
    /// How many bundles it may run at once.
    pub threads: usize,
}

/// Every runner, trying a bundle again `retries` times.
pub fn setups(retries: u32) -> Vec<Setup> {
    let direct = (0..SEEDS).map(|seed| {
        let clock = ManualClock::default();
        let runner = DirectRunner::new().seed(seed).clock(clock.clone()).retries(retries);
        Setup { runner: Box::new(runner), clock, threads: 1 }
    });
    let threaded = THREADS.iter().map(|n| {
        let clock = ManualClock::default();
        let runner = ThreadedRunner::new().parallelism(*n).clock(clock.clone()).retries(retries);
        Setup { runner: Box::new(runner), clock, threads: *n }
    });
    let restored = (0..RESTORING_SEEDS).map(|seed| {
        let clock = ManualClock::default();
        let runner = DirectRunner::new().seed(seed).clock(clock.clone()).retries(retries).restore_often();
        Setup { runner: Box::new(runner), clock, threads: 1 }
    });
    direct.chain(restored).chain(threaded).collect()
}

/// Calls `test` for every setup; a failure says on which.
pub fn for_each_setup(retries: u32, test: impl Fn(&Setup)) {
    for setup in setups(retries) {
        let _name = NameOnPanic(&*setup.runner);
        test(&setup);
    }
}

/// Calls `test` with every runner; a failure says on which.
///
/// ```
/// use purlin_conformance::runners::{for_each_runner, results};
/// for_each_runner(|runner| {
///     assert_eq!(results(runner, |p| p.create("Numbers", 1..=3).map("Double", |n| n * 2)), [2, 4, 6]);
/// });
/// ```
pub fn for_each_runner(test: impl Fn(&dyn Runner)) {
    for_each_setup(0, |setup| test(&*setup.runner));
}

/// Like [`for_each_runner`], where a bundle is tried again `retries` times.
pub fn for_each_runner_with(retries: u32, test: impl Fn(&dyn Runner)) {
    for_each_setup(retries, |setup| test(&*setup.runner));
}

/// Calls `test` with every runner that can run two bundles at once.
pub fn for_each_parallel_runner(test: impl Fn(&dyn Runner)) {
    for setup in setups(0).iter().filter(|s| s.threads > 1) {
        let _name = NameOnPanic(&*setup.runner);
        test(&*setup.runner);
    }
}

/// Builds a pipeline and starts it.
///
/// # Errors
/// What is wrong with the pipeline.
pub fn start(runner: &dyn Runner, build: impl FnOnce(&Pipeline)) -> Result<RunHandle, PipelineError> {
    let p = Pipeline::new();
    build(&p);
    p.run_on(runner)
}

/// Waits for the end of a run.
///
/// # Errors
/// When the run failed.
///
/// # Panics
/// When it does not end.
pub fn end_of(handle: &RunHandle) -> RunResult {
    handle.wait_timeout(PATIENCE).unwrap_or_else(|| panic!("the run hangs in state {}", handle.state()))
}

/// Builds a pipeline, runs it and waits for its end.
///
/// # Errors
/// When it cannot be built or fails.
pub fn run(runner: &dyn Runner, build: impl FnOnce(&Pipeline)) -> RunResult {
    end_of(&start(runner, build)?)
}

/// What the run committed in the collection that `build` returns, sorted.
///
/// # Panics
/// When the run fails.
pub fn results<T: Element + Ord>(
    runner: &dyn Runner,
    build: impl FnOnce(&Pipeline) -> PCollection<T>,
) -> Vec<T> {
    let committed = Committed::new();
    if let Err(e) = run(runner, |p| committed.collect("Collect", &build(p))) {
        panic!("the run failed: {e}");
    }
    committed.sorted()
}

/// Tells on which runner a test failed.
struct NameOnPanic<'a>(&'a dyn Runner);

impl Drop for NameOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("on {:?}", self.0);
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.runner.fmt(f)
    }
}
