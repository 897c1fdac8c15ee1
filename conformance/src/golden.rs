//! Recorded cases from elsewhere: Beam's own data files, and runs of Beam that were taken down.
//!
//! A case is known by its shape, never by its name. See `golden --help` for how to run them.

mod coders;
mod datum;
mod document;
mod expression;
mod outcome;
mod record;
mod scenario;
mod setups;
mod spark;
mod transcript;
mod windowing;

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

pub use datum::{Bits, Datum};
pub use document::{Document, documents_below};
pub use outcome::{Outcome, Totals};
pub use setups::{Choice, Setup, setups};

/// The kinds of cases, by their shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Coder,
    Transcript,
    Scenario,
    Spark,
}

impl Kind {
    fn of(content: &Datum) -> Option<Kind> {
        let has = |names: &[&str]| names.iter().all(|name| content.get(name).is_some());
        if has(&["coder", "examples"]) {
            Some(Kind::Coder)
        } else if has(&["transcript"]) {
            Some(Kind::Transcript)
        } else if has(&["spark_version", "kind"]) {
            Some(Kind::Spark)
        } else if has(&["pipeline", "events", "expected"])
            || has(&["pipeline", "inputs", "expected_multiset"])
        {
            Some(Kind::Scenario)
        } else {
            None
        }
    }
}

/// Runs one case on the given runners.
pub fn run_case(document: &Document, setups: &[Setup]) -> Outcome {
    let content = match &document.content {
        Ok(content) => content,
        Err(e) => return Outcome::Failed(format!("it cannot be read: {e}")),
    };
    let run = || match Kind::of(content) {
        Some(Kind::Coder) => coders::run(content),
        Some(Kind::Transcript) => transcript::run(content, setups),
        Some(Kind::Scenario) => scenario::run(content, setups),
        Some(Kind::Spark) => spark::run(content, setups),
        None => {
            let names = content.to_entries().map(|entries| entries.iter().map(|(name, _)| name.clone()));
            let names = names.map_or(Datum::Null, |names| Datum::List(names.collect()));
            Outcome::Failed(format!("its shape is unknown: it has {names}"))
        }
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
        Outcome::Failed(format!("it panicked: {text}"))
    })
}

/// Runs all cases below `dirs` whose title contains `only`, and calls `told` with each title and outcome.
///
/// # Errors
/// When a directory cannot be read or holds no case.
pub fn run_all(
    dirs: &[PathBuf],
    only: Option<&str>,
    choice: Choice,
    mut told: impl FnMut(&str, &Outcome),
) -> io::Result<Totals> {
    let setups = setups(choice);
    let mut totals = Totals::default();
    for dir in dirs {
        let documents = documents_below(dir).map_err(|e| at(dir, &e.to_string()))?;
        if documents.is_empty() {
            return Err(at(dir, "there is no case in it"));
        }
        for document in documents.iter().filter(|d| only.is_none_or(|text| d.title.contains(text))) {
            let outcome = run_case(document, &setups);
            totals.count(&outcome);
            told(&document.title, &outcome);
        }
    }
    Ok(totals)
}

fn at(dir: &Path, what: &str) -> io::Error {
    io::Error::other(format!("{}: {what}", dir.display()))
}
