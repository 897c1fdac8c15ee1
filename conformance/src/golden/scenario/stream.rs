//! Scenarios with events: elements, watermarks and processing time, of one stream or of several.

use purlin_sdk::{
    Duration, Pipeline, Runner, Tag, Timestamp,
    testing::{TestStreamOutputs, TestStreams},
};
use purlin_transforms::Sum;

use super::{Kv, Pairs, elements, ops, programs, shapes};
use crate::golden::{
    datum::Datum,
    record::{Output, Recorder, compare},
    setups,
    windowing::Windowing,
};

/// The streams that there can be, by their place among the scenario's.
const TAGS: [Tag<Kv>; 6] = [
    Tag::new("first"),
    Tag::new("second"),
    Tag::new("third"),
    Tag::new("fourth"),
    Tag::new("fifth"),
    Tag::new("sixth"),
];

/// A script, and where its events are told.
struct Script {
    names: Vec<String>,
    streams: TestStreams,
    events: usize,
    /// The first of the events that are one step at the end.
    last: usize,
}

pub(super) fn run(scenario: &Datum, runner: &dyn Runner) -> Result<(), String> {
    let recorder = Recorder::default();
    let Script { names, streams, events, last } = script(scenario, &recorder)?;
    let pipeline = scenario.need("pipeline")?;
    setups::run(runner, |p| {
        let streams = p.apply("Streams", streams);
        build(p, pipeline, &Inputs { names: &names, streams: &streams }, &recorder)
    })?;
    let outputs = recorder.take();
    let all = scenario.need("expected")?.to_list()?;
    let mut expected: Vec<Vec<Datum>> = vec![Vec::new(); events];
    for step in all {
        let after = usize::try_from(step.need("after_event")?.to_int()?).map_err(|e| e.to_string())?;
        let place = expected.get_mut(after.min(last)).filter(|_| after < events);
        let place = place.ok_or_else(|| format!("there is no event {after}"))?;
        place.extend(step.need("outputs")?.to_list()?.iter().cloned());
    }
    for (event, expected) in expected.iter().enumerate().take(last + 1) {
        // What comes when the script is over is not looked at, unless the script says itself that time ends.
        let is_here = |o: &&Output| o.step < events && o.step.min(last) == event;
        let got: Vec<Output> = outputs.iter().filter(is_here).cloned().collect();
        compare(expected, &got).map_err(|e| format!("after event {event}: {e}"))?;
    }
    Ok(())
}

fn script(scenario: &Datum, recorder: &Recorder) -> Result<Script, String> {
    let names: Vec<String> = match scenario.need("pipeline")?.get("tags") {
        Some(tags) => {
            tags.to_list()?.iter().map(|t| t.to_text().map(str::to_owned)).collect::<Result<_, _>>()?
        }
        None => vec![String::new()],
    };
    if names.len() > TAGS.len() {
        return Err(format!("{} streams are more than {}", names.len(), TAGS.len()));
    }
    let mut streams = TAGS[..names.len()].iter().fold(TestStreams::new().bounded(), |s, t| s.stream(*t));
    let events = scenario.need("events")?.to_list()?;
    let ends = |e: &Datum| e.get("watermark").and_then(Datum::as_text) == Some("infinity");
    // Ends of several streams at the end are one step.
    let trailing = events.iter().rev().take_while(|e| ends(e)).count();
    for event in events {
        let name = event.get("tag").map_or(Ok(""), Datum::to_text)?;
        let at = names.iter().position(|n| n == name);
        let at = at.or((names.len() == 1).then_some(0)).ok_or_else(|| format!("no stream `{name}`"))?;
        streams = if let Some(list) = event.get("elements") {
            streams.elements(TAGS[at], elements(list)?)
        } else if ends(event) {
            streams.end(TAGS[at])
        } else if let Some(to) = event.get("watermark") {
            let to = Timestamp::from_millis(to.to_millis()?).map_err(|e| e.to_string())?;
            streams.advance_watermark_to(TAGS[at], to)
        } else if let Some(by) = event.get("processing_time_advance_s") {
            streams.advance_processing_time(Duration::from_millis(by.to_millis()?))
        } else {
            return Err(format!("{event} is no event that is known"));
        };
        streams = streams.mark(recorder.mark());
    }
    let last = if trailing > 1 { events.len() - trailing } else { events.len().saturating_sub(1) };
    Ok(Script { names, streams, events: events.len(), last })
}

