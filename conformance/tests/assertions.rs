//! Assertions hold, fail and are found missing alike on every runner.

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    CombineFn, DoFnError, Duration, ErrorKind, PCollection, Phase, Pipeline, RunHandle, RunOutcome,
    RunShared, RunState, Runner, Timestamp,
    coder::Json,
    graph::Graph,
    metrics::MetricsSnapshot,
    testing::{ASSERTION, Assertion, TestStream, assert_that, run_and_check},
    window::{FixedWindows, SlidingWindows, Window},
};
use serde::{Deserialize, Serialize};

fn runners() -> Vec<Box<dyn Runner>> {
    vec![
        Box::new(DirectRunner::new().seed(7)),
        Box::new(DirectRunner::new().seed(8)),
        Box::new(ThreadedRunner::new().parallelism(1)),
        Box::new(ThreadedRunner::new().parallelism(4)),
    ]
}

fn secs(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

fn window(from: i64, to: i64) -> Window {
    Window::interval(secs(from), secs(to))
}

/// The assertion holds on every runner.
fn holds(build: impl Fn(&Pipeline)) {
    for runner in runners() {
        let p = Pipeline::new();
        build(&p);
        if let Err(e) = run_and_check(&p, &*runner) {
            panic!("{runner:?}: {e}");
        }
    }
}

/// The assertion fails on every runner, with these words.
fn fails(words: &[&str], build: impl Fn(&Pipeline)) {
    for runner in runners() {
        let p = Pipeline::new();
        build(&p);
        let error = run_and_check(&p, &*runner).expect_err("the assertion must fail");
        assert_eq!((error.kind(), error.phase()), (ErrorKind::User, Some(Phase::Process)), "{error}");
        let text = error.to_string();
        assert!(text.contains("`Checked/Check` (built at "), "{text}");
        assert!(text.contains(file!()), "{text}");
        for word in words {
            assert!(text.contains(word), "{word} is not in: {text}");
        }
    }
}

fn numbers(p: &Pipeline, values: &[i64]) -> PCollection<i64> {
    p.create("Numbers", values.to_vec())
}

fn checked(pc: &PCollection<i64>) -> Assertion<i64> {
    assert_that("Checked", pc)
}

#[test]
fn contains_in_any_order() {
    holds(|p| checked(&numbers(p, &[1, 2, 2, 3])).contains_in_any_order([2, 3, 2, 1]));
    holds(|p| checked(&numbers(p, &[])).contains_in_any_order([]));
    fails(&["1 missing, 1 unexpected", "missing:    [5]", "unexpected: [2]"], |p| {
        checked(&numbers(p, &[1, 2, 2])).contains_in_any_order([1, 2, 5]);
    });
    fails(&["1 missing, 0 unexpected", "got:        []"], |p| {
        checked(&numbers(p, &[])).contains_in_any_order([1]);
    });
}

#[test]
fn is_and_is_empty() {
    holds(|p| checked(&numbers(p, &[4])).is(4));
    holds(|p| checked(&numbers(p, &[])).is_empty());
    fails(&["expected exactly [4], got []"], |p| checked(&numbers(p, &[])).is(4));
    fails(&["expected exactly [4], got [4, 4]"], |p| checked(&numbers(p, &[4, 4])).is(4));
    fails(&["expected exactly [4], got [5]"], |p| checked(&numbers(p, &[5])).is(4));
    fails(&["expected nothing, got 1: [5]"], |p| checked(&numbers(p, &[5])).is_empty());
}

#[test]
fn satisfies() {
    let three = |all: Vec<i64>| match all.len() {
        3 => Ok(()),
        n => Err(DoFnError::msg(format!("{n} and not three"))),
    };
    holds(|p| checked(&numbers(p, &[1, 2, 3])).satisfies(three));
    fails(&["0 and not three"], |p| checked(&numbers(p, &[])).satisfies(three));
}

#[derive(Clone)]
struct Count;

impl CombineFn for Count {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, count: &mut i64, _: i64) {
        *count += 1;
    }
    fn merge(&self, count: &mut i64, other: i64) {
        *count += other;
    }
    fn extract(&self, count: i64) -> i64 {
        count
    }
}

fn timed(p: &Pipeline) -> PCollection<i64> {
    p.create_timestamped("Timed", [(1, secs(1)), (2, secs(2)), (11, secs(11))])
}

