//! Scenarios: runs of Beam that were taken down.

mod batch;
mod ops;
mod programs;
mod sdfs;
mod shapes;
mod stream;
mod text;

use purlin_sdk::{PCollection, Runner, Timestamp};

use super::{datum::Datum, outcome::Outcome, setups::Setup};

/// What the elements of scenarios are: a key and a value.
type Kv = (Datum, Datum);
type Pairs = PCollection<Kv>;

/// Runs a scenario.
pub(super) fn run(document: &Datum, setups: &[Setup]) -> Outcome {
    let run: fn(&Datum, &dyn Runner) -> Result<(), String> =
        if document.get("events").is_some() { stream::run } else { batch::run };
    for setup in setups {
        if let Err(e) = run(document, &*setup.runner) {
            return Outcome::Failed(format!("on {}: {e}", setup.name));
        }
    }
    Outcome::Passed
}

/// `{key, value, ts}`, with the time in seconds.
fn elements(list: &Datum) -> Result<Vec<(Kv, Timestamp)>, String> {
    let element = |e: &Datum| {
        let at = Timestamp::from_millis(e.need("ts")?.to_millis()?).map_err(|e| e.to_string())?;
        Ok(((e.need("key")?.clone(), e.need("value")?.clone()), at))
    };
    list.to_list()?.iter().map(element).collect()
}
