//! The works as Purlin pipelines, on the threaded runner.

mod source;
pub mod w1;
pub mod w2;
pub mod w3;

use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::Pipeline;

use crate::{Failure, Params};

/// Runs the pipeline that `build` makes.
fn run(params: &Params, build: impl FnOnce(&Pipeline)) -> Result<(), Failure> {
    let pipeline = Pipeline::new();
    build(&pipeline);
    pipeline.run_on(&ThreadedRunner::new().parallelism(params.threads))?.wait()?;
    Ok(())
}
