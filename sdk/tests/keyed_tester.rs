//! `KeyedTester`, and what of keyed DoFns shows best without a runner.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use purlin_derive::KeyedState;
use purlin_sdk::{
    BundleContext, BundleEmitter, DoFnError, Duration, Element, Emitter, ErrorKind, Key, KeyedDoFn, Phase,
    Pipeline, ProcessContext, Result, SetupContext, Tag, TimerContext, Timestamp, View,
    metrics::{DROPPED_DUE_TO_LATENESS, LATE_DATA_OUTPUT},
    state::{Bag, KeyedState as _, Map, Multimap, OrderedList, Timer, TimerFamily, Value},
    testing::KeyedTester,
    window::Window,
};
use serde::{Deserialize, Serialize};

const LATE: Tag<(String, i64)> = Tag::new("late");
const ODD: Tag<i64> = Tag::new("odd");

fn at(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

fn ten(n: i64) -> Window {
    Window::interval(at(10 * n), at(10 * n + 10))
}

fn key(name: &str) -> String {
    name.to_owned()
}

/// State that may be of any element type.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Gathered<T: Element> {
    all: Bag<T>,
    count: Map<String, i64>,
    last: Value<T>,
    #[timer(event)]
    end: Timer,
    #[timer(processing)]
    flush: Timer,
    #[timer(event)]
    per: TimerFamily,
}

/// Gathers what comes until five seconds later, or ten seconds of processing time have passed. Panics at 13, sets ever
/// more timers at 14.
#[derive(Clone, Default)]
struct Gather {
    calls: Arc<AtomicUsize>,
    panics: Arc<AtomicBool>,
    rate: Option<View<i64>>,
}

impl KeyedDoFn for Gather {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Gathered<i64>;

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn process(
        &mut self,
        _: &String,
        x: i64,
        s: &mut Gathered<i64>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        s.all.add(x);
        s.last.write(x);
        s.end.set(cx, cx.timestamp() + secs(5))?;
        if !s.flush.is_set() {
            s.flush.set_after(cx, secs(10))?;
        }
        s.per.tag(&x.to_string()).set(cx, cx.timestamp() + secs(6))?;
        cx.counter("elements").inc(1);
        if x % 2 == 1 {
            out.emit_to(ODD, x);
        }
        if let Some(rate) = &self.rate {
            out.emit(format!("rate {}", cx.side(rate)?));
        }
        assert!(x != 13 || !self.panics.load(Ordering::SeqCst), "on purpose");
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: GatheredTimer,
        key: &String,
        s: &mut Gathered<i64>,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        match &timer {
            GatheredTimer::Per(tag) => out.emit(format!("{key} {tag}")),
            timer => out.emit(format!("{key} {timer:?} {:?}", s.all.take())),
        }
        if let Some(rate) = &self.rate {
            out.emit(format!("rate {}", cx.side(rate)?));
        }
        if timer == GatheredTimer::End {
            s.last.clear();
            s.flush.clear();
        }
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, out: &mut BundleEmitter<'_, String>) -> Result {
        out.emit_in("finished".to_owned(), at(0), Window::Global);
        Ok(())
    }
}

#[test]
fn timers_fire_and_state_is_gone_when_nothing_is_left_in_it() {
    let mut gather = KeyedTester::of(Gather::default()).tag(ODD);
    gather.at(at(1)).process(key("a"), 1).unwrap();
    gather.process_bundle([(key("a"), 2), (key("b"), 3)]).unwrap();
    assert_eq!((gather.states(), gather.counter("elements")), (2, 3));
    assert_eq!(gather.state(&key("a")).map(|s| s.all.read().to_vec()), Some(vec![1, 2]));
    assert_eq!(gather.output_watermark(), Timestamp::MIN);
    // At exactly their time timers do not fire; the processing-time timers hold the watermark at the elements.
    gather.advance_watermark(at(6)).unwrap();
    assert_eq!((gather.main(), gather.output_watermark()), (vec![key("finished"); 2], at(1)));
    gather.advance_watermark(at(7)).unwrap();
    assert_eq!(
        gather.main_with_times(),
        [("a End [1, 2]", 6), ("b End [3]", 6), ("finished", 0)].map(|(x, t)| (key(x), at(t)))
    );
    assert_eq!(gather.output_watermark(), at(7));
    gather.advance_watermark(at(8)).unwrap();
    assert_eq!(gather.main(), ["a 1", "a 2", "b 3", "finished"]);
    assert_eq!((gather.states(), gather.tagged(ODD)), (0, vec![1, 3]));
    assert!(gather.state(&key("a")).is_none());
    // Nothing is due: no bundle.
    gather.finish().unwrap().advance_clock(secs(100)).unwrap();
    assert!(gather.main().is_empty());
    assert!(gather.advance_watermark(at(8)).unwrap_err().to_string().contains("cannot go back"));
}

