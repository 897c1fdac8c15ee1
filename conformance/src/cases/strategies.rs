//! Watermarks that are assigned in mid-pipeline.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use purlin_sdk::{
    Duration, PCollection, Pipeline, Runner, Tag, Timestamp, WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::{TestStream, TestStreams},
    watermark::{
        ControlPoint, MultipleWatermarks, WatermarkControl, WatermarkGenerator, WatermarkOutput,
        WatermarkStrategy,
    },
    window::FixedWindows,
};
use serde::{Deserialize, Serialize};

use super::{
    sources::Sum,
    support::{Log, assert_says, at, at_ms, build_errors, ms, run, secs, span_ms},
};

/// A stream of times in milliseconds, each an event of its own; the elements themselves lie at the epoch.
fn stream(events: &[&[i64]]) -> TestStream<i64> {
    events.iter().fold(TestStream::new(), |s, event| s.elements(event.iter().map(|n| (*n, at(0)))))
}

/// Bounded out-of-orderness by the elements' own times, at once.
fn bounded(delay: Duration) -> WatermarkStrategy<i64> {
    WatermarkStrategy::for_bounded_out_of_orderness(delay)
        .with_timestamp_assigner(|n: &i64| at_ms(*n))
        .emit_per_bundle()
}

/// Counts in windows of a second, by their starts in milliseconds; and how many elements were late.
fn counts(r: &dyn Runner, build: impl FnOnce(&Pipeline) -> PCollection<i64>) -> (Vec<(i64, i64)>, i64) {
    let log = Log::default();
    let outcome = run(r, |p| log.note("Collect", &counted(&build(p))));
    (log.take_sorted(), outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS))
}

fn counted(times: &PCollection<i64>) -> PCollection<(i64, i64)> {
    times
        .window_into("Window", FixedWindows::of(secs(1)))
        .map("One", |_| ((), 1))
        .combine_per_key("Sum", Sum)
        .map_cx("Start", |((), n), cx| Ok((span_ms(&cx.window()).0, n)))
}

/// An element at the watermark is not late, one a millisecond before it is.
pub fn b056_an_element_at_the_watermark_is_on_time(r: &dyn Runner) {
    let (seen, late) = counts(r, |p| {
        let times = p.apply("Times", stream(&[&[10_000], &[5000], &[4000, 4999]]));
        times.assign_watermark("Watermark", bounded(secs(5)))
    });
    assert_eq!((seen, late), (vec![(5000, 1), (10_000, 1)], 2));
    let (seen, late) = counts(r, |p| {
        let times = p.apply("Times", stream(&[&[1000], &[1000], &[999]]));
        times.assign_watermark("Watermark", bounded(Duration::ZERO))
    });
    assert_eq!((seen, late), (vec![(1000, 2)], 1));
}

/// Each element with the watermark before its bundle.
fn with_watermarks(
    r: &dyn Runner,
    build: impl FnOnce(&Pipeline) -> PCollection<i64>,
) -> Vec<(i64, Option<Timestamp>)> {
    let log = Log::default();
    run(r, |p| {
        let seen = build(p).map_cx("Watermark before", |n, cx| Ok((n, cx.current_watermark())));
        log.note("Collect", &seen);
    });
    log.take()
}

/// Ticks before the first element say nothing, and nothing wraps.
pub fn b057_ticks_before_the_first_element(r: &dyn Runner) {
    let strategy = || {
        WatermarkStrategy::for_bounded_out_of_orderness(secs(60)).with_timestamp_assigner(|n: &i64| at_ms(*n))
    };
    let ticks = || (0..3).fold(TestStream::new(), |s, _| s.advance_processing_time(ms(200)));
    let (seen, late) = counts(r, |p| {
        p.apply("Times", ticks().element_at(0, at(0))).assign_watermark("Watermark", strategy())
    });
    assert_eq!((seen, late), (vec![(0, 1)], 0));
    let seen = with_watermarks(r, |p| {
        let times = ticks().element_at(0, at(0)).advance_processing_time(ms(200)).element_at(1, at(0));
        p.apply("Times", times).assign_watermark("Watermark", strategy())
    });
    assert_eq!(seen, [(0, None), (1, Some(at(-60)))]);
}

