//! Every pipeline of the table gives with checkpoints what it gives without: what waits for them happens all the same.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};

use purlin_conformance::table::{check, table};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{Duration, ManualClock, PipelineError, RunHandle, Runner, graph::Graph};

/// Runs everything with checkpoints, each run in a directory of its own.
struct Checkpointing {
    /// Nothing for the direct runner.
    threads: Option<usize>,
    retries: u32,
    temp: tempfile::TempDir,
    runs: AtomicUsize,
}

impl fmt::Debug for Checkpointing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "with checkpoints, threads: {:?}, retries: {}", self.threads, self.retries)
    }
}

impl Runner for Checkpointing {
    fn name(&self) -> &str {
        "with checkpoints"
    }

    fn run(&self, graph: Graph) -> Result<RunHandle, PipelineError> {
        let number = self.runs.fetch_add(1, Ordering::SeqCst);
        let (dir, clock) = (self.temp.path().join(number.to_string()), ManualClock::default());
        let every = Duration::from_millis(700);
        match self.threads {
            Some(threads) => {
                let runner = ThreadedRunner::new().parallelism(threads).clock(clock).retries(self.retries);
                runner.checkpoint_dir(dir).checkpoint_every(every).run(graph)
            }
            None => {
                let runner = DirectRunner::new().seed(number as u64).clock(clock).retries(self.retries);
                runner.checkpoint_dir(dir).checkpoint_every(every).run(graph)
            }
        }
    }
}

/// A case that is about what is different with checkpoints: it cancels the run and looks at what finalizers did, and those
/// of bundles that no checkpoint has are not called any more.
const DIFFERENT: &str = "sources::b004_an_endless_source_feeds_what_is_downstream";

fn check_part(part: usize) {
    let mut failures = Vec::new();
    let all = table();
    assert!(all.iter().any(|case| case.path() == DIFFERENT));
    for case in all.iter().filter(|case| case.path() != DIFFERENT).skip(part).step_by(4) {
        let runner = |threads: Option<usize>| {
            let (temp, retries) = (tempfile::tempdir().unwrap(), case.needs.retries);
            Box::new(Checkpointing { threads, retries, temp, runs: AtomicUsize::new(0) }) as Box<dyn Runner>
        };
        let setups = [None, Some(1), Some(4)];
        let fitting = setups.into_iter().filter(|threads| threads.unwrap_or(1) >= case.needs.threads);
        let runners: Vec<_> = fitting.map(runner).collect();
        failures.extend(check(case, &runners, &[]).err().map(|failure| failure.to_string()));
    }
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn part_0() {
    check_part(0);
}

#[test]
fn part_1() {
    check_part(1);
}

#[test]
fn part_2() {
    check_part(2);
}

#[test]
fn part_3() {
    check_part(3);
}
