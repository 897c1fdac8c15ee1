//! Combining in parts: how many there are, that they are at work at once, and what must not change.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use purlin_sdk::{
    Combine, CombineFn, PCollection, Runner, WindowInto,
    metrics::{DROPPED_DUE_TO_CLOSED_WINDOW, DROPPED_DUE_TO_LATENESS},
    testing::TestStream,
    window::{FixedWindows, GlobalWindows, Sessions, TimestampCombiner, Trigger},
};

use super::support::{Log, Sum, assert_says, at, build_errors, collect, run, secs, span};
use crate::Meeting;

/// Sums, and counts the accumulators that values were added to.
#[derive(Clone, Default)]
struct CountsParts(Arc<AtomicUsize>);

impl CombineFn for CountsParts {
    type Input = i64;
    type Accumulator = (i64, bool);
    type Output = i64;
    fn create(&self) -> (i64, bool) {
        (0, false)
    }
    fn add_input(&self, (sum, used): &mut (i64, bool), x: i64) {
        if !std::mem::replace(used, true) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        *sum += x;
    }
    fn merge(&self, acc: &mut (i64, bool), other: (i64, bool)) {
        acc.0 += other.0;
    }
    fn extract(&self, (sum, _): (i64, bool)) -> i64 {
        sum
    }
}

/// The kinds of windowing in which groupings work differently: fixed windows, a trigger, windows that merge.
fn windowings() -> [WindowInto; 3] {
    let late = Trigger::after_watermark().late(Trigger::after_count(1));
    [
        WindowInto::of(FixedWindows::of(secs(100))),
        WindowInto::of(FixedWindows::of(secs(100))).trigger(late).discarding().allowed_lateness(secs(10)),
        WindowInto::of(Sessions::with_gap(secs(50))),
    ]
}

/// Twelve values of one key and time, that come together, are combined in so many parts.
pub fn parts_are_as_many_as_asked_for(r: &dyn Runner) {
    for windowing in windowings() {
        for (fanout, parts) in [(1, 1), (2, 2), (5, 5), (12, 12), (100, 12)] {
            let combine = CountsParts::default();
            let log = Log::default();
            run(r, |p| {
                let stream = TestStream::new().elements((1..=12_i64).map(|n| (("hot".to_owned(), n), at(7))));
                let sums = p
                    .apply("Stream", stream)
                    .window_into("Windows", windowing.clone())
                    .apply("Sum", Combine::per_key(combine.clone()).with_hot_key_fanout(fanout));
                log.note("Sums", &sums);
            });
            assert_eq!(log.take(), [("hot".to_owned(), 78)]);
            assert_eq!(combine.0.load(Ordering::Relaxed), parts, "{windowing:?}, fan-out {fanout}");
        }
    }
}

/// Adds a value only when another one is added elsewhere at the same time.
#[derive(Clone)]
struct Meets(Meeting);

impl CombineFn for Meets {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        if let Err(e) = self.0.attend() {
            panic!("{e}");
        }
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        acc
    }
}

/// Values of one key that come in one bundle are added in two bundles at once, whatever the windows.
pub fn a_hot_key_is_in_several_bundles(r: &dyn Runner) {
    for windowing in windowings() {
        let combine = Meets(Meeting::of(2));
        let sums = collect(r, |p| {
            p.create_timestamped("Values", (1..=8_i64).map(|n| ((0_u8, n), at(n))))
                .window_into("Windows", windowing.clone())
                .apply("Sum", Combine::per_key(combine.clone()).with_hot_key_fanout(2))
        });
        assert_eq!(sums, [(0, 36)], "{windowing:?}");
    }
}

/// No parts, no result: that is refused where it is said, with the way out.
pub fn b207_a_fanout_of_nothing(_: &dyn Runner) {
    let text = build_errors(|p| {
        let values = p.create("Values", [(0_u8, 1_i64)]);
        values.apply("PerKey", Combine::per_key(Sum).with_hot_key_fanout(0));
        values.map("Value", |(_, n)| n).apply("All", Combine::globally(Sum).with_fanout(0));
    });
    assert_says(
        &text,
        &["`PerKey/PreCombine`", "`All/PreCombine`", "fan-out is 0", "Leave the fan-out away"],
    );
}

/// The sums of a stream, and how many elements were dropped as late and for a closed window.
fn dropped(
    r: &dyn Runner,
    windowing: &WindowInto,
    stream: &TestStream<i64>,
    fanout: usize,
) -> (Vec<i64>, i64, i64) {
    let log = Log::default();
    let outcome = run(r, |p| {
        let sums = p
            .apply("Stream", stream.clone())
            .window_into("Windows", windowing.clone())
            .apply("Sum", Combine::globally(Sum).without_defaults().with_fanout(fanout));
        log.note("Sums", &sums);
    });
    let committed = &outcome.metrics.committed;
    let dropped = [DROPPED_DUE_TO_LATENESS, DROPPED_DUE_TO_CLOSED_WINDOW].map(|m| committed.counter_total(m));
    (log.take(), dropped[0], dropped[1])
}

