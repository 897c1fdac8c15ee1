//! What is idle is not waited for.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use purlin_sdk::{
    Duration, PCollection, Pipeline, Runner, Tag, Timestamp,
    metrics::DROPPED_DUE_TO_LATENESS,
    sdf::{Continuation, Manual, Monotonic, OffsetRange, WithIdleness},
    testing::TestStreams,
    window::FixedWindows,
};

use super::{
    sources::Sum,
    support::{Log, at, at_ms, run, secs, span},
};
use crate::{Committed, OffsetSource, Partitions};

const A: Tag<i64> = Tag::new("a");
const B: Tag<i64> = Tag::new("b");

/// The sums of both streams in windows of `size`, each with whether it came out before the script's first mark.
fn sums_of_both(
    r: &dyn Runner,
    size: Duration,
    script: impl FnOnce(TestStreams, Arc<AtomicBool>) -> TestStreams,
) -> Vec<((i64, i64), i64, bool)> {
    let log = Log::default();
    let outcome = run(r, |p| {
        let marked = Arc::new(AtomicBool::new(false));
        let script = script(TestStreams::new().stream(A).stream(B), marked.clone());
        let streams = p.apply("Streams", script);
        let sums = streams
            .tagged(A)
            .flatten_with("Both", [streams.tagged(B)])
            .window_into("Window", FixedWindows::of(size))
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Note", move |((), n), cx| Ok((span(&cx.window()), n, !marked.load(Ordering::SeqCst))));
        log.note("Collect", &sums);
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    log.take_sorted()
}

/// A mark that says that it was come to.
fn mark(script: TestStreams, marked: Arc<AtomicBool>) -> TestStreams {
    script.mark(move || marked.store(true, Ordering::SeqCst))
}

/// When all inputs are idle the watermark is the greatest of theirs, in whatever order they became idle; what wakes
/// reopens nothing.
pub fn b034_all_inputs_idle(r: &dyn Runner) {
    let second = Duration::from_secs(1);
    for a_first in [true, false] {
        let sums = sums_of_both(r, second, |s, marked| {
            let s = s
                .elements(A, [(1, at_ms(4500)), (10, at_ms(5500))])
                .advance_watermark_to(A, at(5))
                .advance_watermark_to(B, at(4));
            let s = if a_first { s.idle(A).idle(B) } else { s.idle(B).idle(A) };
            // B is behind what it finds, and holds the watermark until it has caught up.
            mark(s, marked).elements(B, [(100, at_ms(5600))]).advance_watermark_to(A, at(9))
        });
        assert_eq!(sums, [((4, 5), 1, true), ((5, 6), 110, false)], "A first: {a_first}");
    }
}

/// An input that is over adds nothing to one that is idle: what comes when it wakes is on time.
pub fn b039_finished_is_not_idle(r: &dyn Runner) {
    let sums = sums_of_both(r, secs(10), |s, marked| {
        let s = s.end(A).elements(B, [(1, at(45)), (10, at(55))]).advance_watermark_to(B, at(50)).idle(B);
        mark(s, marked).elements(B, [(100, at(60))]).end(B)
    });
    assert_eq!(sums, [((40, 50), 1, true), ((50, 60), 10, false), ((60, 70), 100, false)]);
}

/// Sums in windows of `size` seconds, with the second of processing time in which each came out.
fn timed(pc: &PCollection<i64>, size: i64) -> PCollection<((i64, i64), i64, i64)> {
    pc.window_into("Window", FixedWindows::of(secs(size)))
        .key_by("Key", |_| ())
        .combine_per_key("Sum", Sum)
        .map_cx("Note", |((), n), cx| Ok((span(&cx.window()), n, cx.now().as_millis() / 1000)))
}

/// One partition is busy, the other one silent until the twentieth second: windows close in time, and what it then
/// brings is on time.
pub fn b038_a_quiet_partition(r: &dyn Runner) {
    let log = Log::default();
    let source = OffsetSource::<WithIdleness<Monotonic>, i64, i64, _>::new(
        OffsetRange::new(0, 301),
        |partition: &i64, at, cx, out| {
            let n = at.range().start;
            if !at.try_claim(n) {
                return Ok(Continuation::Stop);
            }
            match partition {
                0 => out.emit_at(1, at_ms(100 * n)),
                _ if cx.now() >= secs_at(20) => {
                    out.emit_at(1000, secs_at(20));
                    // Nothing more comes of it.
                    at.try_claim(i64::MAX);
                    return Ok(Continuation::Stop);
                }
                _ => {}
            }
            Ok(Continuation::Resume(Duration::from_millis(100)))
        },
    );
    let outcome = run(r, |p| {
        let read = p.create("Partitions", [0, 1]).par_do_splittable("Read", source.unbounded().whole());
        log.note("Collect", &timed(&read, 5));
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    let sums = log.take_sorted();
    let values: Vec<_> = sums.iter().map(|(span, n, _)| (span.0, *n)).collect();
    assert_eq!(values, [(0, 50), (5, 50), (10, 50), (15, 50), (20, 1050), (25, 50), (30, 1)]);
    for ((_, end), _, second) in &sums[..6] {
        assert!((*end..=end + 1).contains(second), "the window that ends at {end} came out at {second}");
    }
}

const fn secs_at(n: i64) -> Timestamp {
    Timestamp::from_secs(n)
}

/// Four readers read a partition each to its end; then there are two partitions only. Those that have none hold up
/// nothing.
pub fn b037_readers_without_partitions(r: &dyn Runner) {
    let log = Log::default();
    let source =
        OffsetSource::<Partitions, i64, i64, _>::new(OffsetRange::new(0, 100), |reader: &i64, at, _, out| {
            let poll = at.range().start;
            if poll == 0 {
                at.partitions(&mut |p| _ = p.register(reader))?;
            }
            if !at.try_claim(poll) {
                return Ok(Continuation::Stop);
            }
            let (partition, ts) = match poll {
                0..10 => (*reader, secs_at(poll)),
                // The second phase: a partition for each of the first two readers.
                _ => (*reader + 10, secs_at(poll)),
            };
            if poll == 10 {
                at.partitions(&mut |p| {
                    if *reader < 2 {
                        p.register(&partition);
                    }
                    p.finish(reader);
                })?;
            }
            if poll < 10 || *reader < 2 {
                out.emit_at(1, ts);
                at.partitions(&mut |p| p.observe(&partition, ts))?;
            }
            Ok(Continuation::Resume(Duration::from_secs(1)))
        });
    let outcome = run(r, |p| {
        let read = p.create("Readers", 0..4).par_do_splittable("Read", source.unbounded().whole());
        log.note("Collect", &timed(&read, 10));
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    let sums = log.take_sorted();
    assert_eq!(sums.len(), 10);
    for ((start, end), n, second) in &sums[..9] {
        assert_eq!(*n, if *start == 0 { 40 } else { 20 });
        assert!((*end..=end + 1).contains(second), "the window that ends at {end} came out at {second}");
    }
}

/// A source whose records come steadily is not idle for a moment: nothing of it is late although another source is far
/// ahead.
pub fn b042_a_steady_source_is_never_idle(r: &dyn Runner) {
    let steady = OffsetSource::<WithIdleness<Monotonic>, Vec<u8>, i64, _>::new(
        OffsetRange::new(0, 200),
        |_, at, _, out| {
            let n = at.range().start;
            if !at.try_claim(n) {
                return Ok(Continuation::Stop);
            }
            out.emit_at(1, at_ms(100 * n));
            Ok(Continuation::Resume(Duration::from_millis(100)))
        },
    );
    let ahead = OffsetSource::<Manual, Vec<u8>, i64, _>::new(OffsetRange::new(0, 22), |_, at, _, _| {
        if !at.try_claim(at.range().start) {
            return Ok(Continuation::Stop);
        }
        at.set_watermark(secs_at(1_000_000))?;
        Ok(Continuation::Resume(Duration::from_secs(1)))
    });
    let sums = Committed::new();
    let outcome = run(r, |p: &Pipeline| {
        let start = p.impulse("Impulse");
        let steady = start.par_do_splittable("Steady", steady.unbounded().whole());
        let ahead = start.par_do_splittable("Ahead", ahead.unbounded().whole());
        sums.collect("Collect", &timed(&steady.flatten_with("Both", [ahead]), 1));
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    assert_eq!(sums.sorted().iter().map(|(_, n, _)| *n).collect::<Vec<_>>(), [10; 20]);
}

/// Of two partitions that one reader has, the one that is read first is far ahead: what comes of the other one is on
/// time, also where the reader is stopped and made again in between.
pub fn b048_partitions_are_known_before_they_are_read(r: &dyn Runner) {
    const RECORDS: [(i64, i64); 4] = [(0, 100), (0, 101), (1, 1), (1, 2)];
    let log = Log::default();
    let source = OffsetSource::<Partitions, Vec<u8>, i64, _>::new(OffsetRange::new(0, 4), |_, at, _, out| {
        let n = at.range().start;
        if n == 0 {
            at.partitions(&mut |p| [0, 1].iter().for_each(|id| _ = p.register(id)))?;
        }
        if !at.try_claim(n) {
            return Ok(Continuation::Stop);
        }
        let (partition, ts) = RECORDS[n as usize];
        if partition == 1 && n == 2 {
            assert_eq!(at.watermark(), Timestamp::MIN);
        }
        out.emit_at(1, secs_at(ts));
        at.partitions(&mut |p| p.observe(&partition, secs_at(ts)))?;
        Ok(Continuation::Resume(Duration::from_secs(1)))
    });
    let outcome = run(r, |p| {
        let read = p.impulse("Impulse").par_do_splittable("Read", source.unbounded().whole());
        log.note("Collect", &timed(&read, 10));
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    let sums: Vec<_> = log.take_sorted().into_iter().map(|(span, n, _)| (span.0, n)).collect();
    assert_eq!(sums, [(0, 2), (100, 2)]);
}

/// A source that is over while another is idle, and one that never had work: the run ends, with all there was.
pub fn idle_to_the_end(r: &dyn Runner) {
    let sums = sums_of_both(r, secs(10), |s, marked| {
        mark(s.elements(A, [(1, at(3))]).idle(A).idle(B).end(A).advance_processing_time(secs(5)), marked)
    });
    assert_eq!(sums, [((0, 10), 1, false)]);
}
