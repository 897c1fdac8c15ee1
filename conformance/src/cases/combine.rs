//! Combining and grouping.
//!
//! NaN, and zero with two signs, are no keys (B144): floats are refused by the compiler, since they are not `Eq`.
//!
//! ```compile_fail,E0277
//! # let p = purlin_sdk::Pipeline::new();
//! p.create("Floats", [(f64::NAN, 1), (0.0, 2), (-0.0, 3)]).group_by_key("Group");
//! ```
//!
//! The way out is a key that is an integer, such as the float's bits:
//!
//! ```
//! # let p = purlin_sdk::Pipeline::new();
//! p.create("Floats", [(f64::NAN.to_bits(), 1), (0_f64.to_bits(), 2)]).group_by_key("Group");
//! ```

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_sdk::{
    Apply, CoGroupByKey, Combine, CombineFn, Element, Grouped, Runner, WindowInto,
    testing::TestStream,
    window::{FixedWindows, Sessions, SlidingWindows, TimestampCombiner},
};

use super::support::{
    Log, Sum, assert_nothing, assert_says, at, build_errors, collect, ms, run, secs, span, span_ms,
};

/// Counts.
#[derive(Clone, Copy, Debug)]
pub struct Count;

impl CombineFn for Count {
    type Input = i64;
    type Accumulator = u64;
    type Output = u64;
    fn create(&self) -> u64 {
        0
    }
    fn add_input(&self, acc: &mut u64, _: i64) {
        *acc += 1;
    }
    fn merge(&self, acc: &mut u64, other: u64) {
        *acc += other;
    }
    fn extract(&self, acc: u64) -> u64 {
        acc
    }
}

/// The mean in thousandths; nothing of nothing.
#[derive(Clone, Copy, Debug)]
pub struct Mean;

impl CombineFn for Mean {
    type Input = i64;
    type Accumulator = (i64, i64);
    type Output = Option<i64>;
    fn create(&self) -> (i64, i64) {
        (0, 0)
    }
    fn add_input(&self, acc: &mut (i64, i64), x: i64) {
        acc.0 += x;
        acc.1 += 1;
    }
    fn merge(&self, acc: &mut (i64, i64), other: (i64, i64)) {
        acc.0 += other.0;
        acc.1 += other.1;
    }
    fn extract(&self, (sum, n): (i64, i64)) -> Option<i64> {
        (n > 0).then(|| sum * 1000 / n)
    }
}

/// The greatest; nothing of nothing.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl CombineFn for Max {
    type Input = i64;
    type Accumulator = Option<i64>;
    type Output = Option<i64>;
    fn create(&self) -> Option<i64> {
        None
    }
    fn add_input(&self, acc: &mut Option<i64>, x: i64) {
        *acc = (*acc).max(Some(x));
    }
    fn merge(&self, acc: &mut Option<i64>, other: Option<i64>) {
        *acc = (*acc).max(other);
    }
    fn extract(&self, acc: Option<i64>) -> Option<i64> {
        acc
    }
}

/// The greatest few, greatest first.
#[derive(Clone, Copy, Debug)]
pub struct Top(pub usize);

impl CombineFn for Top {
    type Input = i64;
    type Accumulator = Vec<i64>;
    type Output = Vec<i64>;
    fn create(&self) -> Vec<i64> {
        Vec::new()
    }
    fn add_input(&self, acc: &mut Vec<i64>, x: i64) {
        acc.push(x);
        acc.sort_unstable_by(|a, b| b.cmp(a));
        acc.truncate(self.0);
    }
    fn merge(&self, acc: &mut Vec<i64>, other: Vec<i64>) {
        other.into_iter().for_each(|x| self.add_input(acc, x));
    }
    fn extract(&self, acc: Vec<i64>) -> Vec<i64> {
        acc
    }
}

/// All of them, in order; grows its accumulator in place.
#[derive(Clone, Copy, Debug)]
pub struct ToList;

impl CombineFn for ToList {
    type Input = i64;
    type Accumulator = Vec<i64>;
    type Output = Vec<i64>;
    fn create(&self) -> Vec<i64> {
        Vec::new()
    }
    fn add_input(&self, acc: &mut Vec<i64>, x: i64) {
        acc.push(x);
    }
    fn merge(&self, acc: &mut Vec<i64>, other: Vec<i64>) {
        acc.extend(other);
    }
    fn extract(&self, mut acc: Vec<i64>) -> Vec<i64> {
        acc.sort_unstable();
        acc
    }
}

