//! Whether every assertion ran.

use crate::{graph::GraphSpec, metrics::MetricsSnapshot};

/// The counter of an assertion that held, and the key in its transform's payload, beside which its name stands.
pub const ASSERTION: &str = "assertion";

/// Says whether every assertion of the pipeline ran, by what a run counted.
///
/// # Errors
/// The assertions that did not run, with their source lines. A run that was cancelled, or a runner that never closes
/// the global window, does not check them, and a test must not pass for that.
pub fn check_assertions(pipeline: &GraphSpec, metrics: &MetricsSnapshot) -> Result<(), String> {
    let never: Vec<String> = pipeline
        .transforms
        .iter()
        .filter_map(|t| Some((t, t.payload.get(ASSERTION)?)))
        .filter(|(t, _)| metrics.committed.counter(&t.path, ASSERTION) < 1)
        .map(|(t, name)| format!("\n  {name} (built at {})", t.built_at))
        .collect();
    match never.len() {
        0 => Ok(()),
        1 => Err(format!("an assertion never ran, so it says nothing:{}", never.concat())),
        n => Err(format!("{n} assertions never ran, so they say nothing:{}", never.concat())),
    }
}
