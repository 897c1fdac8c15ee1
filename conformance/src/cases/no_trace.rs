//! A bundle that fails leaves no trace: in groups, triggers, state, timers, side inputs, claims, watermarks, finalizers
//! or output, wherever it fails. To be run with [`RETRIES`] retries.
//!
//! Each case is a pipeline with points at which it can fail: `Trip`s between its transforms, and calls within its
//! DoFns. It runs once without failures. Then it runs for each of these points, with failures at the first, a middle
//! and the last time that it gets there, and must give the same: elements, timestamps, panes, finalizers that were
//! called, and what was dropped. At last it panics there: what was committed before is a part of the same.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use purlin_derive::KeyedState;
use purlin_sdk::{
    BundleContext, BundleEmitter, CombineFn, DoFn, DoFnError, Element, Emitter, ErrorKind, KeyedDoFn,
    KeyedParDo, PCollection, ParDo, Pipeline, ProcessContext, Result, Runner, Tag, TimerContext, Timestamp,
    WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    sdf::{Continuation, Manual, OffsetRange},
    state::{Bag, Combining, Map, Multimap, OrderedList, Set, Timer, TimerFamily, Value},
    testing::{TestStream, TestStreams},
    window::{ClosingBehavior, FixedWindows, GlobalWindows, Sessions, TimestampCombiner, Trigger},
};

use super::support::{Log, at, secs};
use crate::{Committed, OffsetSource, runners};

/// How often the runner must try again: a bundle can meet all failures of a run.
pub const RETRIES: u32 = 4;

/// What happens at a point: nothing, or a failure at certain times.
#[derive(Clone, Default)]
struct Faults {
    point: Option<String>,
    times: Vec<usize>,
    panics: bool,
    met: Arc<Mutex<BTreeMap<String, usize>>>,
    failed: Arc<AtomicUsize>,
    finalized: Log<String>,
}

impl Faults {
    /// The pipeline comes to a point.
    fn at(&self, point: &str) -> Result {
        let n = {
            let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
            let n = met.entry(point.to_owned()).or_default();
            *n += 1;
            *n
        };
        if self.point.as_deref() != Some(point) || !self.times.contains(&n) {
            return Ok(());
        }
        self.failed.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics, "on purpose");
        Err(DoFnError::msg(format!("not now, at {point} for time {n}")).retryable())
    }

    fn met(&self) -> BTreeMap<String, usize> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Hands elements on, with points before and after each, and where a bundle begins and ends.
struct Trip<T> {
    name: &'static str,
    faults: Faults,
    element: std::marker::PhantomData<fn(T)>,
}

impl<T> Clone for Trip<T> {
    fn clone(&self) -> Trip<T> {
        Trip { name: self.name, faults: self.faults.clone(), element: self.element }
    }
}

impl<T: Element + std::fmt::Debug> DoFn for Trip<T> {
    type Input = T;
    type Output = T;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.faults.at(&format!("{}: start of bundle", self.name))
    }

    fn process(&mut self, x: T, cx: &ProcessContext<'_>, out: &mut Emitter<'_, T>) -> Result {
        self.faults.at(&format!("{}: before an element", self.name))?;
        let (finalized, called) = (self.faults.finalized.clone(), format!("finalized {} {x:?}", self.name));
        cx.finalize(move || {
            finalized.push(called);
            Ok(())
        });
        cx.counter("seen").inc(1);
        out.emit(x);
        self.faults.at(&format!("{}: after an element", self.name))
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, _: &mut BundleEmitter<'_, T>) -> Result {
        self.faults.at(&format!("{}: end of bundle", self.name))
    }
}

