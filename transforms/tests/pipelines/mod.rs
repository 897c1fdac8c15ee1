//! What the tests of whole pipelines share.
#![allow(dead_code)]

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{CombineFn, Element, PCollection, Pipeline, PipelineError, RunOutcome, Runner};

/// Every runner that a test must pass on.
pub(crate) fn runners() -> Vec<Box<dyn Runner>> {
    let mut all: Vec<Box<dyn Runner>> = Vec::new();
    for seed in 0..8 {
        all.push(Box::new(DirectRunner::new().seed(seed)));
    }
    for parallelism in [1, 2, 16] {
        all.push(Box::new(ThreadedRunner::new().parallelism(parallelism)));
    }
    all
}

/// Builds and runs a pipeline.
pub(crate) fn try_run(
    runner: &dyn Runner,
    build: impl FnOnce(&Pipeline),
) -> Result<RunOutcome, PipelineError> {
    let p = Pipeline::new();
    build(&p);
    p.run_on(runner)?.wait()
}

/// Builds a pipeline, runs it, and says on which runner it failed.
pub(crate) fn run(runner: &dyn Runner, build: impl FnOnce(&Pipeline)) {
    if let Err(e) = try_run(runner, build) {
        panic!("{runner:?}: {e}");
    }
}

/// The sorted elements of the collection that `build` makes.
pub(crate) fn elements<T: Element + Ord + fmt::Debug>(
    runner: &dyn Runner,
    build: impl FnOnce(&Pipeline) -> PCollection<T>,
) -> Vec<T> {
    let slot = Slot::default();
    run(runner, |p| slot.fill(&build(p)));
    slot.sorted()
}

/// Where the elements of a bounded collection are put when all are there. Filled as a whole, so that a bundle that is
/// run again changes nothing.
pub(crate) struct Slot<T>(Arc<Mutex<Option<Vec<T>>>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot(Arc::default())
    }
}

impl<T: Element + Ord + fmt::Debug> Slot<T> {
    pub(crate) fn fill(&self, collection: &PCollection<T>) {
        let slot = self.0.clone();
        collection
            .combine_globally("Gather", Gather(std::marker::PhantomData))
            .map("Put", move |all| *slot.lock().unwrap() = Some(all));
    }

    pub(crate) fn sorted(&self) -> Vec<T> {
        let mut all = self.0.lock().unwrap().take().expect("the collection was never gathered");
        all.sort();
        all
    }
}

struct Gather<T>(std::marker::PhantomData<fn(T)>);

impl<T> Clone for Gather<T> {
    fn clone(&self) -> Self {
        Gather(std::marker::PhantomData)
    }
}

impl<T: Element> CombineFn for Gather<T> {
    type Input = T;
    type Accumulator = Vec<T>;
    type Output = Vec<T>;
    fn create(&self) -> Vec<T> {
        Vec::new()
    }
    fn add_input(&self, all: &mut Vec<T>, x: T) {
        all.push(x);
    }
    fn merge(&self, all: &mut Vec<T>, mut more: Vec<T>) {
        all.append(&mut more);
    }
    fn extract(&self, all: Vec<T>) -> Vec<T> {
        all
    }
}

/// Sums of integers.
#[derive(Clone)]
pub(crate) struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, sum: &mut i64, x: i64) {
        *sum += x;
    }
    fn merge(&self, sum: &mut i64, more: i64) {
        *sum += more;
    }
    fn extract(&self, sum: i64) -> i64 {
        sum
    }
}
