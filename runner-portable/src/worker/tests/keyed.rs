//! State, timers and side inputs.

use purlin_derive::KeyedState;
use purlin_sdk::{
    DoFn, Duration, Emitter, KeyedDoFn, ListView, ParDo, Pipeline, ProcessContext, Result, TimerContext,
    Timestamp, View,
    coder::{Coder, CoderSpec, Context, TimerCoder, TimerData, TimerFiring, default_coder, rewrapped},
    graph::Graph,
    state::{Bag, Timer},
    window::{PaneInfo, Window},
};

use super::{
    Description, Engine,
    describe::{kv, prefixed, read, written},
};
use crate::{
    proto::fn_execution::{
        StateKey,
        state_key::{BagUserState, IterableSideInput, Type},
        state_request::Request,
    },
    worker::state::tests::Fake,
};

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Seen {
    all: Bag<i64>,
    #[timer(event)]
    end: Timer,
}

/// Tells all values of a key ten seconds after the last.
#[derive(Clone)]
struct Tell;

impl KeyedDoFn for Tell {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Seen;
    fn process(
        &mut self,
        key: &String,
        x: i64,
        s: &mut Seen,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        s.all.add(x);
        s.end.set(cx, cx.timestamp() + Duration::from_secs(10))?;
        out.emit(format!("{key} {:?}", s.all.read()));
        Ok(())
    }
    fn on_timer(
        &mut self,
        timer: SeenTimer,
        key: &String,
        s: &mut Seen,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        out.emit(format!("{key} {timer:?} {} {:?}", cx.fire_timestamp().as_millis(), s.all.take()));
        Ok(())
    }
}

/// Refused by the engine.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Refused {
    refused: Bag<i64>,
}

#[derive(Clone)]
struct Broken;

impl KeyedDoFn for Broken {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Refused;
    fn process(
        &mut self,
        _: &String,
        _: i64,
        s: &mut Refused,
        _: &ProcessContext<'_>,
        _: &mut Emitter<'_, String>,
    ) -> Result {
        s.refused.clear();
        Ok(())
    }
}

/// Adds the sum of the side input.
#[derive(Clone)]
struct Look(View<ListView<i64>>);

impl DoFn for Look {
    type Input = (String, i64);
    type Output = i64;
    fn process(
        &mut self,
        (_, x): (String, i64),
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        out.emit(x + cx.side(&self.0)?.iter().sum::<i64>());
        Ok(())
    }
}

fn graph() -> Graph {
    let p = Pipeline::new();
    let pairs = p.create("Pairs", [("a".to_owned(), 1_i64)]);
    pairs.par_do_keyed("Tell", Tell);
    pairs.par_do_keyed("Broken", Broken);
    let list = pairs.map("Values", |(_, x)| x).view_as_list("AsList");
    pairs.par_do_with("Look", ParDo::of(Look(list.clone())).side(&list));
    p.build().unwrap()
}

/// The engine has keys behind their length.
fn timer() -> CoderSpec {
    CoderSpec::Timer(Box::new(prefixed(CoderSpec::StringUtf8)), Box::new(CoderSpec::GlobalWindow))
}

fn timers() -> TimerCoder<String> {
    let key = rewrapped(&default_coder::<String>().unwrap(), &prefixed(CoderSpec::StringUtf8)).unwrap();
    TimerCoder::new(key, CoderSpec::GlobalWindow).unwrap()
}

fn set(key: &str, secs: i64) -> TimerData<String> {
    let at = Timestamp::from_secs(secs);
    let firing = TimerFiring { fire_timestamp: at, hold_timestamp: at, pane: PaneInfo::NO_FIRING };
    TimerData { key: key.to_owned(), tag: String::new(), windows: vec![Window::Global], firing: Some(firing) }
}

