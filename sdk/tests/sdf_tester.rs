//! `SdfTester`, on splittable DoFns with and without faults.

use purlin_sdk::{
    Clock, Duration, Emitter, ErrorKind, ManualClock, ProcessContext, Result, Tag, Timestamp,
    sdf::{
        Boundedness, Claims, Continuation, Manual, Monotonic, OffsetRange, OffsetRangeTracker, SdfContext,
        SplittableDoFn, WallTime,
    },
    testing::SdfTester,
};

const EVEN: Tag<i64> = Tag::new("even");

fn secs(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Emits before it claims.
    EmitsUnclaimed,
    /// Starts at zero, wherever its restriction starts.
    StartsAtZero,
    /// Emits every number at a time that falls.
    FallingTimes,
    /// Makes the estimator without its state.
    ForgetsWatermark,
    /// Its parts do not hold the last number.
    SplitLosesOne,
    /// Emits how many numbers it has emitted.
    CountsEmitted,
    /// Says on the further output how many numbers it has emitted.
    CountsTagged,
}

/// The numbers from zero up to the element; those that are even on another output too.
#[derive(Clone)]
struct CountUp {
    fault: Fault,
    /// Waits before each number that is a multiple of this.
    wait_at: i64,
    emitted: i64,
}

impl CountUp {
    fn with(fault: Fault) -> CountUp {
        CountUp { fault, wait_at: i64::MAX, emitted: 0 }
    }
}

impl SplittableDoFn for CountUp {
    type Input = i64;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Monotonic;

    fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, *n))
    }

    fn split(&self, _: &i64, r: OffsetRange, desired: usize, _: &SdfContext<'_>) -> Result<Vec<OffsetRange>> {
        let mut parts = r.split(desired);
        if let (Fault::SplitLosesOne, Some(last)) = (self.fault, parts.last_mut()) {
            last.end -= 1;
        }
        Ok(parts)
    }

    fn new_tracker(&self, _: &i64, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }

    fn initial_watermark_state(&self, _: &i64, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &i64,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<Monotonic> {
        Ok(Monotonic::new(if self.fault == Fault::ForgetsWatermark { cx.timestamp() } else { state }))
    }

    fn process(
        &mut self,
        n: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let start = claims.restriction().start;
        let mut i = if self.fault == Fault::StartsAtZero { 0 } else { start };
        loop {
            if i > start && i < *n && i % self.wait_at == 0 {
                return Ok(Continuation::Resume(Duration::from_secs(30)));
            }
            let at = secs(if self.fault == Fault::FallingTimes { *n - i } else { i });
            if self.fault == Fault::EmitsUnclaimed && i < *n {
                out.emit_at(i, at);
            }
            if !claims.try_claim(i) {
                return Ok(Continuation::Stop);
            }
            self.emitted += 1;
            match self.fault {
                Fault::EmitsUnclaimed => {}
                Fault::CountsEmitted => out.emit_at(self.emitted, at),
                _ => out.emit_at(i, at),
            }
            if i % 2 == 0 {
                out.emit_to_at(EVEN, if self.fault == Fault::CountsTagged { self.emitted } else { i }, at);
            }
            i += 1;
        }
    }
}

fn count(fault: Fault, n: i64) -> SdfTester<CountUp> {
    SdfTester::of(CountUp::with(fault)).tag(EVEN).element(n).at(secs(0))
}

#[test]
fn work_stops_and_goes_on_where_the_test_says_so() {
    let mut count = count(Fault::None, 20);
    count.start().unwrap();
    assert_eq!(count.restrictions(), OffsetRange::new(0, 20).split(4), "four parts for one worker");
    assert_eq!(count.watermark(), secs(0));

    count.claim_up_to(2).unwrap();
    assert_eq!(count.output_with_times(), [(0, secs(0)), (1, secs(1))]);
    assert_eq!(count.restrictions()[0], OffsetRange::new(2, 5));
    assert_eq!(count.watermark(), secs(0), "three other parts hold it");

    count.split_at(1, 0.5).unwrap();
    assert_eq!(count.output(), [2]);
    assert_eq!(count.restrictions()[0], OffsetRange::new(3, 5));
    count.resume().unwrap();
    assert_eq!(count.output(), [3, 4]);
    assert_eq!(count.restrictions().len(), 3);

    count.run_to_end().unwrap();
    assert_eq!(count.output(), (5..20).collect::<Vec<_>>());
    assert_eq!(count.tagged(EVEN), (0..10).map(|i| 2 * i).collect::<Vec<_>>());
    assert_eq!(count.watermark(), Timestamp::MAX);
    assert!(count.resume().unwrap_err().to_string().contains("no part of the work is left"));
}

#[test]
fn every_part_holds_the_watermark_until_it_is_done() {
    let mut count = count(Fault::None, 3);
    count.start().unwrap();
    assert_eq!(count.restrictions().len(), 3);
    count.resume().unwrap().resume().unwrap();
    assert_eq!(count.watermark(), secs(0), "the last part has not begun");
    count.resume().unwrap();
    assert_eq!(count.watermark(), Timestamp::MAX);
}

#[test]
fn a_part_that_waits_is_resumed_when_the_test_says_so() {
    let clock = ManualClock::default();
    let dofn = CountUp { wait_at: 2, ..CountUp::with(Fault::None) };
    let mut count = SdfTester::of(dofn).tag(EVEN).element(12).clock(&clock);
    count.resume().unwrap();
    assert_eq!(count.output(), [0, 1]);
    assert_eq!(count.delay(), Some(Duration::from_secs(30)));
    count.run_to_end().unwrap();
    assert_eq!(count.output(), (2..12).collect::<Vec<_>>());
    assert!(clock.now() >= secs(30), "running to the end moves the clock");
}

