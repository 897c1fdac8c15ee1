//! Trigger transcripts: Beam's `trigger_transcripts.yaml`.

mod batch;
mod stream;

use purlin_sdk::{CombineFn, PCollection, Runner, window::TimestampCombiner};

use super::{
    datum::Datum,
    expression,
    outcome::Outcome,
    record::Recorder,
    setups::Setup,
    windowing::{Windowing, duration},
};

/// A transcript.
#[derive(Debug)]
struct Transcript {
    windowing: Windowing,
    steps: Vec<Step>,
    /// What an error of the comparison must say, where there must be one.
    error: Option<regex_lite::Regex>,
}

/// Something that happens, and what must come of it.
#[derive(Debug)]
struct Step {
    action: Action,
    expected: Vec<Datum>,
}

#[derive(Debug)]
enum Action {
    /// Before anything.
    Start,
    /// One bundle of elements, which are their timestamps.
    Input(Vec<Datum>),
    /// In milliseconds.
    Watermark(i64),
    /// By how many milliseconds processing time goes on.
    Clock(i64),
}

/// Runs a transcript: its events by a test stream, and, where that can be, all its elements at once.
pub(super) fn run(document: &Datum, setups: &[Setup]) -> Outcome {
    let transcript = match Transcript::parse(document) {
        Ok(transcript) => transcript,
        Err(e) => return Outcome::Failed(e),
    };
    for setup in setups {
        if let Err(e) = transcript.run(&*setup.runner) {
            return Outcome::Failed(format!("on {}: {e}", setup.name));
        }
    }
    Outcome::Passed
}

impl Transcript {
    fn parse(document: &Datum) -> Result<Transcript, String> {
        let text = |name: &str| document.get(name).map(Datum::to_text).transpose();
        let accumulation = text("accumulation_mode")?.unwrap_or("accumulating").to_lowercase();
        let windowing = Windowing {
            windows: expression::window_fn(text("window_fn")?.unwrap_or("GlobalWindows"))?,
            trigger: expression::trigger(text("trigger_fn")?.unwrap_or("Default"))?,
            accumulating: match accumulation.as_str() {
                "accumulating" => true,
                "discarding" => false,
                other => return Err(format!("`{other}` is no accumulation mode")),
            },
            lateness: document.get("allowed_lateness").map_or(Ok(purlin_sdk::Duration::ZERO), duration)?,
            combiner: match text("timestamp_combiner")?.unwrap_or("OUTPUT_AT_EOW") {
                "OUTPUT_AT_EOW" => TimestampCombiner::EndOfWindow,
                "OUTPUT_AT_EARLIEST" => TimestampCombiner::Earliest,
                "OUTPUT_AT_LATEST" => TimestampCombiner::Latest,
                "OUTPUT_AT_EARLIEST_TRANSFORMED" => TimestampCombiner::EarliestTransformed,
                other => return Err(format!("`{other}` is no timestamp combiner")),
            },
        };
        let error = text("error")?.map(regex_lite::Regex::new).transpose().map_err(|e| e.to_string())?;
        let mut steps = vec![Step { action: Action::Start, expected: Vec::new() }];
        for line in document.need("transcript")?.to_list()? {
            let [(name, value)] = line.to_entries()? else {
                return Err(format!("{line} should be one action"));
            };
            let action = match name.to_text()? {
                "input" => Action::Input(value.to_list()?.to_vec()),
                "watermark" => Action::Watermark(value.to_millis()?),
                "clock" => Action::Clock(value.to_millis()?),
                // What a runner holds is its own affair; Beam's own tests do not look at it either.
                "state" => continue,
                "expect" => {
                    if let Some(step) = steps.last_mut() {
                        step.expected.extend(value.to_list()?.iter().cloned());
                    }
                    continue;
                }
                other => return Err(format!("`{other}` is no action")),
            };
            steps.push(Step { action, expected: Vec::new() });
        }
        Ok(Transcript { windowing, steps, error })
    }

    fn run(&self, runner: &dyn Runner) -> Result<(), String> {
        let streamed = stream::run(self, runner);
        let Some(pattern) = &self.error else {
            streamed?;
            return batch::run(self, runner);
        };
        match streamed {
            Err(e) if pattern.is_match(&e) => Ok(()),
            Err(e) => Err(format!("expected an error like `{pattern}`, got `{e}`")),
            Ok(()) => Err(format!("expected an error like `{pattern}`, got none")),
        }
    }
}

/// The two transforms that a transcript is run through, by their labels.
const TRANSFORMS: [&str; 2] = ["GroupByKey", "CombinePerKey"];

/// Groups the elements in both ways and takes down what comes out.
fn group(windowing: &Windowing, recorder: &Recorder, elements: &PCollection<(Datum, Datum)>) {
    let windowed = elements.window_into("Window", windowing.to_window_into());
    let grouped = windowed.group_by_key("Group");
    let lists = grouped.map("List", |(key, values)| (key, Datum::List(values.into_vec()).sorted()));
    recorder.record(TRANSFORMS[0], &lists);
    let combined = windowed.combine_per_key("Combine", Concatenate);
    let lists = combined.map("Sort", |(key, values)| (key, Datum::List(values).sorted()));
    recorder.record(TRANSFORMS[1], &lists);
}

/// All values, one after the other.
#[derive(Clone, Copy, Debug)]
struct Concatenate;

impl CombineFn for Concatenate {
    type Input = Datum;
    type Accumulator = Vec<Datum>;
    type Output = Vec<Datum>;

    fn create(&self) -> Vec<Datum> {
        Vec::new()
    }

    fn add_input(&self, all: &mut Vec<Datum>, value: Datum) {
        all.push(value);
    }

    fn merge(&self, all: &mut Vec<Datum>, more: Vec<Datum>) {
        all.extend(more);
    }

    fn extract(&self, all: Vec<Datum>) -> Vec<Datum> {
        all
    }
}