trait TripExt<T> {
    fn trip(&self, name: &'static str, faults: &Faults) -> PCollection<T>;
}

impl<T: Element + std::fmt::Debug> TripExt<T> for PCollection<T> {
    fn trip(&self, name: &'static str, faults: &Faults) -> PCollection<T> {
        self.par_do(name, Trip { name, faults: faults.clone(), element: std::marker::PhantomData })
    }
}

/// What a run did, in lines.
fn lines_of<T: Element + std::fmt::Debug>(
    r: &dyn Runner,
    faults: &Faults,
    build: &impl Fn(&Pipeline, &Faults) -> PCollection<T>,
) -> (Vec<String>, purlin_sdk::RunResult) {
    let committed = Committed::new();
    let result = runners::run(r, |p| committed.collect("Collect", &build(p, faults)));
    let mut lines: Vec<String> = committed
        .seen()
        .iter()
        .map(|s| format!("{:?} at {} in {} {:?}", s.value, s.timestamp, s.window, s.pane))
        .collect();
    lines.extend(faults.finalized.take());
    if let Ok(outcome) = &result {
        let counters = &outcome.metrics.committed;
        lines.push(format!("{} dropped", counters.counter_total(DROPPED_DUE_TO_LATENESS)));
        lines.push(format!("{} seen", counters.counter_total("seen")));
    }
    lines.sort();
    (lines, result)
}

/// Runs the pipeline with failures at all its points, and expects what it does without any.
fn check<T: Element + std::fmt::Debug>(
    r: &dyn Runner,
    points: &[&str],
    build: impl Fn(&Pipeline, &Faults) -> PCollection<T>,
) {
    let none = Faults::default();
    let (expected, result) = lines_of(r, &none, &build);
    if let Err(e) = result {
        panic!("it fails on its own: {e}");
    }
    let met = none.met();
    for point in points {
        assert!(met.contains_key(*point), "it does not come to `{point}`, only to {met:?}");
    }
    for (point, n) in met {
        let times = vec![1, n.div_ceil(2), n];
        let faults = Faults { point: Some(point.clone()), times: times.clone(), ..Faults::default() };
        let (found, result) = lines_of(r, &faults, &build);
        if let Err(e) = result {
            panic!("with failures at {times:?} of `{point}`: {e}");
        }
        assert!(faults.failed.load(Ordering::SeqCst) > 0, "it did not fail at `{point}`");
        assert_same(&found, &expected, &point);
        if !point.contains("after") && !point.contains("timer") {
            continue;
        }
        let faults = Faults {
            point: Some(point.clone()),
            times: vec![n.div_ceil(2)],
            panics: true,
            ..Faults::default()
        };
        let (found, result) = lines_of(r, &faults, &build);
        let error = result.expect_err("the panic is lost");
        assert_eq!(error.kind(), ErrorKind::Panic, "{error}");
        let mut left = expected.clone();
        for line in found {
            let there = left.iter().position(|l| *l == line);
            let Some(there) = there else { panic!("after a panic at `{point}` there is {line}") };
            left.swap_remove(there);
        }
    }
}

#[track_caller]
fn assert_same(found: &[String], expected: &[String], point: &str) {
    let only = |a: &[String], b: &[String]| {
        let mut b = b.to_vec();
        let not_there = |line: &&String| match b.iter().position(|l| l == *line) {
            Some(i) => {
                b.swap_remove(i);
                false
            }
            None => true,
        };
        a.iter().filter(not_there).cloned().collect::<Vec<_>>()
    };
    let (missing, unexpected) = (only(expected, found), only(found, expected));
    assert!(
        missing.is_empty() && unexpected.is_empty(),
        "a failure at `{point}` leaves traces; missing: {missing:#?}; unexpected: {unexpected:#?}"
    );
}

/// On time, late and too late, with moves of the clock.
fn stream() -> TestStream<(String, i64)> {
    let e = |key: &str, t: i64| ((key.to_owned(), t), at(t));
    TestStream::new()
        .elements([e("a", 1), e("b", 2), e("a", 3)])
        .advance_processing_time(secs(5))
        .elements([e("a", 4), e("a", 12), e("b", 13)])
        .advance_watermark_to(at(10))
        .elements([e("a", 5), e("b", 14)])
        .advance_processing_time(secs(5))
        .elements([e("a", 6), e("a", 24)])
        .advance_watermark_to(at(22))
        .elements([e("b", 7), e("a", 15)])
        .advance_watermark_to(at(60))
        .elements([e("a", 8), e("a", 61)])
}

/// A grouping of [`stream`] in these windows, with a point before and after it in its stage.
fn check_grouping(r: &dyn Runner, windows: impl Fn() -> WindowInto) {
    let points =
        ["In: before an element", "Out: after an element", "Out: start of bundle", "Out: end of bundle"];
    check(r, &points, |p, faults| {
        let input = p.apply("Stream", stream()).trip("In", faults).window_into("Windows", windows());
        let groups = input.group_by_key("Group").map("Sort", |(key, all)| {
            let mut all: Vec<i64> = all.into_iter().collect();
            all.sort_unstable();
            (key, all)
        });
        groups.trip("Out", faults)
    });
    check(r, &points, |p, faults| {
        let input = p.apply("Stream", stream()).trip("In", faults).window_into("Windows", windows());
        input.combine_per_key("Sum", Sum).trip("Out", faults)
    });
}

fn tens() -> WindowInto {
    WindowInto::of(FixedWindows::of(secs(10)))
}

fn early_and_late() -> Trigger {
    Trigger::after_watermark()
        .early(Trigger::after_any([Trigger::after_count(2), Trigger::after_processing_time().delay(secs(3))]))
        .late(Trigger::after_count(1))
}

/// Groupings and combinations in plain windows.
pub fn plain_windows(r: &dyn Runner) {
    check_grouping(r, tens);
    check_grouping(r, || tens().timestamp_combiner(TimestampCombiner::Earliest));
}

/// Groupings and combinations in plain windows for which late data count.
pub fn plain_windows_with_lateness(r: &dyn Runner) {
    check_grouping(r, || tens().allowed_lateness(secs(20)));
}

/// Sessions, which grow and merge.
pub fn sessions(r: &dyn Runner) {
    check_grouping(r, || WindowInto::of(Sessions::with_gap(secs(4))));
    check_grouping(r, || {
        let sessions = WindowInto::of(Sessions::with_gap(secs(4)));
        sessions.trigger(early_and_late()).accumulating().allowed_lateness(secs(30))
    });
}

/// Windows that fire early and late, each element once.
pub fn triggered_windows_that_discard(r: &dyn Runner) {
    check_grouping(r, || {
        let closing = tens().closing(ClosingBehavior::FireAlways);
        closing.trigger(early_and_late()).discarding().allowed_lateness(secs(30))
    });
}

/// Windows that fire early and late, with all elements so far.
pub fn triggered_windows_that_accumulate(r: &dyn Runner) {
    check_grouping(r, || {
        let latest = tens().timestamp_combiner(TimestampCombiner::Latest);
        latest.trigger(early_and_late()).accumulating().allowed_lateness(secs(30))
    });
}

/// A trigger that ends, whose window then drops.
pub fn a_trigger_that_ends(r: &dyn Runner) {
    let each = || Trigger::after_each([Trigger::after_count(2), Trigger::after_watermark()]);
    check_grouping(r, || tens().trigger(each()).discarding().allow_data_loss().allowed_lateness(secs(30)));
}

#[derive(Clone, Debug, Default)]
struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        acc
    }
}

