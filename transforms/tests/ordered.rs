//! Max, Min, Top, quantiles and Latest on every runner.

mod common;

use common::{gives, seconds, tens, with_window};
use purlin_sdk::{PCollection, Pipeline, Timestamp};
use purlin_transforms::{ApproximateQuantiles, Latest, Max, Min, Top, float_order};

fn scores(p: &Pipeline) -> PCollection<(String, i32)> {
    let scores = [("amy", 3), ("bob", 4), ("amy", 9), ("amy", 5), ("bob", -4)];
    p.create("Scores", scores.map(|(k, v)| (k.to_owned(), v)))
}

fn named<V>(amy: V, bob: V) -> [(String, V); 2] {
    [("amy".to_owned(), amy), ("bob".to_owned(), bob)]
}

#[test]
fn extremes_per_key() {
    gives(named(9, 4), |p| scores(p).apply("Max", Max::per_key()));
    gives(named(3, -4), |p| scores(p).apply("Min", Min::per_key()));
    gives(named(3, 4), |p| scores(p).apply("Max", Max::per_key().by_key(|n: &i32| (n % 4, *n))));
}

#[test]
fn extremes_globally() {
    gives([Some(("amy".to_owned(), 9))], |p| {
        scores(p).apply("Max", Max::globally().by_key(|(_, n): &(String, i32)| *n))
    });
    gives([("bob".to_owned(), -4)], |p| {
        let least = Min::globally().by(|(_, a): &(String, i32), (_, b): &(String, i32)| a.cmp(b));
        scores(p).apply("Min", least.without_defaults())
    });
}

#[test]
fn b139_of_nothing_one_none_or_nothing() {
    let none = |p: &Pipeline| p.create::<i64>("None", []);
    gives([None], |p| none(p).apply("Max", Max::globally()));
    gives([None], |p| none(p).apply("Min", Min::globally()));
    gives([None], |p| none(p).apply("Latest", Latest::globally()));
    gives([vec![]], |p| none(p).apply("Top", Top::largest(3)));
    gives([], |p| none(p).apply("Max", Max::globally().without_defaults()));
    gives([], |p| none(p).apply("Latest", Latest::globally().without_defaults()));
    gives([], |p| none(p).apply("Top", Top::smallest(3).without_defaults()));
}

#[test]
fn tops_are_best_first() {
    let numbers = |p: &Pipeline| p.create("Numbers", (0..5000).map(|n| n * 37 % 5000));
    gives([vec![4999, 4998, 4997]], |p| numbers(p).apply("Top", Top::largest(3)));
    gives([vec![0, 1, 2]], |p| numbers(p).apply("Top", Top::smallest(3)));
    gives([vec![4990, 4980]], |p| {
        numbers(p).apply("Top", Top::of(2, |a: &i32, b| (a % 10 == 0, a).cmp(&(b % 10 == 0, b))))
    });
    gives([vec![]], |p| numbers(p).apply("Top", Top::largest(0)));
    gives(named(vec![9, 5], vec![4, -4]), |p| scores(p).apply("Top", Top::largest_per_key(2)));
    gives(named(vec![3, 5], vec![-4, 4]), |p| scores(p).apply("Top", Top::smallest_per_key(2)));
    gives(named(vec![3], vec![-4]), |p| scores(p).apply("Top", Top::per_key(1, |a: &i32, b: &i32| b.cmp(a))));
}

#[test]
fn tops_by_window() {
    gives([(0, vec![8, 3]), (10, vec![12])], |p| {
        let tens = seconds(p, [3, 8, 1, 12]).window_into("Tens", tens());
        with_window(&tens.apply("Top", Top::largest(2).without_defaults()))
    });
}

