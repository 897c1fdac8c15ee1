//! What a run says when it is asked why there is no output.

use std::sync::{Arc, Mutex};

use purlin_derive::KeyedState;
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    Duration, Emitter, Holder, KeyedDoFn, PCollection, ParDo, Pipeline, ProcessContext, Result, Runner,
    StallReport, Timestamp, WindowInto,
    batch::{AnyBatch, Batch, Meta, Row, WindowSet},
    live::{LiveEvent, LiveScript},
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext,
        SplittableDoFn,
    },
    state::Timer,
    window::{FixedWindows, PaneInfo, Window},
};

fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn runners() -> Vec<Box<dyn Runner>> {
    let mut all: Vec<Box<dyn Runner>> = vec![Box::new(DirectRunner::new())];
    all.extend([1, 2, 16].map(|n| Box::new(ThreadedRunner::new().parallelism(n)) as Box<dyn Runner>));
    all
}

fn element(value: i64, secs: i64) -> AnyBatch {
    let meta = Meta::constant(at(secs), WindowSet::One(Window::Global), PaneInfo::NO_FIRING);
    let mut batch = Batch::default();
    batch.push(value, Row::of(&meta, 0));
    Box::new(batch)
}

/// The report of a pipeline whose live stream got an element at 3 s and the watermark 5 s, and was worked off.
fn report_of(runner: &dyn Runner, build: impl Fn(PCollection<i64>)) -> StallReport {
    let p = Pipeline::new();
    let script = LiveScript::without_driver(Timestamp::EPOCH);
    build(p.live_stream("Live", &script, 0));
    let report = Arc::new(Mutex::new(StallReport::default()));
    let (told, driven) = (report.clone(), script.clone());
    script.drive(move |run| {
        driven.tell(LiveEvent::Elements(0, element(7, 3)));
        driven.tell(LiveEvent::Watermark(at(5)));
        driven.settle();
        *told.lock().unwrap() = run.stall_report();
        driven.tell(LiveEvent::Stop);
    });
    p.run_on(runner).unwrap().wait().unwrap();
    let report = report.lock().unwrap().clone();
    report
}

/// A source that has nothing to say, and looks again every hour.
#[derive(Clone)]
struct Silent;

impl SplittableDoFn for Silent {
    type Input = Vec<u8>;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn initial_restriction(&self, _: &Vec<u8>, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, i64::MAX))
    }

    fn new_tracker(&self, _: &Vec<u8>, range: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(range))
    }

    fn initial_watermark_state(&self, _: &Vec<u8>, _: &OffsetRange, _: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(Timestamp::MIN)
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &Vec<u8>,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        _: &Vec<u8>,
        _: &Claims<'_, Silent>,
        _: &ProcessContext<'_>,
        _: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        Ok(Continuation::Resume(Duration::from_minutes(60)))
    }
}

#[test]
fn a_silent_partition() {
    for runner in runners() {
        let report = report_of(&*runner, |live| {
            let silent = live.pipeline().impulse("Impulse").par_do_splittable("Silent", Silent);
            live.flatten_with("Both", [silent])
                .window_into("Windows", FixedWindows::of(Duration::from_secs(1)))
                .apply("Sum", purlin_transforms::Sum::globally().without_defaults());
        });
        let (stage, hold) = report.culprit().unwrap();
        assert_eq!((stage.path.as_str(), hold.at), ("Silent", Timestamp::MIN));
        assert!(matches!(hold.by, Holder::Restrictions { pending: 1, resumes: Some(_), .. }), "{report}");
        assert!(report.to_string().contains("idleness"), "{report}");
    }
}

#[test]
fn a_side_input_without_a_value() {
    for runner in runners() {
        let report = report_of(&*runner, |live| {
            let windows = || FixedWindows::of(Duration::from_secs(10));
            let view = live.window_into("SideWindows", windows()).view_as_list("AsList");
            let look = ParDo::from_fn(|x: i64, _, out| {
                out.emit(x);
                Ok(())
            })
            .side(&view);
            live.window_into("Windows", windows()).par_do_with("Look", look);
        });
        let (stage, hold) = report.culprit().unwrap();
        assert_eq!((stage.path.as_str(), hold.at), ("Look", at(3)));
        let Holder::SideInputs { waiting, views } = &hold.by else { panic!("{report}") };
        assert_eq!((*waiting, views.as_slice()), (1, &[("AsList".to_owned(), at(5))][..]));
        assert!(report.to_string().contains("`AsList`, whose input is at 1970-01-01T00:00:05Z"), "{report}");
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Alarm {
    #[timer(event)]
    alarm: Timer,
}

#[derive(Clone)]
struct Hold;

impl KeyedDoFn for Hold {
    type Key = i64;
    type Value = i64;
    type Output = i64;
    type State = Alarm;

    fn process(
        &mut self,
        _: &i64,
        _: i64,
        state: &mut Alarm,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, i64>,
    ) -> Result {
        state.alarm.with_output_timestamp(cx.timestamp()).set(cx, at(100))
    }
}

#[test]
fn a_timer_that_holds() {
    for runner in runners() {
        let report = report_of(&*runner, |live| {
            live.key_by("Key", |x| *x).par_do_keyed("Hold", Hold);
        });
        let (stage, hold) = report.culprit().unwrap();
        assert_eq!((stage.path.as_str(), hold.at), ("Hold", at(3)));
        assert_eq!(hold.by, Holder::Keys { key_groups: 1 });
        assert!(report.to_string().contains("timer"), "{report}");
    }
}

#[test]
fn a_run_that_is_over_has_no_report() {
    for runner in runners() {
        let p = Pipeline::new();
        p.create("Numbers", [1, 2]).apply("Windows", WindowInto::same());
        let run = p.run_on(&*runner).unwrap();
        run.wait().unwrap();
        assert_eq!(run.stall_report().to_string(), "nothing holds a watermark");
    }
}
