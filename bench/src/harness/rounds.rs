//! Rounds: in each, every system of a work runs once, so that a noisy minute falls on all of them.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

use purlin_bench_common::Ask;

use super::{input, peers, pin};
use crate::{Failure, Place, Sample, System, Work};

/// What one run of one system came to.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The system's name.
    pub system: &'static str,
    /// On how many threads.
    pub threads: usize,
    /// In which round.
    pub round: u32,
    /// What it took, or why it failed.
    pub sample: Result<Sample, String>,
}

/// Runs systems of a work `rounds` times on each number of threads.
///
/// # Errors
/// If the work's input cannot be made or this program cannot be found. A run that fails is a [`Measured`] that says why.
pub fn run(
    work: &Work,
    systems: &[&'static System],
    n: u64,
    threads: &[usize],
    rounds: u32,
) -> Result<Vec<Measured>, Failure> {
    let program = env::current_exe()?;
    input::prepare(work, n, 1)?;
    let pinned: Vec<(usize, bool)> =
        threads.iter().map(|&threads| (threads, pin::possible(threads))).collect();
    for (threads, _) in pinned.iter().filter(|(_, pinned)| !pinned) {
        writeln!(io::stderr(), "  {threads} threads: not pinned, taskset is missing or refuses")?;
    }
    let mut all = Vec::new();
    for round in 0..rounds {
        for &(threads, pinned) in &pinned {
            for system in systems.iter().filter(|system| system.runs_on(threads)) {
                let sample = one(&program, work, system, threads, n, pinned).map_err(|why| why.to_string());
                all.push(Measured { system: system.name, threads, round, sample });
            }
        }
    }
    Ok(all)
}

/// Runs one system in a process of its own.
fn one(
    program: &Path,
    work: &Work,
    system: &System,
    threads: usize,
    n: u64,
    pinned: bool,
) -> Result<Sample, Failure> {
    let mut command = match system.place {
        Place::Here(_) => {
            let mut command = pin::command(program, threads, pinned);
            command.args(["child", "--work", work.name, "--system", system.name]).args([
                "--threads",
                &threads.to_string(),
                "--n",
                &n.to_string(),
            ]);
            command
        }
        Place::Peer => {
            let (peer, way) = system.name.split_once('-').unwrap_or((system.name, ""));
            let work_name =
                if way.is_empty() { work.name.to_owned() } else { format!("{}-{way}", work.name) };
            let ask = Ask { work: work_name, params: input::prepare(work, n, threads)? };
            let mut command = pin::command(&peers::program(peer), threads, pinned);
            command.args(ask.args());
            command
        }
    };
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