/// A global combine gives one value per window.
pub fn b137_a_global_combine_in_several_windows(r: &dyn Runner) {
    let sums = collect(r, |p| {
        p.create_timestamped("Times", (1..=20_i64).map(|t| (t, at(t))))
            .window_into("Windows", SlidingWindows::of(secs(10), secs(5)))
            .apply("Sum", Combine::globally(Sum).without_defaults())
            .map_cx("Bounds", |sum, cx| Ok((span(&cx.window()), sum)))
    });
    let sum = |from: i64, to: i64| (from..=to).sum::<i64>();
    let expected = [
        ((-5, 5), sum(1, 4)),
        ((0, 10), sum(1, 9)),
        ((5, 15), sum(5, 14)),
        ((10, 20), sum(10, 19)),
        ((15, 25), sum(15, 20)),
        ((20, 30), 20),
    ];
    assert_eq!(sums, expected);
}

/// A value for nothing makes sense in the global window only; elsewhere it is refused, and the way out works.
pub fn b138_defaults_in_windows_are_refused(r: &dyn Runner) {
    let text = build_errors(|p| {
        let pc = p.create("Values", [1_i64]).window_into("Windows", FixedWindows::of(secs(10)));
        pc.combine_globally("TheCount", Count);
    });
    assert_says(&text, &["`TheCount`", "FixedWindows", ".without_defaults()"]);
    let text = build_errors(|p| {
        p.apply("Stream", TestStream::new().element(1_i64))
            .window_into("Windows", FixedWindows::of(secs(10)))
            .apply("TheTop", Combine::globally(Top(3)));
    });
    assert_says(&text, &["`TheTop`", ".without_defaults()"]);

    let counts = collect(r, |p| {
        p.create_timestamped("Values", [(1_i64, at(1)), (2, at(25))])
            .window_into("Windows", FixedWindows::of(secs(10)))
            .apply("Count", Combine::globally(Count).without_defaults())
            .map_cx("Bounds", |n, cx| Ok((span(&cx.window()), n)))
    });
    // Nothing for [10, 20).
    assert_eq!(counts, [((0, 10), 1), ((20, 30), 1)]);
    let none = collect(r, |p| {
        p.create("Values", Vec::<i64>::new())
            .window_into("Windows", FixedWindows::of(secs(10)))
            .apply("Count", Combine::globally(Count).without_defaults())
    });
    assert_nothing(none);
}

fn of_nothing<C: CombineFn<Input = i64>>(r: &dyn Runner, combine: C) -> Vec<C::Output>
where
    C::Output: Ord,
{
    collect(r, |p| p.create("Nothing", Vec::<i64>::new()).combine_globally("Combine", combine))
}

/// A global combine of nothing gives exactly one value: what `extract` makes of an empty accumulator.
pub fn b139_global_combines_of_nothing(r: &dyn Runner) {
    assert_eq!(of_nothing(r, Count), [0]);
    assert_eq!(of_nothing(r, Sum), [0]);
    assert_eq!(of_nothing(r, Top(3)), [Vec::<i64>::new()]);
    assert_eq!(of_nothing(r, Mean), [None]);
    assert_eq!(of_nothing(r, Max), [None]);
    assert_eq!(of_nothing(r, ToList), [Vec::<i64>::new()]);
    // Per key nothing gives nothing, and so does a collection that only became empty.
    assert_nothing(collect(r, |p| p.create("None", Vec::<(i64, i64)>::new()).combine_per_key("C", Sum)));
    let filtered =
        collect(r, |p| p.create("Some", 0..10_i64).filter("No", |_| false).combine_globally("C", Sum));
    assert_eq!(filtered, [0]);
}

/// The same combines of something.
pub fn combines_of_something(r: &dyn Runner) {
    let values = || 1..=1000_i64;
    assert_eq!(collect(r, |p| p.create("Values", values()).combine_globally("C", Mean)), [Some(500_500)]);
    assert_eq!(collect(r, |p| p.create("Values", values()).combine_globally("C", Top(2))), [[1000, 999]]);
    let lists = collect(r, |p| p.create("Values", values()).combine_globally("C", ToList));
    assert_eq!(lists, [values().collect::<Vec<_>>()]);
    let grouped = collect(r, |p| {
        p.create("Values", values())
            .key_by("Odd", |x| x % 2)
            .group_by_key("Group")
            .apply("Sum", Combine::grouped_values(Sum))
    });
    assert_eq!(grouped, [(0, 250_500), (1, 250_000)]);
}

