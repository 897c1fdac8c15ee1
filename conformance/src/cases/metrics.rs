//! Metrics of elements and of bundles. Beam's `MetricsTest`.

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Emitter, KeyedDoFn, ListView, ParDo, ProcessContext, Result, Runner,
    Tag, TimerContext, View,
    metrics::{DistributionValue, Metrics, StringSetValue},
    window::{Sessions, SlidingWindows},
};

use super::{
    probe::{Cells, CellsTimer, Probe},
    support::{Log, Sum, at, run, secs},
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
    let elements = |metrics: &Metrics| (metrics.elements_in("Fail"), metrics.elements_out("Fail"));
    assert_eq!(elements(&outcome.metrics.committed), (1, 1));
    assert_eq!(elements(&outcome.metrics.attempted), (3, 1));
}

/// How many elements go into each transform and come out of it is counted without being asked for.
pub fn elements_are_counted(r: &dyn Runner) {
    const ODD: Tag<i64> = Tag::new("odd");
    let outcome = run(r, |p| {
        let numbers = p.create_timestamped("Numbers", (0..3000_i64).map(|n| (n, at(n % 20))));
        let windowed = numbers.window_into("Sliding", SlidingWindows::of(secs(10), secs(5)));
        let sums = windowed.key_by("Key", |n| n % 3).combine_per_key("Sum", Sum);
        sums.flat_map("Twice", |(_, sum)| [sum, sum]);
        let merging = numbers.window_into("Sessions", Sessions::with_gap(secs(5))).key_by("One", |_| ());
        merging.group_by_key("Group");
        numbers.reshuffle("Apart").filter("Few", |n| *n < 10);
        p.flatten("Both", [numbers.clone(), numbers.reshuffle("Again")]);
        let parts = numbers.par_do_with("Parts", ParDo::of(Odd).tag(ODD));
        parts.tagged(ODD).map("Odds", |n| n);
        let keyed = numbers.key_by("Text", |n| (n % 5).to_string());
        keyed.par_do_keyed(
            "Keyed",
            Probe::new(|_, _, _, _, out| {
                out.emit(String::new());
                Ok(())
            }),
        );
        let view = numbers.view_as_list("All");
        let read = view.clone();
        p.create("Main", [1_i64, 2]).par_do_with("Read", ParDo::of(Reads(read)).side(&view));
    });
    for metrics in [&outcome.metrics.committed, &outcome.metrics.attempted] {
        for (step, elements) in [
            ("Numbers/Values", (1, 3000)),
            ("Sliding", (3000, 3000)),
            ("Sum", (3000, 15)),
            ("Twice", (15, 30)),
            ("Group", (3000, 1)),
            ("Apart", (3000, 3000)),
            ("Few", (3000, 10)),
            ("Both", (6000, 6000)),
            ("Parts", (3000, 3000)),
            ("Odds", (1500, 1500)),
            ("Keyed", (3000, 3000)),
            ("All", (3000, 0)),
            ("Read", (2, 2)),
        ] {
            assert_eq!((metrics.elements_in(step), metrics.elements_out(step)), elements, "{step}");
        }
    }
}

#[derive(Clone)]
struct Odd;

impl DoFn for Odd {
    type Input = i64;
    type Output = i64;
    fn process(&mut self, n: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        if n % 2 == 0 {
            out.emit(n);
        } else {
            out.emit_to(Tag::<i64>::new("odd"), n);
        }
        Ok(())
    }
}

/// Looks at a side input.
#[derive(Clone)]
struct Reads(View<ListView<i64>>);

impl DoFn for Reads {
    type Input = i64;
    type Output = usize;
    fn process(&mut self, n: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, usize>) -> Result {
        out.emit(cx.side(&self.0)?.len() + n as usize);
        Ok(())
    }
}

/// Strings and paths, each once, from bundles that commit only.
pub fn string_sets_and_tries(r: &dyn Runner) {
    let tries = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let outcome = run(r, |p| {
        let numbers = p.create("Numbers", (0..300_i64).chain(0..300));
        numbers.map_cx("Note", |n, cx| {
            cx.string_set("last digits").add(&(n % 10).to_string());
            cx.bounded_trie("files").add([if n < 290 { "many" } else { "few" }.to_owned(), n.to_string()]);
            Ok(n)
        });
        p.create("One", [1_i64]).map_cx("Fails once", move |n, cx| {
            let again = tries.swap(true, std::sync::atomic::Ordering::SeqCst);
            cx.string_set("tries").add(if again { "second" } else { "first" });
            if again { Ok(n) } else { Err(purlin_sdk::DoFnError::msg("not now").retryable()) }
        });
    });
    let metrics = &outcome.metrics.committed;
    let digits = metrics.string_set("Note", "last digits").map(|set| set.iter().collect::<String>());
    assert_eq!(digits.as_deref(), Some("0123456789"));
    let paths = metrics.bounded_trie("Note", "files").map(|trie| trie.paths()).unwrap_or_default();
    assert_eq!(paths.len(), 11, "{paths:?}");
    assert_eq!((&paths[0].0[..], paths[10].clone()), (&["few", "290"][..], (vec!["many"], true)));
    let tries = |metrics: &Metrics| metrics.string_set("Fails once", "tries").map(StringSetValue::len);
    assert_eq!((tries(metrics), tries(&outcome.metrics.attempted)), (Some(1), Some(2)));
    assert_eq!(metrics.string_set("Note", "files"), None);
}
