//! Metrics of elements and of bundles. Beam's `MetricsTest`.

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Emitter, KeyedDoFn, ProcessContext, Result, Runner, TimerContext,
    metrics::DistributionValue,
};

use super::{
    probe::{Cells, CellsTimer},
    support::{Log, at, run},
};

/// Records something in each of its methods.
#[derive(Clone)]
struct Recording(Log<()>);

impl DoFn for Recording {
    type Input = i64;
    type Output = i64;
    fn start_bundle(&mut self, cx: &BundleContext<'_>) -> Result {
        self.0.push(());
        cx.distribution("bundle").record(10);
        Ok(())
    }
    fn process(&mut self, x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        cx.counter("count").inc(1);
        cx.distribution("input").record(x);
        cx.gauge("gauge").set(12);
        out.emit(x);
        out.emit(x);
        Ok(())
    }
    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, i64>) -> Result {
        cx.distribution("bundle").record(40);
        Ok(())
    }
}

/// What is recorded while bundles begin and end counts with the rest, attempted and committed.
pub fn metrics_of_bundles(r: &dyn Runner) {
    let (first, second) = (Log::default(), Log::default());
    let outcome = run(r, |p| {
        let values = p.create("Values", [5_i64, 8, 13]);
        values.par_do("Step1", Recording(first.clone())).par_do("Step2", Recording(second.clone()));
    });
    for metrics in [&outcome.metrics.committed, &outcome.metrics.attempted] {
        for (step, times, bundles) in [("Step1", 1, first.len()), ("Step2", 2, second.len())] {
            assert_eq!(metrics.counter(step, "count"), 3 * times);
            let input = DistributionValue { sum: 26 * times, count: 3 * times as u64, min: 5, max: 13 };
            assert_eq!(metrics.distribution(step, "input"), Some(input));
            assert_eq!(metrics.gauge(step, "gauge").map(|g| g.value), Some(12));
            let n = bundles as u64;
            let bundle = DistributionValue { sum: 50 * n as i64, count: 2 * n, min: 10, max: 40 };
            assert_eq!(metrics.distribution(step, "bundle"), Some(bundle));
        }
    }
}

/// Counts its elements, its timers, and its ends.
#[derive(Clone)]
struct Counting;

impl KeyedDoFn for Counting {
    type Key = String;
    type Value = i64;
    type Output = ();
    type State = Cells;
    const ON_WINDOW_EXPIRATION: bool = true;
    fn process(
        &mut self,
        _: &String,
        _: i64,
        s: &mut Cells,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, ()>,
    ) -> Result {
        cx.counter("elements").inc(1);
        s.a.set(cx, at(10))
    }
    fn on_timer(
        &mut self,
        _: CellsTimer,
        _: &String,
        _: &mut Cells,
        cx: &TimerContext<'_>,
        _: &mut Emitter<'_, ()>,
    ) -> Result {
        cx.counter("timers").inc(1);
        Ok(())
    }
    fn on_window_expiration(
        &mut self,
        _: &String,
        _: &mut Cells,
        cx: &TimerContext<'_>,
        _: &mut Emitter<'_, ()>,
    ) -> Result {
        cx.counter("expirations").inc(1);
        Ok(())
    }
}

/// Those of timers and expirations too.
pub fn metrics_of_timers(r: &dyn Runner) {
    let outcome = run(r, |p| {
        let values = ["a", "b", "a"].map(|key| ((key.to_owned(), 1_i64), at(1)));
        p.create_timestamped("Values", values).par_do_keyed("Counting", Counting);
    });
    for metrics in [&outcome.metrics.committed, &outcome.metrics.attempted] {
        let counts = ["elements", "timers", "expirations"].map(|name| metrics.counter("Counting", name));
        assert_eq!(counts, [3, 2, 2]);
    }
}

/// A bundle that is tried again: what it recorded counts once among what was committed, and as often as it was tried
/// among what was attempted. Needs a runner with two retries.
pub fn attempted_and_committed(r: &dyn Runner) {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };
    let tries = Arc::new(AtomicUsize::new(0));
    let tried = tries.clone();
    let outcome = run(r, |p| {
        p.create("Value", [7_i64]).map_cx("Fail", move |x, cx| {
            cx.counter("tries").inc(1);
            match tried.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => Err(purlin_sdk::DoFnError::msg("not now").retryable()),
                _ => Ok(x),
            }
        });
    });
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    assert_eq!(outcome.metrics.committed.counter("Fail", "tries"), 1);
    assert_eq!(outcome.metrics.attempted.counter("Fail", "tries"), 3);
}