#[test]
fn b146_nan_in_every_order() {
    let xs = [1.0, f64::NAN, 3.0];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let values = order.map(|i| xs[i]);
        let text = |x: f64| x.to_string();
        gives(["NaN".to_owned()], |p| {
            let max =
                p.create("Values", values).apply("Max", Max::globally().by(float_order).without_defaults());
            max.map("Text", text)
        });
        gives(["1".to_owned()], |p| {
            let min =
                p.create("Values", values).apply("Min", Min::globally().by(float_order).without_defaults());
            min.map("Text", text)
        });
        gives([["1", "3", "NaN"].map(str::to_owned).to_vec()], |p| {
            let quantiles = ApproximateQuantiles::globally(3).by(float_order);
            let quantiles = p.create("Values", values).apply("Quantiles", quantiles);
            quantiles.map("Text", move |xs| xs.into_iter().map(text).collect::<Vec<_>>())
        });
        gives([vec!["NaN".to_owned(), "3".to_owned()]], |p| {
            let top = p.create("Values", values).apply("Top", Top::largest(2).by(float_order));
            top.map("Text", move |xs| xs.into_iter().map(text).collect::<Vec<_>>())
        });
    }
}

#[test]
fn quantiles() {
    gives([vec![0, 25, 50, 75, 100]], |p| {
        p.create("Numbers", 0..101).apply("Quantiles", ApproximateQuantiles::globally(5))
    });
    gives(named(vec![3, 5, 9], vec![-4, -4, 4]), |p| {
        scores(p).apply("Quantiles", ApproximateQuantiles::per_key(3))
    });
    gives([vec![9, 4, 2]], |p| {
        let by = ApproximateQuantiles::globally(3).by_key(|n: &i32| -(n % 10));
        p.create("Numbers", [4, 2, 9]).apply("Quantiles", by)
    });
    gives([vec![]], |p| p.create::<i64>("None", []).apply("Quantiles", ApproximateQuantiles::globally(3)));
    gives([], |p| {
        let quantiles = ApproximateQuantiles::globally(3).without_defaults();
        p.create::<i64>("None", []).apply("Quantiles", quantiles)
    });
    gives([(0, vec![1, 3, 9]), (10, vec![11, 11, 11])], |p| {
        let tens = seconds(p, [9, 1, 3, 11]).window_into("Tens", tens());
        with_window(&tens.apply("Quantiles", ApproximateQuantiles::globally(3).without_defaults()))
    });
    gives([5], |p| {
        let many = p.create("Numbers", (0..20_000).map(|n| n * 7919 % 20_000));
        many.apply("Quantiles", ApproximateQuantiles::globally(5).with_epsilon(0.01)).map("Check", |q| {
            assert_eq!((q[0], q[4]), (0, 19_999));
            q.iter()
                .zip([0_i32, 4999, 9999, 14_999, 19_999])
                .filter(|(got, want)| (**got - want).abs() <= 200)
                .count()
        })
    });
}

#[test]
fn quantiles_that_cannot_be_are_told() {
    let p = Pipeline::new();
    let numbers = p.create("Numbers", [1]);
    numbers.apply("One", ApproximateQuantiles::globally(1));
    numbers.apply("Exact", ApproximateQuantiles::globally(3).with_epsilon(0.0));
    let text = p.build().unwrap_err().to_string();
    for part in ["`One`", "make two already", "`Exact`", "such as 0.01"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn the_latest() {
    let prices = |p: &Pipeline| {
        let at = Timestamp::from_secs;
        let prices = [("tea", 3, at(5)), ("tea", 4, at(9)), ("milk", 1, at(2)), ("tea", 5, at(7))];
        p.create_timestamped("Prices", prices.map(|(k, v, t)| ((k.to_owned(), v), t)))
    };
    let want = [("milk".to_owned(), 1), ("tea".to_owned(), 4)];
    gives(want, |p| prices(p).apply("Latest", Latest::per_key()));
    gives([Some(("tea".to_owned(), 4))], |p| prices(p).apply("Latest", Latest::globally()));
    gives([(0, 8), (10, 12)], |p| {
        let tens = seconds(p, [8, 3, 12, 11]).window_into("Tens", tens());
        with_window(&tens.apply("Latest", Latest::globally().without_defaults()))
    });
}
