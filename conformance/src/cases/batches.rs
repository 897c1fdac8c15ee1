//! `GroupIntoBatches`. Beam's `GroupIntoBatchesTest`.

use purlin_sdk::{
    Duration, Key, PCollection, Runner, WindowInto,
    coder::ShardedKey,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{FixedWindows, GlobalWindows, PaneTiming, Sessions, Trigger, Window},
};
use purlin_transforms::{Count, GroupIntoBatches};

use super::{
    probe::{Keyed, k},
    support::{Log, assert_says, at, at_ms, build_errors, collect, run, secs, span},
};

type Batches = PCollection<(String, Vec<i64>)>;

/// The sizes of batches, in the order in which they came, with their timestamps and windows in seconds.
fn sizes(
    r: &dyn Runner,
    stream: &Keyed,
    build: impl FnOnce(PCollection<(String, i64)>) -> Batches,
) -> Vec<(i64, i64, usize)> {
    let log = Log::default();
    run(r, |p| {
        let batches = build(p.apply("Stream", stream.clone()));
        let sizes = batches.map_cx("Size", |(_, batch), cx| {
            let start = cx.window().as_interval().map_or(0, |w| w.start().as_millis() / 1000);
            Ok((start, cx.timestamp().as_millis() / 1000, batch.len()))
        });
        log.note("Collect", &sizes);
    });
    log.take()
}

/// Values 0, 1, ... of one key, each at the second of its value.
fn numbers(n: i64) -> Keyed {
    (0..n).fold(TestStream::new().advance_watermark_to(at(0)), |s, i| s.element_at(k(i), at(i)))
}

fn fixed(size: i64) -> FixedWindows {
    FixedWindows::of(secs(size))
}

/// Full batches, and what is left over.
pub fn batches_of_a_size(r: &dyn Runner) {
    for (n, expected) in [(10, vec![5, 5]), (11, vec![1, 5, 5]), (3, vec![3]), (0, vec![])] {
        let found = collect(r, |p| {
            let values = p.create("Values", (0..n).map(k));
            values.apply("Batches", GroupIntoBatches::of_size(5)).map("Size", |(_, batch)| batch.len())
        });
        assert_eq!(found, expected, "of {n}");
    }
    let all = collect(r, |p| {
        let values = p.create("Values", (0..1000).map(|n| (n % 7, n)));
        values.apply("Batches", GroupIntoBatches::of_size(9)).flat_map("Apart", |(key, batch)| {
            assert!(!batch.is_empty() && batch.len() <= 9 && batch.iter().all(|n| n % 7 == key));
            batch
        })
    });
    assert_eq!(all, (0..1000).collect::<Vec<_>>());
}

/// Batches never cross windows: 5, 1 and 4 of ten values in windows of six seconds.
pub fn batches_in_windows(r: &dyn Runner) {
    let stream = [5, 7, 10].into_iter().fold(numbers(10), |s, t| s.advance_watermark_to(at(t)));
    let out = sizes(r, &stream, |pc| {
        pc.window_into("Six", fixed(6)).apply("Batches", GroupIntoBatches::of_size(5))
    });
    assert_eq!(out, [(0, 0, 5), (0, 5, 1), (6, 6, 4)]);
}

/// The longest buffering duration counts from the first value of a batch: 3, 1, 3, 1, 2.
pub fn a_longest_duration_in_windows(r: &dyn Runner) {
    let mut stream = TestStream::new().advance_watermark_to(at(0));
    for i in 0..10 {
        stream = stream.element_at(k(i), at(i)).advance_processing_time(secs(2));
    }
    let batches = || GroupIntoBatches::of_size(5).with_max_buffering_duration(secs(5));
    let out = sizes(r, &stream.advance_watermark_to(at(10)), |pc| {
        pc.window_into("Four", fixed(4)).apply("Batches", batches())
    });
    let mut found = out;
    found.sort_unstable();
    assert_eq!(found, [(0, 0, 3), (0, 3, 1), (4, 4, 3), (4, 7, 1), (8, 8, 2)]);
}

/// In the global window, under a trigger, which does not matter.
pub fn a_longest_duration_in_the_global_window(r: &dyn Runner) {
    let five = |from: i64| (from..from + 5).map(|i| (k(i), at(i)));
    let stream = TestStream::new().elements(five(0)).advance_processing_time(secs(100)).elements(five(5));
    let windows =
        || WindowInto::of(GlobalWindows).trigger(Trigger::repeatedly(Trigger::after_count(2))).discarding();
    let out = sizes(r, &stream.advance_processing_time(secs(100)), |pc| {
        let batches = GroupIntoBatches::of_size(15).with_max_buffering_duration(secs(5));
        pc.window_into("Global", windows()).apply("Batches", batches)
    });
    assert_eq!(out, [(0, 0, 5), (0, 5, 5)]);
}

fn texts(texts: &[&str]) -> TestStream<(String, String)> {
    texts
        .iter()
        .fold(TestStream::new(), |s, text| s.element_at(("key".to_owned(), (*text).to_owned()), at(0)))
}

