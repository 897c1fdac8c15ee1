//! What a run says when it is asked why there is no output.

use std::sync::{Arc, Mutex};

use purlin_conformance::{Estimate, OffsetSource, Offsets, Partitions};
use purlin_derive::KeyedState;
use purlin_engine::{Engine, EngineConfig, Next};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    Clock, DoFn, Duration, Emitter, Holder, KeyedDoFn, ManualClock, PCollection, ParDo, Pipeline,
    ProcessContext, Result, Runner, StallReport, Timestamp, WindowInto,
    batch::{AnyBatch, Batch, Meta, Row, WindowSet},
    exec::{Checks, RunEnv},
    live::{LiveEvent, LiveScript},
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, ParDoSplittable,
        SdfContext, SplittableDoFn,
    },
    state::Timer,
    watermark::{Alignment, ControlPoint, WatermarkControl, WatermarkStrategy},
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
    std::mem::take(&mut *report.lock().unwrap())
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

/// A source that takes `step` for each record, one a second of event time.
fn ticking<E: Estimate>(
    live: &PCollection<i64>,
    name: &str,
    step: Duration,
    alignment: Option<Alignment>,
    then: impl Fn(&dyn Offsets, i64) -> Result + Clone + Send + Sync + 'static,
) -> PCollection<i64> {
    let range = OffsetRange::new(0, 1000);
    let source = OffsetSource::<E, Vec<u8>, i64, _>::new(range, move |_, offsets, _, _| {
        let n = offsets.range().start;
        if !offsets.try_claim(n) {
            return Ok(Continuation::Stop);
        }
        then(offsets, n)?;
        Ok(Continuation::Resume(step))
    });
    let source = ParDoSplittable::of(source.unbounded().whole());
    let source = match alignment {
        Some(alignment) => source.alignment(alignment),
        None => source,
    };
    live.pipeline().impulse(&format!("Start {name}")).par_do_splittable_with(name, source).main()
}

/// Of two sources that are kept together the one stands still that the other one waits for.
#[test]
fn a_source_that_waits_for_one_that_it_is_aligned_with() {
    for runner in runners() {
        let report = report_of(&*runner, |live| {
            let group = || Some(Alignment::group("all").max_drift(Duration::from_secs(10)));
            let hour = Duration::from_minutes(60);
            let ahead = ticking::<Manual>(&live, "Ahead", Duration::ZERO, group(), |offsets, n| {
                offsets.set_watermark(at(n))
            });
            let behind =
                ticking::<Manual>(&live, "Behind", hour, group(), |offsets, _| offsets.set_watermark(at(2)));
            live.flatten_with("All", [ahead, behind]).map("Number", |n| n);
        });
        let (stage, hold) = report.culprit().unwrap();
        assert_eq!((stage.path.as_str(), hold.at), ("Behind", at(2)), "{report}");
        assert!(matches!(hold.by, Holder::Restrictions { aligned: false, .. }), "{report}");
        let ahead = report.stages.iter().find(|stage| stage.path == "Ahead").unwrap();
        let hold = &ahead.holds[0];
        assert!(hold.at > at(2) + Duration::from_secs(10), "{report}");
        let Holder::Restrictions { pending: 1, aligned: true, ahead_of: Some(path), .. } = &hold.by else {
            panic!("{report}")
        };
        assert_eq!(path, "Behind");
        assert!(hold.by.release(hold.at).contains("goes on when `Behind` has caught up"), "{report}");
        assert!(report.to_string().contains("a source that waits since it is ahead"), "{report}");
    }
}

/// A source that is idle is told, and not what is waited for.
#[test]
fn restrictions_that_are_idle() {
    for runner in runners() {
        let report = report_of(&*runner, |live| {
            let hour = Duration::from_minutes(60);
            let idle = ticking::<Partitions>(&live, "Idle", hour, None, |_, _| Ok(()));
            live.flatten_with("Both", [idle]).map("Number", |n| n);
        });
        assert_eq!(report.culprit().map(|(stage, _)| stage.path.as_str()), Some("Live"), "{report}");
        let idle = report.stages.iter().find(|stage| stage.path == "Idle").unwrap();
        assert_eq!((idle.idle, idle.idle_restrictions, idle.holds.len()), (true, 1, 0), "{report}");
        assert!(report.to_string().contains("1 idle restrictions, for which nobody waits"), "{report}");
    }
}

