//! Sources that make up their elements, and splittable DoFns that wait.

mod pipelines;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration as StdDuration, Instant},
};

use pipelines::{Sum, elements, run, runners, try_run};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    Duration, Element, Emitter, ManualClock, PCollection, Phase, Pipeline, ProcessContext, Result, RunState,
    Runner, Timestamp,
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext,
        SplittableDoFn, WallTime,
    },
    watermark::WatermarkStrategy,
    window::FixedWindows,
};
use purlin_transforms::{GenerateSequence, PeriodicImpulse, PeriodicSequence, Span, io::TextIo};

/// Every runner, on a clock that stands at the epoch and jumps ahead when there is nothing to do.
fn clocked() -> Vec<Box<dyn Runner>> {
    let clock = || ManualClock::at(Timestamp::EPOCH);
    let mut all: Vec<Box<dyn Runner>> = Vec::new();
    for seed in 0..4 {
        all.push(Box::new(DirectRunner::new().seed(seed).clock(clock())));
    }
    for parallelism in [1, 2, 16] {
        all.push(Box::new(ThreadedRunner::new().parallelism(parallelism).clock(clock())));
    }
    all
}

/// Sends each element out of the pipeline, as soon as it is there.
fn send<T: Element>(collection: &PCollection<T>, to: Sender<T>) {
    let to = Arc::new(Mutex::new(to));
    collection.map("Send", move |x| {
        // Nobody listens any more when the run is being cancelled.
        let _ = to.lock().unwrap().send(x);
    });
}

/// The first `n` elements that come out of an endless pipeline, which is then cancelled.
fn first<T: Element>(
    runner: &dyn Runner,
    n: usize,
    build: impl FnOnce(&Pipeline) -> PCollection<T>,
) -> Vec<T> {
    let (to, from): (Sender<T>, Receiver<T>) = channel();
    let p = Pipeline::new();
    send(&build(&p), to);
    let handle = p.run_on(runner).unwrap();
    // The wait ends early only when the run does, or when nothing ever comes.
    let got = (0..n)
        .map(|i| {
            from.recv_timeout(StdDuration::from_secs(20))
                .unwrap_or_else(|e| panic!("{runner:?}: only {i} of {n} came: {e} ({:?})", handle.state()))
        })
        .collect();
    handle.cancel();
    let outcome = handle.wait().unwrap();
    assert_eq!(outcome.state, RunState::Cancelled);
    got
}

fn secs(secs: i64) -> Timestamp {
    Timestamp::from_secs(secs)
}

#[test]
fn numbers_with_an_end_come_once_each() {
    for runner in runners() {
        for (from, to) in [(0, 10_000), (-5, 5), (3, 3), (7, 2), (i64::MAX - 3, i64::MAX)] {
            let got = elements(&*runner, |p| p.apply("Numbers", GenerateSequence::from(from).to(to)));
            assert!(got.iter().copied().eq(from..to), "{runner:?} {from} {to}");
        }
    }
}

#[test]
fn numbers_at_a_rate_are_stamped_with_the_time_at_which_they_are_due() {
    for runner in clocked() {
        let sequence = GenerateSequence::from(10).to(40).rate(3, Duration::from_secs(1));
        let got = elements(&*runner, |p| {
            p.apply("Numbers", sequence)
                .map_cx("Times", |n, cx| Ok((n, cx.timestamp().as_millis(), cx.now() >= cx.timestamp())))
        });
        let start = got[0].1;
        let expected: Vec<_> = (0..30).map(|k| (10 + k, start + k * 1000 / 3, true)).collect();
        assert_eq!(got, expected, "{runner:?}");
    }
}

#[test]
fn numbers_stop_after_the_greatest_read_time() {
    for runner in clocked() {
        let sequence = GenerateSequence::from(0)
            .rate(1, Duration::from_secs(1))
            .max_read_time(Duration::from_millis(9_500));
        assert_eq!(
            elements(&*runner, |p| p.apply("Numbers", sequence)),
            (0..10).collect::<Vec<_>>(),
            "{runner:?}"
        );
    }
}

