//! Failures: panics, retries, and what is seen of a bundle that failed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use purlin_sdk::{
    DoFn, DoFnError, Duration, Element, Emitter, ErrorKind, Pipeline, PipelineError, ProcessContext, Result,
    Runner, Timestamp,
    sdf::{
        Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, Progress, RestrictionTracker,
        SdfContext, SplittableDoFn,
    },
    window::FixedWindows,
};

use super::{probe::Probe, sources::Sum, support::Log};
use crate::{
    Committed, OffsetSource,
    runners::{results, run},
};

fn check_panic(runner: &dyn Runner, step: &str, build: impl FnOnce(&Pipeline)) {
    let error = run(runner, build).expect_err("the panic is lost");
    check_panic_error(&error, step);
}

fn check_panic_error(error: &PipelineError, step: &str) {
    assert_eq!((error.kind(), error.step().map(|s| s.path())), (ErrorKind::Panic, Some(step)), "{error}");
    // The line of whoever built the pipeline, not one of the SDK's own.
    let built_at = error.step().map_or("", |s| s.site().file());
    assert!(built_at.ends_with("cases/failure.rs"), "{error}");
    let text = error.to_string();
    assert!(text.contains("on purpose") && !text.contains("oison"), "{text}");
}

/// A DoFn that cannot be copied for a worker.
#[derive(Debug)]
struct NoCopy(Arc<AtomicUsize>);

impl Clone for NoCopy {
    fn clone(&self) -> NoCopy {
        // While the pipeline is built copies are made too.
        if self.0.load(Ordering::SeqCst) > 0 {
            panic!("on purpose");
        }
        NoCopy(self.0.clone())
    }
}

impl DoFn for NoCopy {
    type Input = i64;
    type Output = i64;
    fn process(&mut self, _: i64, _: &ProcessContext<'_>, _: &mut Emitter<'_, i64>) -> Result {
        Ok(())
    }
}

/// A panic anywhere ends the run with its text and the transform's name.
pub fn b170_a_panic_ends_the_run(runner: &dyn Runner) {
    check_panic(runner, "Map", |p| {
        p.create("Numbers", 0..10).map("Map", |n| if n == 7 { panic!("on purpose") } else { n });
    });
    check_panic(runner, "Read", |p| {
        let source =
            OffsetSource::<Manual, _, i64, _>::new(OffsetRange::new(0, 10), |_: &Vec<u8>, at, _, _| {
                assert!(!at.try_claim(at.range().start), "on purpose");
                Ok(Continuation::Stop)
            });
        p.impulse("Impulse").par_do_splittable("Read", source);
    });
    check_panic(runner, "Sink", |p| {
        let grouped = p.create("Numbers", 0..10).map("Key", |n| (n % 2, n)).group_by_key("Group");
        grouped.map("Sink", |_| panic!("on purpose")).map("End", |()| ());
    });
    check_panic(runner, "Sum/Combine", |p| {
        p.create("Numbers", 0..10_i64).combine_globally("Sum", PanicsInExtract);
    });
    let running = Arc::new(AtomicUsize::new(0));
    let error = {
        let p = Pipeline::new();
        let numbers = p.create("Numbers", 0..10_i64).reshuffle("Apart");
        numbers.par_do("No copy", NoCopy(running.clone()));
        let graph = p.build().expect("the pipeline is refused");
        running.store(1, Ordering::SeqCst);
        match runner.run(graph) {
            Ok(handle) => crate::runners::end_of(&handle).expect_err("the panic is lost"),
            Err(e) => e,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Panic);
    assert!(error.to_string().contains("on purpose"), "{error}");
}

#[derive(Clone)]
struct PanicsInExtract;

impl purlin_sdk::CombineFn for PanicsInExtract {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, _: &mut i64, _: i64) {}
    fn merge(&self, _: &mut i64, _: i64) {}
    fn extract(&self, _: i64) -> i64 {
        panic!("on purpose")
    }
}

/// A tracker that panics when it is split while its DoFn runs.
#[derive(Debug)]
struct Unsplittable(OffsetRangeTracker);

impl RestrictionTracker for Unsplittable {
    type Restriction = OffsetRange;
    type Position = i64;
    fn try_claim(&mut self, offset: i64) -> bool {
        self.0.try_claim(offset)
    }
    fn try_split(&mut self, _: f64) -> Option<OffsetRange> {
        panic!("on purpose")
    }
    fn restriction(&self) -> OffsetRange {
        self.0.restriction()
    }
    fn progress(&self) -> Progress {
        self.0.progress()
    }
    fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

/// Goes on until it is split.
#[derive(Clone)]
struct UntilSplit;

impl SplittableDoFn for UntilSplit {
    type Input = Vec<u8>;
    type Output = i64;
    type Tracker = Unsplittable;
    type Estimator = Manual;

