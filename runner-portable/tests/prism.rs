//! Pipelines on Prism by loopback, with the same output as on the direct runner.

#[path = "support/prism.rs"]
mod support;

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
    time::{Duration as StdDuration, Instant},
};

use purlin_derive::KeyedState;
use purlin_runner_direct::DirectRunner;
use purlin_runner_portable::PortableRunner;
use purlin_sdk::{
    Combine, CombineFn, Duration, Element, Emitter, KeyedDoFn, PCollection, ParDo, Pipeline, PipelineError,
    ProcessContext, Result, RunOutcome, RunState, Runner, TimerContext, Timestamp,
    state::{Bag, Timer, Value},
    testing::TestStream,
    window::{FixedWindows, Sessions, Trigger},
    WindowInto,
};
use purlin_transforms::{Count, GenerateSequence};
use support::Prism;

/// What a pipeline made, in order, and how it ended.
fn gathered<T: Element + Ord>(
    build: impl Fn(&Pipeline) -> PCollection<T>,
    runner: &dyn Runner,
) -> std::result::Result<(Vec<T>, RunOutcome), PipelineError> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let p = Pipeline::new();
    build(&p).map("Gather", move |element| into.lock().unwrap().push(element));
    let outcome = p.run_on(runner)?.wait()?;
    let mut all = std::mem::take(&mut *seen.lock().unwrap());
    all.sort();
    Ok((all, outcome))
}

/// Runs a pipeline on Prism, which must make what the direct runner makes.
#[track_caller]
fn same<T: Element + Ord + Debug>(build: impl Fn(&Pipeline) -> PCollection<T>) -> Option<RunOutcome> {
    let prism = Prism::start()?;
    let (expected, _) = gathered(&build, &DirectRunner::new()).unwrap();
    assert!(!expected.is_empty());
    let (made, outcome) = gathered(&build, &PortableRunner::to(prism.endpoint())).unwrap();
    assert_eq!(made, expected);
    assert_eq!(outcome.state, RunState::Done);
    Some(outcome)
}

fn words(p: &Pipeline) -> PCollection<String> {
    p.create("Lines", ["to be or", "not to be", "that is"].map(str::to_owned))
        .flat_map("Split", |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

fn timed(p: &Pipeline) -> PCollection<(String, i64)> {
    let rows = [("a", 1), ("b", 2), ("a", 11), ("a", 4), ("b", 25), ("c", 12)];
    let rows = rows.map(|(key, at)| ((key.to_owned(), at), Timestamp::from_secs(at)));
    p.create_timestamped("Rows", rows)
}

#[derive(Clone)]
struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = (i64, String);
    type Output = i64;
    fn create(&self) -> (i64, String) {
        (0, "sum".to_owned())
    }
    fn add_input(&self, acc: &mut (i64, String), x: i64) {
        acc.0 += x;
    }
    fn merge(&self, acc: &mut (i64, String), other: (i64, String)) {
        acc.0 += other.0;
    }
    fn extract(&self, acc: (i64, String)) -> i64 {
        acc.0
    }
}

#[test]
fn elements_one_by_one() {
    same(|p| p.create("Numbers", 0..1000_i64).map("Double", |n| n * 2).filter("Some", |n| n % 3 == 0));
}

#[test]
fn a_word_count() {
    let Some(outcome) = same(|p| words(p).apply("Count", Count::per_element())) else { return };
    assert_eq!(outcome.metrics.committed.elements_out("Split"), 8);
    assert_eq!(outcome.metrics.committed.elements_in("Gather"), 6);
}

#[test]
fn a_word_count_in_windows() {
    same(|p| {
        timed(p)
            .window_into("Windows", FixedWindows::of(Duration::from_secs(10)))
            .apply("Sum", Combine::per_key(Sum))
            .map_cx("Show", |(key, sum), cx| Ok(format!("{} {key}: {sum} at {}", cx.window(), cx.timestamp())))
    });
}

#[test]
fn groups_of_a_key() {
    same(|p| {
        timed(p).group_by_key("Group").map("Sort", |(key, values)| {
            let mut values: Vec<i64> = values.into_iter().collect();
            values.sort();
            (key, values)
        })
    });
}

#[test]
fn everything_combined_to_one() {
    same(|p| timed(p).map("Value", |(_, n)| n).apply("Sum", Combine::globally(Sum)));
}

#[test]
fn nothing_combined_to_one() {
    same(|p| timed(p).map("Value", |(_, n)| n).filter("None", |_| false).apply("Sum", Combine::globally(Sum)));
}

#[test]
fn a_flatten_and_a_reshuffle() {
    same(|p| {
        let more = p.create("More", [7_i64, 8]).reshuffle("Spread");
        timed(p).map("Value", |(_, n)| n).flatten_with("All", [more])
    });
}

#[test]
fn side_inputs() {
    same(|p| {
        let rates = p.create("Rates", [("a".to_owned(), 10_i64), ("b".to_owned(), 20)]).view_as_map("Rates2");
        let one = p.create("One", [5_i64]).view_as_singleton("AsOne");
        let (by_key, plus) = (rates.clone(), one.clone());
        let look = move |(key, n): (String, i64), cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            let rate = cx.side(&by_key)?.get(&key).copied().unwrap_or(0);
            out.emit(n * rate + cx.side(&plus)?);
            Ok(())
        };
        timed(p).par_do_with("Look", ParDo::from_fn(look).side(&rates).side(&one)).main()
    });
}

