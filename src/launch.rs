//! From a pipeline function to a program.

mod command;
mod engine;
mod kind;
mod numbers;
mod options;
mod panics;
mod progress;
mod report;
mod signals;
mod size;
mod stall;
#[cfg(feature = "portable")]
mod worker;

use std::{ffi::OsString, process::ExitCode};

use clap::Args;
use purlin_sdk::{Pipeline, PipelineError, RunResult, RunState};

use self::command::{Parsed, parse};
pub use self::{
    kind::{RunnerKind, runner_from},
    options::RunOptions,
    size::MemorySize,
};

/// Runs a pipeline as a program: reads the command line, builds the pipeline, runs it on the runner that was asked for,
/// and waits for its end. To be the last thing in `main`.
///
/// ```no_run
/// use purlin::prelude::*;
///
/// #[derive(clap::Args, Clone)]
/// struct Options {
///     /// How far to count.
///     #[arg(long, default_value_t = 10)]
///     to: u64,
/// }
///
/// fn build(p: &Pipeline, options: &Options) {
///     p.create("Numbers", 1..=options.to).map("Print", |n| println!("{n}"));
/// }
///
/// fn main() -> ExitCode {
///     purlin::launch::<Options>(build)
/// }
/// ```
/// # Options
/// `O` are the pipeline's own options, by clap; DoFns have them as `cx.options::<O>()`. [`RunOptions`] come beside them,
/// in the same `--help`: `--runner=direct|threaded|portable`, `--parallelism`, `--seed`, `--retries`, `--memory-budget`,
/// `--checkpoint-dir`, `--checkpoint-every` and `--restore`, with which a run that was killed goes on, and `--explain`, which shows the pipeline's graph as JSON and does not run it. On the direct runner the pipeline lives on
/// the wall clock.
///
/// # Engines
/// In a build with the feature `portable`, `--runner=portable --job-endpoint=HOST:PORT` gives the pipeline to an engine that
/// speaks Beam's portability protocol. `--environment` says where its code runs: in this process (`loopback`), in this
/// program as the engine starts it (`process`), or in workers of a program that was started with `--worker-pool`
/// (`external:HOST:PORT`). A process that the engine starts is told apart by its command line at the first line of this
/// function, and builds the pipeline by the command line that it was submitted with: so `main` must do nothing before, and
/// `build` must depend on nothing else. See the guide on engines.
///
/// # Progress
/// When stderr is a terminal, a run that takes longer shows a line there: elements that its sources have read, how many a
/// second, how far event time has come, and the last epoch of each streaming query.
///
/// # Signals
/// SIGINT (Ctrl-C) cancels: what is not committed is thrown away. A second one ends the process at once. SIGTERM drains:
/// sources come to their end, windows close, everything that was read is finished. SIGUSR1 asks why there is no output:
/// what holds the watermark of each stage is told on stderr, since when, and what would release it; so it is by itself
/// when no watermark has moved for a minute (`--stall-after`). SIGXFSZ is ignored, so that a file
/// that grows beyond `ulimit -f` is an error of the transform that writes it. All of this on Unix only.
///
/// # Exit codes
/// | code | means |
/// |---|---|
/// | 0 | it is done, or drained |
/// | 1 | it could not be built (all reasons are told at once; also when `build` panicked) or failed; the error is on stderr: transform, source line, phase, cause |
/// | 2 | the command line is wrong |
/// | 130 | it was cancelled |
///
/// A panic in the pipeline is such an error too, and the place of the panic is told with it; the panic hook does not
/// print it a second time. With `RUST_BACKTRACE=full` the error has the backtrace. Builds with `panic = "abort"` are
/// refused, since there a panic would leave nobody to clean up.
pub fn launch<O>(build: impl FnOnce(&Pipeline, &O)) -> ExitCode
where
    O: Args + Clone + Send + Sync + 'static,
{
    launch_from::<O>(std::env::args_os(), build)
}

/// Like [`launch`](fn@launch), with the command line given: the first argument is the program's name.
///
/// ```
/// # #[derive(clap::Args, Clone)]
/// # struct NoOptions {}
/// let code = purlin::launch_from::<NoOptions>(["program", "--runner=direct"].map(Into::into), |p, _| {
///     p.create("Numbers", [1, 2, 3]);
/// });
/// assert_eq!(code, std::process::ExitCode::SUCCESS);
/// ```
pub fn launch_from<O>(args: impl IntoIterator<Item = OsString>, build: impl FnOnce(&Pipeline, &O)) -> ExitCode
where
    O: Args + Clone + Send + Sync + 'static,
{
    if cfg!(panic = "abort") {
        report::failure(
            "this program was built with `panic = \"abort\"`, with which a panic in a DoFn ends the process and leaves \
             half-written files behind: remove `panic = \"abort\"` from the profile in Cargo.toml",
        );
        return report::FAILED;
    }
    let args: Vec<OsString> = args.into_iter().collect();
    #[cfg(feature = "portable")]
    if let Some(call) = purlin_runner_portable::WorkerCall::of(&args) {
        return worker::work::<O>(call, args.into_iter().next().unwrap_or_default(), build);
    }
    #[cfg(not(feature = "portable"))]
    if std::env::var_os("PURLIN_WORKER").is_some() {
        report::failure(&format!("an engine started this program as a worker, and {}", kind::NOT_PORTABLE));
        return report::FAILED;
    }
    let Parsed { pipeline: options, run } = match parse::<O>(args.iter().cloned()) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let pipeline = Pipeline::with_options(options.clone());
    panics::keep_quiet();
    if let Err(error) = panics::caught(|| build(&pipeline, &options)) {
        report::not_built(&error);
        return report::FAILED;
    }
    match start(&pipeline, &run, &args) {
        Ok(Some(state)) => report::exit_code(state),
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            report::error(&error);
            report::FAILED
        }
    }
}

/// Runs the pipeline to its end; nothing when it was only to be explained.
fn start(
    pipeline: &Pipeline,
    options: &RunOptions,
    args: &[OsString],
) -> Result<Option<RunState>, PipelineError> {
    let graph = panics::caught(|| pipeline.build())??;
    if options.explain() {
        report::explain(&graph)?;
        return Ok(None);
    }
    if let Some(address) = options.worker_pool() {
        serve_pool(address, graph)?;
        return Ok(None);
    }
    let runner = options.runner_of(Some(args))?;
    let sources = progress::sources(&graph);
    signals::prepare()?;
    let run = runner.run(graph).inspect_err(|_| signals::not_started())?;
    signals::tell(run.clone());
    let result: RunResult = stall::wait(&run, options.stall_after(), progress::Line::new(sources));
    signals::forget();
    result.map(|outcome| Some(outcome.state))
}

/// Starts workers for whoever asks, until the process ends.
#[cfg(feature = "portable")]
fn serve_pool(address: &str, graph: purlin_sdk::graph::Graph) -> Result<(), PipelineError> {
    purlin_runner_portable::serve_pool(address, graph, |at| {
        report::note(&format!("workers are started at {at}"))
    })
}

#[cfg(not(feature = "portable"))]
fn serve_pool(_address: &str, _graph: purlin_sdk::graph::Graph) -> Result<(), PipelineError> {
    Err(PipelineError::runner(kind::NOT_PORTABLE))
}