/// What is dropped is counted by elements, not by parts of them.
pub fn late_and_closed_elements_are_counted(r: &dyn Runner) {
    let late = TestStream::new()
        .element_at(1_i64, at(1))
        .advance_watermark_to(at(20))
        .elements([2, 3, 4].map(|n| (n, at(n))));
    let closed =
        TestStream::new().elements([1, 2].map(|n| (n, at(n)))).elements([3, 4, 5].map(|n| (n, at(n))));
    let once = WindowInto::of(GlobalWindows).trigger(Trigger::after_count(2)).discarding().allow_data_loss();
    for fanout in [1, 2, 7] {
        let fixed = WindowInto::of(FixedWindows::of(secs(10)));
        assert_eq!(dropped(r, &fixed, &late, fanout), (vec![1], 3, 0), "fan-out {fanout}");
        let sessions = WindowInto::of(Sessions::with_gap(secs(5)));
        assert_eq!(dropped(r, &sessions, &late, fanout), (vec![1], 3, 0), "fan-out {fanout}");
        let (sums, late, closed) = dropped(r, &once, &closed, fanout);
        // Where the parts of one moment come one by one, the window may close between them; all are summed or counted.
        assert_eq!((sums.len(), late), (1, 0), "fan-out {fanout}");
        assert!(closed >= 3, "fan-out {fanout}: {closed}");
    }
}

/// Results have the timestamps that they have without a fan-out.
pub fn timestamps_are_the_same(r: &dyn Runner) {
    let stream = || {
        TestStream::new()
            .elements([3, 1, 2].map(|n| (n, at(n))))
            .advance_watermark_to(at(11))
            .elements([5, 4].map(|n| (n, at(n))))
    };
    for combiner in [
        TimestampCombiner::Earliest,
        TimestampCombiner::Latest,
        TimestampCombiner::EndOfWindow,
        TimestampCombiner::EarliestTransformed,
    ] {
        let times = |fanout: usize| {
            collect(r, |p| {
                let windowing = WindowInto::of(FixedWindows::of(secs(10)))
                    .trigger(Trigger::after_watermark().late(Trigger::after_processing_time().delay(secs(1))))
                    .discarding()
                    .allowed_lateness(secs(60))
                    .timestamp_combiner(combiner);
                p.apply("Stream", stream().advance_processing_time(secs(5)))
                    .window_into("Windows", windowing)
                    .key_by("Key", |_| ())
                    .apply("Sum", Combine::per_key(Sum).with_hot_key_fanout(fanout))
                    .map_cx("Time", |((), sum), cx| Ok((sum, cx.timestamp(), cx.pane().timing)))
            })
        };
        let plain = times(1);
        assert_eq!(plain.len(), 2, "{combiner:?}: {plain:?}");
        assert_eq!(times(2), plain, "{combiner:?}");
        assert_eq!(times(9), plain, "{combiner:?}");
    }
}

/// An empty collection gives the combination of nothing in the global window, unless that is not wanted.
pub fn nothing_is_combined_to_the_default(r: &dyn Runner) {
    let sums = |defaults: bool| {
        collect(r, |p| {
            let none: PCollection<i64> = p.create("None", []);
            let combine = Combine::globally(Sum).with_fanout(3);
            none.apply("Sum", if defaults { combine } else { combine.without_defaults() })
        })
    };
    assert_eq!(sums(true), [0]);
    assert_eq!(sums(false), [0_i64; 0]);
}

/// Elements of a session in different parts are in one session afterwards; one that joins two others is too.
pub fn sessions_across_parts(r: &dyn Runner) {
    for fanout in [1, 2, 3, 50] {
        let sums = collect(r, |p| {
            let times = [0, 4, 8, 30, 34, 12, 60];
            p.create_timestamped("Values", times.map(|t| (("a".to_owned(), t), at(t))))
                .window_into("Sessions", Sessions::with_gap(secs(5)))
                .apply("Sum", Combine::per_key(Sum).with_hot_key_fanout(fanout))
                .map_cx("Bounds", |(_, sum), cx| Ok((span(&cx.window()), sum)))
        });
        assert_eq!(sums, [((0, 17), 24), ((30, 39), 64), ((60, 65), 60)], "fan-out {fanout}");
    }
}
