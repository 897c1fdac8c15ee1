//! A pipeline goes through JSON and comes back with the configuration that it had.

use purlin_conformance::{
    Committed,
    runners::{end_of, for_each_runner},
};
use purlin_derive::KeyedState;
use purlin_sdk::{
    BuildErrors, CombineFn, DoFn, Duration, Emitter, KeyedDoFn, KeyedParDo, PCollection, Pipeline,
    ProcessContext, Result,
    coder::{CoderRef, Json},
    graph::{Graph, GraphSpec},
    named,
    sdf::{Claims, Continuation, Monotonic, OffsetRange, OffsetRangeTracker, SdfContext, SplittableDoFn},
    state::Value,
    testing::assert_that,
    window::{FixedWindows, SlidingWindows},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Scale {
    by: i64,
}

impl DoFn for Scale {
    type Input = i64;
    type Output = i64;

    fn process(&mut self, x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit(x * self.by);
        Ok(())
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Shift {
    by: i64,
}

impl DoFn for Shift {
    type Input = i64;
    type Output = i64;

    fn process(&mut self, x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit(x + self.by);
        Ok(())
    }
}

/// Counts up to its input times `times`.
#[derive(Clone, Serialize, Deserialize)]
struct CountUp {
    times: i64,
}

impl SplittableDoFn for CountUp {
    type Input = i64;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Monotonic;

    fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, n * self.times))
    }

    fn new_tracker(&self, _: &i64, range: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(range))
    }

    fn initial_watermark_state(
        &self,
        _: &i64,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<purlin_sdk::Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: purlin_sdk::Timestamp,
        _: &i64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Monotonic> {
        Ok(Monotonic::new(state))
    }

    fn process(
        &mut self,
        _: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let mut next = claims.restriction().start;
        while claims.try_claim(next) {
            out.emit(next);
            next += 1;
        }
        Ok(Continuation::Stop)
    }
}

/// The sum of what is not above `most`.
#[derive(Clone, Serialize, Deserialize)]
struct CappedSum {
    most: i64,
}

impl CombineFn for CappedSum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;

    fn create(&self) -> i64 {
        0
    }

    fn add_input(&self, sum: &mut i64, x: i64) {
        if x <= self.most {
            *sum += x;
        }
    }

    fn merge(&self, sum: &mut i64, other: i64) {
        *sum += other;
    }

    fn extract(&self, sum: i64) -> i64 {
        sum
    }
}

/// Numbers the values of a key, times `by`.
#[derive(Clone, Serialize, Deserialize)]
struct Numbered {
    by: i64,
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct NumberedState {
    next: Value<i64>,
}

impl KeyedDoFn for Numbered {
    type Key = String;
    type Value = i64;
    type Output = i64;
    type State = NumberedState;

