//! Pipelines drawn at random give one result on every runner, whatever the threads, bundles and splits.
//!
//! What is compared is what the model says is the same in every run:
//! - windows and values always; timestamps and panes where no firing is early or late;
//! - of a grouping with triggers that discards: all panes together; of one that accumulates: the last pane, or when no
//!   data are late, the one that is on time;
//! - under a script, every pane (but for whether one at a window's expiry is on time or late), and what is dropped.
//!
//! In every run panes are numbered as they must be, and the watermark is never past an element at work. Where the
//! engine is driven alone, watermarks never go back and end at the end of time.
//!
//! `PURLIN_STRESS=17` repeats pipeline 17 alone, `PURLIN_STRESS=1000..2000` goes through others than usual.

#[path = "stress/killed.rs"]
mod killed;
mod random_pipeline;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use purlin_conformance::{Seen, runners::end_of};
use purlin_engine::{Engine, EngineConfig, Next};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    Clock, ManualClock, Runner, Timestamp,
    exec::{Checks, RunEnv},
    graph::Graph,
    metrics::DROPPED_DUE_TO_LATENESS,
    window::{PaneInfo, PaneTiming, Window},
};
use random_pipeline::{Drawn, random_pipeline, scripted_pipeline};

/// What came out where: a collection's number and an element with all that goes with it.
type Results = Vec<String>;

const PIPELINES: u64 = 140;
const SCRIPTS: u64 = 100;
const SEEDS: u64 = 10;
const THREADS: [usize; 4] = [1, 2, 4, 16];

/// Draws the pipeline of a seed.
type Draw = fn(u64) -> Drawn;

/// What was seen of a run besides the elements.
struct Ran {
    drawn: Drawn,
    graph: Graph,
}

fn built(draw: Draw, seed: u64) -> Ran {
    let drawn = draw(seed);
    let graph = drawn.pipeline.build().unwrap_or_else(|e| panic!("it cannot be built: {e}"));
    Ran { drawn, graph }
}

/// What must be the same in every run, sorted; what must be so in each run is checked.
fn results(drawn: &Drawn, dropped: i64) -> Results {
    check_panes(drawn);
    let line = |s: &Seen<(usize, i64)>| {
        let known = drawn.known[s.value.0];
        let time = if known.times { s.timestamp.to_string() } else { "?".to_owned() };
        let pane = match s.pane {
            _ if !known.panes => "?".to_owned(),
            pane => format!("{pane:?}"),
        };
        format!("{:?} at {time} in {} {pane}", s.value, s.window)
    };
    let mut lines: Results = drawn.committed.seen().iter().map(line).collect();
    lines.sort();
    lines.push(format!("{dropped} dropped"));
    lines
}

/// The panes of each key and window are numbered from the first to the last, early ones before the one on time before
/// late ones.
fn check_panes(drawn: &Drawn) {
    let mut panes: BTreeMap<(usize, i64, Window), Vec<(PaneInfo, usize)>> = BTreeMap::new();
    for Seen { value: (grouping, (key, size)), window, pane, .. } in drawn.panes.seen() {
        panes.entry((grouping, key, window)).or_default().push((pane, size));
    }
    for (of, mut panes) in panes {
        let grouping = drawn.groupings[of.0];
        panes.sort_by_key(|(pane, _)| pane.index);
        let fail = |what: &str| -> ! { panic!("{what}: {of:?}, {grouping:?}: {panes:#?}") };
        let last = panes.iter().filter(|(pane, _)| pane.is_last).count();
        if last > 1 {
            fail("there are two last panes");
        }
        if grouping.nothing_late && panes.iter().any(|(pane, n)| pane.timing == PaneTiming::Late && *n > 0) {
            fail("something is late");
        }
        if grouping.merges {
            // A window that others were merged into goes on from where one of them was.
            continue;
        }
        if panes.iter().zip(0..).any(|((pane, _), i)| pane.index != i || pane.is_first != (i == 0)) {
            fail("they are not numbered from the first on");
        }
        if !panes.is_sorted_by_key(|(pane, _)| pane.timing)
            || panes.iter().filter(|(pane, _)| pane.timing == PaneTiming::OnTime).count() > 1
        {
            fail("they do not go from early over on time to late");
        }
        let early = panes.iter().filter(|(pane, _)| pane.timing == PaneTiming::Early).count() as i64;
        let index = |pane: &PaneInfo| if pane.timing == PaneTiming::Early { -1 } else { pane.index - early };
        if panes.iter().any(|(pane, _)| pane.on_time_index != index(pane)) {
            fail("those from the one on time on are not numbered");
        }
        let at_end = panes.last().is_some_and(|(pane, _)| pane.is_last);
        if !at_end && (last == 1 || grouping.closes) {
            fail("the last pane is not the last");
        }
    }
}

fn results_on(runner: &dyn Runner, draw: Draw, seed: u64) -> Results {
    let Ran { drawn, graph } = built(draw, seed);
    let outcome =
        end_of(&runner.run(graph).unwrap()).unwrap_or_else(|e| panic!("it fails on {runner:?}: {e}"));
    results(&drawn, outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS))
}

