//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::works::WORKS;
use crate::{Place, System, Work};

/// Measure Purlin beside hand-written loops and its peers. Exits with 1 if a system failed or its checksum is not the
/// reference's.
#[derive(Debug, Clone, Parser)]
#[command(name = "bench")]
pub struct Args {
    /// Only the work with this name; without one, those whose name or title contains this text (case does not matter)
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = threads)]
    pub threads: Vec<usize>,
    /// How often each system runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Another size than the works have: events, or bytes of text
    #[arg(long, value_name = "SIZE")]
    pub n: Option<u64>,
    /// Small sizes, one run and no peers: tries the machinery, measures nothing
    #[arg(long)]
    pub quick: bool,
    /// Leave the peers out, and do not build them
    #[arg(long)]
    pub no_peers: bool,
    /// Only systems whose name contains this text, and the reference
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Also write the rows to a file, as a JSON array
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also draw what was measured against the hand-written loops, as an SVG file
    #[arg(long, value_name = "FILE")]
    pub chart: Option<PathBuf>,
    /// What else the program does
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What the program does for itself.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Run one system once and print what it took as a line of JSON
    #[command(hide = true)]
    Child(One),
}

/// One measurement.
#[derive(Debug, Clone, clap::Args)]
pub struct One {
    /// The work's name
    #[arg(long)]
    pub work: String,
    /// The system's name
    #[arg(long)]
    pub system: String,
    /// How many threads it may use
    #[arg(long, value_parser = threads)]
    pub threads: usize,
    /// The size: events, or bytes of text
    #[arg(long)]
    pub n: u64,
}

impl Args {
    /// The works that are asked for.
    pub fn works(&self) -> Vec<&'static Work> {
        let Some(text) = &self.only else { return WORKS.iter().collect() };
        let text = text.to_lowercase();
        if let Some(work) = WORKS.iter().find(|work| work.name.to_lowercase() == text) {
            return vec![work];
        }
        let has = |part: &str| part.to_lowercase().contains(&text);
        WORKS.iter().filter(|work| has(work.name) || has(work.title)).collect()
    }

    /// The systems of a work that are asked for.
    pub fn systems(&self, work: &'static Work) -> Vec<&'static System> {
        let wanted = |name: &str| self.system.as_ref().is_none_or(|text| name.contains(text.as_str()));
        let peers = self.peers();
        let runs = |(at, system): &(usize, &System)| {
            (*at == 0 || wanted(system.name)) && (peers || matches!(system.place, Place::Here(_)))
        };
        work.systems.iter().enumerate().filter(runs).map(|(_, system)| system).collect()
    }

    /// Whether peers take part.
    pub fn peers(&self) -> bool {
        !self.quick && !self.no_peers
    }

    /// How often each system runs.
    pub fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.runs }
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1_024) => Ok(threads),
        _ => Err(String::from("a number from 1 to 1024")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Args {
        Args::try_parse_from(["bench"].iter().chain(args)).unwrap()
    }

    #[test]
    fn only_takes_names_and_titles() {
        let names = |text: &str| -> Vec<&str> {
            parse(&["--only", text]).works().iter().map(|work| work.name).collect()
        };
        assert_eq!(names("w2T"), ["W2t"]);
        assert_eq!(names("w2"), ["W2"]);
        assert_eq!(names("10 S WINDOW, 10^6 KEYS"), ["W3m"]);
        assert!(names("W0").is_empty());
        assert_eq!(parse(&[]).works().len(), WORKS.len());
    }

    #[test]
    fn a_quick_run_and_one_without_peers_have_none() {
        let peers = |args: &[&str]| {
            let args = parse(args);
            let systems = |work| args.systems(work).into_iter();
            args.works().into_iter().flat_map(systems).any(|system| matches!(system.place, Place::Peer))
        };
        assert!(peers(&[]) && !peers(&["--quick"]) && !peers(&["--no-peers"]));
    }

    #[test]
    fn the_reference_runs_beside_a_chosen_system() {
        let args = parse(&["--only=W2", "--system=fused"]);
        let names: Vec<&str> = args.systems(args.works()[0]).iter().map(|system| system.name).collect();
        assert_eq!(names, ["hand", "purlin-fused"]);
    }

    #[test]
    fn threads_and_runs_are_at_least_one() {
        assert_eq!(parse(&[]).threads, [1, 2]);
        assert_eq!(parse(&["--threads=1,2,4"]).threads, [1, 2, 4]);
        assert_eq!(parse(&["--quick", "--runs=9"]).rounds(), 1);
        for refused in ["--threads=0", "--threads=1,x", "--runs=0"] {
            assert!(Args::try_parse_from(["bench", refused]).is_err(), "{refused}");
        }
    }
}
