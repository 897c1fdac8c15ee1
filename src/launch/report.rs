//! What a launched pipeline says, and how it exits.

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
};

use purlin_sdk::{
    ErrorKind, PipelineError, RunState,
    graph::{Graph, GraphSpec, WatermarkSpec},
};

use super::panics;

/// It could not be built, or it failed.
pub(super) const FAILED: ExitCode = ExitCode::FAILURE;

/// What shells give for a process that SIGINT ended.
const CANCELLED: u8 = 130;

/// The exit code of a run that did not fail.
pub(super) fn exit_code(state: RunState) -> ExitCode {
    match state {
        RunState::Cancelled => ExitCode::from(CANCELLED),
        RunState::Failed => FAILED,
        _ => ExitCode::SUCCESS,
    }
}

/// Says that the function that builds the pipeline panicked.
pub(super) fn not_built(error: &PipelineError) {
    let place =
        panics::place_of(&error.cause().to_string()).map_or_else(String::new, |at| format!("\n  {at}"));
    failure(&format!("the pipeline could not be built: the function that builds it {error}{place}"));
}

/// Says why a run failed.
pub(super) fn error(error: &PipelineError) {
    if error.kind() == ErrorKind::Panic
        && let Some(place) = panics::place_of(&error.cause().to_string())
    {
        failure(&format!("{error}\n  {place}"));
    } else {
        failure(error);
    }
}

/// Says why there is no result.
pub(super) fn failure(what: &(impl fmt::Display + ?Sized)) {
    // When stderr is gone there is nobody to tell; the exit code still says it.
    let _ = writeln!(io::stderr().lock(), "error: {what}");
}

/// Says what was done about a signal.
pub(super) fn note(what: &str) {
    let _ = writeln!(io::stderr().lock(), "{what}");
}

/// The graph, and where its watermarks come from.
#[derive(serde::Serialize)]
struct Explained {
    #[serde(flatten)]
    graph: GraphSpec,
    watermarks: Vec<WatermarkSpec>,
}

/// Shows the graph.
pub(super) fn explain(graph: &Graph) -> Result<(), PipelineError> {
    let cannot = |e: &dyn fmt::Display| PipelineError::runner(format!("the graph cannot be shown: {e}"));
    let explained = Explained { graph: graph.spec(), watermarks: graph.watermarks() };
    let json = serde_json::to_string_pretty(&explained).map_err(|e| cannot(&e))?;
    match writeln!(io::stdout().lock(), "{json}") {
        // Whoever reads it has seen enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|e| cannot(&e)),
    }
}