/// A fan-out for hot keys changes nothing in the result.
pub fn b140_a_fanout_changes_no_result(r: &dyn Runner) {
    let sums = |fanout: Option<usize>| {
        let per_key = collect(r, |p| {
            let values = p
                .create_timestamped("Values", (1..=8_i64).map(|x| (("hot".to_owned(), x), at(x))))
                .window_into("Windows", SlidingWindows::of(secs(10), secs(5)));
            let sums = match fanout {
                Some(n) => values.apply("Sum", Combine::per_key(Sum).with_hot_key_fanout(n)),
                None => values.apply("Sum", Combine::per_key(Sum)),
            };
            sums.map_cx("Bounds", |(k, sum), cx| Ok((span(&cx.window()), k, sum)))
        });
        let global = collect(r, |p| {
            let combine = Combine::globally(Sum).without_defaults();
            let values = p
                .create_timestamped("Values", (1..=8_i64).map(|x| (x, at(x))))
                .window_into("Windows", SlidingWindows::of(secs(10), secs(5)));
            let sums = match fanout {
                Some(n) => values.apply("Sum", combine.with_fanout(n)),
                None => values.apply("Sum", combine),
            };
            sums.map_cx("Bounds", |sum, cx| Ok((span(&cx.window()), sum)))
        });
        (per_key, global)
    };
    let windows = [((-5, 5), 10), ((0, 10), 36), ((5, 15), 26)];
    let expected = (windows.map(|(w, n)| (w, "hot".to_owned(), n)).to_vec(), windows.to_vec());
    for fanout in [None, Some(1), Some(4), Some(100)] {
        assert_eq!(sums(fanout), expected, "fan-out {fanout:?}");
    }
}

