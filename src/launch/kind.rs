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
    /// On an engine that speaks Beam's portability protocol; in builds with the feature `portable`.
    Portable,
}

impl RunnerKind {
    const ALL: &[RunnerKind] = if cfg!(feature = "portable") {
        &[RunnerKind::Direct, RunnerKind::Threaded, RunnerKind::Portable]
    } else {
        &[RunnerKind::Direct, RunnerKind::Threaded]
    };

    fn name(self) -> &'static str {
        match self {
            RunnerKind::Direct => "direct",
            RunnerKind::Threaded => "threaded",
            RunnerKind::Portable => "portable",
        }
    }
}

/// What to say where an engine is asked for and this build has no way to one.
#[cfg(not(feature = "portable"))]
pub(super) const NOT_PORTABLE: &str = "this program was built without what gives pipelines to an engine: build it with the \
                                       feature `portable` of the crate `purlin`, or run it on this machine, with \
                                       --runner=threaded";

impl fmt::Display for RunnerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RunnerKind {
    type Err = String;

    fn from_str(text: &str) -> Result<RunnerKind, String> {
        if let Some(kind) = RunnerKind::ALL.iter().find(|k| k.name() == text) {
            return Ok(*kind);
        }
        #[cfg(not(feature = "portable"))]
        if text == RunnerKind::Portable.name() {
            return Err(NOT_PORTABLE.to_owned());
        }
        let names: Vec<&str> = RunnerKind::ALL.iter().map(|kind| kind.name()).collect();
        let names = names.join(", ");
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
        Ok(RunnerKind::Portable) => Err(PipelineError::runner(
            "runner `portable`: it needs the address of an engine's job service: --job-endpoint=HOST:PORT",
        )),
        Err(e) => Err(PipelineError::runner(format!("runner `{name}`: {e}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_needs_a_build_for_engines() {
        match "portable".parse::<RunnerKind>() {
            Ok(kind) => assert!(cfg!(feature = "portable") && kind == RunnerKind::Portable),
            Err(told) => {
                assert!(!cfg!(feature = "portable") && told.contains("feature `portable`"), "{told}");
            }
        }
        let told = runner_from("portable").map(drop).unwrap_err().to_string();
        assert!(told.contains("--job-endpoint") || told.contains("feature `portable`"), "{told}");
    }
}
