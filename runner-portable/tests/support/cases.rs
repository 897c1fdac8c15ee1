//! Pipelines that every engine must run as the direct runner does.

use purlin_derive::KeyedState;
use purlin_sdk::{
    Combine, CombineFn, Duration, Emitter, KeyedDoFn, PCollection, ParDo, Pipeline, ProcessContext, Result,
    TimerContext, Timestamp,
    state::{Bag, Timer, Value},
    window::{FixedWindows, Sessions, SlidingWindows},
};
use purlin_transforms::{Count, GenerateSequence};

/// Builds a pipeline; what it makes is compared.
pub(crate) type Build = fn(&Pipeline) -> PCollection<String>;

/// Every case by its name.
pub(crate) const CASES: &[(&str, Build)] = &[
    ("elements one by one", elements_one_by_one),
    ("a word count", word_count),
    ("a word count in windows", windowed_word_count),
    ("windows that overlap", sliding),
    ("groups of a key", groups),
    ("everything combined to one", combined),
    ("nothing combined to one", nothing_combined),
    ("a flatten and a reshuffle", flatten_and_reshuffle),
    ("side inputs", side_inputs),
    ("sessions", sessions),
    ("a source that can be split", splittable),
    ("state and timers", state_and_timers),
    ("an element of six megabytes", large),
];

/// As text, which every type has.
fn shown<T: purlin_sdk::Element + std::fmt::Debug>(of: PCollection<T>) -> PCollection<String> {
    of.map("Show", |element| format!("{element:?}"))
}

pub(crate) fn words(p: &Pipeline) -> PCollection<String> {
    p.create("Lines", ["to be or", "not to be", "that is"].map(str::to_owned))
        .flat_map("Split", |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

fn timed(p: &Pipeline) -> PCollection<(String, i64)> {
    let rows = [("a", 1), ("b", 2), ("a", 11), ("a", 4), ("b", 25), ("c", 12)];
    let rows = rows.map(|(key, at)| ((key.to_owned(), at), Timestamp::from_secs(at)));
    p.create_timestamped("Rows", rows)
}

/// Adds up, in an accumulator that has no coder of Beam's.
#[derive(Clone)]
pub(crate) struct Sum;

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

fn elements_one_by_one(p: &Pipeline) -> PCollection<String> {
    shown(p.create("Numbers", 0..1000_i64).map("Double", |n| n * 2).filter("Some", |n| n % 3 == 0))
}

pub(crate) fn word_count(p: &Pipeline) -> PCollection<String> {
    shown(words(p).apply("Count", Count::per_element()))
}

fn windowed_word_count(p: &Pipeline) -> PCollection<String> {
    timed(p)
        .window_into("Windows", FixedWindows::of(Duration::from_secs(10)))
        .apply("Sum", Combine::per_key(Sum))
        .map_cx("Show", |(key, sum), cx| Ok(format!("{} {key}: {sum} at {}", cx.window(), cx.timestamp())))
}

fn sliding(p: &Pipeline) -> PCollection<String> {
    timed(p)
        .window_into("Windows", SlidingWindows::of(Duration::from_secs(10), Duration::from_secs(5)))
        .apply("Sum", Combine::per_key(Sum))
        .map_cx("Show", |(key, sum), cx| Ok(format!("{} {key}: {sum}", cx.window())))
}

fn groups(p: &Pipeline) -> PCollection<String> {
    shown(timed(p).group_by_key("Group").map("Sort", |(key, values)| {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort();
        (key, values)
    }))
}

fn combined(p: &Pipeline) -> PCollection<String> {
    shown(timed(p).map("Value", |(_, n)| n).apply("Sum", Combine::globally(Sum)))
}

fn nothing_combined(p: &Pipeline) -> PCollection<String> {
    let none = timed(p).map("Value", |(_, n)| n).filter("None", |_| false);
    shown(none.apply("Sum", Combine::globally(Sum)))
}

fn flatten_and_reshuffle(p: &Pipeline) -> PCollection<String> {
    let more = p.create("More", [7_i64, 8]).reshuffle("Spread");
    shown(timed(p).map("Value", |(_, n)| n).flatten_with("All", [more]))
}

fn side_inputs(p: &Pipeline) -> PCollection<String> {
    let rates = p.create("Rates", [("a".to_owned(), 10_i64), ("b".to_owned(), 20)]).view_as_map("ByKey");
    let one = p.create("One", [5_i64]).view_as_singleton("AsOne");
    let (by_key, plus) = (rates.clone(), one.clone());
    let look =
        move |(key, n): (String, i64), cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            let rate = cx.side(&by_key)?.get(&key).copied().unwrap_or(0);
            out.emit(n * rate + cx.side(&plus)?);
            Ok(())
        };
    shown(timed(p).par_do_with("Look", ParDo::from_fn(look).side(&rates).side(&one)).main())
}

/// None of them touch: Prism would merge those.
fn sessions(p: &Pipeline) -> PCollection<String> {
    timed(p)
        .window_into("Sessions", Sessions::with_gap(Duration::from_secs(4)))
        .apply("Sum", Combine::per_key(Sum))
        .map_cx("Show", |(key, sum), cx| Ok(format!("{} {key}: {sum}", cx.window())))
}

fn splittable(p: &Pipeline) -> PCollection<String> {
    shown(p.apply("Numbers", GenerateSequence::from(0).to(2_000)).map("Plus", |n| n + 1))
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Kept {
    items: Bag<i64>,
    sum: Value<i64>,
    #[timer(event)]
    flush: Timer,
}

/// Gives all elements of a window and their sum at its end.
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

fn state_and_timers(p: &Pipeline) -> PCollection<String> {
    let windowed = timed(p).window_into("Windows", FixedWindows::of(Duration::from_secs(10)));
    shown(windowed.par_do_keyed("Keep", Keep))
}

/// More than a message may have unless both sides say otherwise.
fn large(p: &Pipeline) -> PCollection<String> {
    let texts = p
        .create("Letters", ["x", "y"].map(str::to_owned))
        .map("Long", |letter| (1_i64, letter.repeat(6 << 20)));
    shown(texts.group_by_key("Group").map("Lengths", |(_, texts)| {
        let mut sizes: Vec<(char, usize)> =
            texts.into_iter().map(|text| (text.chars().next().unwrap_or(' '), text.len())).collect();
        sizes.sort();
        sizes
    }))
}