    fn initial_restriction(&self, _: &Vec<u8>, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::endless(0))
    }
    fn new_tracker(&self, _: &Vec<u8>, range: OffsetRange, _: &SdfContext<'_>) -> Result<Unsplittable> {
        Ok(Unsplittable(OffsetRangeTracker::new(range)))
    }
    fn initial_watermark_state(
        &self,
        _: &Vec<u8>,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<purlin_sdk::Timestamp> {
        Ok(cx.timestamp())
    }
    fn new_watermark_estimator(
        &self,
        state: purlin_sdk::Timestamp,
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
        _: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let mut i = 0;
        while claims.try_claim(i) {
            i += 1;
        }
        Ok(Continuation::Stop)
    }
}

/// A panic in a tracker, on whichever thread splits it, ends the run.
pub fn b170_a_panic_in_a_split_ends_the_run(runner: &dyn Runner) {
    check_panic(runner, "Read", |p| {
        p.impulse("Impulse").par_do_splittable("Read", UntilSplit);
    });
}

/// A run of next to nothing.
pub fn a_tiny_run(runner: &dyn Runner) {
    assert_eq!(results(runner, |p| p.create("One", [1])), [1]);
}

/// Fails the first `times` times that it sees `at`, and then hands it on like everything else.
fn fail_first<T: Element + PartialEq>(
    times: usize,
    at: T,
    error: impl Fn() -> DoFnError + Clone + Send + 'static,
) -> impl Fn(T, &ProcessContext<'_>) -> Result<T> + Clone + Send + 'static {
    let failed = Arc::new(AtomicUsize::new(0));
    move |x, cx| {
        cx.counter("seen").inc(1);
        if x == at && failed.fetch_add(1, Ordering::SeqCst) < times {
            return Err(error());
        }
        Ok(x)
    }
}

fn retryable() -> DoFnError {
    DoFnError::msg("not now").retryable()
}

/// Outputs, groups, combined values and counters of a bundle that failed first and was tried again are there once.
pub fn b171_a_bundle_counts_once_however_often_it_is_tried(runner: &dyn Runner) {
    let (out, groups, sums) = (Committed::new(), Committed::new(), Committed::new());
    let outcome = run(runner, |p| {
        let tried = p.create("Numbers", 0..20_i64).map_cx("Try", fail_first(2, 13, retryable));
        out.collect("Out", &tried);
        let keyed = tried.map("Key", |n| (n % 2, n));
        let grouped = keyed.group_by_key("Group").map("List", |(k, v)| {
            let mut all: Vec<i64> = v.into_iter().collect();
            all.sort();
            (k, all)
        });
        groups.collect("Groups", &grouped);
        sums.collect("Sums", &keyed.combine_per_key("Sum", Sum));
    })
    .expect("the run fails");
    assert_eq!(out.sorted(), (0..20).collect::<Vec<_>>());
    let (even, odd) = (0..20).partition::<Vec<i64>, _>(|n| n % 2 == 0);
    assert_eq!(groups.sorted(), [(0, even), (1, odd)]);
    assert_eq!(sums.sorted(), [(0, 90), (1, 100)]);
    assert_eq!(outcome.metrics.committed.counter("Try", "seen"), 20);
    assert!(outcome.metrics.attempted.counter("Try", "seen") >= 22);
}

/// With no retries the run fails at the first error, and nothing is seen of the bundle.
pub fn b171_without_retries_nothing_is_seen_of_a_failed_bundle(runner: &dyn Runner) {
    let (before, out) = (Committed::new(), Committed::new());
    let error = run(runner, |p| {
        let numbers = p.create("Numbers", [13_i64]);
        // In the same bundle, in front of what fails.
        before.collect("Before", &numbers);
        out.collect("Out", &numbers.map_cx("Try", fail_first(1, 13, retryable)));
    })
    .expect_err("the failure is lost");
    assert_eq!((error.kind(), error.cause().to_string().as_str()), (ErrorKind::User, "not now"));
    assert!(before.is_empty() && out.is_empty(), "{before:?}, {out:?}");
}

/// What goes on failing fails the run after as many tries as were allowed, here two more.
pub fn retries_end(runner: &dyn Runner) {
    let tries = Arc::new(AtomicUsize::new(0));
    let count = tries.clone();
    let error = run(runner, |p| {
        p.create("One", [1]).map_cx("Try", move |_: i32, _| -> Result<i32> {
            count.fetch_add(1, Ordering::SeqCst);
            Err(retryable())
        });
    })
    .expect_err("the failure is lost");
    assert_eq!((tries.load(Ordering::SeqCst), error.is_retryable()), (3, true));
}

/// An error that is not retryable fails the run at once, whatever retries are allowed.
pub fn only_retryable_errors_are_tried_again(runner: &dyn Runner) {
    let tries = Arc::new(AtomicUsize::new(0));
    let count = tries.clone();
    let error = run(runner, |p| {
        p.create("One", [1]).map_cx("Try", move |_: i32, _| -> Result<i32> {
            count.fetch_add(1, Ordering::SeqCst);
            Err(DoFnError::msg("never"))
        });
    })
    .expect_err("the failure is lost");
    assert_eq!((tries.load(Ordering::SeqCst), error.cause().to_string().as_str()), (1, "never"));
}

/// A restriction whose bundle fails now and then, while it is split and checkpointed: each offset counts once.
pub fn a_retried_restriction_counts_once(runner: &dyn Runner) {
    let failures = Arc::new(AtomicUsize::new(0));
    let sums = Committed::new();
    let out = Committed::new();
    run(runner, |p| {
        let source = OffsetSource::<Manual, _, _, _>::new(
            OffsetRange::new(0, 2000),
            move |_: &Vec<u8>, at, _, out| {
                let mut i = at.range().start;
                while at.try_claim(i) {
                    if i % 100 == 99 && failures.fetch_add(1, Ordering::SeqCst) < 15 {
                        return Err(retryable());
                    }
                    out.emit(i);
                    i += 1;
                }
                Ok(Continuation::Stop)
            },
        );
        let read = p.impulse("Impulse").par_do_splittable("Read", source);
        out.collect("Collect", &read);
        let sum = read
            .window_into("Window", FixedWindows::of(Duration::from_hours(1)))
            .map("Key", |n| ((), n))
            .combine_per_key("Sum", Sum)
            .map("Value", |((), n)| n);
        sums.collect("Sums", &sum);
    })
    .expect("the run fails");
    assert_eq!(out.sorted(), (0..2000).collect::<Vec<_>>());
    assert_eq!(sums.values(), [2000 * 1999 / 2]);
}

/// What a bundle is for that is tried again: elements, a window of a grouping, elements or a timer of keys.
#[derive(Clone, Copy, Debug)]
enum TriedAgain {
    Elements,
    Window,
    Keyed,
    Timer,
}

/// Fails three times, and notes when it was tried.
fn fails(tries: &Log<Timestamp>, now: Timestamp) -> Result {
    tries.push(now);
    if tries.len() <= 3 { Err(DoFnError::msg("not yet").retryable()) } else { Ok(()) }
}

#[derive(Clone)]
struct FailsInElements(Log<Timestamp>);

impl DoFn for FailsInElements {
    type Input = (String, i64);
    type Output = String;
    fn process(&mut self, _: (String, i64), cx: &ProcessContext<'_>, _: &mut Emitter<'_, String>) -> Result {
        fails(&self.0, cx.now())
    }
}

/// Each further try waits twice as long, whatever the bundle is for.
pub fn retries_wait_longer_each_time(runner: &dyn Runner) {
    use TriedAgain::{Elements, Keyed, Timer, Window};
    for kind in [Elements, Window, Keyed, Timer] {
        let tries = Log::default();
        let noted = tries.clone();
        run(runner, |p| {
            let values = p.create("Values", [("k".to_owned(), 1_i64)]);
            let probe = match kind {
                Keyed => Probe::new(move |_, _, _, cx, _| fails(&noted, cx.now())),
                Timer => Probe::new(|_, _, s, cx, _| s.a.set(cx, cx.timestamp()))
                    .when_due(move |_, _, _, cx, _| fails(&noted, cx.now())),
                Elements => {
                    values.par_do("Fails", FailsInElements(noted));
                    return;
                }
                Window => {
                    let one = values.group_by_key("Group").map("One", |(k, _)| (k, 1_i64));
                    one.par_do("Fails", FailsInElements(noted));
                    return;
                }
            };
            values.par_do_keyed("Fails", probe);
        })
        .unwrap_or_else(|e| panic!("{kind:?}: {e}"));
        let tries = tries.take();
        let waits: Vec<Duration> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(waits, [100, 200, 400].map(Duration::from_millis), "{kind:?}");
    }
}
