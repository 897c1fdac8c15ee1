//! Late data, and how elements are cut into bundles.

use std::collections::BTreeMap;

use purlin_sdk::{
    PCollection, Runner,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{FixedWindows, Sessions, SlidingWindows},
};

use super::support::{Log, Numbers, Sum, assert_nothing, at, collect, run, secs, span};

/// Late data are dropped where they are grouped, not before.
pub fn b114_late_data_are_dropped_by_groupings_only(r: &dyn Runner) {
    let (seen, grouped) = (Log::default(), Log::default());
    let outcome = run(r, |p| {
        let stream = TestStream::new().advance_watermark_to(at(200)).element_at(1_i64, at(50));
        let counted = p
            .apply("Stream", stream)
            .map_cx("Count", |x, cx| {
                cx.counter("seen").inc(1);
                Ok(x)
            })
            .reshuffle("Spread");
        seen.note("See", &counted);
        let sums = counted
            .window_into("Windows", FixedWindows::of(secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map("Value", |(_, n)| n);
        grouped.note("Collect", &sums);
    });
    assert_eq!(outcome.metrics.committed.counter("Count", "seen"), 1);
    assert_eq!(seen.take(), [1]);
    assert_nothing(grouped.take());
    assert_eq!(outcome.metrics.committed.counter("Sum", DROPPED_DUE_TO_LATENESS), 1);
}

fn after_watermark(p: &purlin_sdk::Pipeline, watermark: i64, element: i64) -> PCollection<i64> {
    p.apply("Stream", TestStream::new().advance_watermark_to(at(watermark)).element_at(element, at(element)))
}

/// An element behind the watermark counts as long as its window is open: each of its windows decides for itself.
pub fn b115_a_window_decides_what_is_late(r: &dyn Runner) {
    let log = Log::default();
    let outcome = run(r, |p| {
        let sums = after_watermark(p, 97, 95)
            .window_into("Windows", FixedWindows::of(secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)));
        log.note("Collect", &sums);
    });
    assert_eq!(log.take(), [((90, 100), 95)]);
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);

    let outcome = run(r, |p| {
        let sums = after_watermark(p, 103, 97)
            .window_into("Windows", SlidingWindows::of(secs(10), secs(5)))
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)));
        log.note("Collect", &sums);
    });
    assert_eq!(log.take(), [((95, 105), 97)]);
    assert_eq!(outcome.metrics.committed.counter("Sum", DROPPED_DUE_TO_LATENESS), 1);
}

/// A window is open until the watermark passes its last millisecond: at its end it is not, one before it is.
pub fn b115_the_boundary_of_lateness(r: &dyn Runner) {
    for (watermark, expected) in [(10, vec![]), (9, vec![5])] {
        let sums = collect(r, |p| {
            after_watermark(p, watermark, 5)
                .window_into("Windows", FixedWindows::of(secs(10)))
                .key_by("Key", |_| ())
                .combine_per_key("Sum", Sum)
                .map("Value", |(_, n)| n)
        });
        assert_eq!(sums, expected, "watermark {watermark}");
    }
}

type Input = Vec<((u8, i64), i64)>;
type Output = Vec<((i64, i64), u8, i64)>;

/// Elements (key, value) with their seconds.
fn input(n: usize) -> Input {
    let mut numbers = Numbers::of(n as u64);
    (0..n).map(|i| ((numbers.below(3) as u8, i as i64), numbers.below(200) as i64)).collect()
}

fn fixed(input: &Input) -> Output {
    sums(input.iter().map(|((k, v), t)| (((t / 10) * 10, (t / 10) * 10 + 10), *k, *v)))
}

fn sliding(input: &Input) -> Output {
    sums(input.iter().flat_map(|((k, v), t)| {
        let last = (t / 5) * 5;
        [last - 5, last].map(|start| ((start, start + 10), *k, *v))
    }))
}

fn sessions(input: &Input) -> Output {
    let mut keys: BTreeMap<u8, Vec<(i64, i64)>> = BTreeMap::new();
    input.iter().for_each(|((k, v), t)| keys.entry(*k).or_default().push((*t, *v)));
    let mut all = Vec::new();
    for (key, mut elements) in keys {
        elements.sort_unstable();
        let mut open: Option<((i64, i64), i64)> = None;
        for (t, v) in elements {
            open = Some(match open {
                Some(((start, end), sum)) if t < end => ((start, t + 4), sum + v),
                done => {
                    all.extend(done.map(|(w, sum)| (w, key, sum)));
                    ((t, t + 4), v)
                }
            });
        }
        all.extend(open.map(|(w, sum)| (w, key, sum)));
    }
    all.sort_unstable();
    all
}

fn sums(each: impl Iterator<Item = ((i64, i64), u8, i64)>) -> Output {
    let mut all = BTreeMap::new();
    each.for_each(|(w, k, v)| *all.entry((w, k)).or_insert(0) += v);
    all.into_iter().map(|((w, k), sum)| (w, k, sum)).collect()
}

/// The result does not depend on how the elements are cut into bundles, nor on the order in which they come.
pub fn b120_bundles_do_not_matter(r: &dyn Runner) {
    let input = input(60);
    for streamed in [false, true] {
        let read = |p: &purlin_sdk::Pipeline| {
            if !streamed {
                return p.create_timestamped("Values", input.iter().map(|(kv, t)| (*kv, at(*t))));
            }
            // In four parts by time, each in any order and never late.
            let mut stream = TestStream::new();
            for part in 0..4_i64 {
                let (from, to) = (part * 50, part * 50 + 50);
                let mine = input.iter().filter(|(_, t)| (from..to).contains(t));
                stream = stream.elements(mine.map(|(kv, t)| (*kv, at(*t)))).advance_watermark_to(at(to));
            }
            p.apply("Values", stream)
        };
        let outputs = |windows: purlin_sdk::WindowInto| {
            collect(r, |p| {
                read(p)
                    .window_into("Windows", windows)
                    .combine_per_key("Sum", Sum)
                    .map_cx("Bounds", |(k, n), cx| Ok((span(&cx.window()), k, n)))
            })
        };
        assert_eq!(outputs(FixedWindows::of(secs(10)).into()), fixed(&input), "fixed, streamed: {streamed}");
        assert_eq!(
            outputs(SlidingWindows::of(secs(10), secs(5)).into()),
            sliding(&input),
            "sliding, streamed: {streamed}"
        );
        assert_eq!(outputs(Sessions::with_gap(secs(4)).into()), sessions(&input), "sessions: {streamed}");
    }
}
