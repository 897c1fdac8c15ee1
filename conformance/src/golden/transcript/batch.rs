//! A transcript's elements all at once.

use purlin_sdk::{Runner, testing::TestStream, window::Window};

use super::{
    Action, TRANSFORMS, Transcript, group,
    stream::{elements, fits, window_of},
};
use crate::golden::{
    datum::Datum,
    record::{Output, Recorder},
    setups,
};

/// Gives the pipeline all elements in one bundle, and compares the last pane of each window with the last one that the
/// transcript expects. Only where each pane holds all of its window so far, and nothing is late.
pub(super) fn run(transcript: &Transcript, runner: &dyn Runner) -> Result<(), String> {
    let Some(inputs) = inputs(transcript)? else { return Ok(()) };
    let recorder = Recorder::default();
    let stream = TestStream::new().bounded().elements(elements("key", &inputs)?);
    setups::run(runner, |p| {
        group(&transcript.windowing, &recorder, &p.apply("Elements", stream));
        Ok(())
    })?;
    let outputs = recorder.take();
    // Without a trigger that looks at the watermark, what is left of a window comes out when it expires; there are
    // runners that leave it, and no transcript expects it.
    let may_leave = !transcript.windowing.trigger.to_string().contains("watermark")
        && transcript.windowing.trigger != purlin_sdk::window::Trigger::default();
    for label in TRANSFORMS {
        let outputs: Vec<&Output> = outputs.iter().filter(|o| o.label == label).collect();
        check(transcript, &outputs, may_leave).map_err(|e| format!("{label} of all at once: {e}"))?;
    }
    Ok(())
}

/// All elements, unless they are not comparable in this way.
fn inputs(transcript: &Transcript) -> Result<Option<Vec<Datum>>, String> {
    let mut all = Vec::new();
    let mut watermark = i64::MIN;
    for step in &transcript.steps {
        if step.expected.iter().any(|pane| pane.get("window").is_none()) {
            return Ok(None);
        }
        match &step.action {
            Action::Watermark(to) => watermark = *to,
            Action::Input(times) => {
                for time in times {
                    if time.to_millis()? <= watermark {
                        return Ok(None);
                    }
                }
                all.extend(times.iter().cloned());
            }
            Action::Start | Action::Clock(_) => {}
        }
    }
    Ok(transcript.windowing.accumulating.then_some(all))
}

fn check(transcript: &Transcript, outputs: &[&Output], may_leave: bool) -> Result<(), String> {
    let mut expected: Vec<(Datum, Datum)> = Vec::new();
    for pane in transcript.steps.iter().flat_map(|step| &step.expected) {
        let window = pane.need("window")?.clone();
        let fields = pane
            .to_entries()?
            .iter()
            .filter(|(name, _)| matches!(name.as_text(), Some("window" | "values" | "timestamp")));
        let pane = Datum::Map(fields.cloned().collect());
        match expected.iter_mut().find(|(w, _)| *w == window) {
            Some((_, last)) => *last = pane,
            None => expected.push((window, pane)),
        }
    }
    let mut windows: Vec<Window> = outputs.iter().map(|o| o.window.clone()).collect();
    windows.sort();
    windows.dedup();
    // Windows of early panes that became part of others are not there any more.
    let all: Vec<Window> = expected.iter().map(|(w, _)| interval(w)).collect::<Result<_, _>>()?;
    let kept = transcript.windowing.windows.unmerged(&all)?;
    expected.retain(|(w, _)| interval(w).is_ok_and(|w| kept.contains(&w)));
    for window in &windows {
        let panes = outputs.iter().filter(|o| o.window == *window);
        let Some(last) = panes.max_by_key(|o| o.pane.index) else { continue };
        match expected.iter().position(|(w, _)| w.same(&window_of(window))) {
            Some(at) => {
                let (_, pane) = expected.remove(at);
                if !fits(last, &pane) {
                    return Err(format!("Unmatched output: {pane}, got {last}"));
                }
            }
            None if may_leave || !kept.contains(window) && all.contains(window) => {}
            None => return Err(format!("Unexpected output: {last}")),
        }
    }
    match expected.first() {
        Some((_, pane)) => Err(format!("Unmatched output: {pane}, got nothing in its window")),
        None => Ok(()),
    }
}

/// The window that a transcript writes as its start and last timestamp.
fn interval(window: &Datum) -> Result<Window, String> {
    match window.to_list()? {
        [start, max] => {
            let at = |secs: i64| purlin_sdk::Timestamp::saturating_from_millis(secs);
            Ok(Window::interval(at(start.to_millis()?), at(max.to_millis()?.saturating_add(1000))))
        }
        _ => Err(format!("{window} is no window")),
    }
}