/// Decides that there is no watermark.
struct Never;

impl WatermarkControl for Never {
    fn in_force(&self, _: Timestamp, _: ControlPoint) -> Timestamp {
        Timestamp::MIN
    }
}

/// The watermark that the source has is not what is waited for where another one is assigned.
#[test]
fn a_watermark_that_is_assigned() {
    let bounded =
        || WatermarkStrategy::for_bounded_out_of_orderness(Duration::from_secs(1)).emit_per_bundle();
    let all = [
        (bounded(), at(2), "out-of-orderness of 1s", "it goes on with the elements that come"),
        (
            WatermarkStrategy::source_watermark(),
            Timestamp::MIN,
            "source watermark",
            "needs 250 elements of a partition",
        ),
        (
            bounded().with_partitions([7, 8], |n| *n),
            Timestamp::MIN,
            "2 partitions 1 have no watermark yet",
            "an idleness",
        ),
        (
            bounded().with_control(Arc::new(Never)),
            Timestamp::MIN,
            "in place of its strategy",
            "come to 1970-01-01T00:00:02Z",
        ),
    ];
    for runner in runners() {
        for (strategy, held_at, what, release) in &all {
            let report = report_of(&*runner, |live| {
                live.map("Number", |n| n).assign_watermark("Time", strategy.clone()).map("Same", |n| n);
            });
            let (stage, hold) = report.culprit().unwrap();
            assert_eq!((stage.path.as_str(), hold.at), ("Time", *held_at), "{report}");
            let text = report.to_string();
            let said = text.lines().next().unwrap();
            assert!(said.contains(release) && text.contains(what), "{report}");
        }
        let report = report_of(&*runner, |live| {
            live.filter("None", |_| false).assign_watermark("Time", bounded()).map("Same", |n| n);
        });
        let (stage, hold) = report.culprit().unwrap();
        assert_eq!((stage.path.as_str(), hold.at), ("Time", Timestamp::MIN), "{report}");
        let Holder::Assigned { partitions: 1, silent: 1, idle: 0, .. } = hold.by else { panic!("{report}") };
        assert!(report.to_string().contains("no data yet"), "{report}");
    }
}

/// Writes what must not be written twice.
#[derive(Clone)]
struct Outside;

impl DoFn for Outside {
    type Input = i64;
    type Output = i64;

    const REQUIRES_STABLE_INPUT: bool = true;

    fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit(n);
        Ok(())
    }
}

#[test]
fn elements_that_wait_for_a_checkpoint() {
    let p = Pipeline::new();
    p.create("Numbers", [1, 2, 3]).reshuffle("Spread").par_do("Outside", Outside);
    let graph = p.build().unwrap();
    let clock = ManualClock::default();
    let env = RunEnv {
        options: Arc::new(()),
        clock: clock.handle(),
        parallelism: 1,
        atomic: false,
        checks: Checks::default(),
    };
    let config = EngineConfig { checkpoints: true, ..EngineConfig::default() };
    let mut engine = Engine::new(&graph, env, config).unwrap();
    while let Next::Task(task) = engine.next(clock.now()) {
        engine.commit(task.run(), clock.now());
    }
    assert!(engine.waits_for_checkpoint());
    for _ in 0..2 {
        // Also while the checkpoint is not on disk yet.
        let report = engine.stall_report();
        let (stage, hold) = report.culprit().unwrap();
        assert_eq!(
            (stage.path.as_str(), &hold.by),
            ("Outside", &Holder::Checkpoint { waiting: 3 }),
            "{report}"
        );
        assert!(report.to_string().contains("3 elements that wait for a checkpoint"), "{report}");
        engine.request_snapshot();
        engine.snapshot().unwrap();
    }
    engine.snapshot_is_durable();
    let report = engine.stall_report();
    assert!(matches!(report.culprit().unwrap().1.by, Holder::Elements { pending: 3 }), "{report}");
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
