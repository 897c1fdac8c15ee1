//! Running a pipeline with assertions.

use super::check_assertions;
use crate::{Pipeline, PipelineError, RunResult, Runner};

/// Runs the pipeline to its end, and checks that every [assertion](super::assert_that) ran.
///
/// # Errors
/// What is wrong with the pipeline; what failed the run, such as an assertion that does not hold; assertions that never
/// ran, because the run was cancelled, say.
pub fn run_and_check(pipeline: &Pipeline, runner: &dyn Runner) -> RunResult {
    let graph = pipeline.build()?;
    let spec = graph.spec();
    let outcome = runner.run(graph)?.wait()?;
    check_assertions(&spec, &outcome.metrics)
        .map_err(|e| PipelineError::runner(format!("the run ended as {}, but {e}", outcome.state)))?;
    Ok(outcome)
}
