//! A transcript as a script of events.

use purlin_sdk::{
    Duration, Runner, Timestamp,
    testing::TestStream,
    window::{PaneTiming, Trigger, Window},
};

use super::{Action, Step, TRANSFORMS, Transcript, group};
use crate::golden::{
    datum::Datum,
    record::{Output, Recorder, match_up},
    setups,
};

/// How the elements of an input come to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bundling {
    AsWritten,
    Reversed,
    Shuffled,
    Ones,
    OnesReversed,
    Twos,
}

impl Bundling {
    /// The bundles that `input` comes in. One that something must come of stays whole: the default trigger makes a
    /// pane of each bundle of late data.
    fn bundles(self, input: &[Datum], whole: bool) -> Vec<Vec<Datum>> {
        let mut order = input.to_vec();
        match self {
            Bundling::Reversed | Bundling::OnesReversed => order.reverse(),
            // The same each time: from both ends in turn.
            Bundling::Shuffled => {
                let (front, back) = input.split_at(input.len() / 2);
                order = back.iter().rev().chain(front).cloned().collect();
            }
            Bundling::AsWritten | Bundling::Ones | Bundling::Twos => {}
        }
        let size = match self {
            _ if whole => order.len(),
            Bundling::Ones | Bundling::OnesReversed => 1,
            Bundling::Twos => 2,
            _ => order.len(),
        };
        order.chunks(size.max(1)).map(<[Datum]>::to_vec).collect()
    }
}

/// Runs the transcript's events one by one under several keys, and compares what comes of each.
pub(super) fn run(transcript: &Transcript, runner: &dyn Runner) -> Result<(), String> {
    use Bundling::{AsWritten, Ones, OnesReversed, Reversed, Shuffled, Twos};
    let windowing = &transcript.windowing;
    let keys: &[(&str, Bundling)] = if windowing.trigger == Trigger::default() && windowing.accumulating {
        &[
            ("original", AsWritten),
            ("reversed", Reversed),
            ("reshuffled", Shuffled),
            ("one-element-bundles", Ones),
            ("one-element-bundles-reversed", OnesReversed),
            ("two-element-bundles", Twos),
        ]
    } else {
        &[("key1", AsWritten), ("key2", AsWritten)]
    };
    let recorder = Recorder::default();
    let mut stream = TestStream::new().bounded();
    for step in &transcript.steps {
        stream = act(stream, step, keys)?.mark(recorder.mark());
    }
    setups::run(runner, |p| {
        group(windowing, &recorder, &p.apply("Stream", stream));
        Ok(())
    })?;
    let outputs = recorder.take();
    for (key, _) in keys {
        for label in TRANSFORMS {
            let of_key = |o: &&Output| o.label == label && o.key.as_text() == Some(*key);
            let outputs: Vec<Output> = outputs.iter().filter(of_key).cloned().collect();
            check(transcript, &outputs).map_err(|e| format!("{label} of {key}: {e}"))?;
        }
    }
    Ok(())
}

fn act(
    stream: TestStream<(Datum, Datum)>,
    step: &Step,
    keys: &[(&str, Bundling)],
) -> Result<TestStream<(Datum, Datum)>, String> {
    Ok(match &step.action {
        Action::Start => stream,
        Action::Watermark(to) => stream.advance_watermark_to(Timestamp::saturating_from_millis(*to)),
        Action::Clock(by) => stream.advance_processing_time(Duration::from_millis(*by)),
        Action::Input(input) => {
            let mut stream = stream;
            for (key, bundling) in keys {
                for bundle in bundling.bundles(input, !step.expected.is_empty()) {
                    stream = stream.elements(elements(key, &bundle)?);
                }
            }
            stream
        }
    })
}

/// A pair with its timestamp.
type Timed = ((Datum, Datum), Timestamp);

/// Elements that are their own timestamps.
pub(super) fn elements(key: &str, times: &[Datum]) -> Result<Vec<Timed>, String> {
    let element = |time: &Datum| {
        let at = Timestamp::saturating_from_millis(time.to_millis()?);
        Ok(((Datum::text(key), time.clone()), at))
    };
    times.iter().map(element).collect()
}

/// Compares what came of each step with what should have.
fn check(transcript: &Transcript, outputs: &[Output]) -> Result<(), String> {
    for (i, step) in transcript.steps.iter().enumerate() {
        let got: Vec<&Output> = outputs.iter().filter(|o| o.step == i).collect();
        let (missing, extra) = match_up(&step.expected, &got, |o, e| fits(o, e));
        let shown: Vec<String> = got.iter().map(|o| pane_of(o).to_string()).collect();
        let after = format!(
            "after action {i}, {:?}: expected {:?}, got [{}]",
            step.action,
            step.expected,
            shown.join(", ")
        );
        if let Some(e) = missing.first() {
            return Err(format!("Unmatched output: {} {after}", step.expected[*e]));
        }
        if let Some(o) = extra.first() {
            return Err(format!("Unexpected output: {} {after}", shown[*o]));
        }
    }
    Ok(())
}

/// A pane as transcripts write it.
fn pane_of(output: &Output) -> Datum {
    Datum::map([
        ("window", window_of(&output.window)),
        ("values", output.value.clone()),
        ("timestamp", seconds(output.timestamp)),
        ("index", Datum::Int(output.pane.index)),
        ("nonspeculative_index", Datum::Int(output.pane.on_time_index)),
        ("early", Datum::Bool(output.pane.timing == PaneTiming::Early)),
        ("late", Datum::Bool(output.pane.timing == PaneTiming::Late)),
        ("final", Datum::Bool(output.pane.is_last)),
    ])
}

/// Whole seconds.
fn seconds(at: Timestamp) -> Datum {
    Datum::Int(at.as_millis().div_euclid(1000))
}

/// Start and last timestamp, in whole seconds.
pub(super) fn window_of(window: &Window) -> Datum {
    let start = window.as_interval().map_or(Timestamp::MIN, purlin_sdk::window::IntervalWindow::start);
    Datum::List(vec![seconds(start), seconds(window.max_timestamp())])
}

pub(super) fn fits(output: &Output, expected: &Datum) -> bool {
    let own = pane_of(output);
    let fits = |(name, value): &(Datum, Datum)| match name.as_text() {
        Some("values") => own.get("values").is_some_and(|own| own.same(&value.clone().sorted())),
        Some(name) => own.get(name).is_some_and(|own| own.same(value)),
        None => false,
    };
    expected.to_entries().is_ok_and(|entries| entries.iter().all(fits))
}
