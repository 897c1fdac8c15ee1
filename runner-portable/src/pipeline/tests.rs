//! Whole pipelines in Beam's words.

use prost::Message;
use purlin_sdk::{
    Combine, CombineFn, DoFn, Duration, Emitter, PCollection, ParDo, Pipeline, ProcessContext, Result,
    Timestamp, View, WindowInto,
    testing::TestStream,
    watermark::WatermarkStrategy,
    window::{FixedWindows, Trigger},
};

use super::*;
use crate::{
    payload::FnPayload,
    proto::pipeline::{
        CombinePayload, Components as Said, PTransform, ParDoPayload, TestStreamPayload, is_bounded,
        test_stream_payload::event::Event,
    },
};

#[derive(Clone)]
struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        acc
    }
}

#[derive(Clone)]
struct Add(View<i64>);

impl DoFn for Add {
    type Input = i64;
    type Output = i64;
    fn process(&mut self, n: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit(n + cx.side(&self.0)?);
        Ok(())
    }
}

fn try_said(build: impl FnOnce(&Pipeline)) -> std::result::Result<beam::Pipeline, PipelineError> {
    let p = Pipeline::new();
    build(&p);
    let environment = environment(&Environment::Loopback, "127.0.0.1:1", "", &[]);
    translate(&p.build()?, "print", environment)
}

/// What is submitted, with every name in it looked up.
fn said(build: impl FnOnce(&Pipeline)) -> beam::Pipeline {
    let said = try_said(build).unwrap();
    let parts = said.components.as_ref().unwrap();
    for (id, transform) in &parts.transforms {
        assert_eq!(*id, transform.unique_name);
        for collection in transform.inputs.values().chain(transform.outputs.values()) {
            assert!(parts.pcollections.contains_key(collection), "{id}: {collection}");
        }
        for part in &transform.subtransforms {
            assert!(parts.transforms.contains_key(part), "{id}: {part}");
        }
        assert!(transform.environment_id.is_empty() || transform.environment_id == ENVIRONMENT);
    }
    for (id, collection) in &parts.pcollections {
        assert!(parts.coders.contains_key(&collection.coder_id), "{id}");
        let strategy = &parts.windowing_strategies[&collection.windowing_strategy_id];
        assert!(parts.coders.contains_key(&strategy.window_coder_id), "{id}");
    }
    for (id, coder) in &parts.coders {
        assert!(coder.component_coder_ids.iter().all(|part| parts.coders.contains_key(part)), "{id}");
    }
    let mut made: Vec<&String> = Vec::new();
    for root in &said.root_transform_ids {
        let transform = &parts.transforms[root];
        assert!(
            transform.inputs.values().all(|input| made.contains(&input)),
            "{root} comes before its inputs"
        );
        made.extend(transform.outputs.values());
    }
    said
}

fn parts(said: &beam::Pipeline) -> &Said {
    said.components.as_ref().unwrap()
}

fn urn(of: &PTransform) -> &str {
    of.spec.as_ref().map_or("", |spec| &spec.urn)
}

fn par_do(of: &PTransform) -> ParDoPayload {
    assert_eq!(urn(of), urns::transform::PARDO);
    ParDoPayload::decode(&of.spec.as_ref().unwrap().payload[..]).unwrap()
}

fn pairs(p: &Pipeline) -> PCollection<(String, i64)> {
    p.create("Pairs", [("a".to_owned(), 1), ("b".to_owned(), 2)])
}

#[test]
fn elements_find_their_code_by_path() {
    let said = said(|p| drop(p.create("Numbers", [1, 2]).map("Double", |n: i64| n * 2)));
    let double = &parts(&said).transforms["Double"];
    let function = par_do(double).do_fn.unwrap();
    assert_eq!(function.urn, urns::DOFN);
    let payload = FnPayload::from_bytes(&function.payload).unwrap();
    assert_eq!((payload.path.as_str(), payload.fingerprint.as_str()), ("Double", "print"));
    assert_eq!(double.inputs["in"], parts(&said).transforms["Numbers/Spread"].outputs["0"]);
    let collection = &parts(&said).pcollections[&double.outputs["0"]];
    assert_eq!(collection.is_bounded(), is_bounded::Enum::Bounded);
    assert!(said.requirements.contains(&urns::requirement::FINALIZATION.to_owned()));
    let impulse = parts(&said).transforms.values().find(|t| urn(t) == urns::transform::IMPULSE).unwrap();
    assert!(impulse.environment_id.is_empty());
}

