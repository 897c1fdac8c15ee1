//! Sources: watermark estimators and what is left of a restriction.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use purlin_sdk::{
    CombineFn, Duration, PCollection, Pipeline, Runner, Timestamp,
    metrics::DROPPED_DUE_TO_LATENESS,
    sdf::{Continuation, Manual, Monotonic, OffsetRange, WallTime},
    window::{FixedWindows, Window},
};
use serde::{Deserialize, Serialize};

use crate::{
    Committed, OffsetSource, Seen,
    runners::{end_of, results, run, start},
};

fn secs(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

/// Sums numbers.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, sum: &mut i64, x: i64) {
        *sum += x;
    }
    fn merge(&self, sum: &mut i64, other: i64) {
        *sum += other;
    }
    fn extract(&self, sum: i64) -> i64 {
        sum
    }
}

/// Each window's sum with the processing time, in milliseconds, at which it came out.
fn sums_with_time(pc: &PCollection<i64>, size: Duration) -> PCollection<(i64, i64)> {
    pc.window_into("Window", FixedWindows::of(size))
        .map("Key", |n| ((), n))
        .combine_per_key("Sum", Sum)
        .map_cx("Time", |((), n), cx| Ok((n, cx.now().as_millis())))
}

fn end(window: &Window) -> i64 {
    window.max_timestamp().as_millis() + 1
}

/// A poll that finds nothing leaves the watermark where the estimator says, not at the beginning of time.
pub fn b001_an_empty_poll_does_not_pin_the_watermark(runner: &dyn Runner) {
    let fired = Committed::new();
    let seen = Committed::new();
    let source =
        OffsetSource::<WallTime, _, _, _>::new(OffsetRange::new(0, 100), |_: &Vec<u8>, at, cx, out| {
            let poll = at.range().start;
            if !at.try_claim(poll) {
                return Ok(Continuation::Stop);
            }
            if poll >= 3 {
                out.emit_at(1_i64, cx.now());
            }
            Ok(Continuation::Resume(Duration::from_millis(10)))
        });
    let build = |p: &Pipeline| {
        let polled = p.impulse("Impulse").par_do_splittable("Poll", source.unbounded().whole());
        let watermarks = polled.reshuffle("Reshuffle").map_cx("Watermark", |_, cx| {
            Ok((cx.timestamp().as_millis(), cx.current_watermark().map(Timestamp::as_millis)))
        });
        seen.collect("Seen", &watermarks);
        fired.collect("Fired", &sums_with_time(&polled, Duration::from_millis(100)));
    };
    run(runner, build).expect("the run fails");

    let first = seen.sorted()[0];
    assert_eq!(first.0, 30, "the fourth poll finds the first element");
    assert!((Some(20)..=Some(30)).contains(&first.1), "the watermark then was {:?}", first.1);
    let mut windows: Vec<_> = fired.seen().iter().map(|s| (end(&s.window), s.value)).collect();
    windows.sort();
    assert_eq!(windows.len(), 10);
    assert_eq!(
        windows.iter().map(|(_, (n, _))| *n).collect::<Vec<_>>(),
        [7, 10, 10, 10, 10, 10, 10, 10, 10, 10]
    );
    for (end, (_, at)) in &windows[..9] {
        assert!((*end..=end + 30).contains(at), "the window that ends at {end} ms came out at {at} ms");
    }
}

/// The delay that a source asks for is kept.
pub fn b002_a_resume_waits_as_long_as_it_says(runner: &dyn Runner) {
    let polls = results(runner, |p| {
        let source =
            OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 4), |_: &Vec<u8>, at, cx, out| {
                if at.try_claim(at.range().start) {
                    out.emit(cx.now().as_millis());
                }
                Ok(Continuation::Resume(Duration::from_secs(3)))
            });
        p.impulse("Impulse").par_do_splittable("Poll", source.unbounded().whole())
    });
    assert_eq!(polls, [0, 3000, 6000, 9000]);
}

/// What an endless source makes flows on at once.
pub fn b004_an_endless_source_feeds_what_is_downstream(runner: &dyn Runner) {
    let (done, is_done) = std::sync::mpsc::channel();
    let committed = Committed::new();
    let source = OffsetSource::<Manual, _, _, _>::endless(|_: &Vec<u8>, at, cx, out| {
        if at.try_claim(at.range().start) {
            out.emit_at(1, cx.now());
        }
        Ok(Continuation::Resume(Duration::from_millis(20)))
    });
    let handle = start(runner, |p| {
        let times = p
            .impulse("Impulse")
            .par_do_splittable("Tick", source)
            .map("Map", |n: i64| n)
            .reshuffle("Reshuffle")
            .map_cx("Time", move |_, cx| {
                if cx.now() > secs(1) {
                    // Nobody listens any more after the first.
                    let _ = done.send(());
                }
                Ok(cx.now().as_millis())
            });
        committed.collect("Collect", &times);
    })
    .expect("the pipeline is refused");
    is_done.recv().expect("the run is over without an element");
    handle.cancel();
    assert_eq!(end_of(&handle).expect("the run fails").state.to_string(), "CANCELLED");
    let times: Vec<i64> = committed.sorted().into_iter().filter(|t| *t <= 1000).collect();
    assert_eq!(times, (0..=50).map(|i| 20 * i).collect::<Vec<_>>());
}

