//! What an engine does with our bundles: grouping, combining, splitting, watermarks.

#[path = "support/prism.rs"]
mod support;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use purlin_runner_direct::DirectRunner;
use purlin_runner_portable::PortableRunner;
use purlin_sdk::{
    Duration, Element, Emitter, PCollection, Pipeline, ProcessContext, Result, Runner, Timestamp,
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext,
        SplittableDoFn,
    },
    window::{FixedWindows, Sessions},
};
use support::Prism;

/// What comes out, with its windows, on one runner.
fn on<T: Element + Ord>(runner: &dyn Runner, build: impl Fn(&Pipeline) -> PCollection<T>) -> Vec<T> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = seen.clone();
    let p = Pipeline::new();
    build(&p).map("Gather", move |element| into.lock().unwrap().push(element));
    p.run_on(runner).unwrap().wait().unwrap();
    let mut all = std::mem::take(&mut *seen.lock().unwrap());
    all.sort();
    all
}

/// The same on Prism as on the direct runner; gives what it is.
fn same<T: Element + Ord + std::fmt::Debug>(build: impl Fn(&Pipeline) -> PCollection<T>) -> Vec<T> {
    let direct = on(&DirectRunner::default(), &build);
    let Some(prism) = Prism::start() else { return direct };
    assert_eq!(on(&PortableRunner::to(prism.endpoint()), &build), direct);
    direct
}

fn events(p: &Pipeline) -> PCollection<(String, i64)> {
    let event = |i: i64| ((format!("k{}", i % 3), i), Timestamp::from_secs(i));
    p.create_timestamped("Events", (0..40).map(event))
}

#[test]
fn grouping_in_windows() {
    let all = same(|p| {
        let windowed = events(p).window_into("Windows", FixedWindows::of(Duration::from_secs(10)));
        windowed.group_by_key("Group").map("Sort", |(k, values)| {
            let mut values = values.into_vec();
            values.sort_unstable();
            (k, values)
        })
    });
    assert_eq!(all.len(), 12);
}

#[test]
fn combining_per_key_and_globally() {
    use purlin_transforms::Sum;
    assert_eq!(same(|p| events(p).apply("Sum", Sum::per_key())).len(), 3);
    assert_eq!(same(|p| events(p).map("Values", |(_, n)| n).apply("Sum", Sum::globally())), [780]);
    assert_eq!(
        same(|p| events(p).map("Values", |(_, n)| n).filter("None", |_| false).apply("Sum", Sum::globally())),
        [0]
    );
}

#[test]
fn sessions_merge() {
    same(|p| {
        let late = p.create_timestamped("Late", [(("k0".to_owned(), 100_i64), Timestamp::from_secs(100))]);
        let all = events(p).flatten_with("All", [late]);
        let windowed = all.window_into("Windows", Sessions::with_gap(Duration::from_secs(5)));
        windowed.group_by_key("Group").map("Count", |(k, values)| (k, values.len() as i64))
    });
}

/// The numbers up to the element, each at its own second.
#[derive(Clone, Default)]
struct CountUp {
    unbounded: bool,
    pause: bool,
    /// Does not go past 60 before this is so; for some thousand tries.
    until: Option<&'static AtomicBool>,
}

/// How often the source was asked to go on while it waited.
static TRIES: AtomicUsize = AtomicUsize::new(0);

impl SplittableDoFn for CountUp {
    type Input = i64;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        if self.unbounded { Boundedness::Unbounded } else { Boundedness::Bounded }
    }
    fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, *n))
    }
    fn new_tracker(&self, _: &i64, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }
    fn initial_watermark_state(&self, _: &i64, _: &OffsetRange, _: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(Timestamp::MIN)
    }
    fn new_watermark_estimator(
        &self,
        at: Timestamp,
        _: &i64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(at))
    }
    fn process(
        &mut self,
        _: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let start = claims.restriction().start;
        let mut i = start;
        let waits = || {
            let unseen = self.until.is_some_and(|until| !until.load(Ordering::SeqCst));
            unseen && TRIES.fetch_add(1, Ordering::SeqCst) < 2000
        };
        if i == 60 && waits() {
            return Ok(Continuation::Resume(Duration::from_millis(5)));
        }
        while claims.try_claim(i) {
            out.emit_at(i, Timestamp::from_secs(i));
            claims.set_watermark(Timestamp::from_secs(i + 1))?;
            i += 1;
            if self.pause && i % 10 == 0 {
                return Ok(Continuation::Resume(Duration::from_millis(20)));
            }
        }
        Ok(Continuation::Stop)
    }
}

