//! Options of a run, beside the pipeline's own.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{Duration, PipelineError, Runner};

use super::{
    MemorySize, RunnerKind,
    engine::EngineOptions,
    numbers::{period, retries, seed, threads},
};

/// The options of a run, as [`launch`](fn@crate::launch) has them in its command line. A program with a command line of
/// its own can take them in by `#[command(flatten)]`.
///
/// ```
/// use clap::Parser;
/// use purlin::{Pipeline, RunOptions};
///
/// #[derive(Parser)]
/// struct Cli {
///     #[command(flatten)]
///     run: RunOptions,
/// }
///
/// let cli = Cli::parse_from(["program", "--runner=direct", "--seed=7"]);
/// let p = Pipeline::new();
/// p.create("Numbers", [1, 2, 3]);
/// p.run_on(&*cli.run.runner()?)?.wait()?;
/// # Ok::<(), purlin::PipelineError>(())
/// ```
// Ids have a prefix, and there is no group, so that fields and types of the user's may be called as they like.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
#[command(next_help_heading = "Run options")]
pub struct RunOptions {
    /// What runs the pipeline: `threaded` (in parallel), `direct` (on one thread, checks what pipelines must obey), or in
    /// builds with the feature `portable` an engine: `portable`
    #[arg(id = "purlin.runner", long = "runner", value_name = "NAME", default_value_t)]
    runner: RunnerKind,

    /// How many bundles run at once; by default as many as there are cores (threaded)
    #[arg(id = "purlin.parallelism", long = "parallelism", value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    parallelism: Option<NonZeroUsize>,

    /// Draws bundles, their order and their splits from this seed, which repeats a run (direct)
    #[arg(id = "purlin.seed", long = "seed", value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    seed: Option<u64>,

    /// How often a bundle is tried again whose error is marked as retryable
    #[arg(id = "purlin.retries", long = "retries", value_name = "N", default_value_t = 0, value_parser = retries, allow_negative_numbers = true)]
    retries: u32,

    /// How much may wait between stages before sources pause, such as 256MB (threaded)
    #[arg(id = "purlin.memory_budget", long = "memory-budget", value_name = "SIZE")]
    memory_budget: Option<MemorySize>,

    /// Says what holds the watermarks when none has moved for this long, such as 90s; never with 0s. SIGUSR1 asks at
    /// any time
    #[arg(id = "purlin.stall_after", long = "stall-after", value_name = "TIME", default_value = "60s")]
    stall_after: Duration,
    /// Writes checkpoints into this directory, from which a run that was killed goes on
    #[arg(id = "purlin.checkpoint_dir", long = "checkpoint-dir", value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,

    /// How long between two checkpoints, such as 30s; 10s unless it is given
    #[arg(id = "purlin.checkpoint_every", long = "checkpoint-every", value_name = "DURATION", value_parser = period, allow_hyphen_values = true)]
    checkpoint_every: Option<Duration>,

    /// Goes on from the newest checkpoint in the checkpoint directory; from the beginning where there is none yet
    #[arg(id = "purlin.restore", long = "restore")]
    restore: bool,

    #[command(flatten)]
    engine: EngineOptions,

    /// Shows the pipeline's graph as JSON, and does not run it
    #[arg(id = "purlin.explain", long = "explain")]
    explain: bool,
}

impl RunOptions {
    /// The runner that was asked for.
    ///
    /// # Errors
    /// When an option was given that this runner has no use for.
    pub fn runner(&self) -> Result<Box<dyn Runner>, PipelineError> {
        self.runner_of(None)
    }

    /// The runner that was asked for, of a program that was called with these arguments.
    pub(super) fn runner_of(&self, arguments: Option<&[OsString]>) -> Result<Box<dyn Runner>, PipelineError> {
        if let Some(conflict) = self.conflict() {
            return Err(PipelineError::runner(conflict));
        }
        Ok(match self.runner {
            RunnerKind::Direct => {
                let mut runner = DirectRunner::new().real_clock().retries(self.retries).restore(self.restore);
                if let Some(dir) = &self.checkpoint_dir {
                    runner = runner.checkpoint_dir(dir);
                }
                if let Some(every) = self.checkpoint_every {
                    runner = runner.checkpoint_every(every);
                }
                Box::new(match self.seed {
                    Some(seed) => runner.seed(seed),
                    None => runner,
                })
            }
            RunnerKind::Threaded => {
                let mut runner = ThreadedRunner::new().retries(self.retries).restore(self.restore);
                if let Some(dir) = &self.checkpoint_dir {
                    runner = runner.checkpoint_dir(dir);
                }
                if let Some(every) = self.checkpoint_every {
                    runner = runner.checkpoint_every(every);
                }
                if let Some(threads) = self.parallelism {
                    runner = runner.parallelism(threads.get());
                }
                if let Some(size) = self.memory_budget {
                    runner = runner.memory_budget(size.bytes());
                }
                Box::new(runner)
            }
            RunnerKind::Portable => self.portable(arguments)?,
        })
    }

