//! What must be told, and must not leave anybody waiting.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use purlin_sdk::{DoFn, Emitter, Pipeline, ProcessContext, Result, SetupContext, coder::CoderSpec};

use super::{
    Description, Engine,
    describe::{read, written},
};
use crate::{
    proto::fn_execution::{
        ProcessBundleDescriptor, ProcessBundleProgressRequest, ProcessBundleSplitRequest, RegisterRequest,
        instruction_request::Request, instruction_response::Response,
    },
    urns::transform,
};

/// Panics on 13 and fails on 14.
#[derive(Clone)]
struct Picky(&'static AtomicUsize);

impl DoFn for Picky {
    type Input = i64;
    type Output = i64;
    fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        match n {
            13 => panic!("thirteen"),
            14 => Err(purlin_sdk::DoFnError::msg("fourteen")),
            n => {
                out.emit(n);
                Ok(())
            }
        }
    }
    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn stage(engine: &Engine, id: &str, fingerprint: &str) -> ProcessBundleDescriptor {
    Description::new(id, engine)
        .collection("numbers", &CoderSpec::VarInt)
        .collection("kept", &CoderSpec::VarInt)
        .source("src", "numbers")
        .function(
            "e1",
            (transform::PARDO, "purlin:dofn:v1"),
            ("Picky", fingerprint),
            "numbers",
            &[("0", "kept")],
        )
        .sink("snk", "kept")
        .done()
}

async fn picky(torn: &'static AtomicUsize) -> Engine {
    let p = Pipeline::new();
    p.create("Numbers", [1_i64]).par_do("Picky", Picky(torn));
    let engine = Engine::start(p.build().unwrap()).await;
    engine.describe(stage(&engine, "picky", "f"));
    engine
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_names_the_transform_and_the_next_bundle_has_new_kernels() {
    static TORN: AtomicUsize = AtomicUsize::new(0);
    let engine = picky(&TORN).await;
    for (i, (n, what)) in [(13_i64, "panicked: thirteen"), (14, "fourteen")].into_iter().enumerate() {
        let id = format!("bad{i}");
        engine.process(&id, "picky");
        engine.data(&id, "src", &written(&[(n, 0)]), true).await;
        let error = engine.answer(&id).await.error;
        assert!(error.contains("`Picky` (built at ") && error.contains(what), "{error}");
        assert_eq!(TORN.load(Ordering::SeqCst), i + 1);
        let entry = engine.log(|entry| entry.instruction_id == id).await;
        assert!(entry.message.contains(what), "{entry:?}");
    }
    engine.process("good", "picky");
    engine.data("good", "src", &written(&[(1_i64, 0)]), true).await;
    engine.processed("good").await;
    engine.end().await.unwrap();
    assert_eq!(TORN.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_answered() {
    static TORN: AtomicUsize = AtomicUsize::new(0);
    let engine = picky(&TORN).await;
    engine.describe(stage(&engine, "other", "another"));
    engine.describe(Description::new("strange", &engine).unknown("x", "beam:transform:magic:v1").done());
    engine.describe(
        Description::new("lost", &engine)
            .collection("numbers", &CoderSpec::VarInt)
            .source("src", "numbers")
            .par_do("Nobody", "numbers", &[])
            .done(),
    );
    engine.describe(
        Description::new("coders", &engine)
            .collection("numbers", &CoderSpec::StringUtf8)
            .source("src", "numbers")
            .par_do("Picky", "numbers", &[])
            .done(),
    );
    for (descriptor, what) in [
        ("nowhere", "no such descriptor"),
        ("other", "fingerprint another"),
        ("strange", "beam:transform:magic:v1"),
        ("lost", "`Nobody`, which this pipeline does not have"),
        ("coders", "varint cannot be written as string_utf8"),
    ] {
        engine.process(descriptor, descriptor);
        let error = engine.answer(descriptor).await.error;
        assert!(error.contains(what), "{descriptor}: {error}");
    }
    engine.send("u", None);
    assert!(engine.answer("u").await.error.contains("does not know"));
    // Bytes that are none.
    engine.process("broken", "picky");
    engine.data("broken", "src", b"\x80\0\0", true).await;
    let error = engine.answer("broken").await.error;
    assert!(
        error.contains("`Picky`") && error.contains("in coder") && error.contains("for `src`"),
        "{error}"
    );
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_descriptor_is_not_asked_for() {
    static TORN: AtomicUsize = AtomicUsize::new(0);
    let engine = picky(&TORN).await;
    let request = RegisterRequest { process_bundle_descriptor: vec![stage(&engine, "registered", "f")] };
    engine.send("r", Some(Request::Register(request)));
    assert!(matches!(engine.answer("r").await.response, Some(Response::Register(_))));
    engine.process("i1", "registered");
    engine.data("i1", "src", &written(&[(5_i64, 1)]), true).await;
    assert_eq!(read::<i64>(&engine.output("i1", "snk").await), [(5, 1)]);
    engine.processed("i1").await;
    assert_eq!(engine.asked("registered"), 0);
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_about_a_bundle_that_does_not_run_gets_nothing_and_of_none_an_error() {
    static TORN: AtomicUsize = AtomicUsize::new(0);
    let engine = picky(&TORN).await;
    let mut asked = 0;
    let mut ask = async |bundle: &str| {
        asked += 1;
        let instruction_id = bundle.to_owned();
        let split = ProcessBundleSplitRequest { instruction_id, ..ProcessBundleSplitRequest::default() };
        engine.send(&format!("s{asked}"), Some(Request::ProcessBundleSplit(split)));
        let progress = ProcessBundleProgressRequest { instruction_id: bundle.to_owned() };
        engine.send(&format!("p{asked}"), Some(Request::ProcessBundleProgress(progress)));
        (engine.answer(&format!("s{asked}")).await, engine.answer(&format!("p{asked}")).await)
    };
    let empty = |(split, progress): &(_, _)| {
        let (split, progress): (&crate::proto::fn_execution::InstructionResponse, _) = (split, progress);
        let progress: &crate::proto::fn_execution::InstructionResponse = progress;
        matches!(&split.response, Some(Response::ProcessBundleSplit(s)) if s.channel_splits.is_empty())
            && matches!(&progress.response, Some(Response::ProcessBundleProgress(p)) if p.monitoring_data.is_empty())
    };
    // Its descriptor is not there yet.
    engine.process("slow", "late");
    engine.is_asked("late").await;
    assert!(empty(&ask("slow").await));
    engine.describe(stage(&engine, "late", "f"));
    engine.data("slow", "src", &written(&[(5_i64, 1)]), true).await;
    engine.processed("slow").await;
    assert!(empty(&ask("slow").await));
    let (split, progress) = ask("never").await;
    assert!(split.error.contains("`never`") && progress.error.contains("`never`"), "{split:?} {progress:?}");
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn when_instructions_end_everything_ends() {
    static TORN: AtomicUsize = AtomicUsize::new(0);
    let engine = picky(&TORN).await;
    engine.process("done", "picky");
    engine.data("done", "src", &written(&[(5_i64, 1)]), true).await;
    engine.processed("done").await;
    // It waits for data that never come.
    engine.process("waits", "picky");
    while !engine.status().await.contains("waits of picky: runs") {}
    let before = Instant::now();
    engine.end().await.unwrap();
    assert!(before.elapsed() < Duration::from_secs(4), "it hung for {:?}", before.elapsed());
    assert_eq!(
        TORN.load(Ordering::SeqCst),
        1,
        "one had no element and the other was idle: both, or one was shared"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_data_that_breaks_fails_who_waits_for_it_and_is_opened_anew() {
    static TORN: AtomicUsize = AtomicUsize::new(0);
    let engine = picky(&TORN).await;
    engine.process("i1", "picky");
    engine.break_data().await;
    let error = engine.answer("i1").await.error;
    assert!(error.contains("stream of data") && error.contains("the engine lost it"), "{error}");
    engine.process("i2", "picky");
    engine.data("i2", "src", &written(&[(5_i64, 1)]), true).await;
    engine.processed("i2").await;
    assert_eq!(engine.streams(), 2);
    engine.end().await.unwrap();
}
