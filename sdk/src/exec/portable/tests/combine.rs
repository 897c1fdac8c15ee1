//! Combines as engines run them: lifted, behind a GroupByKey, and globally with a result for nothing.

use std::collections::BTreeMap;

use super::support::{At, portable_at, run_part, secs};
use crate::{
    Combine, CombineContext, CombineFn, CombineFnWithContext, CombineWithContext, Duration, Element,
    GroupByKey, Grouped, Key, Pipeline, Result, WindowInto,
    exec::{CombinePart, PortableCombine, PortableGroup},
    graph::Graph,
    window::{FixedWindows, TimestampCombiner, Window},
};

/// The mean; its accumulator is neither its input nor its output.
#[derive(Clone)]
struct Mean;

impl CombineFn for Mean {
    type Input = i64;
    type Accumulator = (i64, u64);
    type Output = String;
    fn create(&self) -> (i64, u64) {
        (0, 0)
    }
    fn add_input(&self, acc: &mut (i64, u64), x: i64) {
        acc.0 += x;
        acc.1 += 1;
    }
    fn merge(&self, acc: &mut (i64, u64), other: (i64, u64)) {
        acc.0 += other.0;
        acc.1 += other.1;
    }
    fn extract(&self, (sum, n): (i64, u64)) -> String {
        format!("{sum}/{n}")
    }
}

fn window(n: i64) -> Window {
    Window::interval(secs(10 * n), secs(10 * n + 10))
}

fn graph(build: impl FnOnce(&Pipeline)) -> Graph {
    let p = Pipeline::new();
    build(&p);
    p.build().unwrap()
}

fn combine_of(group: &PortableGroup) -> &dyn PortableCombine {
    match group {
        PortableGroup::Combine(combine) => &**combine,
        other => panic!("it is to {other:?}"),
    }
}

/// What an engine does between two parts.
fn grouped<K: Key + Ord, V: Element>(
    elements: impl IntoIterator<Item = At<(K, V)>>,
) -> Vec<At<(K, Grouped<V>)>> {
    let mut groups = BTreeMap::<(K, Window), Vec<V>>::new();
    for ((key, value), _, window) in elements {
        groups.entry((key, window)).or_default().push(value);
    }
    groups
        .into_iter()
        .map(|((key, window), values)| ((key, values.into()), window.result_timestamp(), window))
        .collect()
}

fn sorted<T: Element + Ord>(elements: Vec<At<T>>) -> Vec<(T, Window)> {
    let mut all: Vec<_> = elements.into_iter().map(|(value, _, window)| (value, window)).collect();
    all.sort();
    all
}

fn keyed(key: &str, value: i64, n: i64) -> At<(String, i64)> {
    ((key.to_owned(), value), secs(10 * n + value), window(n))
}

#[test]
fn lifted_and_behind_a_grouping_it_gives_the_same() {
    let graph = graph(|p| {
        p.create("In", [("a".to_owned(), 1)]).apply("Mean", Combine::per_key(Mean));
    });
    let group = portable_at(&graph, "Mean/Combine");
    let mean = combine_of(&group);
    assert_eq!(mean.accumulator().unwrap().to_string(), "kv<varint, varint>");
    assert!(!mean.has_default());
    let input = || vec![keyed("a", 1, 0), keyed("b", 5, 0), keyed("a", 3, 0), keyed("a", 2, 1)];
    let want = vec![
        (("a".to_owned(), "2/1".to_owned()), window(1)),
        (("a".to_owned(), "4/2".to_owned()), window(0)),
        (("b".to_owned(), "5/1".to_owned()), window(0)),
    ];
    for (first, size) in [(CombinePart::Precombine, 3), (CombinePart::ConvertToAccumulators, 4)] {
        let partial = run_part::<(String, i64), (String, (i64, u64))>(&mean.part(first), input());
        assert_eq!(partial.len(), size, "{first:?}");
        let lists = grouped(partial);
        let merged =
            run_part::<_, (String, (i64, u64))>(&mean.part(CombinePart::MergeAccumulators), lists.clone());
        let results = run_part::<_, (String, String)>(&mean.part(CombinePart::ExtractOutputs), merged);
        assert_eq!(sorted(results), want);
        let results = run_part::<_, (String, String)>(&mean.part(CombinePart::CombineAccumulators), lists);
        assert_eq!(sorted(results), want);
    }
    let results = run_part::<_, (String, String)>(&mean.part(CombinePart::CombineGrouped), grouped(input()));
    assert_eq!(sorted(results), want);
}