#[test]
fn a_timestamp_function_moves_the_watermark_without_a_clock() {
    for runner in runners() {
        let sequence = || GenerateSequence::from(0).timestamp_fn(secs);
        let sums = first(&*runner, 3, |p| {
            p.apply("Numbers", sequence())
                .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
                .map("Key", |n| ((), n))
                .combine_per_key("Sum", Sum)
        });
        // Windows that closed together come in any order.
        let tens: std::collections::BTreeSet<_> = sums.iter().map(|((), sum)| (sum - 45) / 100).collect();
        assert_eq!(tens.len(), 3, "{runner:?} {sums:?}");
        assert!(sums.iter().all(|((), sum)| sum % 100 == 45), "{runner:?} {sums:?}");
    }
}

#[test]
fn a_span_without_time_between_fails_and_says_so() {
    for runner in runners() {
        let still = try_run(&*runner, |p| {
            let span = Span { first: secs(0), until: None, every: Duration::ZERO };
            p.create("Spans", [span]).apply("Ticks", PeriodicSequence);
        });
        let error = still.unwrap_err();
        assert_eq!(error.phase(), Some(Phase::InitialRestriction), "{runner:?} {error}");
        assert!(error.to_string().contains("not above zero"), "{runner:?} {error}");
    }
}

#[test]
fn a_drain_ends_numbers_that_take_their_time() {
    for runner in clocked() {
        let (to, from) = channel();
        let p = Pipeline::new();
        let sequence = GenerateSequence::from(0).to(i64::MAX - 1).rate(1, Duration::from_millis(1));
        send(&p.apply("Numbers", sequence), to);
        let handle = p.run_on(&*runner).unwrap();
        from.recv_timeout(StdDuration::from_secs(20)).unwrap();
        handle.drain();
        assert_eq!(handle.wait().unwrap().state, RunState::Drained, "{runner:?}");
    }
}

#[test]
fn periodic_times_end_before_until() {
    for runner in clocked() {
        let ticks = PeriodicImpulse::every(Duration::from_secs(2)).starting_at(secs(1));
        for (until, expected) in [(5, vec![1, 3]), (6, vec![1, 3, 5]), (1, vec![]), (-9, vec![])] {
            let got = elements(&*runner, |p| {
                p.apply("Ticks", ticks.clone().until(secs(until)))
                    .map_cx("Check", |time, cx| Ok((time, cx.timestamp() == time && cx.now() >= time)))
            });
            let expected: Vec<_> = expected.into_iter().map(|s| (secs(s), true)).collect();
            assert_eq!(got, expected, "{runner:?} {until}");
        }
    }
}

#[test]
fn a_sequence_for_each_span() {
    for runner in clocked() {
        let span = |first, until, every| Span {
            first: secs(first),
            until: Some(secs(until)),
            every: Duration::from_secs(every),
        };
        let (to, from) = channel();
        run(&*runner, |p| {
            send(&p.create("Spans", [span(0, 3, 1), span(10, 30, 10)]).apply("Times", PeriodicSequence), to);
        });
        let mut got: Vec<_> = from.iter().collect();
        got.sort();
        assert_eq!(got, [0, 1, 2, 10, 20].map(secs), "{runner:?}");
    }
}

/// Polls: the first three find nothing, later ones one element, stamped with the clock, until somebody saw a result.
#[derive(Clone)]
struct Poll {
    polls: Arc<AtomicI64>,
    seen: Arc<AtomicI64>,
}

/// Polls after which the watermark must be taken for frozen.
const FROZEN: i64 = 2_000;

impl SplittableDoFn for Poll {
    type Input = Vec<u8>;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = WallTime;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }
    fn initial_restriction(&self, _: &Vec<u8>, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::endless(0))
    }
    fn new_tracker(&self, _: &Vec<u8>, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }
    fn initial_watermark_state(
        &self,
        _: &Vec<u8>,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }
    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &Vec<u8>,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<WallTime> {
        Ok(WallTime::new(state, cx.clock()))
    }
    fn process(
        &mut self,
        _: &Vec<u8>,
        claims: &Claims<'_, Self>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let poll = self.polls.fetch_add(1, Ordering::SeqCst);
        if poll >= FROZEN || self.seen.load(Ordering::SeqCst) >= 3 {
            claims.try_claim(i64::MAX);
            return Ok(Continuation::Stop);
        }
        if poll >= 3 {
            if !claims.try_claim(claims.restriction().start) {
                return Ok(Continuation::Stop);
            }
            out.emit_at(1, cx.now());
        }
        Ok(Continuation::Resume(Duration::from_millis(10)))
    }
}