/// Pairs whose key is behind its length.
fn pairs(values: &[(&str, i64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in values {
        out.extend(&written(&[((), 0)])[..]);
        let text = [&[key.len() as u8], key.as_bytes()].concat();
        // A length prefix is around the text's outer form.
        out.extend(text);
        out.push(*value as u8);
    }
    out
}

async fn engine(fake: &Fake, path: &str, families: &[&str]) -> Engine {
    let engine = Engine::start(graph()).await;
    let stage = Description::new("stage", &engine)
        .collection("pairs", &kv(prefixed(CoderSpec::StringUtf8), CoderSpec::VarInt))
        .collection("texts", &CoderSpec::StringUtf8)
        .source("src", "pairs")
        .keyed(path, "pairs", &[("0", "texts")], families, &timer())
        .sink("snk", "texts")
        .state(&fake.serve().await)
        .done();
    engine.describe(stage);
    engine
}

fn texts(bytes: &[u8]) -> Vec<String> {
    read::<String>(bytes).into_iter().map(|(text, _)| text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn state_comes_back_and_timers_go_out_and_in() {
    let fake = Fake { together: 1, ..Fake::default() };
    let engine = engine(&fake, "Tell", &["end"]).await;
    engine.process("i1", "stage");
    engine.fire("i1", "renamed Tell", "end", &[], true).await;
    engine.data("i1", "src", &pairs(&[("a", 1), ("b", 5), ("a", 2)]), true).await;
    assert_eq!(texts(&engine.output("i1", "snk").await), ["a [1]", "b [5]", "a [1, 2]"]);
    let mut bytes = &engine.output("i1", "renamed Tell/end").await[..];
    let mut out = Vec::new();
    while !bytes.is_empty() {
        out.push(timers().decode(&mut bytes, Context::Nested).unwrap());
    }
    assert_eq!(out, [set("a", 10), set("b", 10)]);
    engine.processed("i1").await;
    // When the engine is answered it has everything.
    let bag = BagUserState {
        transform_id: "renamed Tell".to_owned(),
        user_state_id: "all".to_owned(),
        window: Vec::new(),
        key: b"\x01a".to_vec(),
    };
    let key = StateKey { r#type: Some(Type::BagUserState(bag)) };
    assert!(fake.bags.lock().unwrap().contains_key(&key));

    let mut fired = Vec::new();
    timers().encode(&set("a", 10), Context::Nested, &mut fired).unwrap();
    engine.process("i2", "stage");
    engine.fire("i2", "renamed Tell", "end", &fired, true).await;
    engine.data("i2", "src", &[], true).await;
    assert_eq!(texts(&engine.output("i2", "snk").await), ["a End 10000 [1, 2]"]);
    assert_eq!(engine.output("i2", "renamed Tell/end").await, b"");
    engine.processed("i2").await;
    assert!(!fake.bags.lock().unwrap().contains_key(&key));
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_does_not_do_with_state_fails_the_bundle() {
    let fake = Fake { together: 1, ..Fake::default() };
    let engine = engine(&fake, "Broken", &[]).await;
    engine.process("i1", "stage");
    engine.data("i1", "src", &pairs(&[("a", 1)]), true).await;
    let error = engine.answer("i1").await.error;
    assert!(error.contains("Broken") && error.contains("does not give state: no such state"), "{error}");
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_input_is_asked_for_once_a_bundle() {
    let fake = Fake { together: 1, ..Fake::default() };
    let side = IterableSideInput {
        transform_id: "renamed Look".to_owned(),
        side_input_id: "side:AsList".to_owned(),
        window: Vec::new(),
    };
    let key = StateKey { r#type: Some(Type::IterableSideInput(side)) };
    // Five numbers behind their lengths; the fake gives three bytes at a time.
    let numbers: Vec<u8> = (1..=5).flat_map(|n| [1, n]).collect();
    fake.bags.lock().unwrap().insert(key.clone(), numbers);
    let engine = Engine::start(graph()).await;
    let stage = Description::new("look", &engine)
        .collection("pairs", &kv(prefixed(CoderSpec::StringUtf8), CoderSpec::VarInt))
        .collection("side", &prefixed(CoderSpec::VarInt))
        .collection("sums", &CoderSpec::VarInt)
        .source("src", "pairs")
        .par_do_with_side("Look", "pairs", &[("0", "sums")], ("AsList", "side"))
        .sink("snk", "sums")
        .state(&fake.serve().await)
        .done();
    engine.describe(stage);
    for id in ["i1", "i2"] {
        engine.process(id, "look");
        engine.data(id, "src", &pairs(&[("a", 1), ("b", 2)]), true).await;
        let sums: Vec<i64> =
            read::<i64>(&engine.output(id, "snk").await).into_iter().map(|(n, _)| n).collect();
        assert_eq!(sums, [16, 17]);
        engine.processed(id).await;
    }
    let first = |request: &&crate::proto::fn_execution::StateRequest| matches!(&request.request, Some(Request::Get(get)) if get.continuation_token.is_empty());
    assert_eq!(fake.asked().iter().filter(first).count(), 2);
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stage_without_a_place_for_state_is_refused() {
    let engine = Engine::start(graph()).await;
    let stage = Description::new("stage", &engine)
        .collection("pairs", &kv(prefixed(CoderSpec::StringUtf8), CoderSpec::VarInt))
        .collection("texts", &CoderSpec::StringUtf8)
        .source("src", "pairs")
        .keyed("Tell", "pairs", &[("0", "texts")], &["end"], &timer())
        .sink("snk", "texts")
        .done();
    engine.describe(stage);
    engine.process("i1", "stage");
    let error = engine.answer("i1").await.error;
    assert!(error.contains("does not say where state is"), "{error}");
    engine.end().await.unwrap();
}
