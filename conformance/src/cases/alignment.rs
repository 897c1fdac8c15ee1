//! Sources that are kept together in event time.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use purlin_sdk::{
    Duration, PCollection, Pipeline, Runner, Timestamp,
    sdf::{Continuation, Manual, Monotonic, OffsetRange, ParDoSplittable, WithIdleness},
    watermark::{Alignment, WatermarkStrategy},
};

use super::support::{Log, at, ms, run, secs};
use crate::{Estimate, OffsetSource, Offsets, Partitions};

/// The drift in these tests, in seconds.
const DRIFT: i64 = 10;

fn group() -> Alignment {
    Alignment::group("all").max_drift(secs(DRIFT))
}

/// A source of `n` records, one a second of event time, that takes `every` for each. `then` is called with each.
fn ticking<E: Estimate>(
    p: &Pipeline,
    name: &str,
    n: i64,
    every: Duration,
    then: impl Fn(&dyn Offsets, i64) -> purlin_sdk::Result<bool> + Clone + Send + Sync + 'static,
    alignment: Option<Alignment>,
) -> PCollection<i64> {
    let source = OffsetSource::<E, Vec<u8>, i64, _>::new(OffsetRange::new(0, n), move |_, at_, _, out| {
        let i = at_.range().start;
        if !at_.try_claim(i) {
            return Ok(Continuation::Stop);
        }
        if then(at_, i)? {
            out.emit_at(i, at(i));
        }
        Ok(Continuation::Resume(every))
    });
    let par_do = ParDoSplittable::of(source.unbounded().whole());
    let par_do = match alignment {
        Some(alignment) => par_do.alignment(alignment),
        None => par_do,
    };
    p.impulse(&format!("Start {name}")).par_do_splittable_with(name, par_do).main()
}

/// A source that could be done at once waits for one that takes a second for each record, and both come to their end.
pub fn a_fast_source_waits_for_a_slow_one(r: &dyn Runner) {
    for interval in [Duration::ZERO, secs(3)] {
        let log = Log::default();
        run(r, |p| {
            let slow_at = Arc::new(AtomicI64::new(-1));
            let noted = slow_at.clone();
            let group = || Some(group().update_interval(interval));
            let slow = ticking::<Manual>(
                p,
                "Slow",
                40,
                secs(1),
                move |offsets, i| {
                    noted.store(i, Ordering::SeqCst);
                    offsets.set_watermark(at(i))?;
                    Ok(true)
                },
                group(),
            );
            let fast = ticking::<Manual>(
                p,
                "Fast",
                100,
                Duration::ZERO,
                move |offsets, i| {
                    // It counts from its first record on, and is last seen at its last one.
                    let slow = slow_at.load(Ordering::SeqCst);
                    assert!(!(0..39).contains(&slow) || i <= slow + DRIFT + 1, "{i} is ahead of {slow}");
                    offsets.set_watermark(at(i))?;
                    Ok(true)
                },
                group(),
            );
            log.note("Collect", &slow.flatten_with("Both", [fast]).map("Number", |n| n));
        });
        assert_eq!(log.take_sorted().len(), 140);
    }
}

/// Two partitions of one source, each of which waits for the other.
pub fn partitions_wait_for_each_other(r: &dyn Runner) {
    let log = Log::default();
    let reached: Arc<[AtomicI64; 2]> = Arc::new([-1, -1].map(AtomicI64::new));
    run(r, |p| {
        let source = OffsetSource::<Monotonic, i64, i64, _>::new(
            OffsetRange::new(0, 50),
            move |partition, offsets, _, out| {
                let i = offsets.range().start;
                if !offsets.try_claim(i) {
                    reached[*partition as usize].store(i64::MAX, Ordering::SeqCst);
                    return Ok(Continuation::Stop);
                }
                let other = reached[1 - *partition as usize].load(Ordering::SeqCst);
                // Before the other one has a watermark it does not count.
                assert!(other < 0 || i <= other.saturating_add(DRIFT + 1), "{i} is ahead of {other}");
                reached[*partition as usize].store(i, Ordering::SeqCst);
                out.emit_at(i, at(i));
                Ok(Continuation::Resume(ms(if *partition == 0 { 1 } else { 100 })))
            },
        );
        let par_do = ParDoSplittable::of(source.unbounded().whole()).alignment(group());
        let read = p.create("Partitions", [0, 1]).par_do_splittable_with("Read", par_do).main();
        log.note("Collect", &read);
    });
    assert_eq!(log.take_sorted().len(), 100);
}

