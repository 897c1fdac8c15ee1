//! Watermarks and positions come from one cut, on an engine that is driven alone.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use purlin_conformance::{
    OffsetSource,
    cases::support::{Log, at, ms, span},
    runners::for_each_runner_with,
};
use purlin_engine::{Engine, EngineConfig, Next, Snapshot};
use purlin_sdk::{
    Clock, DoFnError, Duration, ManualClock, Pipeline, Timestamp,
    exec::{Checks, RunEnv},
    graph::Graph,
    metrics::DROPPED_DUE_TO_LATENESS,
    sdf::{Continuation, Monotonic, OffsetRange, ParDoSplittable},
    testing::TestStream,
    watermark::WatermarkStrategy,
    window::FixedWindows,
};
use purlin_transforms::Sum;

type Counts = Log<(i64, i64)>;

/// Every second record is of a partition that lags behind.
fn time_of(n: i64) -> Timestamp {
    at(if n % 2 == 0 { n } else { n - 9 })
}

/// Records one by one, counted in windows of ten seconds.
fn graph(records: i64, counts: &Counts, strategy: Option<WatermarkStrategy<i64>>) -> Graph {
    let p = Pipeline::new();
    let range = OffsetRange::new(0, records);
    let source = OffsetSource::<Monotonic, Vec<u8>, i64, _>::new(range, |_, offsets, _, out| {
        let n = offsets.range().start;
        if !offsets.try_claim(n) {
            return Ok(Continuation::Stop);
        }
        out.emit_at(n, at(n));
        Ok(Continuation::Resume(ms(50)))
    });
    let source = ParDoSplittable::of(source.unbounded().whole());
    let read = p.impulse("Start").par_do_splittable_with("Read", source).main();
    let read = match strategy {
        Some(strategy) => read.assign_watermark("Watermark", strategy),
        None => read,
    };
    let counted = read
        .window_into("Windows", FixedWindows::of(Duration::from_secs(10)))
        .map("One", |_| 1)
        .apply("Count", Sum::globally().without_defaults())
        .map_cx("Start of window", |n, cx| Ok((span(&cx.window()).0, n)));
    counts.note("Collect", &counted);
    p.build().unwrap()
}

struct Process {
    engine: Engine,
    clock: ManualClock,
}

impl Process {
    fn start(graph: &Graph, clock: &ManualClock, snapshot: Option<&Snapshot>) -> Process {
        let env = RunEnv {
            options: Arc::new(()),
            clock: clock.handle(),
            parallelism: 1,
            atomic: false,
            checks: Checks::default(),
        };
        let config = EngineConfig { checkpoints: true, ..EngineConfig::default() };
        let engine = match snapshot {
            Some(snapshot) => Engine::restore(graph, env, config, snapshot).unwrap(),
            None => Engine::new(graph, env, config).unwrap(),
        };
        Process { engine, clock: clock.clone() }
    }

    /// So many bundles; whether there were as many.
    fn run(&mut self, bundles: usize) -> bool {
        for _ in 0..bundles {
            let task = loop {
                match self.engine.next(self.clock.now()) {
                    Next::Task(task) => break task,
                    Next::Wait(until) => self.clock.set(until.unwrap()),
                    Next::Idle => unreachable!("nothing is live here"),
                    Next::Over => return false,
                }
            };
            assert!(self.engine.commit(task.run(), self.clock.now()).is_empty());
        }
        true
    }

    /// Each open stage with its watermarks.
    fn watermarks(&self) -> Vec<(String, Timestamp, Timestamp)> {
        let stages = self.engine.stall_report().stages;
        stages.into_iter().map(|stage| (stage.path, stage.input, stage.output)).collect()
    }

    fn late(&self) -> i64 {
        assert!(self.engine.failure().is_none(), "{:?}", self.engine.failure());
        self.engine.metrics().snapshot().committed.counter_total(DROPPED_DUE_TO_LATENESS)
    }
}