fn lengths(
    r: &dyn Runner,
    stream: &TestStream<(String, String)>,
    build: impl FnOnce(PCollection<(String, String)>) -> PCollection<(String, Vec<String>)>,
) -> Vec<Vec<usize>> {
    let log = Log::default();
    run(r, |p| {
        let batches = build(p.apply("Stream", stream.clone()));
        log.note("Collect", &batches.map("Lengths", |(_, batch)| batch.iter().map(String::len).collect()));
    });
    log.take()
}

/// No batch is larger than a size in bytes; a value that is larger by itself goes alone.
pub fn batches_of_a_byte_size(r: &dyn Runner) {
    let names = "Einstein Darwin Copernicus Pasteur Curie Faraday Newton Bohr Galilei Maxwell"
        .split(' ')
        .collect::<Vec<_>>();
    let stream = texts(&names);
    let encoded = lengths(r, &stream, |pc| pc.apply("Batches", GroupIntoBatches::of_byte_size(25)));
    assert_eq!(encoded, [vec![8, 6, 10], vec![7, 5, 7, 6], vec![4, 7, 7]]);
    let said = lengths(r, &stream, |pc| {
        let double = |text: &String| 2 * text.len() as u64;
        pc.apply("Batches", GroupIntoBatches::of_size(100).with_byte_size_by(25, double))
    });
    assert_eq!(said, [vec![8], vec![6], vec![10], vec![7, 5], vec![7], vec![6, 4], vec![7], vec![7]]);
    let huge = "-".repeat(100);
    let both = texts(&["a-1", "a-2", &huge, "b-4", "b-5", "b-6", "b-7", "b-8", "c-9"]);
    let both = lengths(r, &both, |pc| pc.apply("Batches", GroupIntoBatches::of_size(5).with_byte_size(25)));
    assert_eq!(both, [vec![3, 3], vec![100], vec![3; 5], vec![3]]);
}

/// A key is split, no batch is too large, and most are full.
pub fn batches_of_sharded_keys(r: &dyn Runner) {
    let log = Log::<(ShardedKey<String>, Vec<i64>)>::default();
    run(r, |p| {
        let values = p.create("Values", (0..10_000).map(k));
        log.note("Collect", &values.apply("Batches", GroupIntoBatches::of_size(5).with_sharded_key()));
    });
    let batches = log.take();
    assert!(batches.iter().all(|(key, batch)| key.key == "k" && batch.len() <= 5));
    let full = batches.iter().filter(|(_, batch)| batch.len() == 5).count();
    assert!(full > batches.len() / 2, "{full} of {}", batches.len());
    let mut all: Vec<i64> = batches.into_iter().flat_map(|(_, batch)| batch).collect();
    all.sort_unstable();
    assert_eq!(all, (0..10_000).collect::<Vec<_>>());
}

/// The watermark stays at the earliest value until the batch is out, so it is on time, also where it fills up by a later
/// value.
pub fn b089_a_batch_is_not_late(r: &dyn Runner) {
    let stream = TestStream::new().elements((1..=3).map(|i| (k(i), at(i)))).advance_watermark_to(at(100));
    let waits = stream.clone().advance_processing_time(secs(60));
    let fills = stream.element_at(k(111), at(111)).advance_watermark_to(at(120));
    for (stream, n, expected) in [(waits, 10, 3), (fills, 4, 4)] {
        let log = Log::default();
        run(r, |p| {
            let batches = GroupIntoBatches::of_size(n).with_max_buffering_duration(secs(60));
            let counts = p
                .apply("Stream", stream.clone())
                .apply("Batches", batches)
                .map("Size", |(_, batch)| batch.len())
                .window_into("Ten", fixed(10))
                .group_by_key_of_one()
                .map_cx("Pane", |sizes: Vec<usize>, cx| {
                    Ok((span(&cx.window()), cx.pane().timing == PaneTiming::OnTime, sizes))
                });
            log.note("Collect", &counts);
        });
        assert_eq!(log.take(), [((0, 10), true, vec![expected])]);
    }
}

/// One group a window.
trait GroupByKeyOfOne {
    fn group_by_key_of_one(&self) -> PCollection<Vec<usize>>;
}

impl GroupByKeyOfOne for PCollection<usize> {
    fn group_by_key_of_one(&self) -> PCollection<Vec<usize>> {
        self.key_by("One", |_| ()).group_by_key("Group").map("Sizes", |((), sizes)| sizes.into_vec())
    }
}

fn batches_by<K: Key + Ord>(r: &dyn Runner, keys: &[K]) -> Vec<(K, usize)> {
    let pairs: Vec<(K, i64)> = (0..5).flat_map(|n| keys.iter().map(move |key| (key.clone(), n))).collect();
    collect(r, |p| {
        let batches = p.create("Values", pairs).apply("Batches", GroupIntoBatches::of_size(3));
        batches.map("Size", |(key, batch)| (key, batch.len()))
    })
}