#[test]
fn sessions() {
    same(|p| {
        timed(p)
            .window_into("Sessions", Sessions::with_gap(Duration::from_secs(4)))
            .apply("Sum", Combine::per_key(Sum))
            .map_cx("Show", |(key, sum), cx| Ok(format!("{} {key}: {sum}", cx.window())))
    });
}

#[test]
fn a_source_that_can_be_split() {
    same(|p| p.apply("Numbers", GenerateSequence::from(0).to(2_000)).map("Plus", |n| n + 1));
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Kept {
    items: Bag<i64>,
    sum: Value<i64>,
    #[timer(event)]
    flush: Timer,
}

/// Gives the sum so far for each element, and all elements at the end of the window.
#[derive(Clone)]
struct Keep;

impl KeyedDoFn for Keep {
    type Key = String;
    type Value = i64;
    type Output = (String, Vec<i64>);
    type State = Kept;

    fn process(
        &mut self,
        _: &String,
        n: i64,
        state: &mut Kept,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, (String, Vec<i64>)>,
    ) -> Result {
        state.items.add(n);
        let sum = state.sum.read().copied().unwrap_or(0) + n;
        state.sum.write(sum);
        state.flush.set(cx, cx.window().max_timestamp())
    }

    fn on_timer(
        &mut self,
        _: KeptTimer,
        key: &String,
        state: &mut Kept,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, (String, Vec<i64>)>,
    ) -> Result {
        let mut all = state.items.take();
        all.sort();
        all.push(state.sum.read().copied().unwrap_or(0));
        out.emit((key.clone(), all));
        Ok(())
    }
}

#[test]
fn state_and_timers() {
    same(|p| {
        timed(p)
            .window_into("Windows", FixedWindows::of(Duration::from_secs(10)))
            .par_do_keyed("Keep", Keep)
    });
}

#[test]
fn a_script_and_a_trigger() {
    same(|p| {
        let at = Timestamp::from_secs;
        let windows = WindowInto::of(FixedWindows::of(Duration::from_secs(10)))
            .trigger(Trigger::after_watermark().early(Trigger::after_count(2)))
            .discarding();
        p.apply(
            "Clicks",
            TestStream::new()
                .elements([(("a".to_owned(), 1_i64), at(1)), (("a".to_owned(), 2), at(2))])
                .elements([(("a".to_owned(), 4), at(3))])
                .advance_watermark_to(at(20))
                .elements([(("a".to_owned(), 8), at(23))]),
        )
        .window_into("Windows", windows)
        .apply("Sum", Combine::per_key(Sum))
        .map_cx("Show", |(key, sum), cx| Ok(format!("{} {key}: {sum}", cx.window())))
    });
}

#[test]
fn an_error_of_a_dofn_comes_back_with_its_place() {
    let Some(prism) = Prism::start() else { return };
    let p = Pipeline::new();
    p.create("Numbers", [1_i64, 2]).try_map_or_fail();
    let begun = Instant::now();
    let told = p.run_on(&PortableRunner::to(prism.endpoint())).unwrap().wait().unwrap_err().to_string();
    assert!(told.contains("`Parse`") && told.contains("prism.rs") && told.contains("too large"), "{told}");
    assert!(begun.elapsed() < StdDuration::from_secs(10), "{told}");
}

trait Fails {
    fn try_map_or_fail(&self);
}

impl Fails for PCollection<i64> {
    #[track_caller]
    fn try_map_or_fail(&self) {
        let fail = |n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            if n > 1 {
                return Err(purlin_sdk::DoFnError::msg("too large"));
            }
            out.emit(n);
            Ok(())
        };
        self.par_do_with("Parse", ParDo::from_fn(fail));
    }
}

#[test]
fn the_engine_dies_under_way() {
    let Some(mut prism) = Prism::start() else { return };
    let (begin, began) = std::sync::mpsc::channel();
    let p = Pipeline::new();
    p.apply("Ticks", GenerateSequence::from(0)).map("Tell", move |_| drop(begin.send(())));
    let handle = p.run_on(&PortableRunner::to(prism.endpoint())).unwrap();
    began.recv().unwrap();
    prism.kill();
    let begun = Instant::now();
    let told = handle.wait().unwrap_err().to_string();
    assert!(begun.elapsed() < StdDuration::from_secs(10), "{told}");
    assert!(told.contains("may have died") || told.contains("went away"), "{told}");
}

#[test]
fn a_job_without_an_end_is_cancelled() {
    let Some(prism) = Prism::start() else { return };
    let (begin, began) = std::sync::mpsc::channel();
    let p = Pipeline::new();
    p.apply("Ticks", GenerateSequence::from(0)).map("Tell", move |_| drop(begin.send(())));
    let handle = p.run_on(&PortableRunner::to(prism.endpoint())).unwrap();
    began.recv().unwrap();
    handle.cancel();
    assert_eq!(handle.wait().unwrap().state, RunState::Cancelled);
}
