//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::Work;

/// Measure Purlin beside hand-written loops. Exits with 1 if a system failed or its checksum is not the reference's.
#[derive(Debug, Clone, Parser)]
#[command(name = "bench")]
pub struct Args {
    /// Only works whose name or title contains this text (case does not matter)
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = threads)]
    pub threads: Vec<usize>,
    /// How often each system runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Small sizes and one run: tries the machinery, measures nothing
    #[arg(long)]
    pub quick: bool,
    /// Also write the rows to a file, as a JSON array
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
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
    /// Whether a work is asked for.
    pub fn asks_for(&self, work: &Work) -> bool {
        self.only.as_ref().is_none_or(|text| {
            let text = text.to_lowercase();
            work.name.to_lowercase().contains(&text) || work.title.to_lowercase().contains(&text)
        })
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
    use crate::works::WORKS;

    fn parse(args: &[&str]) -> Args {
        Args::try_parse_from(["bench"].iter().chain(args)).unwrap()
    }

    #[test]
    fn only_takes_names_and_titles() {
        let names = |text: &str| -> Vec<&str> {
            let args = parse(&["--only", text]);
            WORKS.iter().filter(|work| args.asks_for(work)).map(|work| work.name).collect()
        };
        assert_eq!(names("w2T"), ["W2t"]);
        assert_eq!(names("10^6 KEYS"), ["W3m"]);
        assert!(names("W9").is_empty());
        assert!(WORKS.iter().all(|work| parse(&[]).asks_for(work)));
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
