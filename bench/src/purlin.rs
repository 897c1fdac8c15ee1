//! The works as Purlin pipelines, on the threaded runner; a few also on the direct runner.

mod answers;
pub mod small;
mod source;
pub mod w1;
pub mod w2;
pub mod w2x;
pub mod w3;
pub mod w4;
pub mod w5;
pub mod w6;
pub mod w7;

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::Pipeline;

use crate::{Failure, Params};

/// Runs the pipeline that `build` makes. No thread at all stands for the direct runner.
fn run(params: &Params, build: impl FnOnce(&Pipeline)) -> Result<(), Failure> {
    let pipeline = Pipeline::new();
    build(&pipeline);
    if params.threads == 0 {
        pipeline.run_on(&DirectRunner::new())?.wait()?;
    } else {
        pipeline.run_on(&ThreadedRunner::new().parallelism(params.threads))?.wait()?;
    }
    Ok(())
}

/// The parameters for the direct runner.
fn direct(params: &Params) -> Params {
    Params { threads: 0, ..params.clone() }
}

/// How many partitions a source has.
fn partitions(params: &Params) -> u64 {
    2 * params.threads.max(1) as u64
}