/// Drives the engine without a runner, and looks at every watermark after every commit: it never goes back, none is
/// past what it is made of, and at the end all are at the end of time.
fn results_of_engine(draw: Draw, seed: u64, config: EngineConfig) -> Results {
    let Ran { drawn, graph } = built(draw, seed);
    let clock = ManualClock::default();
    let env = RunEnv {
        options: Arc::new(()),
        clock: clock.handle(),
        parallelism: config.parallelism,
        atomic: false,
        checks: Checks::default(),
    };
    let mut engine = Engine::new(&graph, env, config).unwrap();
    let clock = engine.stream_clock().cloned().unwrap_or(clock);
    let paths: Vec<&str> = graph.nodes.iter().map(|n| n.step.path()).collect();
    let paths: Vec<&str> = paths.into_iter().filter(|path| engine.watermarks(path).is_some()).collect();
    assert!(!paths.is_empty());
    let watermarks =
        |engine: &Engine| -> Vec<_> { paths.iter().map(|path| engine.watermarks(path).unwrap()).collect() };
    let mut before = watermarks(&engine);
    let mut now = clock.now();
    let mut over = false;
    while !over {
        match engine.next(now) {
            Next::Task(task) => {
                let finalizers = engine.commit(task.run(), now);
                finalizers.into_iter().for_each(|f| f.run(now));
            }
            Next::Wait(until) => {
                now = until.unwrap();
                clock.set(now);
            }
            Next::Idle => unreachable!("nothing is live here"),
            Next::Over => over = true,
        }
        let found = watermarks(&engine);
        for ((path, found), before) in paths.iter().zip(&found).zip(&before) {
            assert!(found.0 >= before.0 && found.1 >= before.1, "`{path}` goes back: {before:?}, {found:?}");
        }
        before = found;
    }
    assert!(engine.failure().is_none(), "{:?}", engine.failure());
    for (path, watermarks) in paths.iter().zip(before) {
        assert_eq!(watermarks, (Timestamp::MAX, Timestamp::MAX), "at the end of `{path}`");
    }
    let dropped = engine.metrics().snapshot().committed.counter_total(DROPPED_DUE_TO_LATENESS);
    engine.shut_down().into_iter().for_each(|t| t.run().unwrap());
    results(&drawn, dropped)
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

fn check(draw: Draw, seed: u64) -> Results {
    let _seed = SeedOnPanic(seed);
    let expected = results_on(&DirectRunner::new().seed(0), draw, seed);
    for run in 1..SEEDS {
        let runner = DirectRunner::new().seed(run);
        let runner = if run % 3 == 0 { runner.restore_often() } else { runner };
        assert_same(&expected, &results_on(&runner, draw, seed), || format!("{runner:?}"));
    }
    for threads in THREADS {
        let runner = ThreadedRunner::new()
            .parallelism(threads)
            .clock(ManualClock::default())
            // Small bundles, and a budget that now and then makes sources pause.
            .bundle_elements(1 + seed as usize % 40)
            .memory_budget(if seed.is_multiple_of(3) { 1 << 10 } else { 1 << 26 });
        assert_same(&expected, &results_on(&runner, draw, seed), || format!("{runner:?}"));
    }
    for random in [None, Some(seed)] {
        let config =
            EngineConfig { seed: random, parallelism: 2, bundle_elements: 8, ..EngineConfig::default() };
        assert_same(&expected, &results_of_engine(draw, seed, config.clone()), || {
            format!("an engine with {config:?}")
        });
    }
    expected
}

/// The seeds of `usual`, or those that are asked for, of which `part` is one of four parts.
fn seeds(usual: Range<u64>, part: u64) -> impl Iterator<Item = u64> {
    let all = match std::env::var("PURLIN_STRESS") {
        Ok(asked) => match asked.split_once("..") {
            Some((from, to)) => from.parse().unwrap()..to.parse().unwrap(),
            None => Range { start: asked.parse().unwrap(), end: asked.parse::<u64>().unwrap() + 1 },
        },
        Err(_) => usual,
    };
    all.filter(move |seed| seed % 4 == part)
}

/// The `part`th of four parts of all pipelines, each a test of its own.
fn check_part(part: u64) {
    let (mut results, mut pipelines) = (0, 0);
    for seed in seeds(0..PIPELINES, part) {
        let found = check(random_pipeline, seed);
        assert_eq!(found.last().unwrap(), "0 dropped", "of pipeline {seed}");
        results += found.len();
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

/// Under a script everything is the same, every pane and what is dropped.
fn check_scripts(part: u64) {
    let (mut pipelines, mut early, mut late, mut dropping) = (0, 0, 0, 0);
    for seed in seeds(0..SCRIPTS, part) {
        let found = check(scripted_pipeline, seed);
        let count = |timing: PaneTiming| {
            found.iter().filter(|line| line.contains(&format!("timing: {timing:?}"))).count()
        };
        pipelines += 1;
        early += count(PaneTiming::Early);
        late += count(PaneTiming::Late);
        dropping += usize::from(found.last().unwrap() != "0 dropped");
    }
    let seen = (early, late, dropping);
    assert!(
        early.min(2 * late) >= pipelines && 10 * dropping >= pipelines,
        "{seen:?} of {pipelines} pipelines"
    );
}

#[test]
fn scripted_pipelines_0() {
    check_scripts(0);
}

#[test]
fn scripted_pipelines_1() {
    check_scripts(1);
}

#[test]
fn scripted_pipelines_2() {
    check_scripts(2);
}

#[test]
fn scripted_pipelines_3() {
    check_scripts(3);
}
