//! Distinct, Sample, Keys, Values and KvSwap on every runner.

mod common;

use std::sync::{Arc, Mutex};

use common::{gives, on_every_runner, seconds, tens, with_window, words};
use purlin_runner_direct::DirectRunner;
use purlin_sdk::{PCollection, Pipeline};
use purlin_transforms::{Count, Distinct, Keys, KvSwap, Sample, ToString, Values};

#[test]
fn each_element_once() {
    gives(words("be not or to"), |p| p.create("Words", words("to be or not to be")).apply("Once", Distinct));
    gives([], |p| p.create::<String>("None", []).apply("Once", Distinct));
    gives(0..100, |p| p.create("Numbers", (0..10_000).map(|n| n % 100)).apply("Once", Distinct));
}

#[test]
fn once_a_window() {
    gives([(0, 1), (10, 0), (10, 1), (20, 0)], |p| {
        let bits = seconds(p, [1, 3, 10, 11, 20, 22]).map("Bit", |n| n % 2);
        with_window(&bits.window_into("Tens", tens()).apply("Once", Distinct))
    });
}

#[test]
fn one_representative_of_each_kind() {
    gives(words("be or to"), |p| {
        let words = p.create("Words", words("To be or BE to"));
        let once = words.apply("Once", Distinct::with_representative(|w: &String| w.to_lowercase()));
        once.map("Lower", |w| w.to_lowercase())
    });
}

#[test]
fn keys_values_and_pairs_swapped() {
    let pairs = |p: &Pipeline| p.create("Pairs", [(1, 'a'), (2, 'b'), (1, 'c')]);
    gives([1, 1, 2], |p| pairs(p).apply("Keys", Keys));
    gives(['a', 'b', 'c'], |p| pairs(p).apply("Values", Values));
    gives([('a', 1), ('b', 2), ('c', 1)], |p| pairs(p).apply("Swap", KvSwap));
}

#[test]
fn elements_pairs_and_lists_are_text() {
    gives(words("-1 0 2"), |p| p.create("Numbers", [2, -1, 0]).apply("Text", ToString::elements()));
    let pairs = |p: &Pipeline| p.create("Pairs", [("a".to_owned(), 1), ("b,".to_owned(), 2)]);
    gives(words("a,1 b,,2"), |p| pairs(p).apply("Text", ToString::kvs()));
    gives(words("a->1 b,->2"), |p| pairs(p).apply("Text", ToString::kvs().delimiter("->")));
    let lists = |p: &Pipeline| p.create("Lists", [vec![1, 2, 3], vec![], vec![4]]);
    gives(["1,2,3", "", "4"].map(str::to_owned), |p| lists(p).apply("Text", ToString::iterables()));
    gives(["1, 2, 3", "", "4"].map(str::to_owned), |p| {
        lists(p).apply("Text", ToString::iterables().delimiter(", "))
    });
    gives(words("7"), |p| {
        let groups = p.create("Pairs", [((), 7)]).group_by_key("Group").map("Values", |((), group)| group);
        groups.apply("Text", ToString::iterables())
    });
    gives([(0, "1".to_owned()), (10, "11".to_owned())], |p| {
        with_window(&seconds(p, [1, 11]).window_into("Tens", tens()).apply("Text", ToString::elements()))
    });
}

/// A sample with duplicates in it would be shorter here.
fn size(sample: Vec<i64>) -> usize {
    sample.into_iter().collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn samples_have_their_size() {
    let numbers = |p: &Pipeline, n: i64| p.create("Numbers", 0..n);
    gives([10], |p| numbers(p, 1000).apply("Sample", Sample::fixed_size_globally(10)).map("Size", size));
    gives([3], |p| numbers(p, 3).apply("Sample", Sample::fixed_size_globally(10)).map("Size", size));
    gives([vec![]], |p| numbers(p, 0).apply("Sample", Sample::fixed_size_globally(10)));
    gives((0..7).map(|k| (k, 10)), |p| {
        let keyed = numbers(p, 1000).key_by("Key", |n: &i64| n % 7);
        keyed.apply("Sample", Sample::fixed_size_per_key(10)).map_values("Size", size)
    });
    gives([(0, 2), (10, 1)], |p| {
        let tens = seconds(p, [1, 2, 3, 11]).window_into("Tens", tens());
        let samples = tens.apply("Sample", Sample::fixed_size_globally(2).without_defaults());
        with_window(&samples.map("Size", size))
    });
}

#[test]
fn any_elements_are_as_many_as_asked_for() {
    let any = |p: &Pipeline, of: i64, n: usize| -> PCollection<u64> {
        let once = p.create("Numbers", 0..of).apply("Any", Sample::any(n)).apply("Once", Distinct);
        once.apply("Count", Count::globally())
    };
    gives([10], |p| any(p, 1000, 10));
    gives([3], |p| any(p, 3, 10));
    gives([0], |p| any(p, 0, 10));
    gives([0], |p| any(p, 1000, 0));
}

#[test]
fn a_sample_is_as_likely_to_hold_any_element() {
    // 400 keys, each a choice of 5 out of 0..20: each number is expected 100 times, with a deviation of 8.7.
    on_every_runner(
        |p| {
            let pairs = (0..400_i64).flat_map(|key| (0..20_usize).map(move |n| (key, n)));
            p.create("Pairs", pairs).apply("Sample", Sample::fixed_size_per_key(5))
        },
        |runner, samples| {
            let mut counts = [0; 20];
            samples.iter().flat_map(|(_, s)| s).for_each(|n| counts[*n] += 1);
            assert_eq!(counts.iter().sum::<i32>(), 2000, "{runner}");
            assert!(counts.iter().all(|c| (50..150).contains(c)), "{runner}: {counts:?}");
        },
    );
}

#[test]
fn the_direct_runner_samples_the_same_for_the_same_seed() {
    let sample = |runner: u64, seed: u64| {
        let out = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&out);
        let p = Pipeline::new();
        let chosen = p.create("Numbers", 0..1000).apply("Sample", Sample::fixed_size_globally(10).seed(seed));
        chosen.map("Collect", move |x| sink.lock().unwrap().push(x));
        p.run_on(&DirectRunner::new().seed(runner)).unwrap().wait().unwrap();
        std::mem::take(&mut *out.lock().unwrap())
    };
    for runner in 0..5 {
        assert_eq!(sample(runner, 1), sample(runner, 1));
        assert_ne!(sample(runner, 1), sample(runner, 2));
    }
}