/// An accumulator belongs to one window: an element in three windows is in each of them once.
pub fn b142_windows_share_no_accumulator(r: &dyn Runner) {
    let lists = collect(r, |p| {
        p.create_timestamped("Values", [(1_i64, at(2)), (2, at(3)), (3, at(4))])
            .window_into("Windows", SlidingWindows::of(secs(3), secs(1)))
            .key_by("Key", |_| ())
            .combine_per_key("List", ToList)
            .map_cx("Bounds", |(_, list), cx| Ok((span(&cx.window()), list)))
    });
    let expected = [
        ((0, 3), vec![1]),
        ((1, 4), vec![1, 2]),
        ((2, 5), vec![1, 2, 3]),
        ((3, 6), vec![2, 3]),
        ((4, 7), vec![3]),
    ];
    assert_eq!(lists, expected);
    let lists = collect(r, |p| {
        p.create_timestamped("Values", [(1_i64, at(0)), (2, at(12)), (3, at(6)), (4, at(40))])
            .window_into("Windows", Sessions::with_gap(secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("List", ToList)
            .map_cx("Bounds", |(_, list), cx| Ok((span(&cx.window()), list)))
    });
    assert_eq!(lists, [((0, 22), vec![1, 2, 3]), ((40, 50), vec![4])]);
}

/// Sums and counts what is asked of it.
#[derive(Clone, Debug, Default)]
struct Counting {
    creates: Arc<AtomicU64>,
    adds: Arc<AtomicU64>,
    merges: Arc<AtomicU64>,
    extracts: Arc<AtomicU64>,
}

impl CombineFn for Counting {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        self.creates.fetch_add(1, Ordering::Relaxed);
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        self.adds.fetch_add(1, Ordering::Relaxed);
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        self.merges.fetch_add(1, Ordering::Relaxed);
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        self.extracts.fetch_add(1, Ordering::Relaxed);
        acc
    }
}

/// A hot key costs as much as its elements: each is added once, and there are few accumulators, all merged once.
pub fn b147_a_hot_key_is_linear(r: &dyn Runner) {
    const N: i64 = 20_000;
    let counting = Counting::default();
    let combine = counting.clone();
    let sums =
        collect(r, |p| p.create("Values", 0..N).map("Key", |x| ((), x)).combine_per_key("Sum", combine));
    assert_eq!(sums, [((), N * (N - 1) / 2)]);
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    assert_eq!(count(&counting.adds), N as u64);
    assert_eq!(count(&counting.extracts), 1);
    // One accumulator a worker, at most; not one a bundle, let alone one an element.
    assert!(count(&counting.creates) <= 17, "{} accumulators", count(&counting.creates));
    assert!(count(&counting.merges) <= count(&counting.creates), "{} merges", count(&counting.merges));
}

/// Grouping by key, and grouping nothing.
pub fn group_by_key(r: &dyn Runner) {
    let pairs =
        [("k1", 3), ("k5", i64::MAX), ("k5", i64::MIN), ("k2", 66), ("k1", 4), ("k2", -33), ("k3", 0)];
    let groups = collect(r, |p| {
        p.create("Pairs", pairs.map(|(k, v)| (k.to_owned(), v))).group_by_key("Group").map(
            "Sorted",
            |(k, g)| {
                let mut values = g.into_vec();
                values.sort_unstable();
                (k, values)
            },
        )
    });
    let expected =
        [("k1", vec![3, 4]), ("k2", vec![-33, 66]), ("k3", vec![0]), ("k5", vec![i64::MIN, i64::MAX])];
    assert_eq!(groups, expected.map(|(k, v)| (k.to_owned(), v)));
    let none = collect(r, |p| {
        p.create("None", Vec::<(String, i64)>::new()).group_by_key("Group").map("Size", |(k, g)| (k, g.len()))
    });
    assert_nothing(none);
}

/// Keys that are empty, or nothing at all, are keys like any other (B090, as far as groupings go).
pub fn b090_empty_keys(r: &dyn Runner) {
    let pairs = [(None, 1), (Some(String::new()), 2), (None, 4), (Some("a".to_owned()), 8)];
    let sums = collect(r, |p| p.create("Pairs", pairs).combine_per_key("Sum", Sum));
    assert_eq!(sums, [(None, 5), (Some(String::new()), 2), (Some("a".to_owned()), 8)]);
    assert_eq!(
        collect(r, |p| p.create("Pairs", [((), 1_i64), ((), 2)]).combine_per_key("Sum", Sum)),
        [((), 3)]
    );
}

/// Large keys are keys.
pub fn large_keys(r: &dyn Runner) {
    let key = |n: usize| "k".repeat(n);
    let sums = collect(r, |p| {
        let pairs = [10_000, 100_000, 1_000_000].iter().flat_map(|n| [(key(*n), 1_i64), (key(*n), 2)]);
        p.create("Pairs", pairs.collect::<Vec<_>>())
            .combine_per_key("Sum", Sum)
            .map("Length", |(k, sum)| (k.len(), sum))
    });
    assert_eq!(sums, [(10_000, 3), (100_000, 3), (1_000_000, 3)]);
}

/// Three tables joined by key: a list from each, empty where a table has nothing.
pub fn co_group_by_key(r: &dyn Runner) {
    fn list<T: Element + Ord>(values: Grouped<T>) -> Vec<T> {
        let mut values = values.into_vec();
        values.sort();
        values
    }
    let rows = collect(r, |p| {
        let a = p.create("A", [(1_i64, "a1"), (1, "a2"), (2, "a3")].map(|(k, v)| (k, v.to_owned())));
        let b = p.create("B", [(1_i64, 10_i64), (3, 30)]);
        let c = p.create("C", [(4_i64, true)]);
        (a, b, c).apply("Join", CoGroupByKey).map("Lists", |(k, (a, b, c))| (k, list(a), list(b), list(c)))
    });
    let texts = |v: &[&str]| v.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let expected = [
        (1, texts(&["a1", "a2"]), vec![10], vec![]),
        (2, texts(&["a3"]), vec![], vec![]),
        (3, vec![], vec![30], vec![]),
        (4, vec![], vec![], vec![true]),
    ];
    assert_eq!(rows, expected);
}

/// Joined per window, with the earliest of both sides' timestamps, as Beam's `testCoGroupByKeyWithWindowing`.
pub fn co_group_by_key_in_windows(r: &dyn Runner) {
    let rows = collect(r, |p| {
        let windows =
            || WindowInto::of(FixedWindows::of(ms(4))).timestamp_combiner(TimestampCombiner::Earliest);
        let side = |name: &str, times: &[i64]| {
            let values: Vec<_> = times.iter().map(|t| (((), *t), super::support::at_ms(*t))).collect();
            p.create_timestamped(name, values).window_into(&format!("{name}Windows"), windows())
        };
        (side("Clicks", &[0, 2, 4, 6, 8]), side("Purchases", &[3, 4, 7, 8]))
            .apply("Join", CoGroupByKey)
            .map_cx("Sizes", |(_, (clicks, purchases)), cx| {
                Ok((span_ms(&cx.window()), cx.timestamp().as_millis(), clicks.len(), purchases.len()))
            })
    });
    assert_eq!(rows, [((0, 4), 0, 2, 1), ((4, 8), 4, 2, 2), ((8, 12), 8, 1, 1)]);
}

/// Grouped values can be walked again, interleaved, and only half.
pub fn b155_grouped_values_can_be_walked_again(r: &dyn Runner) {
    const N: i64 = 20_000;
    let sums = collect(r, |p| {
        let a = p.create("A", (0..N).map(|x| ("k".to_owned(), x)));
        let b = p.create("B", (0..N).map(|x| ("k".to_owned(), -x)));
        (a, b).apply("Join", CoGroupByKey).map("Walk", |(_, (a, b))| {
            let half: i64 = a.iter().take(N as usize / 2).count() as i64;
            let first: Vec<(i64, i64)> = a.iter().zip(b.iter()).collect();
            let again: Vec<(i64, i64)> = a.iter().zip(b.iter()).collect();
            let owned: i64 = a.clone().into_iter().sum::<i64>() + b.into_iter().sum::<i64>();
            (first == again, half, first.len(), owned, a.len())
        })
    });
    assert_eq!(sums, [(true, N / 2, N as usize, 0, N as usize)]);
}

/// Accumulators of sliding windows and sessions may be changed while they merge, as Beam's `test...WindowsCombine`.
pub fn combining_in_windows(r: &dyn Runner) {
    let values = || [("a", 1, 1), ("a", 1, 4), ("b", 1, 10), ("a", 13, 16), ("b", 13, 17)];
    let lists = |windows: WindowInto| {
        collect(r, |p| {
            let values = values().map(|(k, v, t)| ((k.to_owned(), v), super::support::at_ms(t)));
            p.create_timestamped("Values", values)
                .window_into("Windows", windows)
                .combine_per_key("List", ToList)
                .map_cx("Bounds", |(k, list), cx| Ok((span_ms(&cx.window()), k, list)))
        })
    };
    let row = |w, k: &str, list: &[i64]| (w, k.to_owned(), list.to_vec());
    let expected = [
        row((0, 2), "a", &[1]),
        row((4, 6), "a", &[1]),
        row((10, 12), "b", &[1]),
        row((16, 18), "a", &[13]),
        row((16, 18), "b", &[13]),
    ];
    assert_eq!(lists(FixedWindows::of(ms(2)).into()), expected);
    let expected = [
        row((1, 9), "a", &[1, 1]),
        row((10, 15), "b", &[1]),
        row((16, 21), "a", &[13]),
        row((17, 22), "b", &[13]),
    ];
    assert_eq!(lists(Sessions::with_gap(ms(5)).into()), expected);
}

/// A grouping that holds the earliest timestamp holds the watermark there until its window fires.
pub fn the_earliest_timestamp_holds_the_watermark(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let stream = TestStream::new()
            .element_at(1_i64, at(3))
            .advance_watermark_to(at(12))
            .element_at(2, at(13))
            .advance_watermark_to(at(21));
        let windows =
            WindowInto::of(FixedWindows::of(secs(20))).timestamp_combiner(TimestampCombiner::Earliest);
        let sums = p
            .apply("Stream", stream)
            .window_into("Windows", windows)
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .window_into("Ten", FixedWindows::of(secs(10)))
            .combine_per_key("Again", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)));
        log.note("Collect", &sums);
    });
    // At 12 the window [0, 10) downstream must not be closed: the group at 3 is still to come.
    assert_eq!(log.take(), [((0, 10), 3)]);
}