#[test]
fn windows_are_told_apart() {
    holds(|p| {
        let windowed = timed(p).window_into("Fixed", FixedWindows::of(Duration::from_secs(10)));
        assert_that("First", &windowed).in_window(window(0, 10)).contains_in_any_order([1, 2]);
        assert_that("Second", &windowed).in_window(window(10, 20)).is(11);
        assert_that("Third", &windowed).in_window(window(20, 30)).is_empty();
        assert_that("Global", &windowed).in_global_window().is_empty();
        assert_that("All", &windowed).contains_in_any_order([1, 2, 11]);
        assert_that("Before", &numbers(p, &[5])).in_global_window().is(5);
    });
    fails(&["in [", "1 missing", "not looked at: 2 in other windows or panes"], |p| {
        let windowed = timed(p).window_into("Fixed", FixedWindows::of(Duration::from_secs(10)));
        checked(&windowed).in_window(window(10, 20)).contains_in_any_order([11, 12]);
    });
}

#[test]
fn an_element_counts_once_in_each_of_its_windows() {
    holds(|p| {
        let size = Duration::from_secs(10);
        let sliding = SlidingWindows::of(size, Duration::from_secs(5));
        let windowed = timed(p).window_into("Sliding", sliding);
        assert_that("One", &windowed).in_window(window(-5, 5)).contains_in_any_order([1, 2]);
        assert_that("All", &windowed).contains_in_any_order([1, 1, 2, 2, 11, 11]);
    });
}

#[test]
fn panes_are_told_apart() {
    holds(|p| {
        let counts = timed(p)
            .window_into("Fixed", FixedWindows::of(Duration::from_secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("Count", Count)
            .map("Value", |((), n)| n);
        assert_that("OnTime", &counts).in_on_time_pane().contains_in_any_order([2, 1]);
        assert_that("Only", &counts).in_window(window(0, 10)).in_only_pane().is(2);
        assert_that("Final", &counts).in_final_pane().contains_in_any_order([1, 2]);
        assert_that("Early", &counts).in_early_pane().is_empty();
        assert_that("Late", &counts).in_late_pane().is_empty();
        // What never went through a grouping comes of no firing on time, and of the only one.
        assert_that("Ungrouped", &numbers(p, &[3])).in_on_time_pane().is_empty();
    });
}

#[test]
fn an_unbounded_collection_in_the_global_window_can_be_asserted_on() {
    holds(|p| {
        let stream = TestStream::new().element_at(1_i64, secs(1)).advance_watermark_to(secs(5)).element(2);
        checked(&p.apply("Stream", stream)).contains_in_any_order([1, 2]);
    });
}

/// An element that the default coder cannot read back, which is why its collection has another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Loose {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    id: i64,
}

#[test]
fn elements_travel_by_their_own_coder() {
    holds(|p| {
        let loose = Loose { note: None, id: 7 };
        let made = {
            let loose = loose.clone();
            numbers(p, &[1]).map("Loose", move |_| loose.clone()).with_coder(std::sync::Arc::new(Json::of()))
        };
        assert_that("Checked", &made).is(loose);
    });
}

#[test]
fn two_assertions_of_one_name_are_a_build_error() {
    let p = Pipeline::new();
    let n = numbers(&p, &[1]);
    checked(&n).is(1);
    checked(&n).is(1);
    let error = run_and_check(&p, &DirectRunner::new()).unwrap_err().to_string();
    assert!(error.contains("the name `Checked` is taken"), "{error}");
}

/// Says that everything went well and does nothing.
#[derive(Debug)]
struct IdleRunner;

impl Runner for IdleRunner {
    fn name(&self) -> &str {
        "idle"
    }

    fn run(&self, _: Graph) -> Result<RunHandle, purlin_sdk::PipelineError> {
        let shared = RunShared::new();
        shared.finish(Ok(RunOutcome { state: RunState::Cancelled, metrics: MetricsSnapshot::default() }));
        Ok(RunHandle::new(shared))
    }
}

#[test]
fn an_assertion_that_never_ran_fails_the_run() {
    let p = Pipeline::new();
    let n = numbers(&p, &[1]);
    checked(&n).is(1);
    assert_that("Other", &n).is(1);
    let error = run_and_check(&p, &IdleRunner).unwrap_err().to_string();
    assert!(error.contains("CANCELLED") && error.contains("2 assertions never ran"), "{error}");
    assert!(
        error.contains("\"Checked\"") && error.contains("\"Other\"") && error.contains(file!()),
        "{error}"
    );
    // Without an assertion there is nothing to miss.
    run_and_check(&Pipeline::new(), &IdleRunner).unwrap();
}

#[test]
fn an_assertion_counts_once() {
    for runner in runners() {
        let p = Pipeline::new();
        checked(&numbers(&p, &[1, 2])).contains_in_any_order([1, 2]);
        let outcome = run_and_check(&p, &*runner).unwrap();
        assert_eq!(outcome.metrics.committed.counter("Checked/Check", ASSERTION), 1, "{runner:?}");
    }
}