/// Breaks the run off after every `step`th bundle, and goes on from the snapshot that was made some bundles before.
fn check(records: i64, step: usize, strategy: Option<WatermarkStrategy<i64>>) {
    let counts = Counts::default();
    let graph = graph(records, &counts, strategy);
    let mut whole = Process::start(&graph, &ManualClock::default(), None);
    assert!(!whole.run(usize::MAX));
    let (expected, late) = (counts.take_sorted(), whole.late());
    for saved_after in (0..).step_by(step) {
        let clock = ManualClock::default();
        let mut process = Process::start(&graph, &clock, None);
        if !process.run(saved_after) {
            assert!(saved_after > records as usize, "{saved_after} bundles");
            return;
        }
        let bytes = process.engine.snapshot().unwrap().to_bytes();
        let watermarks = process.watermarks();
        let before = counts.take();
        process.run(13);
        let gone = counts.take();
        drop(process);
        // It takes an hour until somebody starts it again.
        clock.advance(Duration::from_minutes(60));
        let snapshot = Snapshot::from_bytes(&bytes).unwrap();
        let mut process = Process::start(&graph, &clock, Some(&snapshot));
        let again = process.watermarks();
        assert_eq!(again, watermarks, "after {saved_after}");
        assert!(!process.run(usize::MAX));
        let after = counts.take();
        // What came out after the snapshot comes out again, and is the same.
        assert!(
            gone.iter().all(|count| after.contains(count)),
            "after {saved_after}: {gone:?}, then {after:?}"
        );
        let mut found = [before, after].concat();
        found.sort_unstable();
        assert_eq!((found, process.late()), (expected.clone(), late), "after {saved_after}");
    }
}

fn partitions(strategy: WatermarkStrategy<i64>) -> WatermarkStrategy<i64> {
    strategy.with_timestamp_assigner(|n| time_of(*n)).with_partitions([0, 1], |n| n % 2)
}

#[test]
fn b062_watermark_and_position_are_of_one_cut_with_an_estimator() {
    check(60, 1, None);
}

#[test]
fn b062_watermark_and_position_are_of_one_cut_with_a_strategy() {
    let idle = Duration::from_secs(1);
    check(60, 1, Some(partitions(WatermarkStrategy::for_monotonous_timestamps()).emit_per_bundle()));
    // An hour in which nothing ran is not one in which nothing came.
    check(60, 3, Some(partitions(WatermarkStrategy::for_monotonous_timestamps()).with_idleness(idle)));
    check(60, 3, Some(partitions(WatermarkStrategy::for_punctuated(|_, ts| Some(ts)))));
    let late = WatermarkStrategy::for_bounded_out_of_orderness(Duration::from_secs(4));
    check(60, 1, Some(late.with_timestamp_assigner(|n| time_of(*n)).emit_per_bundle()));
}

/// In mid-warm-up too.
#[test]
fn b062_a_strategy_that_adapts_goes_on_where_it_was() {
    check(1300, 401, Some(partitions(WatermarkStrategy::source_watermark()).emit_per_bundle()));
}

/// What is tried again behind an assigned watermark does not find the one that followed from it.
#[test]
fn elements_come_before_their_watermark_also_the_second_time() {
    for_each_runner_with(1, |runner| {
        let p = Pipeline::new();
        let seen = Log::default();
        let failed = Arc::new(AtomicBool::new(false));
        let stream = TestStream::new().element(10).element(20);
        let times = p.apply("Times", stream).with_watermark("Time", |n| at(*n), Duration::ZERO);
        let looked = times.map_cx("Look", move |n, cx| {
            if n == 10 && !failed.swap(true, Ordering::SeqCst) {
                return Err(DoFnError::msg("not yet").retryable());
            }
            Ok((n, cx.current_watermark()))
        });
        seen.note("Collect", &looked);
        p.run_on(runner).unwrap().wait().unwrap();
        assert_eq!(seen.take(), [(10, None), (20, Some(at(10)))]);
    });
}
