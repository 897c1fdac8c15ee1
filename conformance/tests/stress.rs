//! Pipelines drawn at random give one result on every runner, whatever the threads, bundles and splits.
//!
//! `PURLIN_STRESS=17` repeats pipeline 17 alone, `PURLIN_STRESS=1000..2000` goes through others than usual.

mod random_pipeline;

use std::{ops::Range, sync::Arc};

use purlin_conformance::{Committed, Seen, runners::end_of};
use purlin_engine::{Engine, EngineConfig, Next};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    ManualClock, Runner, Timestamp,
    exec::{Checks, RunEnv},
    graph::Graph,
    metrics::{DROPPED_DUE_TO_LATENESS, MetricsSnapshot},
};
use random_pipeline::random_pipeline;

/// What came out where: a collection's number and an element with all that goes with it.
type Results = Vec<String>;

const PIPELINES: u64 = 240;
const SEEDS: u64 = 10;
const THREADS: [usize; 4] = [1, 2, 4, 16];

/// The pipeline of this seed, and where its results go.
fn built(seed: u64) -> (Graph, Committed<(usize, i64)>) {
    let committed = Committed::new();
    (random_pipeline(seed, &committed).build().unwrap(), committed)
}

fn sorted(committed: &Committed<(usize, i64)>) -> Results {
    let line =
        |s: &Seen<(usize, i64)>| format!("{:?} at {} in {} {:?}", s.value, s.timestamp, s.window, s.pane);
    let mut lines: Results = committed.seen().iter().map(line).collect();
    lines.sort();
    lines
}

fn results_on(runner: &dyn Runner, seed: u64) -> Results {
    let (graph, committed) = built(seed);
    let outcome =
        end_of(&runner.run(graph).unwrap()).unwrap_or_else(|e| panic!("it fails on {runner:?}: {e}"));
    assert_eq!(
        outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS),
        0,
        "late data on {runner:?}"
    );
    sorted(&committed)
}

/// Drives the engine without a runner; every watermark must be at the end of time when it says that it is over.
fn results_of_engine(seed: u64, config: EngineConfig) -> Results {
    let (graph, committed) = built(seed);
    let clock = ManualClock::default();
    let env = RunEnv {
        options: Arc::new(()),
        clock: clock.handle(),
        parallelism: config.parallelism,
        atomic: false,
        checks: Checks::default(),
    };
    let mut engine = Engine::new(&graph, env, config).unwrap();
    let mut now = Timestamp::EPOCH;
    loop {
        match engine.next(now) {
            Next::Task(task) => {
                let finalizers = engine.commit(task.run(), now);
                finalizers.into_iter().for_each(|f| f.run(now));
            }
            Next::Wait(until) => {
                now = until.unwrap();
                clock.set(now);
            }
            Next::Over => break,
        }
    }
    assert!(engine.failure().is_none(), "{:?}", engine.failure());
    no_late_data(engine.metrics());
    let paths = graph.nodes.iter().map(|n| n.step.path());
    let ends: Vec<_> = paths.filter_map(|path| Some((path, engine.watermarks(path)?))).collect();
    assert!(!ends.is_empty());
    for (path, watermarks) in ends {
        assert_eq!(watermarks, (Timestamp::MAX, Timestamp::MAX), "at the end of `{path}`");
    }
    engine.shut_down().into_iter().for_each(|t| t.run().unwrap());
    sorted(&committed)
}

fn no_late_data(metrics: &MetricsSnapshot) {
    assert_eq!(metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
}

fn assert_same(expected: &Results, found: &Results, on: impl Fn() -> String) {
    if expected == found {
        return;
    }
    let missing: Vec<_> = expected.iter().filter(|x| !found.contains(x)).take(10).collect();
    let added: Vec<_> = found.iter().filter(|x| !expected.contains(x)).take(10).collect();
    panic!(
        "{} results and not {} on {}; missing: {missing:#?}; not expected: {added:#?}",
        found.len(),
        expected.len(),
        on()
    );
}

/// Says which pipeline failed.
struct SeedOnPanic(u64);

impl Drop for SeedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat this with PURLIN_STRESS={}", self.0);
        }
    }
}

fn check(seed: u64) -> usize {
    let _seed = SeedOnPanic(seed);
    let expected = results_on(&DirectRunner::new().seed(0), seed);
    for run in 1..SEEDS {
        let runner = DirectRunner::new().seed(run);
        assert_same(&expected, &results_on(&runner, seed), || format!("{runner:?}"));
    }
    for threads in THREADS {
        let runner = ThreadedRunner::new()
            .parallelism(threads)
            .clock(ManualClock::default())
            // Small bundles, and a budget that now and then makes sources pause.
            .bundle_elements(1 + seed as usize % 40)
            .memory_budget(if seed.is_multiple_of(3) { 1 << 10 } else { 1 << 26 });
        assert_same(&expected, &results_on(&runner, seed), || format!("{runner:?}"));
    }
    for random in [None, Some(seed)] {
        let config =
            EngineConfig { seed: random, parallelism: 2, bundle_elements: 8, ..EngineConfig::default() };
        assert_same(&expected, &results_of_engine(seed, config.clone()), || {
            format!("an engine with {config:?}")
        });
    }
    expected.len()
}

/// The `part`th of four parts of all pipelines, each a test of its own.
fn check_part(part: u64) {
    let all = match std::env::var("PURLIN_STRESS") {
        Ok(asked) => match asked.split_once("..") {
            Some((from, to)) => from.parse().unwrap()..to.parse().unwrap(),
            None => Range { start: asked.parse().unwrap(), end: asked.parse::<u64>().unwrap() + 1 },
        },
        Err(_) => 0..PIPELINES,
    };
    let mut results = 0;
    let mut pipelines = 0;
    for seed in all.filter(|seed| seed % 4 == part) {
        results += check(seed);
        pipelines += 1;
    }
    // Pipelines that give nothing would prove nothing.
    assert!(results >= 10 * pipelines, "{results} results of {pipelines} pipelines");
}

#[test]
fn random_pipelines_0() {
    check_part(0);
}

#[test]
fn random_pipelines_1() {
    check_part(1);
}

#[test]
fn random_pipelines_2() {
    check_part(2);
}

#[test]
fn random_pipelines_3() {
    check_part(3);
}