    fn process(
        &mut self,
        _: &String,
        _: i64,
        state: &mut NumberedState,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result {
        let n = state.next.read().copied().unwrap_or(0);
        state.next.write(n + 1);
        out.emit(n * self.by);
        Ok(())
    }
}

named::register!(Scale, Shift, CountUp, CappedSum, Numbered);

/// What the JSON of `graph` becomes with the code of `rebuilt`.
fn through_json(graph: &Graph, rebuilt: Graph) -> Result<Graph, BuildErrors> {
    let json = serde_json::to_string(&graph.spec()).unwrap();
    let spec: GraphSpec = serde_json::from_str(&json).unwrap();
    Graph::restore(&spec, rebuilt)
}

fn built(build: impl FnOnce(&Pipeline)) -> Graph {
    let p = Pipeline::new();
    build(&p);
    p.build().unwrap()
}

/// What comes out of the collection that `build` makes with `now`, restored from its graph with `then`.
fn restored_results<C: Clone>(
    build: impl Fn(&Pipeline, &C) -> PCollection<i64>,
    then: &C,
    now: &C,
) -> Vec<i64> {
    let seen = std::cell::RefCell::new(None);
    for_each_runner(|runner| {
        let committed = Committed::new();
        let make = |config: &C, into: &Committed<i64>| built(|p| into.collect("Collect", &build(p, config)));
        let graph = through_json(&make(then, &Committed::new()), make(now, &committed)).unwrap();
        end_of(&runner.run(graph).unwrap()).unwrap();
        let results = committed.sorted();
        assert_eq!(*seen.borrow_mut().get_or_insert_with(|| results.clone()), results);
    });
    seen.into_inner().unwrap()
}

#[test]
fn the_configuration_of_a_dofn_comes_from_the_json_and_closures_from_the_program() {
    let build = |p: &Pipeline, by: &i64| {
        let offset = *by;
        p.create("Numbers", [1_i64, 2])
            .par_do("Scale", Scale { by: *by })
            // Captured by a closure, so it stays what the program says.
            .map("Add", move |x| x + offset)
    };
    assert_eq!(restored_results(build, &100, &7), [107, 207]);
}

#[test]
fn the_configuration_of_a_splittable_dofn_comes_from_the_json() {
    let build = |p: &Pipeline, times: &i64| {
        p.create("To", [2_i64]).par_do_splittable("Count", CountUp { times: *times })
    };
    assert_eq!(restored_results(build, &2, &1), [0, 1, 2, 3]);
}

#[test]
fn the_configuration_of_a_keyed_dofn_comes_from_the_json() {
    let build = |p: &Pipeline, by: &i64| {
        let keyed = p.create("Numbers", [7_i64, 8, 9]).key_by("Key", |_| "key".to_owned());
        keyed.par_do_keyed("Number", Numbered { by: *by })
    };
    assert_eq!(restored_results(build, &10, &1), [0, 10, 20]);
}

#[test]
fn other_state_than_was_stored_is_refused() {
    let build = |sorted: bool| {
        move |p: &Pipeline| {
            let keyed = p.create("Numbers", [7_i64]).key_by("Key", |_| "key".to_owned());
            let number = KeyedParDo::of(Numbered { by: 1 });
            keyed.par_do_keyed_with("Number", if sorted { number.time_sorted() } else { number });
        }
    };
    let why = difference(build(true), build(false));
    assert!(why.contains("`Number`") && why.contains("its state was"), "{why}");
    assert!(why.contains(r#""time_sorted":true"#) && why.contains(r#""time_sorted":false"#), "{why}");
}

#[test]
fn the_configuration_of_a_combine_fn_comes_from_the_json() {
    let build = |p: &Pipeline, most: &i64| {
        let numbers = p.create("Numbers", [1_i64, 2, 3]);
        let globally = numbers.combine_globally("All", CappedSum { most: *most });
        let keyed = numbers.key_by("Key", |x| x % 2).combine_per_key("Each", CappedSum { most: *most });
        globally.flatten_with("Both", [keyed.map("Value", |(_, sum)| sum)])
    };
    // All of 1, 2, 3; odd ones; even ones.
    assert_eq!(restored_results(build, &3, &0), [2, 4, 6]);
}

#[test]
fn an_assertion_goes_through_json() {
    let build = |p: &Pipeline| {
        assert_that("Two", &p.create("N", [1_i64]).par_do("Scale", Scale { by: 2 }))
            .contains_in_any_order([2]);
    };
    for_each_runner(|runner| {
        let graph = through_json(&built(build), built(build)).unwrap();
        end_of(&runner.run(graph).unwrap()).unwrap();
    });
}

fn difference(then: impl FnOnce(&Pipeline), now: impl FnOnce(&Pipeline)) -> String {
    through_json(&built(then), built(now)).unwrap_err().to_string()
}

#[test]
fn a_renamed_transform_is_refused_with_both_names() {
    let why = difference(
        |p| drop(p.create("Numbers", [1_i64]).map("Double", |x| x * 2)),
        |p| drop(p.create("Numbers", [1_i64]).map("Twice", |x| x * 2)),
    );
    assert!(why.contains("for 2 reasons"), "{why}");
    assert!(why.contains("`Double`") && why.contains("the stored graph has this transform"), "{why}");
    assert!(why.contains("`Twice`") && why.contains("the pipeline has this transform"), "{why}");
    assert!(!why.contains("`Numbers"), "{why}");
}

#[test]
fn what_changed_in_a_transform_is_shown() {
    let windows = |windows: Duration| {
        move |p: &Pipeline| drop(p.create("N", [1_i64]).window_into("W", FixedWindows::of(windows)))
    };
    let why = difference(windows(Duration::from_secs(1)), windows(Duration::from_secs(2)));
    assert!(why.contains("`W`") && why.contains("windows was"), "{why}");

    let why = difference(
        |p| drop(p.create("N", [1_i64]).map("M", |x| x)),
        |p| drop(p.create("N", [1_i64]).map("M", |x| x.to_string())),
    );
    assert!(why.contains("element type was i64 and is alloc::string::String"), "{why}");
    assert!(why.contains("coder was"), "{why}");

    let edges = |second: bool| {
        move |p: &Pipeline| {
            let (a, b) = (p.create("A", [1_i64]), p.create("B", [2_i64]));
            drop(if second { b } else { a }.map("M", |x| x));
        }
    };
    let why = difference(edges(false), edges(true));
    assert!(why.contains("inputs was `A/Spread` and is `B/Spread`"), "{why}");

    let side = |given: bool| {
        move |p: &Pipeline| {
            let view = p.create("S", [1_i64]).view_as_singleton("V");
            let par_do = purlin_sdk::ParDo::of(Scale { by: 1 });
            let par_do = if given { par_do.side(&view) } else { par_do };
            drop(p.create("N", [1_i64]).par_do_with("M", par_do).main());
        }
    };
    let why = difference(side(true), side(false));
    assert!(why.contains("side inputs was V and is nothing"), "{why}");

    let why = difference(
        |p| drop(p.create("N", [1_i64]).reshuffle("M")),
        |p| drop(p.create("N", [1_i64]).map("M", |x| x)),
    );
    assert!(why.contains("kind was beam:transform:reshuffle:v1 and is beam:transform:pardo:v1"), "{why}");
}

#[test]
fn a_configuration_of_another_type_is_refused_with_path_and_type() {
    let why = difference(
        |p| drop(p.create("N", [1_i64]).par_do("Work", Shift { by: 1 })),
        |p| drop(p.create("N", [1_i64]).par_do("Work", Scale { by: 1 })),
    );
    assert!(why.contains("`Work`") && why.contains("`Shift`") && why.contains("Scale`"), "{why}");
}

#[test]
fn a_configuration_of_a_type_that_is_not_registered_is_refused_with_path_and_type() {
    let build = |p: &Pipeline| drop(p.create("N", [1_i64]).par_do("Work", Scale { by: 1 }));
    let json = serde_json::to_string(&built(build).spec()).unwrap().replace("\"Scale\"", "\"Unheard\"");
    let spec: GraphSpec = serde_json::from_str(&json).unwrap();
    let why = Graph::restore(&spec, built(build)).unwrap_err().to_string();
    assert!(why.contains("`Work`") && why.contains("`Unheard`"), "{why}");
    // The transform is a closure now.
    let closure = built(|p| drop(p.create("N", [1_i64]).map("Work", |x| x)));
    let why = Graph::restore(&spec, closure).unwrap_err().to_string();
    assert!(why.contains("`Work`") && why.contains("`Unheard`") && why.contains("not registered"), "{why}");
}

#[test]
fn a_configuration_that_was_not_stored_is_refused() {
    let why = difference(
        |p| drop(p.create("N", [1_i64]).map("Work", |x| x)),
        |p| drop(p.create("N", [1_i64]).par_do("Work", Scale { by: 1 })),
    );
    assert!(why.contains("`Work`") && why.contains(r#"{"Scale":{"by":1}}"#), "{why}");
}

#[test]
fn a_stored_graph_that_names_what_it_does_not_have_is_refused_without_a_panic() {
    let build = |p: &Pipeline| drop(p.create("N", [1_i64]).map("M", |x| x));
    let mut spec = built(build).spec();
    spec.collections.clear();
    spec.transforms.iter_mut().for_each(|t| t.inputs = vec![usize::MAX]);
    let twice = spec.transforms[0].clone();
    spec.transforms.push(twice);
    let why = Graph::restore(&spec, built(build)).unwrap_err().to_string();
    assert!(why.contains("which nothing makes") && why.contains("two transforms of this name"), "{why}");
}

/// Has keys that JSON has not.
#[derive(Clone, Default, Serialize, Deserialize)]
struct ByPair {
    rates: std::collections::BTreeMap<(i64, i64), i64>,
}

impl DoFn for ByPair {
    type Input = i64;
    type Output = i64;

    fn process(&mut self, x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit(self.rates.get(&(x, x)).copied().unwrap_or(x));
        Ok(())
    }
}

named::register!(ByPair);

#[test]
fn a_configuration_that_is_no_json_is_a_build_error_and_not_lost() {
    let p = Pipeline::new();
    p.create("N", [1_i64]).par_do("Pairs", ByPair { rates: [((1, 1), 2)].into() });
    let why = p.build().unwrap_err().to_string();
    assert!(why.contains("`Pairs`") && why.contains("cannot be written as JSON"), "{why}");
}

#[test]
fn the_fingerprint_tells_graphs_apart_and_not_source_lines() {
    let of = |build: &dyn Fn(&Pipeline)| built(build).fingerprint();
    let first = of(&|p| drop(p.create("N", [1_i64]).par_do("S", Scale { by: 1 }).map("M", |x| x)));
    let second = of(&|p| {
        let numbers = p.create("N", [1_i64]);
        let scaled = numbers.par_do("S", Scale { by: 1 });
        scaled.map("M", |x| x);
    });
    assert_eq!(first, second);
    let a_then_b = of(&|p| {
        p.create("A", [1_i64]).map("MA", |x| x);
        p.create("B", [1_i64]).map("MB", |x| x);
    });
    let b_then_a = of(&|p| {
        p.create("B", [1_i64]).map("MB", |x| x);
        p.create("A", [1_i64]).map("MA", |x| x);
    });
    assert_eq!(a_then_b, b_then_a);

    let seconds = Duration::from_secs;
    let others = [
        first,
        // Another configuration, name, type, coder, edge, window, kind.
        of(&|p| drop(p.create("N", [1_i64]).par_do("S", Scale { by: 2 }).map("M", |x| x))),
        of(&|p| drop(p.create("N", [1_i64]).par_do("S", Scale { by: 1 }).map("L", |x| x))),
        of(&|p| drop(p.create("N", [1_i64]).par_do("S", Scale { by: 1 }).map("M", |x| x as u64))),
        of(&|p| {
            let scaled = p.create("N", [1_i64]).par_do("S", Scale { by: 1 });
            let json: CoderRef<i64> = std::sync::Arc::new(Json::of());
            scaled.map("M", |x| x).with_coder(json);
        }),
        of(&|p| {
            let numbers = p.create("N", [1_i64]);
            numbers.par_do("S", Scale { by: 1 });
            numbers.map("M", |x| x);
        }),
        of(&|p| drop(p.create("N", [1_i64]).window_into("S", FixedWindows::of(seconds(1))))),
        of(&|p| drop(p.create("N", [1_i64]).window_into("S", FixedWindows::of(seconds(2))))),
        of(&|p| {
            let every = SlidingWindows::of(seconds(2), seconds(1));
            p.create("N", [1_i64]).window_into("S", every);
        }),
        of(&|p| drop(p.create("N", [1_i64]).reshuffle("S"))),
        of(&|p| drop(p.create("N", [1_i64]).map("S", |x| x))),
    ];
    let different: std::collections::HashSet<u64> = others.into_iter().collect();
    assert_eq!(different.len(), others.len());
}