#[test]
fn what_is_combined_before_has_the_timestamp_that_the_group_is_to_have() {
    for (combiner, want) in [
        (TimestampCombiner::Earliest, secs(1)),
        (TimestampCombiner::Latest, secs(3)),
        (TimestampCombiner::EndOfWindow, secs(3)),
    ] {
        let graph = graph(|p| {
            p.create("In", [("a".to_owned(), 1)])
                .window_into(
                    "Tens",
                    WindowInto::of(FixedWindows::of(Duration::from_secs(10))).timestamp_combiner(combiner),
                )
                .apply("Mean", Combine::per_key(Mean));
        });
        let group = portable_at(&graph, "Mean/Combine");
        let part = combine_of(&group).part(CombinePart::Precombine);
        let partial = run_part::<_, (String, (i64, u64))>(&part, [keyed("a", 1, 0), keyed("a", 3, 0)]);
        assert_eq!(partial, [(("a".to_owned(), (4, 2)), want, window(0))]);
    }
}

#[test]
fn more_keys_than_it_holds_go_out_in_between() {
    let graph = graph(|p| {
        p.create("In", [(1_i64, 1)]).apply("Mean", Combine::per_key(Mean));
    });
    let group = portable_at(&graph, "Mean/Combine");
    let part = combine_of(&group).part(CombinePart::Precombine);
    // Twice the same keys, more than there is room for: some come out in two parts, and no value is lost.
    let input = (0..40_000_i64).map(|n| ((n % 20_000, 1_i64), secs(0), Window::Global));
    let partial = run_part::<_, (i64, (i64, u64))>(&part, input);
    assert!(partial.len() > 20_000, "{}", partial.len());
    let mut per_key = BTreeMap::<i64, i64>::new();
    for ((key, (sum, _)), ..) in partial {
        *per_key.entry(key).or_default() += sum;
    }
    assert_eq!(per_key.len(), 20_000);
    assert!(per_key.values().all(|sum| *sum == 2));
}

#[test]
fn a_global_combine_has_a_result_for_nothing() {
    let graph = graph(|p| {
        p.create("In", [1_i64]).combine_globally("Mean", Mean);
    });
    let group = portable_at(&graph, "Mean/Combine");
    let mean = combine_of(&group);
    assert!(mean.has_default());
    let impulse = (Vec::<u8>::new(), crate::Timestamp::MIN, Window::Global);
    let nothing = run_part::<_, ((), (i64, u64))>(&mean.part(CombinePart::Default), [impulse]);
    let results = |values: Vec<i64>| {
        let input = values.into_iter().map(|v| (((), v), secs(v), Window::Global));
        let mut partial = run_part::<_, ((), (i64, u64))>(&mean.part(CombinePart::Precombine), input);
        partial.extend(nothing.clone());
        let results =
            run_part::<_, ((), String)>(&mean.part(CombinePart::CombineAccumulators), grouped(partial));
        results.into_iter().map(|(((), value), ..)| value).collect::<Vec<_>>()
    };
    assert_eq!(results(vec![]), ["0/0"]);
    assert_eq!(results(vec![3, 4]), ["7/2"]);
}

#[test]
fn the_default_has_no_say_in_the_timestamp() {
    for (combiner, want) in [
        (TimestampCombiner::Earliest, Window::Global.result_timestamp()),
        (TimestampCombiner::Latest, crate::Timestamp::MIN),
    ] {
        let graph = graph(|p| {
            p.create("In", [1_i64])
                .window_into("All", WindowInto::of(crate::window::GlobalWindows).timestamp_combiner(combiner))
                .combine_globally("Mean", Mean);
        });
        let group = portable_at(&graph, "Mean/Combine");
        let part = combine_of(&group).part(CombinePart::Default);
        let impulse = (Vec::<u8>::new(), crate::Timestamp::MIN, Window::Global);
        let nothing = run_part::<_, ((), (i64, u64))>(&part, [impulse]);
        assert_eq!(nothing, [(((), (0, 0)), want, Window::Global)]);
    }
}

