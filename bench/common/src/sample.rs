//! What a run came to.

use std::error::Error;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::measure;

/// Why a system did not finish.
pub type Failure = Box<dyn Error + Send + Sync>;

/// How long results came after what they were made of, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of the results were not later than this.
    pub p50_ms: f64,
    /// Of 100 results 99 were not later than this.
    pub p99_ms: f64,
}

/// What a system found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Outcome {
    /// A checksum of all results that does not depend on their order (see [`crate::checksum`]).
    pub checksum: u64,
    /// How many events (words, for W1) were worked on: what times are divided by.
    pub events: u64,
    /// How late results came, if the work is about that.
    pub latency: Option<Latency>,
}

impl Outcome {
    /// An outcome of a work that is not about latency.
    pub const fn new(checksum: u64, events: u64) -> Self {
        Self { checksum, events, latency: None }
    }
}

/// What a run took, as its process prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The results' checksum, in hexadecimal: readers of JSON keep 53 bits of a number.
    pub checksum: String,
    /// How many events (words) there were.
    pub events: u64,
    /// CPU seconds, user and system, of all threads.
    pub cpu_s: f64,
    /// Seconds on the wall.
    pub wall_s: f64,
    /// The most memory the process held, in MB; none where that cannot be known.
    pub peak_mb: Option<f64>,
    /// How late results came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
}

/// Runs something, timed.
///
/// # Errors
/// What it returns.
pub fn measured(run: impl FnOnce() -> Result<Outcome, Failure>) -> Result<Sample, Failure> {
    let (outcome, took) = measure::timed(run);
    let outcome = outcome?;
    Ok(Sample {
        checksum: format!("{:016x}", outcome.checksum),
        events: outcome.events,
        cpu_s: took.cpu.as_secs_f64(),
        wall_s: took.wall.as_secs_f64(),
        peak_mb: measure::peak_mb(),
        latency: outcome.latency,
    })
}

/// Prints a sample as the line of JSON that the benchmark reads.
///
/// # Errors
/// If stdout is gone.
pub fn print(sample: &Sample) -> Result<(), Failure> {
    writeln!(io::stdout(), "{}", serde_json::to_string(sample)?)?;
    Ok(())
}
