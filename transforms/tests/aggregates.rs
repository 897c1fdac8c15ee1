//! Count, Sum, Mean and ToList on every runner.

mod common;

use common::{gives, on_every_runner, seconds, sliding, tens, with_window, words};
use purlin_sdk::{Duration, Pipeline, window::Sessions};
use purlin_transforms::{Count, Mean, Sum, ToList, ToListFn};

#[test]
fn words_are_counted() {
    let want = [("be", 2_u64), ("not", 1), ("or", 1), ("to", 2)].map(|(w, n)| (w.to_owned(), n));
    gives(want, |p| p.create("Words", words("to be or not to be")).apply("Count", Count::per_element()));
}

#[test]
fn values_and_elements_are_counted() {
    gives([("a".to_owned(), 2_u64), ("b".to_owned(), 1)], |p| {
        let pairs = [("a", 1.5), ("b", 2.5), ("a", 1.5)].map(|(k, v)| (k.to_owned(), v));
        p.create("Pairs", pairs).apply("Count", Count::per_key())
    });
    gives([1000], |p| p.create("Numbers", 0..1000).apply("Count", Count::globally()));
}

#[test]
fn b139_of_nothing_exactly_one_value() {
    let none = |p: &Pipeline| p.create::<i64>("None", []);
    gives([0], |p| none(p).apply("Count", Count::globally()));
    gives([0], |p| none(p).apply("Sum", Sum::globally()));
    gives([vec![]], |p| none(p).apply("ToList", ToList::globally()));
    gives(["NaN".to_owned()], |p| none(p).apply("Mean", Mean::globally()).map("Text", |m| m.to_string()));
}

#[test]
fn b139_of_nothing_per_key_nothing() {
    gives([], |p| p.create::<(i64, i64)>("None", []).apply("Sum", Sum::per_key()));
    gives([], |p| p.create::<i64>("None", []).apply("Count", Count::per_element()));
}

#[test]
fn sums_per_key() {
    let pairs = (0..10_000_i64).map(|n| (n % 7, n));
    let want = (0..7).map(|k| (k, (0..10_000).filter(|n| n % 7 == k).sum::<i64>()));
    gives(want, move |p| p.create("Pairs", pairs.clone()).apply("Sum", Sum::per_key()));
}

#[test]
fn a_sum_that_overflows_on_the_way_is_the_same_everywhere() {
    gives([-1], |p| {
        p.create("Ends", [i64::MAX, i64::MAX, i64::MIN, i64::MIN, 1]).apply("Sum", Sum::globally())
    });
    gives([i64::MAX], |p| p.create("Ends", [i64::MAX, 1, i64::MAX]).apply("Sum", Sum::globally()));
}

#[test]
fn means() {
    on_every_runner(
        |p| p.create("Halves", [0.5, 1.5, 4.0]).apply("Mean", Mean::globally()),
        |runner, got| assert_eq!(got, [2.0], "{runner}"),
    );
    on_every_runner(
        |p| p.create("Pairs", [(1, 1_i64), (1, 2), (1, 6)]).apply("Mean", Mean::per_key()),
        |runner, got| assert_eq!(got, [(1, 3.0)], "{runner}"),
    );
}

#[test]
fn b137_one_sum_a_window() {
    let want = (-1..5).map(|i| 5 * i).map(|start| (start, (start.max(1)..(start + 10).min(21)).sum::<i64>()));
    gives(want, |p| {
        let sums = seconds(p, 1..=20).window_into("Sliding", sliding());
        with_window(&sums.apply("Sum", Sum::globally().without_defaults()))
    });
}

#[test]
fn b138_windows_without_elements_give_nothing() {
    gives([(0, 2), (30, 1)], |p| {
        let counts = seconds(p, [1, 2, 31]).window_into("Tens", tens());
        with_window(&counts.apply("Count", Count::globally().without_defaults()))
    });
    gives([], |p| {
        let none = p.create::<i64>("None", []).window_into("Tens", tens());
        none.apply("Count", Count::globally().without_defaults())
    });
}

#[test]
fn b142_windows_share_no_accumulator() {
    gives([(-5, vec![1, 3]), (0, vec![1, 3, 7]), (5, vec![7])], |p| {
        let lists = seconds(p, [3, 1, 7]).window_into("Sliding", sliding());
        let lists = lists.apply("List", ToList::globally().without_defaults());
        with_window(&lists.map("Sort", |mut list| {
            list.sort_unstable();
            list
        }))
    });
}

#[test]
fn sessions_are_counted_each() {
    gives([(1, ("a".to_owned(), 3)), (1, ("b".to_owned(), 1)), (20, ("a".to_owned(), 1))], |p| {
        let at = purlin_sdk::Timestamp::from_secs;
        let clicks = [("a", at(1)), ("a", at(5)), ("b", at(1)), ("a", at(3)), ("a", at(20))];
        let clicks = p.create_timestamped("Clicks", clicks.map(|(k, t)| (k.to_owned(), t)));
        let sessions = clicks.window_into("Sessions", Sessions::with_gap(Duration::from_secs(5)));
        with_window(&sessions.apply("Count", Count::per_element()))
    });
}

#[test]
fn b147_one_hot_key_and_many_cold_ones() {
    gives([(0, (100_000, 1))], |p| {
        let hot = p.create("Hot", (0..100_000).map(|_| 0)).apply("Count", Count::per_element());
        hot.map("Keys", |(k, n)| (k, (n, 1)))
    });
    gives((0..10_000).map(|k| (k, 10)), |p| {
        p.create("Cold", (0..100_000).map(|n| n % 10_000)).apply("Count", Count::per_element())
    });
}

#[test]
fn the_functions_serve_the_core_too() {
    gives([(1, vec![2, 3])], |p| {
        let lists = p.create("Pairs", [(1, 2), (1, 3)]).combine_per_key("List", ToListFn::new());
        lists.map_values("Sort", |mut list| {
            list.sort_unstable();
            list
        })
    });
}