/// A cell of every kind.
#[derive(KeyedState, Debug)]
#[keyed_state(crate = "purlin_sdk")]
struct Cells {
    value: Value<i64>,
    bag: Bag<i64>,
    sum: Combining<Sum>,
    map: Map<i64, i64>,
    set: Set<i64>,
    list: OrderedList<i64>,
    multi: Multimap<i64, i64>,
    #[timer(event)]
    alarm: Timer,
    #[timer(event)]
    alarms: TimerFamily,
    #[timer(processing)]
    flush: Timer,
    #[timer(processing)]
    flushes: TimerFamily,
}

impl Cells {
    /// Changes all of them, in a way that depends on what is there.
    fn change(&mut self, x: i64) {
        let last = self.value.read().copied().unwrap_or(0);
        self.value.write(last + x);
        self.bag.add(x);
        self.sum.add(x);
        self.map.put(x % 3, last);
        self.map.remove(&(last % 3));
        if !self.set.add(x % 4) {
            self.set.remove(&(x % 4));
        }
        self.list.add(at(-x), x);
        self.multi.put(x % 2, x);
    }

    /// Clears them, now one and now another.
    fn clear(&mut self, by: usize) {
        match by % 4 {
            0 => {
                self.bag.take();
                self.map.clear();
            }
            1 => {
                self.value.take();
                self.set.clear();
            }
            2 => {
                self.sum.clear();
                self.list.clear_range(at(-9)..at(-3));
            }
            _ => {
                self.multi.remove(&1);
                self.list.clear();
            }
        }
    }
}