/// A source that says how far it is lets windows close while it goes on.
pub fn b005_windows_of_an_endless_source_close(runner: &dyn Runner) {
    let (done, is_done) = std::sync::mpsc::channel();
    let fired = Committed::new();
    let source = OffsetSource::<Manual, _, _, _>::endless(move |_: &Vec<u8>, at, cx, out| {
        if cx.now() > secs(36) {
            let _ = done.send(());
        }
        let second = at.range().start;
        if at.try_claim(second) {
            out.emit_at(1, secs(second));
            at.set_watermark(secs(second + 1))?;
        }
        Ok(Continuation::Resume(Duration::from_secs(1)))
    });
    let handle = start(runner, |p| {
        let ticks = p.impulse("Impulse").par_do_splittable("Tick", source);
        fired.collect("Fired", &sums_with_time(&ticks, Duration::from_secs(10)));
    })
    .expect("the pipeline is refused");
    is_done.recv().expect("the run is over before its time");
    handle.cancel();
    end_of(&handle).expect("the run fails");
    let mut windows: Vec<_> = fired.seen().iter().map(|s| (end(&s.window), s.value)).collect();
    windows.retain(|(_, (_, at))| *at <= 35_000);
    windows.sort();
    assert_eq!(
        windows.iter().map(|(end, (n, _))| (*end, *n)).collect::<Vec<_>>(),
        [(10_000, 10), (20_000, 10), (30_000, 10)]
    );
    for (end, (_, at)) in windows {
        assert!(
            (end - 1000..=end + 2000).contains(&at),
            "the window that ends at {end} ms came out at {at} ms"
        );
    }
}

/// An element out of order does not move a monotonic watermark back, and goes out as it is.
pub fn b007_a_monotonic_estimator_takes_what_is_out_of_order(runner: &dyn Runner) {
    let out = Committed::new();
    let source =
        OffsetSource::<Monotonic, _, _, _>::new(OffsetRange::new(0, 3), |_: &Vec<u8>, at, _, out| {
            let mut i = at.range().start;
            while at.try_claim(i) {
                let ts = secs([10, 7, 12][i as usize]);
                out.emit_at(i, ts);
                i += 1;
                assert!(at.watermark() >= ts);
            }
            Ok(Continuation::Stop)
        });
    let build = |p: &Pipeline| {
        let read = p.impulse("Impulse").par_do_splittable("Read", source.whole());
        out.collect("Collect", &read);
    };
    run(runner, build).expect("the run fails");
    let mut times: Vec<_> = out.seen().iter().map(|s| (s.value, s.timestamp)).collect();
    times.sort();
    assert_eq!(times, [(0, secs(10)), (1, secs(7)), (2, secs(12))]);
}

/// A manual watermark refuses to go back, also from zero, and says so.
pub fn b008_a_manual_watermark_refuses_to_go_back(runner: &dyn Runner) {
    let texts = results(runner, |p| {
        let source =
            OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 1), |_: &Vec<u8>, at, _, out| {
                if !at.try_claim(0) {
                    return Ok(Continuation::Stop);
                }
                for (up, down) in [(0, -5), (20, 10)] {
                    at.set_watermark(secs(up))?;
                    let refused = at.set_watermark(secs(down)).expect_err("it went back");
                    out.emit(format!("{} {refused}", at.watermark()));
                }
                Ok(Continuation::Stop)
            });
        p.impulse("Impulse").par_do_splittable("Read", source)
    });
    assert_eq!(
        texts,
        [
            "1970-01-01T00:00:00Z the watermark cannot go back from 1970-01-01T00:00:00Z to 1969-12-31T23:59:55Z",
            "1970-01-01T00:00:20Z the watermark cannot go back from 1970-01-01T00:00:20Z to 1970-01-01T00:00:10Z",
        ]
    );
}