#[test]
fn a_combine_is_beams_composite_with_what_it_is_made_of() {
    let said = said(|p| drop(pairs(p).apply("Sum", Combine::per_key(Sum))));
    let (_, combine) =
        parts(&said).transforms.iter().find(|(_, t)| urn(t) == urns::transform::COMBINE_PER_KEY).unwrap();
    let payload = CombinePayload::decode(&combine.spec.as_ref().unwrap().payload[..]).unwrap();
    let accumulator = &parts(&said).coders[&payload.accumulator_coder_id];
    assert_eq!(accumulator.spec.as_ref().unwrap().urn, "beam:coder:varint:v1");
    let [group, combined] = [0, 1].map(|i| &parts(&said).transforms[&combine.subtransforms[i]]);
    assert_eq!(urn(group), urns::transform::GROUP_BY_KEY);
    assert_eq!(par_do(combined).do_fn.unwrap().urn, urns::COMBINE_GROUPED);
    assert_eq!(combined.outputs, combine.outputs);
    let list = &parts(&said).coders[&parts(&said).pcollections[&group.outputs["0"]].coder_id];
    let values = &parts(&said).coders[&list.component_coder_ids[1]];
    assert_eq!(values.spec.as_ref().unwrap().urn, "beam:coder:iterable:v1");
}

#[test]
fn where_a_trigger_counts_nothing_is_combined_before() {
    let counted = |p: &Pipeline| {
        let windows = WindowInto::of(FixedWindows::of(Duration::from_secs(9)))
            .trigger(Trigger::repeatedly(Trigger::after_count(3)))
            .discarding();
        pairs(p).window_into("Windows", windows)
    };
    let said = said(|p| drop(counted(p).apply("Sum", Combine::per_key(Sum))));
    assert!(parts(&said).transforms.values().all(|t| urn(t) != urns::transform::COMBINE_PER_KEY));
    assert_eq!(urn(&parts(&said).transforms["Sum/Combine#group"]), urns::transform::GROUP_BY_KEY);
}

#[test]
fn a_combine_with_a_result_for_nothing_has_one_on_an_engine_too() {
    let said = said(|p| drop(p.create("Numbers", [1, 2]).apply("Sum", Combine::globally(Sum))));
    let functions: Vec<String> = said
        .root_transform_ids
        .iter()
        .map(|id| &parts(&said).transforms[id])
        .filter(|t| urn(t) == urns::transform::PARDO)
        .map(|t| par_do(t).do_fn.unwrap().urn)
        .collect();
    for urn in [urns::COMBINE_PRECOMBINE, urns::COMBINE_DEFAULT, urns::COMBINE_ACCUMULATORS] {
        assert_eq!(functions.iter().filter(|of| *of == urn).count(), 1, "{functions:?}");
    }
}

#[test]
fn side_inputs_are_the_elements_of_the_view() {
    let said = said(|p| {
        let one = p.create("Other", [5_i64]).view_as_singleton("One");
        p.create("Main", [1_i64]).par_do_with("Add", ParDo::of(Add(one.clone())).side(&one));
    });
    let add = &parts(&said).transforms["Add"];
    let payload = par_do(add);
    assert_eq!(payload.side_inputs.len(), 1);
    let (name, side) = payload.side_inputs.iter().next().unwrap();
    assert_eq!(name, "side:One");
    assert_eq!(add.inputs[name], "Other/Spread.0");
    assert_eq!(side.access_pattern.as_ref().unwrap().urn, urns::side_input::ITERABLE);
    assert!(!parts(&said).transforms.contains_key("One"));
}

#[test]
fn a_script_keeps_its_events() {
    let at = Timestamp::from_secs;
    let said = said(|p| {
        p.apply(
            "Clicks",
            TestStream::new()
                .element_at("one".to_owned(), at(-3))
                .advance_watermark_to(at(10))
                .advance_processing_time(Duration::from_secs(2)),
        );
    });
    let stream = parts(&said).transforms.values().find(|t| urn(t) == urns::transform::TEST_STREAM).unwrap();
    let payload = TestStreamPayload::decode(&stream.spec.as_ref().unwrap().payload[..]).unwrap();
    let events: Vec<_> = payload.events.into_iter().map(|event| event.event.unwrap()).collect();
    let Event::ElementEvent(added) = &events[0] else { panic!("{events:?}") };
    assert_eq!(
        (added.elements[0].encoded_element.as_slice(), added.elements[0].timestamp),
        (&b"one"[..], -3_000)
    );
    assert!(matches!(&events[1], Event::WatermarkEvent(w) if w.new_watermark == 10_000));
    assert!(matches!(&events[2], Event::ProcessingTimeEvent(w) if w.advance_duration == 2_000));
    assert!(matches!(&events[3], Event::WatermarkEvent(w) if w.new_watermark == 9_223_372_036_854_775));
    assert_eq!(events.len(), 4);
}

#[test]
fn all_that_no_engine_can_do_is_told_at_once() {
    let told = try_said(|p| {
        let clicks = p.apply("Clicks", TestStream::new().element(1_i64).idle());
        clicks.assign_watermark("Late", WatermarkStrategy::for_monotonous_timestamps());
    });
    let told = told.unwrap_err().to_string();
    for part in ["`Clicks", "`Late", "idle", "--runner=threaded", "tests.rs"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}
