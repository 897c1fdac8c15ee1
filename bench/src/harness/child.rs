//! One measurement, in a process of its own.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::cli::One;
use super::{input, measure};
use crate::hand::w1;
use crate::{Failure, works};

/// What a run took, as the child prints it.
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
}

/// Runs one system once and prints its [`Sample`] as a line of JSON.
///
/// # Errors
/// If there is no such system, it fails, or its input or output does.
pub fn run(one: &One) -> Result<(), Failure> {
    let work = works::named(&one.work).ok_or_else(|| format!("no work is named {}", one.work))?;
    let system = work
        .systems
        .iter()
        .find(|system| system.name == one.system)
        .ok_or_else(|| format!("{} has no system named {}", work.name, one.system))?;
    let params = input::prepare(work, one.n, one.threads)?;
    if !params.input.as_os_str().is_empty() {
        w1::warm(&params.input)?;
    }
    let (outcome, took) = measure::timed(|| (system.run)(&params));
    let outcome = outcome?;
    let sample = Sample {
        checksum: format!("{:016x}", outcome.checksum),
        events: outcome.events,
        cpu_s: took.cpu.as_secs_f64(),
        wall_s: took.wall.as_secs_f64(),
        peak_mb: measure::peak_mb(),
    };
    writeln!(io::stdout(), "{}", serde_json::to_string(&sample)?)?;
    Ok(())
}
