//! Runs of Spark's structured streaming that were taken down, on the streaming queries of the library.

mod aggregates;
mod build;
mod cells;
mod files;
mod joins;
mod legality;
mod plan;
mod program;
mod recorded;
mod validation;

use super::{datum::Datum, outcome::Outcome, setups::Setup};

/// Runs a case.
pub(super) fn run(document: &Datum, setups: &[Setup]) -> Outcome {
    let kind = document.get("kind").and_then(Datum::as_text).unwrap_or_default();
    let run: fn(&Datum, &Setup) -> Result<(), String> = match kind {
        "batches" => program::run,
        "legality" => legality::run,
        "delay_parsing" => return told(validation::delays(document)),
        "trigger_validation" => return told(validation::triggers(document)),
        "facts" => {
            return Outcome::Skipped(
                "not compared: facts for readers, which depend on the machine and its clock".to_owned(),
            );
        }
        other => return Outcome::Failed(format!("`{other}` is no kind of Spark case that is known")),
    };
    for setup in setups {
        if let Err(e) = run(document, setup) {
            return match plan::quirk(document) {
                Some(quirk) => Outcome::Differs(quirk.to_owned()),
                None => Outcome::Failed(format!("on {}: {e}", setup.name)),
            };
        }
    }
    Outcome::Passed
}

fn told(result: Result<(), String>) -> Outcome {
    result.map_or_else(Outcome::Failed, |()| Outcome::Passed)
}