/// Tells all of its state, at each element and timer.
#[derive(Clone)]
struct Tells(Faults);

impl KeyedDoFn for Tells {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Cells;
    const ON_WINDOW_EXPIRATION: bool = true;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.0.at("state: start of bundle")
    }

    fn process(
        &mut self,
        key: &String,
        x: i64,
        s: &mut Cells,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        self.0.at("state: before an element")?;
        s.change(x);
        out.emit(format!("{key} {x}: {s:?}"));
        let end = cx.window().max_timestamp();
        s.alarm.set(cx, end.min(cx.timestamp() + secs(x % 5)))?;
        s.alarms.tag(&(x % 3).to_string()).set(cx, end)?;
        if x % 4 == 0 {
            s.alarms.clear("1");
            s.flush.clear();
        } else {
            s.flush.set_after(cx, secs(x % 7))?;
        }
        s.flushes.tag(&(x % 2).to_string()).set_after(cx, secs(4))?;
        self.0.at("state: after an element")
    }

    fn on_timer(
        &mut self,
        timer: CellsTimer,
        key: &String,
        s: &mut Cells,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        s.clear(s.bag.len() + s.multi.keys().count());
        out.emit(format!("{key} {timer:?} at {}: {s:?}", cx.fire_timestamp()));
        match timer {
            CellsTimer::Alarm if cx.fire_timestamp() + secs(2) < cx.window().max_timestamp() => {
                // One timer sets another, and takes a third one back.
                s.alarms.tag("again").set(cx, cx.fire_timestamp() + secs(2))?;
                s.flushes.clear("0");
            }
            CellsTimer::Flushes(_) => s.change(1),
            _ => {}
        }
        self.0.at(&format!("state: in timer {}", timer_name(&timer)))
    }

    fn on_window_expiration(
        &mut self,
        key: &String,
        s: &mut Cells,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        out.emit(format!("{key} expires: {s:?}"));
        s.clear(0);
        self.0.at("state: in on_window_expiration")
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, _: &mut BundleEmitter<'_, String>) -> Result {
        self.0.at("state: end of bundle")
    }
}

fn timer_name(timer: &CellsTimer) -> &'static str {
    match timer {
        CellsTimer::Alarm => "alarm",
        CellsTimer::Alarms(_) => "of the family alarms",
        CellsTimer::Flush => "flush",
        CellsTimer::Flushes(_) => "of the family flushes",
    }
}

/// State of every kind, timers in both times, families of them, in each callback.
fn check_state(r: &dyn Runner, par_do: impl Fn(KeyedParDo<Tells>) -> KeyedParDo<Tells>) {
    let points = [
        "state: after an element",
        "state: in timer alarm",
        "state: in timer of the family alarms",
        "state: in timer flush",
        "state: in timer of the family flushes",
        "state: in on_window_expiration",
        "state: start of bundle",
        "state: end of bundle",
        "Out: after an element",
    ];
    check(r, &points, |p, faults| {
        let windows = tens().allowed_lateness(secs(20));
        let input = p.apply("Stream", stream()).trip("In", faults).window_into("Windows", windows);
        let out = input.par_do_keyed_with("State", par_do(KeyedParDo::of(Tells(faults.clone())))).main();
        out.trip("Out", faults)
    });
}

