//! What a work, a system and a result are.

use std::error::Error;
use std::path::PathBuf;

/// Why a system did not finish.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A system's way of doing a work. All of it is timed: what it builds, what it reads or generates, what it computes.
pub type Run = fn(&Params) -> Result<Outcome, Failure>;

/// What a system is asked to do.
#[derive(Debug, Clone)]
pub struct Params {
    /// The size: events, or bytes of text.
    pub n: u64,
    /// How many threads may work.
    pub threads: usize,
    /// How many keys the events have.
    pub keys: u64,
    /// The text file; empty for works on generated events.
    pub input: PathBuf,
}

/// What a system found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// A checksum of all results that does not depend on their order (see [`crate::checksum`]).
    pub checksum: u64,
    /// How many events (words, for W1) were worked on: what times are divided by.
    pub events: u64,
}

/// What a work reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Text of `n` bytes, made once and kept.
    Text,
    /// `n` events over this many keys, generated as they are read.
    Events {
        /// How many keys there are.
        keys: u64,
    },
}

/// One way of doing a work.
///
/// ```
/// use purlin_bench::{System, hand};
///
/// const FUSED: System = System::new("fused", hand::w2::constant_times).targets(&[(1, 1.2), (2, 1.3)]);
/// assert_eq!(FUSED.target(1), Some(1.2));
/// assert!(FUSED.runs_on(2));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// Its name, unique within a work.
    pub name: &'static str,
    /// What it does.
    pub run: Run,
    threads: &'static [usize],
    targets: &'static [(usize, f64)],
}

impl System {
    /// A system that runs on any number of threads and has no target.
    pub const fn new(name: &'static str, run: Run) -> Self {
        Self { name, run, threads: &[], targets: &[] }
    }

    /// Limits the system to these numbers of threads.
    #[must_use]
    pub const fn only_on(mut self, threads: &'static [usize]) -> Self {
        self.threads = threads;
        self
    }

    /// Sets what the system should reach: for a number of threads, its CPU time divided by the hand-written loop's.
    #[must_use]
    pub const fn targets(mut self, targets: &'static [(usize, f64)]) -> Self {
        self.targets = targets;
        self
    }

    /// Whether the system runs on this many threads.
    pub fn runs_on(&self, threads: usize) -> bool {
        self.threads.is_empty() || self.threads.contains(&threads)
    }

    /// The target on this many threads.
    pub fn target(&self, threads: usize) -> Option<f64> {
        self.targets.iter().find(|(of, _)| *of == threads).map(|(_, ratio)| *ratio)
    }
}

/// One piece of work that several systems do.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Its name, unique.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// What it reads.
    pub input: Input,
    /// How much, when times are to be believed.
    pub n: u64,
    /// How much, when only the machinery is tried.
    pub quick: u64,
    /// Who does it. The first is the reference: the others' ratios and checksums are taken against it.
    pub systems: &'static [System],
}
