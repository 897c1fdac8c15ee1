//! From a pipeline function to a program.

mod command;
mod kind;
mod numbers;
mod options;
mod panics;
mod progress;
mod report;
mod signals;
mod size;
mod stall;

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
/// in the same `--help`: `--runner=direct|threaded`, `--parallelism`, `--seed`, `--retries`, `--memory-budget`,
/// `--checkpoint-dir`, `--checkpoint-every` and `--restore`, with which a run that was killed goes on, and `--explain`, which shows the pipeline's graph as JSON and does not run it. On the direct runner the pipeline lives on
/// the wall clock.
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
    let Parsed { pipeline: options, run } = match parse::<O>(args) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let pipeline = Pipeline::with_options(options.clone());
    panics::keep_quiet();
    if let Err(error) = panics::caught(|| build(&pipeline, &options)) {
        report::not_built(&error);
        return report::FAILED;
    }
    match start(&pipeline, &run) {
        Ok(Some(state)) => report::exit_code(state),
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            report::error(&error);
            report::FAILED
        }
    }
}

/// Runs the pipeline to its end; nothing when it was only to be explained.
fn start(pipeline: &Pipeline, options: &RunOptions) -> Result<Option<RunState>, PipelineError> {
    let graph = panics::caught(|| pipeline.build())??;
    if options.explain() {
        report::explain(&graph)?;
        return Ok(None);
    }
    let runner = options.runner()?;
    let sources = progress::sources(&graph);
    signals::prepare()?;
    let run = runner.run(graph).inspect_err(|_| signals::not_started())?;
    signals::tell(run.clone());
    let result: RunResult = stall::wait(&run, options.stall_after(), progress::Line::new(sources));
    signals::forget();
    result.map(|outcome| Some(outcome.state))
}