/// Checkpoints leave the watermark right: nothing is late.
pub fn b010_checkpoints_keep_elements_on_time(runner: &dyn Runner) {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let report = reported.clone();
    let sums = Committed::new();
    let source =
        OffsetSource::<Monotonic, _, _, _>::new(OffsetRange::new(1, 11), move |_: &Vec<u8>, at, _, out| {
            let mut reported = report.lock().expect("no test panics with the lock");
            reported.push(at.watermark());
            let first = at.range().start;
            for i in first..first + 3 {
                if !at.try_claim(i) {
                    return Ok(Continuation::Stop);
                }
                out.emit_at(i, secs(i));
                reported.push(at.watermark());
            }
            Ok(Continuation::resume())
        });
    let build = |p: &Pipeline| {
        let read = p.impulse("Impulse").par_do_splittable("Read", source.unbounded().whole());
        let summed = read
            .window_into("Window", FixedWindows::of(Duration::from_secs(5)))
            .map("Key", |n| ((), n))
            .group_by_key("Group")
            .map("Sum", |((), ns)| ns.into_iter().sum::<i64>());
        sums.collect("Collect", &summed);
    };
    let outcome = run(runner, build).expect("the run fails");
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    let mut sums: Vec<_> = sums.seen().iter().map(|s| (end(&s.window), s.value)).collect();
    sums.sort();
    assert_eq!(sums, [(5000, 1 + 2 + 3 + 4), (10_000, 5 + 6 + 7 + 8 + 9), (15_000, 10)]);
    let reported = reported.lock().expect("no test panics with the lock");
    assert!(reported.is_sorted(), "{reported:?}");
    assert_eq!(reported.last(), Some(&secs(10)));
}

/// An element that counts how many of its kind are alive.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "()", into = "()")]
struct Alive;

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

impl From<()> for Alive {
    fn from(_: ()) -> Alive {
        PEAK.fetch_max(ALIVE.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Alive
    }
}

impl From<Alive> for () {
    fn from(_: Alive) {}
}

impl Clone for Alive {
    fn clone(&self) -> Alive {
        Alive::from(())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ten thousand empty polls leave one residual, and nothing behind. Not to be run on two runners at once.
pub fn b014_polling_leaves_nothing_behind(runner: &dyn Runner) {
    for delay in [0, 1] {
        PEAK.store(0, Ordering::SeqCst);
        let calls = Arc::new(AtomicUsize::new(0));
        let count = calls.clone();
        let source = OffsetSource::<Manual, _, i64, _>::new(
            OffsetRange::new(0, 10_000),
            move |_: &Alive, at, _, _| {
                count.fetch_add(1, Ordering::SeqCst);
                at.try_claim(at.range().start);
                Ok(Continuation::Resume(Duration::from_millis(delay)))
            },
        );
        let build = |p: &Pipeline| {
            p.impulse("Impulse")
                .map("Count", |_| Alive::from(()))
                .par_do_splittable("Poll", source.unbounded().whole());
        };
        run(runner, build).expect("the run fails");
        assert_eq!(calls.load(Ordering::SeqCst), 10_000);
        let peak = PEAK.load(Ordering::SeqCst);
        assert!((1..30).contains(&peak), "{peak} elements were alive at once");
        assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
    }
}

/// What a poll finds is not late because the poll moves the watermark.
pub fn b015_a_poll_does_not_make_its_own_elements_late(runner: &dyn Runner) {
    let fired = Committed::new();
    // (clock, what is found, watermark after it)
    const POLLS: [(i64, &[i64], i64); 5] =
        [(100, &[90, 95], 95), (110, &[98], 98), (120, &[], 120), (130, &[], 130), (140, &[], 140)];
    let source = OffsetSource::<Manual, _, _, _>::new(OffsetRange::new(0, 5), |_: &Vec<u8>, at, cx, out| {
        let n = at.range().start;
        let Some((_, found, watermark)) = POLLS.get(n as usize).filter(|_| at.try_claim(n)) else {
            return Ok(Continuation::Stop);
        };
        assert_eq!(cx.now(), secs(10 * n));
        // First the watermark, which the elements of the same bundle then still lie before.
        at.set_watermark(secs(*watermark))?;
        found.iter().for_each(|at| out.emit_at(1, secs(*at)));
        Ok(Continuation::Resume(Duration::from_secs(10)))
    });
    let build = |p: &Pipeline| {
        let polled = p.impulse("Impulse").par_do_splittable("Poll", source.unbounded().whole());
        fired.collect("Fired", &sums_with_time(&polled, Duration::from_secs(10)));
    };
    let outcome = run(runner, build).expect("the run fails");
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    let windows: Vec<_> =
        fired.seen().iter().map(|Seen { window, value, .. }| (end(window), *value)).collect();
    // The third poll is empty and says 120: then the window is out, though polls go on.
    assert_eq!(windows, [(100_000, (3, 20_000))]);
}
