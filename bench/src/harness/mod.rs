//! Runs the table of works: each measurement in a fresh, pinned process, all systems of a work in turn, medians of ratios.

pub mod chart;
pub mod child;
pub mod cli;
pub mod input;
pub mod load;
pub mod peers;
pub mod pin;
pub mod rounds;
pub mod summary;
pub mod table;

use std::fs;
use std::io::{self, Write};

use self::cli::{Args, Command};
use self::summary::Row;
use crate::Failure;

/// Does what the command line asks for and returns whether no row was voided.
///
/// # Errors
/// If the arguments name nothing, an input cannot be made, or the table or the JSON cannot be written. A system that
/// fails is no error: its row is voided.
pub fn run(args: &Args) -> Result<bool, Failure> {
    if let Some(Command::Child(one)) = &args.command {
        child::run(one)?;
        return Ok(true);
    }
    let works = args.works();
    if works.is_empty() {
        return Err("no work's name or title has the text of --only".into());
    }
    if args.peers() {
        peers::build()?;
    }
    let busy = load::note();
    let mut rows: Vec<Row> = Vec::new();
    for work in works {
        let n = args.n.unwrap_or(if args.quick { work.quick } else { work.n });
        writeln!(io::stderr(), "{}: {} (n = {n})", work.name, work.title)?;
        let systems = args.systems(work);
        let samples = rounds::run(work, &systems, n, &args.threads, args.rounds())?;
        rows.extend(summary::rows(work, &systems, &args.threads, &samples));
    }
    io::stdout().write_all(table::render(&rows).as_bytes())?;
    if let Some(note) = busy {
        writeln!(io::stderr(), "{note}")?;
    }
    if let Some(file) = &args.json {
        fs::write(file, summary::json(&rows)?)?;
    }
    if let Some(file) = &args.chart {
        fs::write(file, chart::svg(&rows)?)?;
    }
    Ok(rows.iter().all(|row| row.void.is_none()))
}
