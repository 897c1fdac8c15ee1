//! Splittable DoFns: their parts, what they leave, and splits while they run.

use std::sync::{Condvar, Mutex};

use purlin_sdk::{
    Duration, Emitter, Pipeline, ProcessContext, Result, Timestamp,
    coder::CoderSpec,
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext,
        SplittableDoFn,
    },
};

use super::{
    Description, Engine,
    describe::{kv, prefixed, read, written},
};
use crate::{
    proto::{
        fn_execution::{
            BundleApplication, ProcessBundleProgressRequest, ProcessBundleSplitRequest,
            ProcessBundleSplitResponse, instruction_request::Request, instruction_response::Response,
            process_bundle_split_request::DesiredSplit,
        },
        pipeline::is_bounded,
    },
    urns::{metric, transform},
};

/// Where a DoFn waits for its test.
#[derive(Default)]
struct Gate {
    state: Mutex<(Option<i64>, bool)>,
    changed: Condvar,
}

impl Gate {
    const fn new() -> Gate {
        Gate { state: Mutex::new((None, false)), changed: Condvar::new() }
    }

    /// The DoFn is at `position`, and stays there until the gate opens.
    fn pass(&self, position: i64) {
        let mut state = self.state.lock().unwrap();
        state.0 = Some(position);
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(_, open)| !*open).unwrap());
    }

    fn is_reached(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |(at, _)| at.is_none()).unwrap());
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

/// The numbers up to the element, each at its own second.
#[derive(Clone, Default)]
struct CountUp {
    unbounded: bool,
    /// Gives the rest back before this number.
    pause: Option<i64>,
    /// Waits at this number.
    gate: Option<(i64, &'static Gate)>,
}

impl SplittableDoFn for CountUp {
    type Input = i64;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        if self.unbounded { Boundedness::Unbounded } else { Boundedness::Bounded }
    }
    fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, *n))
    }
    fn split(&self, _: &i64, r: OffsetRange, _: usize, _: &SdfContext<'_>) -> Result<Vec<OffsetRange>> {
        Ok(r.split(2))
    }
    fn new_tracker(&self, _: &i64, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }
    fn initial_watermark_state(&self, _: &i64, _: &OffsetRange, _: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(Timestamp::MIN)
    }
    fn new_watermark_estimator(
        &self,
        at: Timestamp,
        _: &i64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(at))
    }
    fn process(
        &mut self,
        _: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let mut i = claims.restriction().start;
        loop {
            if self.pause == Some(i) && i > claims.restriction().start {
                return Ok(Continuation::Resume(Duration::from_millis(1500)));
            }
            if !claims.try_claim(i) {
                return Ok(Continuation::Stop);
            }
            out.emit_at(i, Timestamp::from_secs(i));
            claims.set_watermark(Timestamp::from_secs(i + 1))?;
            if let Some((at, gate)) = self.gate
                && at == i
            {
                gate.pass(i);
            }
            i += 1;
        }
    }
}

fn paired() -> CoderSpec {
    kv(CoderSpec::VarInt, prefixed(CoderSpec::Bytes))
}

fn sized() -> CoderSpec {
    kv(paired(), CoderSpec::Double)
}

async fn counting(dofn: CountUp) -> Engine {
    let p = Pipeline::new();
    p.create("Ends", [1_i64]).par_do_splittable("Count", dofn);
    let engine = Engine::start(p.build().unwrap()).await;
    let stage = |id: &str, urn: &str, takes: &CoderSpec, gives: &CoderSpec| {
        let stage = Description::new(id, &engine)
            .collection("takes", takes)
            .collection("gives", gives)
            .source("src", "takes")
            .part("p", urn, "Count", "takes", &[("out", "gives")])
            .sink("snk", "gives")
            .done();
        engine.describe(stage);
    };
    stage("pair", transform::SDF_PAIR, &CoderSpec::VarInt, &paired());
    stage("split", transform::SDF_SPLIT_AND_SIZE, &paired(), &sized());
    stage("truncate", transform::SDF_TRUNCATE, &sized(), &sized());
    stage("process", transform::SDF_PROCESS, &sized(), &CoderSpec::VarInt);
    engine
}

/// Runs a bundle that gives nothing back.
async fn run(engine: &Engine, id: &str, descriptor: &str, bytes: &[u8]) -> Vec<u8> {
    engine.process(id, descriptor);
    engine.data(id, "src", bytes, true).await;
    let out = engine.output(id, "snk").await;
    assert!(engine.processed(id).await.residual_roots.is_empty());
    out
}

/// The elements with the work on them, each with its size: what the engine sees of it.
fn items(bytes: &[u8]) -> Vec<(i64, f64)> {
    read::<((i64, Vec<u8>), f64)>(bytes).into_iter().map(|(((n, _), size), _)| (n, size)).collect()
}