/// Several functions of one input, in one pass: a tuple of them.
pub fn several_at_once(r: &dyn Runner) {
    let pairs = || (1..=100_i64).map(|i| (i % 2, i));
    let out = collect(r, |p| {
        let both = p.create("Numbers", pairs()).combine_per_key("Both", (Sum, LargestTwo));
        both.map("Flat", |(key, (sum, largest))| (key, sum, largest))
    });
    assert_eq!(out, [(0, 2550, vec![100, 98]), (1, 2500, vec![99, 97])]);
    let out = collect(r, |p| {
        let numbers = p.create("Numbers", pairs()).map("Value", |(_, i)| i);
        numbers
            .combine_globally("All", (Sum, LargestTwo, Sum, LargestTwo))
            .map("First", |(a, _, c, d)| (a, c, d))
    });
    assert_eq!(out, [(5050, 5050, vec![100, 99])]);
}

/// The two largest numbers.
#[derive(Clone)]
struct LargestTwo;

impl CombineFn for LargestTwo {
    type Input = i64;
    type Accumulator = Vec<i64>;
    type Output = Vec<i64>;
    fn create(&self) -> Vec<i64> {
        Vec::new()
    }
    fn add_input(&self, two: &mut Vec<i64>, x: i64) {
        self.merge(two, vec![x]);
    }
    fn merge(&self, two: &mut Vec<i64>, mut other: Vec<i64>) {
        two.append(&mut other);
        two.sort_unstable_by(|a, b| b.cmp(a));
        two.truncate(2);
    }
    fn extract(&self, two: Vec<i64>) -> Vec<i64> {
        two
    }
}