#[test]
fn b001_an_empty_poll_does_not_hold_the_watermark() {
    for runner in clocked() {
        let poll = Poll { polls: Arc::default(), seen: Arc::default() };
        let (polls, seen) = (poll.polls.clone(), poll.seen.clone());
        let (to, from) = channel();
        run(&*runner, |p| {
            let sums = p
                .impulse("Impulse")
                .par_do_splittable("Poll", poll)
                .window_into("Windows", FixedWindows::of(Duration::from_millis(100)))
                .map("Key", |n| ("k".to_owned(), n))
                .combine_per_key("Sum", Sum)
                .map("Seen", move |(_, sum)| {
                    seen.fetch_add(1, Ordering::SeqCst);
                    sum
                });
            send(&sums, to);
        });
        let polls = polls.load(Ordering::SeqCst);
        assert!(polls < FROZEN, "{runner:?}: no window closed before the source ended");
        let sums: Vec<i64> = from.iter().collect();
        assert_eq!(sums.iter().sum::<i64>(), polls - 4, "{runner:?} {sums:?}");
    }
}

/// Does nothing but ask to be called again, until a time.
#[derive(Clone)]
struct Idle {
    calls: Arc<AtomicI64>,
}

impl SplittableDoFn for Idle {
    type Input = Timestamp;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn initial_restriction(&self, _: &Timestamp, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, 1))
    }
    fn new_tracker(&self, _: &Timestamp, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }
    fn initial_watermark_state(
        &self,
        _: &Timestamp,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }
    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &Timestamp,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }
    fn process(
        &mut self,
        until: &Timestamp,
        claims: &Claims<'_, Self>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        if cx.now() < *until {
            self.calls.fetch_add(1, Ordering::SeqCst);
            return Ok(Continuation::Resume(Duration::from_secs(3)));
        }
        if claims.try_claim(0) {
            out.emit(0);
        }
        Ok(Continuation::Stop)
    }
}

#[test]
fn b002_a_delay_asked_for_is_kept() {
    for runner in clocked() {
        let calls = Arc::new(AtomicI64::new(0));
        let idle = Idle { calls: calls.clone() };
        let out = elements(&*runner, |p| {
            p.impulse("Impulse")
                .map_cx("Until", |_, cx| Ok(cx.now() + Duration::from_secs(9)))
                .par_do_splittable("Idle", idle)
        });
        assert_eq!(out, [0]);
        let calls = calls.load(Ordering::SeqCst);
        assert!((3..=4).contains(&calls), "{runner:?}: {calls} calls");
    }
}

#[test]
fn b004_what_follows_an_endless_source_is_not_starved() {
    for runner in clocked() {
        let got = first(&*runner, 50, |p| {
            p.apply("Ticks", PeriodicImpulse::every(Duration::from_millis(20)).starting_at(Timestamp::EPOCH))
                .map("Millis", Timestamp::as_millis)
                .reshuffle("Reshuffle")
        });
        let mut sorted = got.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 50, "{runner:?} {got:?}");
        assert!(sorted.iter().all(|ms| ms % 20 == 0));
    }
}

/// The first three windows of ten seconds, by their ends and sizes.
fn first_tens<T: Element>(
    runner: &dyn Runner,
    build: impl FnOnce(&Pipeline) -> PCollection<T>,
) -> Vec<(i64, i64)> {
    let mut tens = first(runner, 3, |p| {
        build(p)
            .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
            .map("One", |_| ((), 1_i64))
            .combine_per_key("Count", Sum)
            .map_cx("End", |(_, n), cx| Ok(((cx.timestamp().as_millis() + 1) / 1000, n)))
    });
    tens.sort_unstable();
    tens
}

#[test]
fn sequences_with_a_watermark_strategy() {
    for runner in clocked() {
        // Without it the windows would be those of the clock.
        let numbers = first_tens(&*runner, |p| {
            let strategy = WatermarkStrategy::for_monotonous_timestamps()
                .with_timestamp_assigner(|n: &i64| secs(1000 + n))
                .emit_per_bundle();
            let sequence = GenerateSequence::from(0).rate(10, Duration::from_secs(1)).watermark(strategy);
            p.apply("Numbers", sequence)
        });
        assert_eq!(numbers, [(1010, 10), (1020, 10), (1030, 10)], "{runner:?}");
        let times = first_tens(&*runner, |p| {
            let strategy = WatermarkStrategy::for_bounded_out_of_orderness(Duration::from_secs(5))
                .with_timestamp_assigner(|at: &Timestamp| *at + Duration::from_secs(500));
            let every = PeriodicImpulse::every(Duration::from_secs(1)).starting_at(Timestamp::EPOCH);
            p.apply("Times", every.watermark(strategy))
        });
        assert_eq!(times, [(510, 10), (520, 10), (530, 10)], "{runner:?}");
    }
}