/// A strategy goes by the data and not by the clock.
pub fn b059_the_clock_is_not_the_watermark(r: &dyn Runner) {
    let all = [
        WatermarkStrategy::source_watermark(),
        WatermarkStrategy::for_monotonous_timestamps(),
        bounded(secs(1)),
        WatermarkStrategy::for_monotonous_timestamps().with_idleness(secs(1)),
    ];
    for strategy in all {
        let years = Duration::from_days(365 * 56);
        let times = (1..=5).fold(TestStream::new().advance_processing_time(years), |s, n| {
            s.element_at(1000 * n, at(0)).advance_processing_time(ms(200)).advance_processing_time(secs(3))
        });
        let strategy = strategy.with_timestamp_assigner(|n: &i64| at_ms(*n));
        let seen =
            with_watermarks(r, |p| p.apply("Times", times).assign_watermark("Watermark", strategy.clone()));
        assert_eq!(seen.len(), 5);
        for (n, watermark) in seen {
            assert!(watermark < Some(at_ms(n)), "{watermark:?} before {n}: {strategy:?}");
        }
    }
}

/// A tick emits what is new since the last one, and never less than before.
pub fn b061_a_tick_emits_what_is_new(r: &dyn Runner) {
    // An element at 0 moves nothing: it is there to look.
    let look = |s: TestStream<i64>| s.element_at(0, at(0));
    let tick = |s: TestStream<i64>| s.advance_processing_time(ms(200));
    let s = TestStream::new().elements([(5000, at(0)), (9000, at(0))]);
    let s = look(tick(look(tick(look(s)))));
    let s = look(tick(look(s.element_at(8000, at(0)))));
    let strategy =
        WatermarkStrategy::for_bounded_out_of_orderness(secs(2)).with_timestamp_assigner(|n: &i64| at_ms(*n));
    let seen = with_watermarks(r, |p| p.apply("Times", s).assign_watermark("Watermark", strategy));
    let looks: Vec<_> = seen.into_iter().filter(|(n, _)| *n == 0).map(|(_, w)| w).collect();
    let seven = Some(at(7));
    assert_eq!(looks, [None, seven, seven, seven, seven]);
}

/// Spark's: the greatest time so far less the delay, bundle by bundle, never back. Timestamps may move anywhere; the
/// input's own watermark does not count, and its end is the end.
pub fn the_greatest_time_less_a_delay(r: &dyn Runner) {
    let marked = Arc::new(AtomicBool::new(false));
    let mark = marked.clone();
    let log = Log::default();
    let outcome = run(r, |p| {
        let events = stream(&[&[3000, 14_000], &[9000], &[4000, 3500], &[20_000]])
            // Far behind where the elements of this stream would be expected, and far ahead of them.
            .advance_watermark_to(at(1_000_000))
            .elements([(15_000, at(1_000_000))])
            .mark(move || mark.store(true, Ordering::SeqCst))
            .elements([(15_500, at(1_000_001))]);
        let times = p.apply("Times", events).with_watermark("EventTime", |n| at_ms(*n), secs(10));
        let counts = counted(&times).map("Early", move |count| (count, !marked.load(Ordering::SeqCst)));
        log.note("Collect", &counts);
    });
    // After 14 s it is 4 s: the window of 3.5 s is closed, that of 4 s is not. After 20 s it is 10 s.
    let closed = [(3000, 1), (4000, 1), (9000, 1)].map(|count| (count, true));
    let open = [(14_000, 1), (15_000, 2), (20_000, 1)].map(|count| (count, false));
    assert_eq!(log.take_sorted(), [closed, open].concat());
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 1);
}

/// A delay cannot be negative.
pub fn a_negative_delay(_: &dyn Runner) {
    let error = build_errors(|p| {
        p.create("Times", [1_i64]).with_watermark("EventTime", |n| at_ms(*n), secs(-600));
    });
    assert_says(&error, &["EventTime", "-10m", "negative"]);
}