/// A key that is missing, empty, or of no bytes is a key like others.
pub fn b090_missing_and_empty_keys(r: &dyn Runner) {
    let texts = [None, Some(String::new()), Some("a".to_owned())];
    let each = |key: &Option<String>| [(key.clone(), 2), (key.clone(), 3)];
    assert_eq!(batches_by(r, &texts), texts.iter().flat_map(each).collect::<Vec<_>>());
    assert_eq!(batches_by(r, &[String::new()]), [(String::new(), 2), (String::new(), 3)]);
    assert_eq!(batches_by(r, &[()]), [((), 2), ((), 3)]);
}

/// What comes within the allowed lateness goes into batches, and those come out when the window expires; what comes later
/// is dropped.
pub fn late_data_are_batched(r: &dyn Runner) {
    let stream = TestStream::new()
        .element_at(k(1), at(1))
        .advance_watermark_to(at(12))
        .element_at(k(2), at(2))
        .advance_watermark_to(at(15))
        .element_at(k(3), at(3));
    let log = Log::default();
    let outcome = run(r, |p| {
        let windows = WindowInto::of(fixed(10)).allowed_lateness(secs(5));
        let batches = p
            .apply("Stream", stream)
            .window_into("Ten", windows)
            .apply("Batches", GroupIntoBatches::of_size(5))
            .map_cx("Time", |(_, batch), cx| Ok((batch, cx.timestamp())));
        log.note("Collect", &batches);
    });
    assert_eq!(log.take(), [(vec![1, 2], at(1))]);
    assert_eq!(outcome.metrics.committed.counter("Batches/Gather", DROPPED_DUE_TO_LATENESS), 1);
}

/// A value that was late before does not make those late that come with it.
pub fn a_late_value_does_not_make_others_late(r: &dyn Runner) {
    let late_only =
        TestStream::new().advance_watermark_to(at(50)).element_at(k(1), at(1)).element_at(k(2), at(2));
    let mixed = late_only.clone().element_at(k(60), at(60)).element_at(k(70), at(70));
    for (stream, expected) in [(late_only, 1), (mixed, 60)] {
        let out = sizes(r, &stream, |pc| pc.apply("Batches", GroupIntoBatches::of_size(10)));
        assert_eq!(out.iter().map(|(_, time, _)| *time).collect::<Vec<_>>(), [expected]);
    }
}

/// A timestamp outside the window, which elements may have, holds at the window's end.
pub fn a_timestamp_after_the_window(r: &dyn Runner) {
    let found = collect(r, |p| {
        p.apply("Stream", TestStream::new().element_at(k(1), at(1)))
            .window_into("Ten", fixed(10))
            .with_timestamps("Later", |_| at(100))
            .apply("Batches", GroupIntoBatches::of_size(10))
            .map_cx("Time", |(_, batch), cx| Ok((batch, cx.timestamp(), cx.window())))
    });
    assert_eq!(found, [(vec![1], at_ms(9_999), Window::interval(at(0), at(10)))]);
}

/// What cannot be is told when the pipeline is built.
pub fn batches_that_cannot_be(_: &dyn Runner) {
    let text = build_errors(|p| {
        let values = p.create("Values", [k(1)]);
        values.apply("None", GroupIntoBatches::of_size(0));
        values.apply("NoBytes", GroupIntoBatches::of_size(5).with_byte_size(0));
        values.apply("AtOnce", GroupIntoBatches::of_size(5).with_max_buffering_duration(Duration::ZERO));
        let sessions = values.window_into("Sessions", Sessions::with_gap(secs(5)));
        sessions.apply("Sessions too", GroupIntoBatches::of_size(5));
    });
    assert_says(
        &text,
        &["`None`", "`NoBytes`", "no size at all", "`AtOnce`", "leave `with_max_buffering_duration` out"],
    );
    assert_says(&text, &["`Sessions too/Gather`", "merge"]);
}

/// A hot key fills its batches in linear time.
pub fn b147_a_hot_key_is_batched(r: &dyn Runner) {
    let found = collect(r, |p| {
        let values = p.create("Values", (0..100_000).map(|n| ((), n)));
        let batches = values.apply("Batches", GroupIntoBatches::of_size(40_000));
        batches.map("Size", |((), batch)| batch.len() as u64)
    });
    assert_eq!(found, [20_000, 40_000, 40_000]);
}

/// A batch that its window's end flushes, counted by a grouping behind it: its window is still open.
pub fn remainders_are_on_time(r: &dyn Runner) {
    let out = collect(r, |p| {
        p.create_timestamped("Values", (0..25).map(|i| (k(i), at(i))))
            .window_into("Ten", fixed(10))
            .apply("Batches", GroupIntoBatches::of_size(4))
            .map("Key", |(key, _)| key)
            .apply("Count", Count::per_element())
            .map_cx("Window", |(_, n), cx| Ok((span(&cx.window()), n)))
    });
    assert_eq!(out, [((0, 10), 3), ((10, 20), 3), ((20, 30), 2)]);
}