#[test]
fn processing_time_is_that_of_the_tester() {
    let mut gather = KeyedTester::of(Gather::default()).tag(ODD);
    gather.at(at(1)).process(key("a"), 1).unwrap().advance_clock(secs(9)).unwrap();
    gather.process(key("a"), 2).unwrap();
    gather.main();
    gather.advance_clock(secs(1)).unwrap();
    assert_eq!(gather.main(), ["a Flush [1, 2]", "finished"]);
}

#[test]
fn windows_are_apart_and_expire() {
    let mut gather = KeyedTester::of(Gather::default()).tag(ODD).late_data(LATE).allowed_lateness(secs(5));
    gather.window(ten(0)).at(at(1)).process(key("a"), 2).unwrap();
    gather.window(ten(1)).at(at(11)).process(key("a"), 4).unwrap();
    assert_eq!(gather.state(&key("a")).map(|s| s.all.len()), Some(1));
    gather.main();
    gather.advance_watermark(at(15)).unwrap();
    let windows: Vec<_> = gather.main_with_windows().into_iter().map(|(x, _, w)| (x, w)).collect();
    assert_eq!(windows[..2], [(key("a End [2]"), ten(0)), (key("a 2"), ten(0))]);
    // The first window is gone, the second is not.
    gather.window(ten(0)).at(at(9)).process(key("a"), 6).unwrap();
    gather.window(ten(1)).at(at(12)).process(key("a"), 8).unwrap();
    assert_eq!((gather.tagged(LATE), gather.states()), (vec![(key("a"), 6)], 1));
    assert_eq!((gather.counter(DROPPED_DUE_TO_LATENESS), gather.counter(LATE_DATA_OUTPUT)), (0, 1));
    gather.finish().unwrap();
    assert_eq!(gather.states(), 0);
}

#[test]
fn a_bundle_that_fails_or_panics_leaves_no_trace() {
    let dofn = Gather::default();
    let mut gather = KeyedTester::of(dofn.clone()).tag(ODD);
    gather.at(at(1)).process(key("a"), 2).unwrap();
    gather.main();
    let before = gather.output_watermark();
    let look = |gather: &mut KeyedTester<Gather>| {
        let s = gather.state(&key("a")).unwrap();
        let timers = (s.end.time(), s.flush.time(), s.per.tags().map(key).collect::<Vec<_>>());
        (s.all.read().to_vec(), s.last.read().copied(), timers)
    };
    let state = look(&mut gather);
    // The key is there, the next one is new, and both are touched before the bundle fails.
    let bundle = |x: i64| [(key("a"), 5), (key("new"), 6), (key("a"), 7), (key("new"), x)];
    dofn.panics.store(true, Ordering::SeqCst);
    let error = gather.at(at(3)).process_bundle(bundle(13)).unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Panic, Some(Phase::Process)), "{error}");
    // A timer that cannot be set fails it too.
    let error = gather.at(Timestamp::MAX - secs(1)).process_bundle(bundle(8)).unwrap_err();
    assert!(error.to_string().contains("the event-time timer `end` of `Tested` cannot be set"), "{error}");
    assert_eq!(look(&mut gather), state);
    assert_eq!((gather.states(), gather.output_watermark()), (1, before));
    assert!(gather.main().is_empty() && gather.tagged(ODD).is_empty());
    // Each failure had an instance, and there is a new one.
    dofn.panics.store(false, Ordering::SeqCst);
    gather.at(at(3)).process_bundle(bundle(13)).unwrap();
    assert_eq!(dofn.calls.load(Ordering::SeqCst), 3);
    gather.main();
    gather.advance_watermark(at(100)).unwrap();
    let fired = ["a 2", "a End [2, 5, 7]", "new End [6, 13]", "a 5", "new 6", "a 7", "new 13", "finished"];
    assert_eq!(gather.main(), fired);
}