/// State and timers.
pub fn state_and_timers(r: &dyn Runner) {
    check_state(r, |par_do| par_do);
}

/// State and timers where elements wait for their turn.
pub fn time_sorted_input(r: &dyn Runner) {
    check_state(r, KeyedParDo::time_sorted);
}

/// A side input that fires again and again, its reader, and elements that wait for it.
pub fn triggered_side_inputs(r: &dyn Runner) {
    const MAIN: Tag<i64> = Tag::new("main");
    const SIDE: Tag<i64> = Tag::new("side");
    let script = || {
        TestStreams::new()
            .stream(MAIN)
            .stream(SIDE)
            .elements(MAIN, [(1, at(1)), (2, at(2))])
            .elements(SIDE, [(10, at(1))])
            .elements(MAIN, [(3, at(3))])
            .elements(SIDE, [(20, at(2)), (21, at(3))])
            .elements(MAIN, [(4, at(4)), (5, at(5))])
            .advance_watermark_to(SIDE, at(50))
            .elements(SIDE, [(30, at(51))])
            .elements(MAIN, [(6, at(6))])
    };
    let points =
        ["Side: after an element", "Fired: after an element", "Read: after an element", "Out: end of bundle"];
    check(r, &points, |p, faults| {
        let streams = p.apply("Streams", script());
        let each = WindowInto::of(GlobalWindows).trigger(Trigger::repeatedly(Trigger::after_count(1)));
        let side = streams.tagged(SIDE).trip("Side", faults).window_into("Each", each.accumulating());
        // What is grouped first fires in its own stage, and the side input gathers that.
        let sums = side.key_by("Key", |x| x / 10 % 2).combine_per_key("Sum", Sum).trip("Fired", faults);
        let view = sums.map("Value", |(_, sum)| sum).view_as_list("View");
        let (seen, reader) = (view.clone(), faults.clone());
        let read = ParDo::from_fn(move |x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, String>| {
            let mut others: Vec<i64> = cx.side(&seen)?.iter().copied().collect();
            others.sort_unstable();
            out.emit(format!("{x}: {others:?}"));
            reader.at("Read: after an element")
        });
        streams.tagged(MAIN).par_do_with("Read", read.side(&view)).main().trip("Out", faults)
    });
}

/// Claims, residuals and watermarks of a restriction that is split and resumed: each offset counts once, and the
/// watermark of work that failed is as it was, so that nothing is late.
pub fn restrictions(r: &dyn Runner) {
    let points = ["claim", "resume", "Out: after an element", "Sums: after an element"];
    check(r, &points, |p, faults| {
        let inner = faults.clone();
        let source = OffsetSource::<Manual, i64, (i64, i64), _>::new(
            OffsetRange::new(0, 60),
            move |element, offsets, _, out| {
                let mut next = offsets.range().start;
                while offsets.try_claim(next) {
                    offsets.set_watermark(Timestamp::from_secs(next))?;
                    out.emit_at((*element, next), Timestamp::from_secs(next));
                    inner.at("claim")?;
                    next += 1;
                    if next % 13 == 0 {
                        inner.at("resume")?;
                        return Ok(Continuation::Resume(secs(1)));
                    }
                }
                Ok(Continuation::Stop)
            },
        )
        .pieces(|range, _| range.split(2));
        let read = p.create("Elements", [0_i64, 1]).par_do_splittable("Read", source).trip("Out", faults);
        let sums = read.window_into("Tens", tens()).combine_per_key("Sum", Sum);
        sums.trip("Sums", faults)
    });
}
