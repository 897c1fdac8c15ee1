//! `DoFnTester`.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, DoFnError, Emitter, ErrorKind, Failed, ListView, ManualClock,
    MapView, Phase, Pipeline, ProcessContext, Result, SetupContext, Tag, Timestamp, View,
    testing::DoFnTester,
    window::{PaneInfo, PaneTiming, Window},
};

const SMALL: Tag<i64> = Tag::new("small");
const REFUSED: Tag<Failed<i64>> = Tag::new("refused");

fn secs(s: i64) -> Timestamp {
    Timestamp::from_secs(s)
}

fn minute(m: i64) -> Window {
    Window::interval(secs(60 * m), secs(60 * (m + 1)))
}

/// Calls of the life cycle, over all instances.
#[derive(Clone, Default)]
struct Calls(Arc<[AtomicI64; 4]>);

impl Calls {
    fn count(&self, which: usize) {
        self.0[which].fetch_add(1, Ordering::SeqCst);
    }

    fn seen(&self) -> [i64; 4] {
        [0, 1, 2, 3].map(|i: usize| self.0[i].load(Ordering::SeqCst))
    }
}

/// Sums up a bundle, refuses zero, panics on -1, and asks for a callback on 7.
#[derive(Clone, Default)]
struct Sum {
    calls: Calls,
    finalized: Calls,
    sum: i64,
}

impl DoFn for Sum {
    type Input = i64;
    type Output = i64;

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        self.calls.count(0);
        Ok(())
    }

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.calls.count(1);
        self.sum = 0;
        Ok(())
    }

    fn process(&mut self, x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        assert!(x != -1, "minus one");
        if x == 0 {
            return Err(DoFnError::msg("zero"));
        }
        if x == 7 {
            let finalized = self.finalized.clone();
            cx.finalize_before(secs(10), move || {
                finalized.count(0);
                Ok(())
            });
        }
        if x < 3 {
            out.emit_to(SMALL, x);
        }
        cx.counter("seen").inc(1);
        cx.distribution("sizes").record(x);
        self.sum += x;
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, out: &mut BundleEmitter<'_, i64>) -> Result {
        self.calls.count(2);
        out.emit_in(self.sum, secs(59), minute(0));
        Ok(())
    }

    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        self.calls.count(3);
        Ok(())
    }
}

#[test]
fn bundles_share_an_instance_that_is_set_up_and_torn_down_once() {
    let calls = Calls::default();
    {
        let mut sum = DoFnTester::of(Sum { calls: calls.clone(), ..Sum::default() }).tag(SMALL);
        sum.process_bundle([1, 2, 3]).unwrap().process(4).unwrap().process_bundle([]).unwrap();
        assert_eq!(sum.main_with_windows(), [6, 4, 0].map(|s| (s, secs(59), minute(0))));
        assert_eq!(sum.tagged(SMALL), [1, 2]);
        assert!(sum.main().is_empty() && sum.tagged(SMALL).is_empty(), "what was taken is gone");
        assert_eq!(sum.counter("seen"), 4);
        assert_eq!(sum.distribution("sizes").unwrap().max, 4);
        assert_eq!(calls.seen(), [1, 3, 3, 0]);
    }
    assert_eq!(calls.seen(), [1, 3, 3, 1]);
}

#[test]
fn a_bundle_that_fails_leaves_nothing_and_costs_the_instance() {
    let calls = Calls::default();
    let mut sum = DoFnTester::of(Sum { calls: calls.clone(), ..Sum::default() }).tag(SMALL);
    let error = sum.process_bundle([1, 7, 0]).unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::User, Some(Phase::Process)));
    assert!(error.to_string().contains("zero") && error.to_string().contains(file!()), "{error}");
    assert_eq!(calls.seen(), [1, 1, 0, 1]);
    assert!(sum.main().is_empty() && sum.tagged(SMALL).is_empty());
    assert_eq!(sum.counter("seen"), 0);
    assert_eq!(sum.finalize().unwrap(), 0, "callbacks of a bundle that failed never run");

    let error = sum.process(-1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    assert!(error.to_string().contains("minus one"), "{error}");

    sum.process(5).unwrap();
    assert_eq!(sum.main(), [5]);
    assert_eq!(calls.seen(), [3, 3, 1, 2]);
    sum.teardown().unwrap();
    sum.teardown().unwrap();
    assert_eq!(calls.seen(), [3, 3, 1, 3]);
}

#[test]
fn callbacks_run_when_the_test_says_so_and_not_past_their_expiry() {
    let (finalized, clock) = (Calls::default(), ManualClock::default());
    let mut sum =
        DoFnTester::of(Sum { finalized: finalized.clone(), ..Sum::default() }).tag(SMALL).clock(&clock);
    sum.process(7).unwrap().process(8).unwrap();
    assert_eq!(finalized.seen()[0], 0);
    assert_eq!(sum.finalize().unwrap(), 1);
    assert_eq!(sum.finalize().unwrap(), 0);
    sum.process(7).unwrap();
    clock.set(secs(11));
    assert_eq!(sum.finalize().unwrap(), 0);
    assert_eq!(finalized.seen()[0], 1);
}