#[test]
fn elements_that_wait_are_there_again_after_a_failure() {
    let dofn = Gather::default();
    let mut gather = KeyedTester::of(dofn.clone()).tag(ODD).time_sorted();
    gather.process_bundle_at([13, 12, 11].map(|t| ((key("a"), t), at(t)))).unwrap();
    dofn.panics.store(true, Ordering::SeqCst);
    assert!(gather.advance_watermark(at(14)).is_err());
    // One that comes in the bundle that fails is not there, those that it processed are.
    gather.process_bundle_at([((key("a"), 20), at(20))]).unwrap_err();
    dofn.panics.store(false, Ordering::SeqCst);
    assert_eq!((gather.states(), gather.output_watermark()), (1, at(11)));
    gather.main();
    gather.finish().unwrap();
    assert_eq!(gather.main(), ["a 11", "a 12", "a End [11, 12, 13]", "a 13", "finished"]);
}

/// An emitted timestamp may lie behind the end of the element's window; the window expires all the same.
#[test]
fn an_element_behind_the_end_of_its_window() {
    let mut gather = KeyedTester::of(Gather::default()).tag(ODD).time_sorted();
    gather.window(ten(0));
    gather.process_bundle_at([((key("a"), 2), at(9)), ((key("a"), 4), at(17))]).unwrap();
    gather.main();
    let error = gather.advance_watermark(at(10)).unwrap_err();
    assert!(error.to_string().contains("is to fire at 1970-01-01T00:00:14Z, after the state of"), "{error}");
    #[derive(Clone)]
    struct Flush;
    impl KeyedDoFn for Flush {
        type Key = String;
        type Value = i64;
        type Output = i64;
        type State = Gathered<i64>;
        fn process(
            &mut self,
            _: &String,
            x: i64,
            s: &mut Gathered<i64>,
            cx: &ProcessContext<'_>,
            out: &mut Emitter<'_, i64>,
        ) -> Result {
            out.emit(x);
            s.flush.set_after(cx, secs(100))
        }
        fn on_timer(
            &mut self,
            _: GatheredTimer,
            _: &String,
            _: &mut Gathered<i64>,
            cx: &TimerContext<'_>,
            out: &mut Emitter<'_, i64>,
        ) -> Result {
            out.emit(cx.timestamp().as_millis());
            Ok(())
        }
    }
    for sorted in [false, true] {
        let flush = KeyedTester::of(Flush);
        let mut flush = if sorted { flush.time_sorted() } else { flush };
        flush.window(ten(0)).at(at(17)).process(key("a"), 4).unwrap();
        flush.advance_watermark(at(10)).unwrap();
        assert_eq!((flush.main(), flush.states()), (vec![4, 9_999], 0));
    }
}

#[test]
fn side_inputs_are_read_in_elements_and_in_timers() {
    let p = Pipeline::new();
    let rate = p.create("Rates", [1_i64]).view_as_singleton("Rate");
    let dofn = Gather { rate: Some(rate.clone()), ..Gather::default() };
    let mut gather = KeyedTester::of(dofn).tag(ODD).side_in(ten(0), &rate, 7).side_in(ten(1), &rate, 8);
    gather.window(ten(0)).at(at(1)).process(key("a"), 2).unwrap();
    gather.window(ten(1)).at(at(11)).process(key("a"), 4).unwrap();
    gather.finish().unwrap();
    let mut seen = gather.main();
    seen.retain(|x| x.starts_with("rate"));
    assert_eq!(seen, ["rate 7", "rate 8", "rate 7", "rate 7", "rate 8", "rate 8"]);
}