/// The least of the partitions' watermarks, where those that are known count from the beginning.
pub fn the_least_of_the_partitions(r: &dyn Runner) {
    // The partition is the last digit.
    let strategy = |known: &[i64]| {
        WatermarkStrategy::for_monotonous_timestamps()
            .with_timestamp_assigner(|n: &i64| at_ms(*n))
            .with_partitions(known.to_vec(), |n| n % 10)
            .emit_per_bundle()
    };
    let events: &[&[i64]] = &[&[100_000], &[1001], &[101_000], &[2001, 1501], &[0]];
    let (seen, late) =
        counts(r, |p| p.apply("Times", stream(events)).assign_watermark("Watermark", strategy(&[0, 1])));
    assert_eq!((seen, late), (vec![(1000, 2), (2000, 1), (100_000, 1), (101_000, 1)], 1));
    // Unknown, the second one counts only when it is behind already.
    let (seen, late) =
        counts(r, |p| p.apply("Times", stream(events)).assign_watermark("Watermark", strategy(&[])));
    assert_eq!((seen, late), (vec![(100_000, 1), (101_000, 1)], 4));
}

const A: Tag<i64> = Tag::new("a");
const B: Tag<i64> = Tag::new("b");

/// A partition that is idle is not waited for; when all are, nobody waits for the collection.
pub fn partitions_and_collections_that_are_idle(r: &dyn Runner) {
    let log = Log::default();
    let marked = Arc::new(AtomicBool::new(false));
    let mark = marked.clone();
    let outcome = run(r, |p| {
        let script = TestStreams::new()
            .stream(A)
            .stream(B)
            .elements(A, [(1000, at(0)), (5001, at(0))])
            .elements(B, [(1500, at_ms(1500))])
            .advance_watermark_to(B, at(3))
            // The second partition of A is alive, then nothing of A is.
            .advance_processing_time(ms(800))
            .elements(A, [(5011, at(0))])
            .advance_processing_time(ms(300))
            .mark(move || mark.store(true, Ordering::SeqCst))
            .advance_processing_time(secs(2))
            .advance_watermark_to(B, at(20))
            .elements(A, [(30_000, at(0))]);
        let streams = p.apply("Streams", script);
        let strategy = WatermarkStrategy::for_monotonous_timestamps()
            .with_timestamp_assigner(|n: &i64| at_ms(*n))
            .with_partitions([0, 1], |n| n % 10)
            .with_idleness(secs(1));
        let a = streams.tagged(A).assign_watermark("Watermark", strategy);
        let counts = counted(&a.flatten_with("Both", [streams.tagged(B)]))
            .map("Early", move |count| (count, !marked.load(Ordering::SeqCst)));
        log.note("Collect", &counts);
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    let seen = log.take_sorted();
    assert_eq!(seen, [((1000, 2), true), ((5000, 2), false), ((30_000, 1), false)]);
}

/// Emits at elements that say so.
#[derive(Clone, Serialize, Deserialize)]
struct Markers;

impl WatermarkGenerator<i64> for Markers {
    fn on_event(&mut self, n: &i64, _: Timestamp, out: &mut WatermarkOutput) {
        if n % 1000 == 999 {
            out.emit_watermark(at_ms(*n + 1));
        }
    }
}

/// Generators that emit when an element says so, by a type and by a closure; and none at all.
pub fn punctuated_generators(r: &dyn Runner) {
    let events: &[&[i64]] = &[&[500], &[5999], &[5500], &[6500], &[7000]];
    let all = [
        (WatermarkStrategy::for_generator(Markers), 1),
        (WatermarkStrategy::for_punctuated(|n: &i64, ts| (n % 1000 == 999).then(|| ts + ms(1))), 1),
        (WatermarkStrategy::no_watermarks(), 0),
    ];
    for (strategy, expected) in all {
        let strategy = strategy.with_timestamp_assigner(|n: &i64| at_ms(*n));
        let (seen, late) =
            counts(r, |p| p.apply("Times", stream(events)).assign_watermark("Watermark", strategy));
        assert_eq!((seen.len(), late), (4, expected), "{seen:?}");
    }
}

/// Keeps the watermark where it is, also at the end.
struct Never;

impl WatermarkControl for Never {
    fn in_force(&self, _: Timestamp, _: ControlPoint) -> Timestamp {
        Timestamp::MIN
    }
}

/// Moves the watermark when everything is worked off.
struct InSteps;

impl WatermarkControl for InSteps {
    fn in_force(&self, proposed: Timestamp, point: ControlPoint) -> Timestamp {
        if point == ControlPoint::Quiescent { proposed } else { Timestamp::MIN }
    }
}

/// What decides on a watermark from outside decides on the end too.
pub fn a_watermark_under_control(r: &dyn Runner) {
    let events: &[&[i64]] = &[&[1000], &[5000], &[1500]];
    let times = |p: &Pipeline, control: Arc<dyn WatermarkControl>| {
        let strategy = bounded(Duration::ZERO).with_control(control);
        p.apply("Times", stream(events)).assign_watermark("Watermark", strategy)
    };
    assert_eq!(counts(r, |p| times(p, Arc::new(Never))), (vec![], 0));
    assert_eq!(counts(r, |p| times(p, Arc::new(InSteps))), (vec![(1000, 1), (5000, 1)], 1));
}

/// Several watermarks go on with the slowest of them, or with the fastest.
pub fn one_watermark_of_several(r: &dyn Runner) {
    for (all, late) in [(MultipleWatermarks::min(), 0), (MultipleWatermarks::max(), 2)] {
        let outcome = run(r, |p| {
            let script = TestStreams::new()
                .stream(A)
                .stream(B)
                .elements(A, [(10_000, at(0))])
                .elements(B, [(3000, at(0))])
                .elements(A, [(4000, at(0))])
                .elements(B, [(3500, at(0))]);
            let streams = p.apply("Streams", script);
            for (name, tag) in [("A", A), ("B", B)] {
                let strategy = bounded(secs(6)).with_control(all.member());
                // They do not meet. By the greatest it is 4 s after the first element, and B's come too late.
                let assigned =
                    streams.tagged(tag).assign_watermark(&format!("Watermark of {name}"), strategy);
                assigned.composite(name, |pc| counted(&pc));
            }
        });
        assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), late, "{all:?}");
    }
}

