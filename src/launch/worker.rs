//! The program as a worker that an engine started.

use std::{ffi::OsString, process::ExitCode};

use clap::Args;
use purlin_runner_portable::{Provisioned, WorkerCall};
use purlin_sdk::{Pipeline, PipelineError, graph::Graph};

use super::{command::parse_again, panics, report};

/// Builds the pipeline as the process did that submitted it, and serves its bundles until the engine lets go.
pub(super) fn work<O>(call: WorkerCall, program: OsString, build: impl FnOnce(&Pipeline, &O)) -> ExitCode
where
    O: Args + Clone + Send + Sync + 'static,
{
    let done = call.provision().and_then(|provisioned| match rebuilt(&provisioned, program, build) {
        Ok(graph) => provisioned.serve(graph),
        Err(error) => provisioned.refuse(&error),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::error(&error);
            report::FAILED
        }
    }
}

fn rebuilt<O>(
    provisioned: &Provisioned,
    program: OsString,
    build: impl FnOnce(&Pipeline, &O),
) -> Result<Graph, PipelineError>
where
    O: Args + Clone + Send + Sync + 'static,
{
    let arguments = provisioned.arguments()?.into_iter().map(OsString::from);
    let parsed = parse_again::<O>(std::iter::once(program).chain(arguments)).map_err(|e| {
        PipelineError::runner(format!(
            "this program, started as a worker, does not understand the command line that the pipeline was submitted \
             with: {e}"
        ))
    })?;
    let pipeline = Pipeline::with_options(parsed.pipeline.clone());
    panics::keep_quiet();
    panics::caught(|| build(&pipeline, &parsed.pipeline))?;
    Ok(panics::caught(|| pipeline.build())??)
}