/// When all are idle there is no limit: one that wakes far ahead reads at once.
pub fn b045_no_limit_when_all_are_idle(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        // Idle until the tenth second, then one far in the future.
        let source = OffsetSource::<WithIdleness<Monotonic>, Vec<u8>, i64, _>::new(
            OffsetRange::new(0, 60),
            |_, offsets, cx, out| {
                let i = offsets.range().start;
                if !offsets.try_claim(i) {
                    return Ok(Continuation::Stop);
                }
                if cx.now() >= at(10) {
                    out.emit_at(cx.now().as_millis(), Timestamp::GLOBAL_WINDOW_MAX - secs(60 - i));
                }
                Ok(Continuation::Resume(secs(1)))
            },
        );
        let silent = OffsetSource::<WithIdleness<Monotonic>, Vec<u8>, i64, _>::new(
            OffsetRange::new(0, 60),
            |_, offsets, _, _| {
                if !offsets.try_claim(offsets.range().start) {
                    return Ok(Continuation::Stop);
                }
                Ok(Continuation::Resume(secs(1)))
            },
        );
        let start = p.impulse("Start");
        let awake = ParDoSplittable::of(source.unbounded().whole()).alignment(group());
        let silent = ParDoSplittable::of(silent.unbounded().whole()).alignment(group());
        log.note("Collect", &start.par_do_splittable_with("Awake", awake).main());
        start.par_do_splittable_with("Silent", silent);
    });
    let times = log.take_sorted();
    // It reads while the other one is silent, and does not wait for its end.
    assert!(times.len() > 30 && times.is_sorted_by(|a, b| a < b), "{times:?}");
    assert!(times[0] < 12_000 && times.iter().all(|at| *at < 62_000), "{times:?}");
}

/// A source that never gets a partition, and one that never has a watermark, hold up nobody.
pub fn b047_without_a_watermark_it_does_not_count(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let group = || Some(group());
        let reader = ticking::<Monotonic>(p, "Reader", 200, ms(1), |_, _| Ok(true), group());
        // They go on polling long after the reader is done.
        ticking::<Partitions>(p, "No partition", 100, secs(1), |_, _| Ok(false), group());
        ticking::<Manual>(p, "No watermark", 100, secs(1), |_, _| Ok(false), group());
        log.note("Collect", &reader.map_cx("Clock", |_, cx| Ok(cx.now().as_millis())));
    });
    let times = log.take_sorted();
    assert_eq!(times.len(), 200);
    assert!(*times.last().unwrap_or(&0) < 5000, "{times:?}");
}

/// A strategy's alignment holds back the sources that its collection comes from.
pub fn the_alignment_of_a_strategy(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let slow_at = Arc::new(AtomicI64::new(-1));
        let noted = slow_at.clone();
        let strategy = || {
            WatermarkStrategy::for_monotonous_timestamps()
                .with_timestamp_assigner(|n: &i64| at(*n))
                .with_alignment("all", secs(DRIFT), Duration::ZERO)
                .emit_per_bundle()
        };
        let slow = ticking::<Manual>(
            p,
            "Slow",
            40,
            secs(1),
            move |_, i| {
                noted.store(i, Ordering::SeqCst);
                Ok(true)
            },
            None,
        );
        let fast = ticking::<Manual>(
            p,
            "Fast",
            100,
            ms(1),
            move |_, i| {
                let slow = slow_at.load(Ordering::SeqCst);
                // What is under way between the source and the strategy comes on top.
                assert!(!(0..39).contains(&slow) || i <= slow + DRIFT + 20, "{i} is ahead of {slow}");
                Ok(true)
            },
            None,
        );
        let slow = slow.assign_watermark("SlowTime", strategy());
        let fast = fast.assign_watermark("FastTime", strategy());
        log.note("Collect", &slow.flatten_with("Both", [fast]));
    });
    assert_eq!(log.take_sorted().len(), 140);
}
