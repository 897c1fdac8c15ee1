//! Runners by name.

use std::{fmt, str::FromStr};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{PipelineError, Runner};

/// The runners of this build, as `--runner` names them.
///
/// ```
/// use purlin::RunnerKind;
/// assert_eq!("direct".parse(), Ok(RunnerKind::Direct));
/// assert_eq!(RunnerKind::Threaded.to_string(), "threaded");
/// assert!("flink".parse::<RunnerKind>().unwrap_err().contains("direct, threaded"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunnerKind {
    /// One thread, repeatable by a seed, checks what users must obey: [`DirectRunner`].
    Direct,
    /// Parallel, fast: [`ThreadedRunner`].
    #[default]
    Threaded,
}

impl RunnerKind {
    const ALL: [RunnerKind; 2] = [RunnerKind::Direct, RunnerKind::Threaded];

    fn name(self) -> &'static str {
        match self {
            RunnerKind::Direct => "direct",
            RunnerKind::Threaded => "threaded",
        }
    }
}

impl fmt::Display for RunnerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RunnerKind {
    type Err = String;

    fn from_str(text: &str) -> Result<RunnerKind, String> {
        if let Some(kind) = RunnerKind::ALL.into_iter().find(|k| k.name() == text) {
            return Ok(kind);
        }
        if text == "portable" {
            return Err(
                "this build cannot submit pipelines to another engine: run it on this machine, with \
                        --runner=threaded"
                    .to_owned(),
            );
        }
        let names = RunnerKind::ALL.map(RunnerKind::name).join(", ");
        Err(format!("there is no such runner; there are: {names}"))
    }
}

/// The runner called `name`, as `--runner=name` without further options gives it: both live on the wall clock.
///
/// ```
/// let p = purlin::Pipeline::new();
/// p.create("Numbers", [1, 2, 3]);
/// p.run_on(&*purlin::runner_from("threaded")?)?.wait()?;
/// # Ok::<(), purlin::PipelineError>(())
/// ```
/// # Errors
/// When there is no such runner; the error names those that there are.
pub fn runner_from(name: &str) -> Result<Box<dyn Runner>, PipelineError> {
    match name.parse() {
        Ok(RunnerKind::Direct) => Ok(Box::new(DirectRunner::new().real_clock())),
        Ok(RunnerKind::Threaded) => Ok(Box::new(ThreadedRunner::new())),
        Err(e) => Err(PipelineError::runner(format!("runner `{name}`: {e}"))),
    }
}
