//! Assertions hold, fail and are found missing alike on every runner.

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    CombineFn, DoFnError, Duration, ErrorKind, PCollection, Phase, Pipeline, RunHandle, RunOutcome,
    RunShared, RunState, Runner, Timestamp, WindowInto,
    coder::Json,
    graph::Graph,
    metrics::MetricsSnapshot,
    testing::{ASSERTION, Assertion, TestStream, assert_that, run_and_check},
    window::{FixedWindows, GlobalWindows, SlidingWindows, Trigger, Window},
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

#[test]
fn is_not_empty() {
    holds(|p| checked(&numbers(p, &[4])).is_not_empty());
    fails(&["expected something, got nothing"], |p| checked(&numbers(p, &[])).is_not_empty());
    fails(&["in [", "got nothing", "not looked at: 1 in other windows"], |p| {
        checked(&numbers(p, &[4])).in_window(window(0, 10)).is_not_empty();
    });
}

#[test]
fn counts() {
    holds(|p| checked(&numbers(p, &[1, 2, 1])).counts([(1, 2), (2, 1), (3, 0)]));
    holds(|p| checked(&numbers(p, &[])).counts([]));
    fails(&["[1] 2 times and not 1", "1 unexpected: [2]"], |p| {
        checked(&numbers(p, &[1, 2, 1])).counts([(1, 1)]);
    });
    fails(&["[3] 0 times and not 1"], |p| checked(&numbers(p, &[])).counts([(3, 1)]));
    fails(&["[1] is listed twice"], |p| checked(&numbers(p, &[1, 1])).counts([(1, 1), (1, 1)]));
}

#[test]
fn what_is_in_each_window() {
    let tens = |p: &Pipeline| timed(p).window_into("Fixed", FixedWindows::of(Duration::from_secs(10)));
    holds(|p| checked(&tens(p)).per_window([(window(0, 10), vec![2, 1]), (window(10, 20), vec![11])]));
    holds(|p| {
        // A window in two parts, and one in which nothing is.
        let listed = [(window(0, 10), vec![2]), (window(0, 10), vec![1]), (window(30, 40), vec![])];
        checked(&tens(p)).in_window(window(0, 10)).per_window(listed);
    });
    fails(&["in [", "1 missing, 1 unexpected", "missing:    [1]", "unexpected: [11]"], |p| {
        checked(&tens(p)).per_window([(window(0, 10), vec![2, 1]), (window(10, 20), vec![1])]);
    });
    fails(&["where nothing is expected: [11]"], |p| {
        checked(&tens(p)).per_window([(window(0, 10), vec![2, 1])]);
    });
    fails(&["1 missing, 0 unexpected"], |p| {
        let listed = [(window(0, 10), vec![2, 1]), (window(10, 20), vec![11]), (window(20, 30), vec![11])];
        checked(&tens(p)).per_window(listed);
    });
}

#[test]
fn maps() {
    let pairs = |p: &Pipeline, pairs: &[(i64, i64)]| p.create("Pairs", pairs.to_vec());
    holds(|p| assert_that("Checked", &pairs(p, &[(1, 2), (3, 4)])).is_map([(3, 4), (1, 2)]));
    fails(&["got the key [1] twice, with [2] and [2]"], |p| {
        assert_that("Checked", &pairs(p, &[(1, 2), (1, 2)])).is_map([(1, 2)]);
    });
    fails(&["expected the key [1] twice"], |p| {
        assert_that("Checked", &pairs(p, &[(1, 2)])).is_map([(1, 2), (1, 3)]);
    });
    fails(&["missing:    [(1, 3)]", "unexpected: [(1, 2)]"], |p| {
        assert_that("Checked", &pairs(p, &[(1, 2)])).is_map([(1, 3)]);
    });
    holds(|p| {
        assert_that("Checked", &pairs(p, &[(1, 2), (3, 4), (1, 1), (1, 2)]))
            .is_multimap([(1, vec![1, 2, 2]), (3, vec![4])]);
    });
    fails(&["missing:    [(1, 2)]"], |p| {
        assert_that("Checked", &pairs(p, &[(1, 2), (3, 4)])).is_multimap([(1, vec![2, 2]), (3, vec![4])]);
    });
}

/// A window that fires early, on time and late.
fn fired(p: &Pipeline, windows: WindowInto) -> PCollection<i64> {
    let stream = TestStream::new()
        .element_at(1_i64, secs(1))
        .element_at(2, secs(2))
        .advance_watermark_to(secs(10))
        .element_at(3, secs(3));
    let early_and_late =
        Trigger::after_watermark().early(Trigger::after_count(1)).late(Trigger::after_count(1));
    p.apply("Stream", stream.bounded())
        .window_into(
            "Windows",
            windows.trigger(early_and_late).discarding().allowed_lateness(Duration::from_secs(60)),
        )
        .key_by("Key", |_| ())
        .group_by_key("Group")
        .flat_map("Values", |((), all)| all.into_iter().collect::<Vec<i64>>())
}

#[test]
fn panes_that_are_not_late_and_early_ones_of_the_global_window() {
    let tens = || WindowInto::of(FixedWindows::of(Duration::from_secs(10)));
    holds(|p| {
        let fired = fired(p, tens());
        assert_that("NotLate", &fired).in_combined_non_late_panes().contains_in_any_order([1, 2]);
        assert_that("Late", &fired).in_late_pane().is(3);
        assert_that("Early", &fired).in_early_pane().contains_in_any_order([1, 2]);
        assert_that("Global", &fired).in_early_global_window_panes().is_empty();
    });
    holds(|p| {
        let fired = fired(p, WindowInto::of(GlobalWindows));
        assert_that("Global", &fired).in_early_global_window_panes().contains_in_any_order([1, 2, 3]);
    });
    fails(
        &["in panes that are not late", "missing:    [3]", "not looked at: 1 in other windows or panes"],
        |p| {
            checked(&fired(p, tens())).in_combined_non_late_panes().contains_in_any_order([1, 2, 3]);
        },
    );
    fails(&["in global window in early panes", "unexpected: [3]"], |p| {
        checked(&fired(p, WindowInto::of(GlobalWindows)))
            .in_early_global_window_panes()
            .contains_in_any_order([1, 2]);
    });
}