/// Any key and value do, and a state without timers.
#[derive(Clone)]
struct Last<K, V>(std::marker::PhantomData<fn() -> (K, V)>);

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Kept<V> {
    last: Value<V>,
}

impl<K: Key, V: Element> KeyedDoFn for Last<K, V> {
    type Key = K;
    type Value = V;
    type Output = Option<V>;
    type State = Kept<V>;
    fn process(
        &mut self,
        _: &K,
        value: V,
        s: &mut Kept<V>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, Option<V>>,
    ) -> Result {
        out.emit(s.last.take());
        s.last.write(value);
        Ok(())
    }
}

#[test]
fn state_and_keys_of_any_type() {
    let mut last = KeyedTester::of(Last::<Option<()>, Vec<u8>>(std::marker::PhantomData));
    last.process(None, vec![1]).unwrap().process(Some(()), vec![2]).unwrap().process(None, vec![3]).unwrap();
    assert_eq!(last.main(), [None, None, Some(vec![1])]);
    assert_eq!(Kept::<Vec<u8>>::fields().len(), 1);
    assert!(Kept::<Vec<u8>>::name_timer(0, "").is_none());
}

/// Ten thousand keys that come and go leave nothing behind.
#[test]
fn keys_that_are_done_are_forgotten() {
    let mut gather = KeyedTester::of(Gather::default()).tag(ODD);
    for round in 0..10 {
        let elements = (0..1000).map(|i| (key(&format!("{round} {i}")), 2));
        gather.at(at(10 * round)).process_bundle(elements).unwrap();
        assert_eq!(gather.states(), 1000);
        gather.advance_watermark(at(10 * round + 7)).unwrap();
        assert_eq!(gather.states(), 0);
        assert_eq!(gather.output_watermark(), at(10 * round + 7));
    }
    // Past the end of the global window too.
    gather.finish().unwrap();
    assert_eq!(gather.output_watermark(), Timestamp::MAX);
}

static CLONES: AtomicU64 = AtomicU64::new(0);

/// Counts how often it is copied.
#[derive(Serialize, Deserialize)]
struct Counted(u64);

impl Clone for Counted {
    fn clone(&self) -> Counted {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Counted(self.0)
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Large {
    bag: Bag<Counted>,
    list: OrderedList<Counted>,
    map: Map<u64, Counted>,
    by_key: Multimap<u64, Counted>,
    value: Value<Counted>,
}

/// Keeps everything, several times.
#[derive(Clone)]
struct Keeps;

impl KeyedDoFn for Keeps {
    type Key = u8;
    type Value = u64;
    type Output = ();
    type State = Large;
    fn process(
        &mut self,
        _: &u8,
        n: u64,
        s: &mut Large,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, ()>,
    ) -> Result {
        s.bag.add(Counted(n));
        s.list.add(cx.timestamp(), Counted(n));
        s.map.put(n, Counted(n));
        s.by_key.put(n % 7, Counted(n));
        s.value.write(Counted(n));
        if n == u64::MAX { Err(DoFnError::msg("on purpose")) } else { Ok(()) }
    }
}

/// What a bundle costs that may have to be undone goes by what it changes, not by what its key holds.
#[test]
fn a_bundle_copies_nothing_of_a_large_state() {
    let mut keeps = KeyedTester::of(Keeps);
    keeps.process_bundle((0..100_000).map(|n| (1, n))).unwrap();
    CLONES.store(0, Ordering::Relaxed);
    for n in 0..50 {
        keeps.process(1, 100_000 + n).unwrap();
    }
    assert!(keeps.process(1, u64::MAX).is_err());
    assert_eq!(CLONES.load(Ordering::Relaxed), 0);
    let state = keeps.state(&1).unwrap();
    assert_eq!((state.bag.len(), state.list.len(), state.map.len()), (100_050, 100_050, 100_050));
    assert_eq!(state.by_key.entries().count(), 100_050);
    assert_eq!(state.value.read().map(|value| value.0), Some(100_049));
}
