//! What only the direct runner promises: its checks, and that a seed repeats a run.

use purlin_conformance::cases::{
    coders,
    support::{Log, Sum, assert_says, at, run, run_to_failure, secs},
};
use purlin_runner_direct::DirectRunner;
use purlin_sdk::{Emitter, KeyedDoFn, ProcessContext, Result, Runner, window::SlidingWindows};

fn on_ten_seeds(case: fn(&dyn Runner)) {
    (0..10).for_each(|seed| case(&DirectRunner::new().seed(seed)));
}

#[test]
fn b163_an_element_that_does_not_encode() {
    on_ten_seeds(coders::b163_an_element_that_does_not_encode);
}

#[test]
fn the_law_of_keys() {
    on_ten_seeds(coders::the_law_of_keys);
}

#[test]
fn a_key_that_comes_back_as_another() {
    on_ten_seeds(coders::a_key_that_comes_back_as_another);
}

/// A key that is written without its sign.
#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Signless(#[serde(serialize_with = "without_sign")] i64);

fn without_sign<S: serde::Serializer>(n: &i64, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_i64(n.abs())
}

#[derive(purlin_derive::KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Seen {
    numbers: purlin_sdk::state::Bag<i64>,
}

#[derive(Clone)]
struct Gather;

impl KeyedDoFn for Gather {
    type Key = Signless;
    type Value = i64;
    type Output = i64;
    type State = Seen;

    fn process(
        &mut self,
        _: &Signless,
        n: i64,
        seen: &mut Seen,
        _: &ProcessContext<'_>,
        _: &mut Emitter<'_, i64>,
    ) -> Result {
        seen.numbers.add(n);
        Ok(())
    }
}

#[test]
fn a_key_of_state_that_comes_back_as_another() {
    on_ten_seeds(|r| {
        let error = run_to_failure(r, |p| {
            p.create("Pairs", [(Signless(-1), 1_i64), (Signless(1), 2)]).par_do_keyed("Gather", Gather);
        });
        assert_eq!(error.step().map(|s| s.path()), Some("Pairs/Values"));
        assert_says(&error.to_string(), &["Signless", "its key comes back as another one"]);
    });
}

#[test]
fn an_element_that_does_not_come_back() {
    on_ten_seeds(coders::an_element_that_does_not_come_back);
}

/// The order in which user code is called, with the bundles that it is called in.
fn trace(seed: u64) -> Vec<String> {
    let log = Log::default();
    run(&DirectRunner::new().seed(seed), |p| {
        let (one, two, three) = (log.clone(), log.clone(), log.clone());
        let note = move |log: &Log<String>, step: &str, x: i64| {
            log.push(format!("{step} {x}"));
            x
        };
        p.create_timestamped("Values", (0..40_i64).map(|t| (t, at(t))))
            .map("One", move |x| note(&one, "one", x))
            .reshuffle("Spread")
            .map("Two", move |x| note(&two, "two", x))
            .window_into("Windows", SlidingWindows::of(secs(20), secs(10)))
            .key_by("Key", |x| x % 3)
            .combine_per_key("Sum", Sum)
            .map("Three", move |(_, x)| note(&three, "three", x));
    });
    log.take()
}

#[test]
fn a_seed_repeats_a_run_and_another_does_not() {
    let first = trace(1);
    assert_eq!(first.len(), 40 + 40 + 5 * 3);
    assert_eq!(trace(1), first, "the same seed, the same order");
    let others = (2..12).filter(|seed| trace(*seed) != first).count();
    assert!(others >= 9, "only {others} of ten other seeds gave another order");
}

#[test]
fn a_failure_says_the_seed_that_repeats_it() {
    let p = purlin_sdk::Pipeline::new();
    p.create("Values", [1_i64]).map("Bad", |x| assert!(x != 1, "no ones"));
    let error = p.run_on(&DirectRunner::new().seed(77)).expect("it starts").wait().expect_err("it fails");
    assert!(error.to_string().contains("--seed=77"), "{error}");
}
