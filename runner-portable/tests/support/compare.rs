//! Running a pipeline and gathering what it makes.

use std::sync::{Arc, Mutex};

use purlin_sdk::{Pipeline, PipelineError, RunOutcome, Runner};

use super::cases::Build;

/// What a pipeline made, in order, and how it ended.
pub(crate) fn gathered(
    build: Build,
    runner: &dyn Runner,
) -> Result<(Vec<String>, RunOutcome), PipelineError> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let p = Pipeline::new();
    build(&p).map("Gather", move |element| into.lock().unwrap().push(element));
    let outcome = p.run_on(runner)?.wait()?;
    let mut all = std::mem::take(&mut *seen.lock().unwrap());
    all.sort();
    Ok((all, outcome))
}