/// Behind a grouping the current watermark is not past what the grouping makes.
pub fn the_watermark_behind_a_grouping(r: &dyn Runner) {
    for lateness in [0, 1] {
        let log = Log::default();
        run(r, |p| {
            let events = TestStream::new()
                .elements([(1, at(3)), (2, at(13))])
                .advance_watermark_to(at(15))
                .elements([(3, at(25))])
                .advance_watermark_to(at(100));
            let windows =
                WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(secs(lateness)).discarding();
            let seen = p
                .apply("Stream", events)
                .window_into("Window", windows)
                .key_by("Key", |_| ())
                .combine_per_key("Sum", Sum)
                .map_cx("Watermark", |(_, n), cx| Ok((n, cx.timestamp(), cx.current_watermark())));
            log.note("Collect", &seen);
        });
        let seen = log.take_sorted();
        assert_eq!(seen.iter().map(|(n, ..)| *n).collect::<Vec<_>>(), [1, 2, 3]);
        for (n, timestamp, watermark) in seen {
            assert!(watermark <= Some(timestamp), "{n} at {timestamp} is behind {watermark:?}");
        }
    }
}

/// Late rows into an output of their own: three lines.
pub fn late_rows_as_dead_letters(r: &dyn Runner) {
    const LATE: Tag<i64> = Tag::new("late");
    let (good, bad) = (Log::default(), Log::default());
    run(r, |p| {
        let times = p.apply("Times", stream(&[&[10_000], &[5000], &[4000], &[11_000]]));
        let rows = times.with_watermark("EventTime", |n| at_ms(*n), secs(5));
        let route = purlin_sdk::ParDo::from_fn(|n: i64, cx, out| {
            match cx.current_watermark() {
                Some(watermark) if cx.timestamp() < watermark => out.emit_to(LATE, n),
                _ => out.emit(n),
            }
            Ok(())
        });
        let routed = rows.par_do_with("Route", route.tag(LATE));
        good.note("Good", &routed.main());
        bad.note("Bad", &routed.tagged(LATE));
    });
    assert_eq!((good.take_sorted(), bad.take()), (vec![5000, 10_000, 11_000], vec![4000]));
}
