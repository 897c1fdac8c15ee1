//! Pipelines on Prism, with the same output as on the direct runner.

mod support;

use std::sync::{Arc, Mutex};

use purlin_runner_portable::PortableRunner;
use purlin_sdk::{PCollection, Pipeline, PipelineError, RunOutcome, Runner};
use support::Prism;

/// What a pipeline made, and how it ended.
fn gathered<T: purlin_sdk::Element + Ord>(
    build: impl Fn(&Pipeline) -> PCollection<T>,
    runner: &dyn Runner,
) -> Result<(Vec<T>, RunOutcome), PipelineError> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let p = Pipeline::new();
    build(&p).map("Gather", move |element| into.lock().unwrap().push(element));
    let outcome = p.run_on(runner)?.wait()?;
    let mut all = std::mem::take(&mut *seen.lock().unwrap());
    all.sort();
    Ok((all, outcome))
}

#[test]
fn elements_one_by_one() {
    let Some(prism) = Prism::start() else { return };
    let build = |p: &Pipeline| p.create("Numbers", 0..10_i64).map("Double", |n| n * 2);
    let (all, _) = gathered(build, &PortableRunner::to(prism.endpoint())).unwrap();
    assert_eq!(all, (0..10).map(|n| n * 2).collect::<Vec<i64>>());
}