#[test]
fn a_bounded_source() {
    let build = |p: &Pipeline| {
        p.create("Ends", [50_i64, 3, 200])
            .par_do_splittable("Count", CountUp { pause: true, ..CountUp::default() })
    };
    assert_eq!(same(build).len(), 253);
}

#[test]
fn an_unbounded_source_whose_windows_fire_by_its_watermark() {
    same(|p| {
        let numbers = p
            .create("Ends", [95_i64])
            .par_do_splittable("Count", CountUp { unbounded: true, pause: true, until: None });
        let windowed = numbers.window_into("Windows", FixedWindows::of(Duration::from_secs(20)));
        let keyed = windowed.map("Key", |n| (n % 2, n));
        keyed.group_by_key("Group").map("Size", |(k, values)| (k, values.len() as i64))
    });
}

#[test]
fn windows_fire_while_the_source_goes_on() {
    static SEEN: AtomicBool = AtomicBool::new(false);
    let Some(prism) = Prism::start() else { return };
    let all = on(&PortableRunner::to(prism.endpoint()), |p| {
        let source = CountUp { unbounded: true, pause: true, until: Some(&SEEN) };
        let numbers = p.create("Ends", [95_i64]).par_do_splittable("Count", source);
        let windowed = numbers.window_into("Windows", FixedWindows::of(Duration::from_secs(20)));
        let grouped = windowed.map("Key", |_| 0_i64).map("Pair", |k| (k, 1_i64)).group_by_key("Group");
        grouped.map("Size", |(_, values)| {
            SEEN.store(true, Ordering::SeqCst);
            values.len() as i64
        })
    });
    assert_eq!(all, [15, 20, 20, 20, 20]);
    assert!(TRIES.load(Ordering::SeqCst) < 2000, "the first window came only when the source was done");
}

#[test]
fn metrics_come_back_under_our_names() {
    let Some(prism) = Prism::start() else { return };
    let p = Pipeline::new();
    p.create("Values", [5_i64, 8, 13])
        .map_cx("Step", |x, cx| {
            cx.counter("count").inc(1);
            cx.distribution("input").record(x);
            cx.gauge("gauge").set(12);
            cx.string_set("names").add("n");
            cx.bounded_trie("files").add(["a", "b"]);
            Ok((x % 2, x))
        })
        .flat_map("Twice", |x| [x, x])
        .map_cx("Again", |x, cx| {
            cx.counter("count").inc(1);
            Ok(x)
        })
        .apply("Sum", purlin_transforms::Sum::per_key());
    let outcome = p.run_on(&PortableRunner::to(prism.endpoint())).unwrap().wait().unwrap();
    for metrics in [&outcome.metrics.committed, &outcome.metrics.attempted] {
        assert_eq!(metrics.counter("Step", "count"), 3, "{metrics:?}");
        assert_eq!(metrics.counter("Again", "count"), 6);
        let input = metrics.distribution("Step", "input").unwrap();
        assert_eq!((input.sum, input.count, input.min, input.max), (26, 3, 5, 13));
        assert_eq!(metrics.gauge("Step", "gauge").unwrap().value, 12);
        assert!(metrics.string_set("Step", "names").unwrap().contains("n"));
        assert_eq!(metrics.elements_in("Step"), 3);
        assert_eq!(
            (metrics.elements_in("Sum/Combine"), metrics.elements_out("Sum/Combine")),
            (6, 2),
            "{metrics:?}"
        );
    }
}