    #[cfg(feature = "portable")]
    fn portable(&self, arguments: Option<&[OsString]>) -> Result<Box<dyn Runner>, PipelineError> {
        use super::engine::Place;
        use purlin_runner_portable::{Environment, PortableRunner};

        let EngineOptions { job_endpoint, environment, job_name, engine_options, artifacts, .. } =
            &self.engine;
        // That it is there was checked before.
        let mut runner = PortableRunner::to(job_endpoint.as_deref().unwrap_or_default());
        runner = runner.environment(match environment {
            None | Some(Place::Loopback) => Environment::Loopback,
            Some(Place::External(address)) => Environment::External(address.clone()),
            Some(Place::Process(command)) => Environment::Process(command.clone()),
        });
        if let Some(name) = job_name {
            runner = runner.job_name(name);
        }
        runner = engine_options.iter().fold(runner, |runner, (name, value)| runner.option(name, value));
        runner = artifacts.iter().fold(runner, |runner, file| runner.artifact(file));
        if let Some(arguments) = arguments {
            runner = runner.arguments(arguments.iter().skip(1).map(|argument| argument.to_string_lossy()));
        }
        Ok(Box::new(runner))
    }

    #[cfg(not(feature = "portable"))]
    fn portable(&self, _arguments: Option<&[OsString]>) -> Result<Box<dyn Runner>, PipelineError> {
        Err(PipelineError::runner(super::kind::NOT_PORTABLE))
    }

    /// Where to start workers for whoever asks, instead of a run.
    pub(super) fn worker_pool(&self) -> Option<&str> {
        self.engine.worker_pool.as_deref()
    }

    /// Which runner was asked for.
    pub fn kind(&self) -> RunnerKind {
        self.runner
    }

    /// After how long without progress the run says what holds it; never when it is zero.
    pub fn stall_after(&self) -> Duration {
        self.stall_after
    }

    /// Whether the graph is to be shown, and not run.
    pub fn explain(&self) -> bool {
        self.explain
    }

    /// Why an option does not fit that is for engines, or for all but them.
    fn engine_conflict(&self) -> Option<String> {
        if self.runner != RunnerKind::Portable {
            let given = self.engine.given()?;
            return Some(format!(
                "{given} is for an engine, and the runner is --runner={}. Leave it out, or add --runner=portable",
                self.runner
            ));
        }
        if self.engine.job_endpoint.is_none() && self.engine.worker_pool.is_none() {
            return Some("--runner=portable needs an engine: add --job-endpoint=HOST:PORT".to_owned());
        }
        let (given, instead) = [
            (
                self.parallelism.is_some(),
                "--parallelism",
                "--engine-option parallelism=N, where the engine has it",
            ),
            (self.seed.is_some(), "--seed", "--runner=direct"),
            (self.retries > 0, "--retries", "the engine's own way to restart a job"),
            (self.memory_budget.is_some(), "--memory-budget", "the engine's configuration"),
            (self.checkpoint_dir.is_some(), "--checkpoint-dir", "the engine's own checkpoints"),
        ]
        .into_iter()
        .find_map(|(given, name, instead)| given.then_some((name, instead)))?;
        Some(format!("{given} does not go with --runner=portable, where the engine decides: use {instead}"))
    }

    /// Why an option does not fit the runner. An option without effect would be taken for one that has it.
    pub(super) fn conflict(&self) -> Option<String> {
        if self.checkpoint_dir.is_none() && (self.restore || self.checkpoint_every.is_some()) {
            let given = if self.restore { "--restore" } else { "--checkpoint-every" };
            return Some(format!("{given} needs a directory with checkpoints: add --checkpoint-dir=DIR"));
        }
        if let Some(conflict) = self.engine_conflict() {
            return Some(conflict);
        }
        let (given, other, why) = match self.runner {
            RunnerKind::Direct if self.parallelism.is_some() => {
                ("--parallelism", RunnerKind::Threaded, "the direct runner has one thread")
            }
            RunnerKind::Direct if self.memory_budget.is_some() => (
                "--memory-budget",
                RunnerKind::Threaded,
                "the direct runner runs one bundle at a time and holds no source back",
            ),
            RunnerKind::Threaded if self.seed.is_some() => {
                ("--seed", RunnerKind::Direct, "the order in which threads run cannot be drawn from a seed")
            }
            _ => return None,
        };
        Some(format!(
            "{given} does not go with --runner={}: {why}. Leave it out, or add --runner={other}",
            self.runner
        ))
    }
}