struct Inputs<'a> {
    names: &'a [String],
    streams: &'a TestStreamOutputs,
}

impl Inputs<'_> {
    fn named(&self, name: &str) -> Result<Pairs, String> {
        let at = self.names.iter().position(|n| n == name);
        Ok(self.streams.tagged(TAGS[at.ok_or_else(|| format!("no stream `{name}`"))?]))
    }

    fn all(&self) -> Vec<(String, Pairs)> {
        self.names.iter().zip(TAGS).map(|(name, tag)| (name.clone(), self.streams.tagged(tag))).collect()
    }

    fn first(&self) -> Pairs {
        self.streams.tagged(TAGS[0])
    }
}

fn build(p: &Pipeline, pipeline: &Datum, inputs: &Inputs<'_>, recorder: &Recorder) -> Result<(), String> {
    let windowing = |name: &str| Windowing::from_json(pipeline.need(name)?);
    let stage = |n: usize| {
        let stages = pipeline.need("stages")?.to_list()?;
        Windowing::from_json(stages.get(n).ok_or_else(|| format!("there is no stage {n}"))?)
    };
    let kind = match (pipeline.get("transform"), pipeline.get("kind")) {
        (Some(kind), _) | (None, Some(kind)) => kind.to_text()?,
        (None, None) => return Err(format!("{pipeline} has no kind")),
    };
    match kind {
        "group_by_key" => {
            let windowed = shapes::windowed("Window", &inputs.first(), &windowing("windowing")?);
            recorder.record("out", &shapes::grouped("Group", &windowed));
        }
        "combine_per_key_sum" => {
            let windowed = shapes::windowed("Window", &inputs.first(), &windowing("windowing")?);
            recorder.record("out", &sums("Sum", &windowed));
        }
        "gbk_rewindow_gbk" => {
            let one = sums("Sum1", &shapes::windowed("Window1", &inputs.first(), &stage(0)?));
            recorder.record("stage1", &one);
            recorder.record("stage2", &sums("Sum2", &shapes::windowed("Window2", &one, &stage(1)?)));
        }
        "gbk_gbk_same_windowing" => {
            let one = shapes::grouped("Group1", &shapes::windowed("Window", &inputs.first(), &stage(0)?));
            recorder.record("stage1", &one);
            let exploded = one.flat_map("Explode", |(key, values)| {
                let Datum::List(values) = values else { return Vec::new() };
                values.into_iter().map(|v| (key.clone(), v)).collect()
            });
            recorder.record("stage2", &shapes::grouped("Group2", &exploded));
        }
        "flatten_gbk" => {
            let all: Vec<Pairs> = inputs.all().into_iter().map(|(_, pc)| pc).collect();
            let windowed = shapes::windowed("Window", &p.flatten("Flatten", all), &stage(0)?);
            recorder.record("out", &shapes::grouped("Group", &windowed));
        }
        "cogbk" => {
            let stage = stage(0)?;
            let windowed = |(name, pc): (String, Pairs)| {
                let windowed = shapes::windowed(&format!("Window {name}"), &pc, &stage);
                (name, windowed)
            };
            let all = inputs.all().into_iter().map(windowed).collect();
            recorder.record("out", &shapes::co_grouped(all)?);
        }
        side if side.starts_with("side_") => {
            let main = shapes::windowed("WindowMain", &inputs.named("main")?, &windowing("main")?);
            let seen = shapes::windowed("WindowSide", &inputs.named("side")?, &windowing("side")?);
            let shape = side.trim_start_matches("side_");
            recorder.record("joined", &shapes::joined(&main, &seen, &shapes::Shape::parse(shape)?));
        }
        other => match other.strip_prefix("state:") {
            Some(program) => {
                let main = shapes::windowed("Window", &inputs.first(), &windowing("main")?);
                programs::run(program, &main, recorder)?;
            }
            None => return Err(format!("`{other}` is no kind of pipeline that is known")),
        },
    }
    Ok(())
}

fn sums(name: &str, pc: &Pairs) -> Pairs {
    let sums = ops::ints(&format!("{name} of"), pc).apply(name, Sum::per_key());
    sums.map(&format!("{name} shown"), |(key, n): (Datum, i64)| (key, Datum::Int(n)))
}
