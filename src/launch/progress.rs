//! A line in the terminal that says how far the run is.

use std::{
    fmt::Write,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use purlin_sdk::{
    RunHandle, StallReport, Timestamp,
    graph::{CollectionId, Graph, Op},
};

/// How long between two looks.
pub(super) const EVERY: Duration = Duration::from_millis(500);

/// A run that is over before this needs no line.
const PATIENCE: Duration = Duration::from_secs(2);

/// The paths of the transforms that bring the pipeline its elements.
pub(super) fn sources(graph: &Graph) -> Vec<String> {
    let impulses: Vec<CollectionId> =
        graph.nodes.iter().filter(|n| matches!(n.op, Op::Impulse)).flat_map(|n| n.outputs.clone()).collect();
    let reads = |op: &Op| matches!(op, Op::Splittable(_) | Op::TestStream(_) | Op::Live(_));
    let has_readers = graph.nodes.iter().any(|n| reads(&n.op));
    let is_source = |n: &&purlin_sdk::graph::Node| {
        if has_readers { reads(&n.op) } else { n.inputs.iter().any(|input| impulses.contains(input)) }
    };
    graph.nodes.iter().filter(is_source).map(|n| n.step.path().to_owned()).collect()
}

/// The line, while stderr is a terminal.
pub(super) struct Line {
    bar: ProgressBar,
    sources: Vec<String>,
    begun: Instant,
}

impl Line {
    /// A line on stderr if that is a terminal; nothing otherwise.
    pub(super) fn new(sources: Vec<String>) -> Option<Line> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        Some(Line { bar, sources, begun: Instant::now() })
    }

    /// Shows how far `run` is.
    pub(super) fn show(&self, run: &RunHandle) {
        let since = self.begun.elapsed();
        if since < PATIENCE {
            return;
        }
        let metrics = run.metrics().committed;
        let elements =
            self.sources.iter().map(|path| metrics.elements_out(path)).fold(0, i64::saturating_add);
        let text = line(since, elements.unsigned_abs(), &run.stall_report(), &run.status());
        self.bar.set_message(text);
        self.bar.tick();
    }

    /// Writes something else to the terminal, above the line.
    pub(super) fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What the line says after a run of `since`, in which sources have emitted `elements`.
fn line(
    since: Duration,
    elements: u64,
    stall: &StallReport,
    status: &std::collections::BTreeMap<String, String>,
) -> String {
    let rate = elements as f64 / since.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut text = format!(
        "{}: {} {}, {}/s",
        HumanDuration(Duration::from_secs(since.as_secs())),
        HumanCount(elements),
        if elements == 1 { "element" } else { "elements" },
        HumanCount(rate as u64)
    );
    // A query has its own watermark, and says it.
    if status.is_empty() {
        let held =
            stall.stages.iter().filter(|stage| stage.waited_for && !stage.idle).map(|s| s.output).min();
        if let Some(watermark) = held.filter(|at| *at > Timestamp::MIN && *at < Timestamp::MAX) {
            // Writing to a String does not fail.
            let _ = write!(text, ", watermark {watermark}");
        }
    }
    for (of, status) in status {
        let _ = write!(text, "; {of}: {status}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use purlin_sdk::{Pipeline, StageReport};

    use super::*;

    #[test]
    fn sources_are_what_brings_elements() {
        let p = Pipeline::new();
        p.create("Numbers", [1, 2, 3]).map("Next", |n| n + 1);
        assert_eq!(sources(&p.build().unwrap()), ["Numbers/Values"]);
    }

    #[test]
    fn it_says_how_many_how_fast_and_how_far() {
        let stage = |output, waited_for| StageReport {
            path: "Read".into(),
            site: String::new(),
            input: Timestamp::MIN,
            output,
            since: Timestamp::MIN,
            idle: false,
            waited_for,
            idle_restrictions: 0,
            holds: Vec::new(),
        };
        let (slow, fast, alone) =
            (Timestamp::from_secs(60), Timestamp::from_secs(90), Timestamp::from_secs(5));
        let stages = vec![stage(fast, true), stage(slow, true), stage(alone, false)];
        let stall = StallReport { now: None, stages };
        let told = line(Duration::from_secs(4), 10_000, &stall, &BTreeMap::new());
        assert_eq!(told, "4 seconds: 10,000 elements, 2,500/s, watermark 1970-01-01T00:01:00Z");
        let query = BTreeMap::from([("words".to_owned(), "epoch 3, 1 row (9/s)".to_owned())]);
        let told = line(Duration::from_secs(4), 1, &stall, &query);
        assert_eq!(told, "4 seconds: 1 element, 0/s; words: epoch 3, 1 row (9/s)");
        let none = line(Duration::from_secs(4), 1, &StallReport::default(), &BTreeMap::new());
        assert_eq!(none, "4 seconds: 1 element, 0/s");
    }
}