#[test]
fn refused_elements_come_out_as_dead_letters() {
    let mut sum = DoFnTester::of(Sum::default()).tag(SMALL).dead_letters(REFUSED);
    sum.process_bundle([4, 0, 5]).unwrap();
    assert_eq!(sum.main(), [9]);
    let refused = sum.tagged(REFUSED);
    assert_eq!((refused[0].element, refused[0].error.as_str()), (0, "zero"));
}

#[test]
fn undeclared_outputs_are_told() {
    let error = DoFnTester::of(Sum::default()).process(1).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Contract);
    assert!(error.to_string().contains(".tag(SMALL)"), "{error}");
    let asked = std::panic::catch_unwind(|| DoFnTester::of(Sum::default()).tagged(SMALL));
    assert!(asked.is_err());
}

/// Says where elements are.
#[derive(Clone)]
struct Where {
    rate: View<i64>,
}

impl DoFn for Where {
    type Input = i64;
    type Output = (i64, String);

    fn process(&mut self, x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, (i64, String)>) -> Result {
        let rate = cx.side(&self.rate)?;
        let greeting: &String = cx.options()?;
        let (at, window, timing) = (cx.timestamp(), cx.window(), cx.pane().timing);
        let text = format!("{greeting} {at} {window} {timing:?} {:?} {}", cx.current_watermark(), cx.now());
        out.emit((x * rate, text));
        Ok(())
    }
}

fn rate_view() -> View<i64> {
    Pipeline::new().create("Rates", [1_i64]).view_as_singleton("Rate")
}

#[test]
fn elements_are_where_the_test_puts_them() {
    let rate = rate_view();
    let early = PaneInfo { timing: PaneTiming::Early, is_last: false, ..PaneInfo::NO_FIRING };
    let mut place = DoFnTester::of(Where { rate: rate.clone() })
        .side(&rate, 10)
        .options("hello".to_owned())
        .clock(&ManualClock::at(secs(100)));
    place.at(secs(61)).window(minute(1)).pane(early).watermark(secs(50));
    place.process_bundle_at([(1, secs(61)), (2, secs(62))]).unwrap();
    let text = |at: i64| format!("hello {} {} Early {:?} {}", secs(at), minute(1), Some(secs(50)), secs(100));
    assert_eq!(place.main_with_times(), [((10, text(61)), secs(61)), ((20, text(62)), secs(62))]);
}

#[test]
fn a_side_input_is_looked_up_by_window() {
    let rate = rate_view();
    let mut place = DoFnTester::of(Where { rate: rate.clone() })
        .options(String::new())
        .side_in(minute(0), &rate, 10)
        .side_in(minute(1), &rate, 20);
    for m in [0, 1] {
        place.at(secs(60 * m)).window(minute(m)).process(1).unwrap();
    }
    assert_eq!(place.main().into_iter().map(|(x, _)| x).collect::<Vec<_>>(), [10, 20]);
    let error = place.window(minute(2)).process(1).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("side_in(window, &view, value)"), "{error}");
}

#[test]
fn what_was_not_given_is_told() {
    let rate = rate_view();
    let error = DoFnTester::of(Where { rate: rate.clone() }).process(1).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(".side(&view)"), "{error}");
    let error =
        DoFnTester::of(Where { rate: rate.clone() }).side(&rate, 1).process(1).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("options of type `alloc::string::String`"), "{error}");
}

/// Looks elements up.
#[derive(Clone)]
struct LookUp {
    names: View<MapView<i64, String>>,
    allowed: View<ListView<i64>>,
}

impl DoFn for LookUp {
    type Input = i64;
    type Output = String;

    fn process(&mut self, x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, String>) -> Result {
        let name = cx.side(&self.names)?.get(&x).cloned();
        if cx.side(&self.allowed)?.contains(&x) {
            out.emit_all(name);
        }
        Ok(())
    }
}

#[test]
fn lists_and_maps_are_given_as_such() {
    let p = Pipeline::new();
    let names = p.create("Names", [(1_i64, String::new())]).view_as_map("NamesMap");
    let allowed = p.create("Allowed", [1_i64]).view_as_list("AllowedList");
    let mut look_up = DoFnTester::of(LookUp { names: names.clone(), allowed: allowed.clone() })
        .side(&names, HashMap::from([(1, "one".to_owned()), (2, "two".to_owned())]).into())
        .side(&allowed, vec![2, 3].into());
    look_up.process_bundle([1, 2, 3]).unwrap();
    assert_eq!(look_up.main(), ["two"]);
}