#[test]
fn groupings_are_groupings_and_with_a_default_combines_to_lists() {
    #[derive(Clone)]
    struct First;
    impl CombineFnWithContext for First {
        type Input = i64;
        type Accumulator = Option<i64>;
        type Output = Option<i64>;
        fn create(&self, _: &CombineContext<'_>) -> Result<Option<i64>> {
            Ok(None)
        }
        fn add_input(&self, acc: &mut Option<i64>, x: i64, _: &CombineContext<'_>) -> Result {
            acc.get_or_insert(x);
            Ok(())
        }
        fn extract(&self, acc: Option<i64>, _: &CombineContext<'_>) -> Result<Option<i64>> {
            Ok(acc)
        }
    }
    let graph = graph(|p| {
        let numbers = p.create("In", [1_i64]);
        numbers.key_by("Key", |n| *n).group_by_key("Group");
        numbers.apply("First", CombineWithContext::globally(First));
    });
    assert!(matches!(portable_at(&graph, "Group"), PortableGroup::GroupByKey));
    let group = portable_at(&graph, "First/Group");
    let list = combine_of(&group);
    assert!(list.has_default());
    let impulse = (Vec::<u8>::new(), crate::Timestamp::MIN, Window::Global);
    let nothing = run_part::<_, ((), Vec<i64>)>(&list.part(CombinePart::Default), [impulse]);
    let lists =
        run_part::<_, ((), Grouped<i64>)>(&list.part(CombinePart::CombineAccumulators), grouped(nothing));
    assert_eq!(lists[0].0.1.len(), 0);
}

#[test]
fn a_fan_out_is_a_part_before_the_combine() {
    let graph = graph(|p| {
        p.create("In", [("a".to_owned(), 1)]).apply("Mean", Combine::per_key(Mean).with_hot_key_fanout(4));
    });
    let PortableGroup::ParDo(before) = portable_at(&graph, "Mean/PreCombine") else {
        panic!("it goes element by element")
    };
    let group = portable_at(&graph, "Mean/Combine");
    let mean = combine_of(&group);
    // The type between the two is their own; both ends say the same of it.
    let precombine = mean.part(CombinePart::Precombine);
    assert_eq!(before.output.coder, precombine.input.coder);
    let mut bytes = Vec::new();
    let input = [keyed("a", 1, 0), keyed("a", 3, 0), keyed("b", 5, 0)];
    let mut input = super::support::batch(input);
    before.input.codec.save(&mut input, &mut bytes).unwrap();
    let batch = before.input.codec.load(&mut &bytes[..]).unwrap();
    let parts = super::support::Stage::of::<(String, crate::exec::Partial<(i64, u64)>)>(
        before.factory.kernel(&super::support::spec()),
        before.factory.input(),
    )
    .bundle::<(String, crate::exec::Partial<(i64, u64)>)>(vec![batch])
    .unwrap();
    assert_eq!(parts.len(), 2);
    let partial = run_part::<_, (String, (i64, u64))>(&precombine, parts);
    let results =
        run_part::<_, (String, String)>(&mean.part(CombinePart::CombineAccumulators), grouped(partial));
    let values: Vec<_> = sorted(results).into_iter().map(|((_, value), _)| value).collect();
    assert_eq!(values, ["4/2", "5/1"]);
}

#[test]
fn what_an_engine_cannot_give_back_is_refused() {
    let graph = graph(|p| {
        p.create("In", [("a".to_owned(), 1)]).apply("Late", GroupByKey::with_late_data());
    });
    let refused = super::support::group_at(&graph, "Late/Group").portable().unwrap_err().to_string();
    assert!(refused.contains("with_late_data") && refused.contains("allow more lateness"), "{refused}");
}