/// Elements with all of their work, cut up.
async fn prepared(engine: &Engine, ends: &[(i64, i64)]) -> Vec<u8> {
    let pairs = run(engine, "pair", "pair", &written(ends)).await;
    run(engine, "split", "split", &pairs).await
}

fn numbers(bytes: &[u8]) -> Vec<i64> {
    read::<i64>(bytes).into_iter().map(|(n, _)| n).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pair_split_truncate_and_process() {
    let engine = counting(CountUp::default()).await;
    // The restriction's bytes have a prefix that our own coder of them has not; the same, as both are bytes.
    let parts = prepared(&engine, &[(5, -7), (2, 0)]).await;
    let sizes = items(&parts).into_iter().map(|(n, size)| (n, size as i64)).collect::<Vec<_>>();
    assert_eq!(sizes.iter().map(|(_, size)| size).sum::<i64>(), 7, "{sizes:?}");
    assert_eq!(sizes.len(), 4);
    let left = run(&engine, "t", "truncate", &parts).await;
    assert_eq!(items(&left), items(&parts));
    let out = run(&engine, "p", "process", &left).await;
    assert_eq!(read::<i64>(&out), [0, 1, 2, 3, 4, 0, 1].map(|n| (n, 1000 * n)));
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_leaves_nothing_of_work_without_an_end() {
    let engine = counting(CountUp { unbounded: true, ..CountUp::default() }).await;
    let parts = prepared(&engine, &[(5, 0)]).await;
    assert_eq!(run(&engine, "t", "truncate", &parts).await, b"");
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_gives_the_rest_back_with_its_watermark_and_delay() {
    let engine = counting(CountUp { pause: Some(2), ..CountUp::default() }).await;
    let parts = prepared(&engine, &[(8, 0)]).await;
    engine.process("i1", "process");
    engine.data("i1", "src", &parts, true).await;
    assert_eq!(numbers(&engine.output("i1", "snk").await), [0, 1, 4, 5, 6, 7]);
    let done = engine.processed("i1").await;
    let [root] = &done.residual_roots[..] else { panic!("{done:?}") };
    let delay = root.requested_time_delay.unwrap();
    assert_eq!((delay.seconds, delay.nanos), (1, 500_000_000));
    let rest = root.application.as_ref().unwrap();
    assert_eq!((&*rest.transform_id, &*rest.input_id), ("p", "in"));
    assert_eq!(rest.is_bounded, i32::from(is_bounded::Enum::Bounded));
    assert_eq!(rest.output_watermarks.len(), 1);
    assert_eq!(rest.output_watermarks["out"].seconds, 2);
    assert_eq!(items(&rest.element), [(8, 2.0)]);
    // It comes back as it went, and goes on with the estimator's state.
    engine.process("i2", "process");
    engine.data("i2", "src", &rest.element, true).await;
    assert_eq!(numbers(&engine.output("i2", "snk").await), [2, 3]);
    engine.processed("i2").await;
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_without_an_end_comes_back_by_itself() {
    let engine = counting(CountUp { unbounded: true, ..CountUp::default() }).await;
    let parts = prepared(&engine, &[(1_000_000_000, 0)]).await;
    let bytes = written(&read::<((i64, Vec<u8>), f64)>(&parts)[..1]);
    engine.process("i1", "process");
    engine.data("i1", "src", &bytes, true).await;
    let done = engine.processed("i1").await;
    let emitted = numbers(&engine.output("i1", "snk").await);
    let [root] = &done.residual_roots[..] else { panic!("{done:?}") };
    let rest = root.application.as_ref().unwrap();
    assert!(emitted.len() >= 10_000 && emitted.len() < 1_000_000, "{}", emitted.len());
    assert_eq!(rest.output_watermarks["out"].seconds, emitted.len() as i64);
    assert_eq!(rest.is_bounded, i32::from(is_bounded::Enum::Unbounded));
    assert_eq!(root.requested_time_delay, None);
    engine.end().await.unwrap();
}

async fn split(
    engine: &Engine,
    id: &str,
    bundle: &str,
    fraction: f64,
    estimated: i64,
) -> ProcessBundleSplitResponse {
    let desired = DesiredSplit {
        fraction_of_remainder: fraction,
        estimated_input_elements: estimated,
        ..DesiredSplit::default()
    };
    let request = ProcessBundleSplitRequest {
        instruction_id: bundle.to_owned(),
        desired_splits: [("src".to_owned(), desired)].into(),
    };
    engine.send(id, Some(Request::ProcessBundleSplit(request)));
    match engine.answer(id).await.response {
        Some(Response::ProcessBundleSplit(response)) => response,
        other => panic!("{other:?}"),
    }
}

async fn reached(gate: &'static Gate) {
    tokio::task::spawn_blocking(|| gate.is_reached()).await.unwrap();
}

/// Where the channel was cut.
fn channel(split: &ProcessBundleSplitResponse) -> Option<(i64, i64)> {
    let [cut] = &split.channel_splits[..] else { return None };
    assert_eq!(cut.transform_id, "src");
    Some((cut.last_primary_element, cut.first_residual_element))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_element_is_cut_inside_while_it_is_worked_on() {
    static GATE: Gate = Gate::new();
    let engine = counting(CountUp { gate: Some((1, &GATE)), ..CountUp::default() }).await;
    let parts = prepared(&engine, &[(20, 0)]).await;
    engine.process("i1", "process");
    engine.data("i1", "src", &parts, true).await;
    reached(&GATE).await;
    // Two elements, the first of which has 10 positions of which 2 are claimed.
    let progress = ProcessBundleProgressRequest { instruction_id: "i1".to_owned() };
    engine.send("g", Some(Request::ProcessBundleProgress(progress)));
    let Some(Response::ProcessBundleProgress(progress)) = engine.answer("g").await.response else { panic!() };
    let value =
        |urn: &str| progress.monitoring_infos.iter().find(|i| i.urn == urn).map(|i| i.payload.clone());
    assert_eq!(value(metric::READ_INDEX).unwrap(), [0]);
    let remaining = value(metric::PROGRESS_REMAINING).unwrap();
    let remaining = f64::from_be_bytes(remaining[4..].try_into().unwrap());
    assert!((8.0..=9.0).contains(&remaining), "{remaining}");
    assert_eq!(progress.monitoring_data.len(), progress.monitoring_infos.len());
    // Of nearly two elements all but a little is given away.
    let cut = split(&engine, "s1", "i1", 0.2, 2).await;
    assert_eq!(channel(&cut), Some((-1, 1)));
    let ([primary], [residual]) = (&cut.primary_roots[..], &cut.residual_roots[..]) else {
        panic!("{cut:?}")
    };
    let rest: &BundleApplication = residual.application.as_ref().unwrap();
    assert_eq!((primary.transform_id.as_str(), primary.input_id.as_str()), ("p", "in"));
    assert!(primary.output_watermarks.is_empty());
    assert_eq!(rest.output_watermarks["out"].seconds, 2);
    // Nothing is left to give but what is inside, and a second split is of what is left.
    let again = split(&engine, "s2", "i1", 0.0, 2).await;
    assert_eq!(channel(&again), Some((-1, 1)));
    GATE.open();
    let kept = numbers(&engine.output("i1", "snk").await);
    assert_eq!(kept, [0, 1]);
    engine.processed("i1").await;
    let again = again.residual_roots[0].application.as_ref().unwrap().element.clone();
    let mut all = kept;
    for (id, element) in [("i2", again), ("i3", rest.element.clone())] {
        engine.process(id, "process");
        engine.data(id, "src", &element, true).await;
        all.extend(numbers(&engine.output(id, "snk").await));
        engine.processed(id).await;
    }
    assert_eq!(all, (0..10).collect::<Vec<_>>(), "the second element was given away whole, at the channel");
    // As it would be done anew after a failure.
    engine.process("i4", "process");
    engine.data("i4", "src", &primary.element, true).await;
    let primary = numbers(&engine.output("i4", "snk").await);
    assert!(all.starts_with(&primary) && primary.len() >= 2, "{primary:?}");
    engine.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_begun_is_cut_off_at_the_channel() {
    static GATE: Gate = Gate::new();
    let engine = counting(CountUp { gate: Some((0, &GATE)), ..CountUp::default() }).await;
    // Each is one position, so that there is nothing to cut inside.
    let parts = prepared(&engine, &[(1, 0), (1, 0), (1, 0), (1, 0)]).await;
    engine.process("i1", "process");
    engine.data("i1", "src", &parts, false).await;
    reached(&GATE).await;
    let cut = split(&engine, "s1", "i1", 0.5, 4).await;
    assert_eq!(channel(&cut), Some((1, 2)));
    assert!(cut.primary_roots.is_empty() && cut.residual_roots.is_empty());
    // A border may only come nearer.
    assert_eq!(channel(&split(&engine, "s2", "i1", 1.0, 4).await), None);
    GATE.open();
    engine.data("i1", "src", &parts, true).await;
    assert_eq!(numbers(&engine.output("i1", "snk").await), [0, 0]);
    engine.processed("i1").await;
    assert_eq!(channel(&split(&engine, "s3", "i1", 0.0, 4).await), None, "it is over");
    engine.end().await.unwrap();
}