#[test]
fn b005_a_periodic_source_moves_its_watermark() {
    for runner in clocked() {
        let (to, from) = channel();
        let p = Pipeline::new();
        let counts = p
            .apply("Ticks", PeriodicImpulse::every(Duration::from_secs(1)).starting_at(Timestamp::EPOCH))
            .window_into("Tens", FixedWindows::of(Duration::from_secs(10)))
            .map("One", |_| ((), 1))
            .combine_per_key("Count", Sum)
            .map_cx("When", |(_, n), cx| Ok((cx.timestamp().as_millis(), n, cx.now().as_millis())));
        send(&counts, to);
        let handle = p.run_on(&*runner).unwrap();
        let mut counts: Vec<_> =
            (0..4).map(|_| from.recv_timeout(StdDuration::from_secs(20)).expect("a window closes")).collect();
        handle.cancel();
        handle.wait().unwrap();
        counts.extend(from.try_iter());
        // Windows that close together come in any order; each comes once, whole, and never before its time.
        counts.sort_unstable();
        for (end, n, now) in &counts {
            assert_eq!((end % 10_000, *n), (9_999, 10), "{runner:?} {counts:?}");
            assert!(now > end, "{runner:?}: [.., {end}] closed at {now}");
        }
        let mut ends: Vec<_> = counts.iter().map(|(end, ..)| end).collect();
        ends.dedup();
        assert_eq!(ends.len(), counts.len(), "{runner:?} {counts:?}");
    }
}

/// Needs long before it can claim anything.
#[derive(Clone)]
struct SlowStart;

impl SplittableDoFn for SlowStart {
    type Input = Vec<u8>;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn initial_restriction(&self, _: &Vec<u8>, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, 5))
    }
    fn new_tracker(&self, _: &Vec<u8>, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }
    fn initial_watermark_state(
        &self,
        _: &Vec<u8>,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }
    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &Vec<u8>,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }
    fn process(
        &mut self,
        _: &Vec<u8>,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        // Work, not sleep: longer than any bundle is meant to take.
        let begun = Instant::now();
        while begun.elapsed() < StdDuration::from_millis(60) {
            std::hint::spin_loop();
        }
        let mut next = claims.restriction().start;
        while claims.try_claim(next) {
            out.emit(next);
            next += 1;
        }
        Ok(Continuation::Stop)
    }
}

#[test]
fn b012_a_checkpoint_waits_for_the_first_claim() {
    for runner in runners() {
        let got = elements(&*runner, |p| p.impulse("Impulse").par_do_splittable("Slow", SlowStart));
        assert_eq!(got, [0, 1, 2, 3, 4], "{runner:?}");
    }
}

#[test]
fn b192_each_closed_window_has_a_file_while_the_run_goes_on() {
    for runner in clocked() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("out").to_str().unwrap().to_owned();
        let names = first(&*runner, 5, |p| {
            p.apply("Ticks", PeriodicImpulse::every(Duration::from_secs(5)).starting_at(Timestamp::EPOCH))
                .map("Format", |time| time.to_string())
                .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
                .apply("Write", TextIo::write(&prefix).shards(1))
                .map("Read", |name: String| {
                    // Finished: whole as soon as its name is told.
                    let text = std::fs::read_to_string(&name).unwrap();
                    (name, text.lines().count())
                })
        });
        // Windows that close together come in any order.
        let ends: BTreeMap<_, _> = (0..1000_i64)
            .map(|minute| {
                let time = |m: i64| Timestamp::from_secs(60 * m).to_string().replace(':', "-");
                (format!("{prefix}-{}-{}-00000-of-00001", time(minute), time(minute + 1)), minute)
            })
            .collect();
        let mut minutes: Vec<i64> = Vec::new();
        for (name, lines) in &names {
            assert_eq!(*lines, 12, "{runner:?} {names:?}");
            minutes.extend(ends.get(name).copied());
        }
        minutes.sort_unstable();
        minutes.dedup();
        assert_eq!(minutes.len(), 5, "{runner:?} {names:?}");
    }
}