#[test]
fn a_split_that_gives_nothing_away_leaves_the_part_whole() {
    let mut whole = count(Fault::None, 4);
    whole.start().unwrap();
    for done in 0..4 {
        assert_eq!(whole.restrictions().len(), 4 - done);
        whole.split_at(1, 1.0).unwrap();
    }
    assert_eq!(whole.output(), [0, 1, 2, 3]);
    assert_eq!(whole.watermark(), Timestamp::MAX);
}

#[test]
fn a_bundle_that_fails_leaves_the_part_as_it_was() {
    let mut count = SdfTester::of(CountUp::with(Fault::None)).element(4);
    let error = count.resume().map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contract, "the output EVEN was not declared");
    assert_eq!(count.restrictions().len(), 4);
    assert!(count.output().is_empty());
}

#[test]
fn no_element_is_told() {
    let error = SdfTester::of(CountUp::with(Fault::None)).run_to_end().map(|_| ()).unwrap_err();
    assert!(error.to_string().contains(".element(x)"), "{error}");
}

#[test]
fn a_dofn_without_fault_obeys_the_laws() {
    for n in [0, 1, 12, 60] {
        count(Fault::None, n).check_laws().unwrap();
    }
    let waits = CountUp { wait_at: 3, ..CountUp::with(Fault::None) };
    SdfTester::of(waits).tag(EVEN).element(10).check_laws().unwrap();
}

#[test]
fn every_fault_is_found() {
    for (fault, words) in [
        (Fault::EmitsUnclaimed, "unexpected"),
        (Fault::StartsAtZero, "failed in process"),
        (Fault::FallingTimes, "the watermark passed what was still to come"),
        (Fault::ForgetsWatermark, "made again from its state"),
        (Fault::SplitLosesOne, "in the parts of its `split`"),
        (Fault::CountsEmitted, "the outputs are not those without a split"),
        (Fault::CountsTagged, "the output `even` are not those without a split"),
    ] {
        let found = count(fault, 6).check_laws().expect_err("a fault");
        assert!(found.contains(words), "{fault:?}: {found}");
    }
}

#[test]
fn late_outputs_can_be_allowed() {
    count(Fault::FallingTimes, 6).allow_late().check_laws().unwrap();
}

/// Never done: emits a number and waits.
#[derive(Clone)]
struct Endless;

impl SplittableDoFn for Endless {
    type Input = ();
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn initial_restriction(&self, (): &(), _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, i64::MAX))
    }

    fn new_tracker(&self, (): &(), r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }

    fn initial_watermark_state(&self, (): &(), _: &OffsetRange, cx: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        (): &(),
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        (): &(),
        claims: &Claims<'_, Self>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let i = claims.restriction().start;
        if !claims.try_claim(i) {
            return Ok(Continuation::Stop);
        }
        out.emit_at(i, cx.now());
        claims.set_watermark(cx.now())?;
        Ok(Continuation::Resume(Duration::from_secs(1)))
    }
}

#[test]
fn work_without_an_end_is_drained() {
    let clock = ManualClock::at(secs(100));
    let mut endless = SdfTester::of(Endless).element(()).clock(&clock);
    endless.resume().unwrap();
    assert_eq!(endless.watermark(), secs(100));
    clock.advance(Duration::from_secs(5));
    endless.resume().unwrap();
    assert_eq!(endless.output_with_times(), [(0, secs(100)), (1, secs(105))]);
    assert_eq!(endless.watermark(), secs(105));
    assert_eq!(endless.restrictions(), [OffsetRange::new(2, i64::MAX)]);

    let error = endless.run_to_end().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("10000 bundles") && error.contains(".drain()"), "{error}");
    endless.drain().run_to_end().unwrap();
    assert_eq!(endless.watermark(), Timestamp::MAX);

    let error = SdfTester::of(Endless).element(()).check_laws().unwrap_err();
    assert!(error.contains("there is no end"), "{error}");
}

/// Emits numbers at the element's own time, while its watermark is the clock.
#[derive(Clone)]
struct ByTheClock;

impl SplittableDoFn for ByTheClock {
    type Input = i64;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = WallTime;

    fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, *n))
    }

    fn new_tracker(&self, _: &i64, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }

    fn initial_watermark_state(&self, _: &i64, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &i64,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<WallTime> {
        Ok(WallTime::new(state, cx.clock()))
    }

    fn process(
        &mut self,
        _: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let mut i = claims.restriction().start;
        while claims.try_claim(i) {
            out.emit(i);
            i += 1;
            if i % 3 == 0 {
                return Ok(Continuation::Resume(Duration::from_secs(60)));
            }
        }
        Ok(Continuation::Stop)
    }
}

#[test]
fn a_watermark_that_follows_the_clock_may_pass_outputs_and_keeps_the_wait_short() {
    let clock = ManualClock::at(secs(100));
    let by_the_clock = || SdfTester::of(ByTheClock).element(7).at(secs(1)).clock(&clock);
    by_the_clock().check_laws().unwrap();
    assert_eq!(clock.now(), secs(100), "the laws have a clock of their own");

    let mut waits = by_the_clock();
    waits.resume().unwrap();
    assert_eq!(waits.output_with_times(), [0, 1, 2].map(|i| (i, secs(1))));
    assert_eq!(waits.watermark(), secs(100));
    assert!(waits.delay().unwrap() < Duration::from_secs(60), "so that the watermark keeps moving");
}
