//! Splittable DoFns in windows, with side inputs, late data, and their life cycle. Beam's `SplittableDoFnTest`.

use std::sync::{Arc, Mutex, PoisonError};

use purlin_sdk::{
    BundleContext, Emitter, ProcessContext, Result, Runner, SetupContext, Timestamp, WindowInto,
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, ParDoSplittable,
        SdfContext, SplittableDoFn,
    },
    testing::TestStream,
    window::{FixedWindows, PaneTiming},
};

use super::support::{Log, at, collect, run, secs, span};
use crate::OffsetSource;

const KINDS: [Boundedness; 2] = [Boundedness::Bounded, Boundedness::Unbounded];

/// The side input is that of the element's window, before and after each checkpoint, as Beam's
/// `testWindowedSideInputWithCheckpoints`.
pub fn windowed_side_inputs_across_checkpoints(r: &dyn Runner) {
    for boundedness in KINDS {
        for pause in [1, 5] {
            let seen = collect(r, |p| {
                let fixed = || FixedWindows::of(secs(10));
                let side = p.create_timestamped("Side", [(100_i64, at(1)), (200, at(11))]);
                let view = side.window_into("SideWindows", fixed()).view_as_singleton("View");
                let given = view.clone();
                let source = OffsetSource::<Manual, _, _, _>::new(
                    OffsetRange::new(0, 3),
                    move |x: &i64, offsets, cx: &ProcessContext<'_>, out: &mut Emitter<'_, (i64, i64)>| {
                        let first = offsets.range().start;
                        for i in first..first + pause {
                            if !offsets.try_claim(i) {
                                return Ok(Continuation::Stop);
                            }
                            out.emit((*x, cx.side(&given)? + i));
                        }
                        Ok(Continuation::resume())
                    },
                );
                let source = if boundedness == Boundedness::Unbounded { source.unbounded() } else { source };
                p.create_timestamped("Main", [(1_i64, at(2)), (2, at(12))])
                    .window_into("MainWindows", fixed())
                    .par_do_splittable_with("Read", ParDoSplittable::of(source).side(&view))
                    .main()
            });
            let expected: Vec<_> = [(1, 100), (2, 200)]
                .iter()
                .flat_map(|(x, side)| (0..3).map(move |i| (*x, side + i)))
                .collect();
            assert_eq!(seen, expected, "{boundedness:?}, a pause after {pause}");
        }
    }
}

/// Late elements go through, and are late in the grouping behind, with the lateness that was allowed before.
pub fn late_data_go_through(r: &dyn Runner) {
    for boundedness in KINDS {
        let log = Log::default();
        let noted = log.clone();
        run(r, |p| {
            let source = OffsetSource::<Manual, _, _, _>::new(
                OffsetRange::new(0, 2),
                |x: &i64, offsets, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| {
                    let mut i = offsets.range().start;
                    while offsets.try_claim(i) {
                        out.emit(10 * x + i);
                        i += 1;
                    }
                    Ok(Continuation::Stop)
                },
            );
            let source = if boundedness == Boundedness::Unbounded { source.unbounded() } else { source };
            let windowing = WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(secs(60));
            let stream = TestStream::new().advance_watermark_to(at(15)).element_at(1_i64, at(3));
            p.apply("Stream", stream)
                .window_into("Windows", windowing)
                .par_do_splittable("Read", source)
                .reshuffle("Spread")
                .key_by("Key", |_| ())
                .group_by_key("Group")
                .map_cx("Pane", move |(_, values), cx| {
                    let mut values = values.into_vec();
                    values.sort_unstable();
                    noted.push((values, span(&cx.window()), cx.pane().timing));
                    Ok(())
                });
        });
        let panes = log.take();
        assert!(panes.iter().all(|pane| pane.1 == (0, 10) && pane.2 == PaneTiming::Late), "{panes:?}");
        let mut all: Vec<i64> = panes.into_iter().flat_map(|pane| pane.0).collect();
        all.sort_unstable();
        assert_eq!(all, [10, 11], "{boundedness:?}");
    }
}

/// What was called on each instance.
type Calls = Arc<Mutex<Vec<Vec<&'static str>>>>;

/// Emits the offsets below its input, and pauses after each.
#[derive(Clone)]
struct Watched {
    boundedness: Boundedness,
    calls: Calls,
    instance: Option<usize>,
}

impl Watched {
    fn call(&self, name: &'static str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = self.instance.and_then(|n| calls.get_mut(n)) {
            calls.push(name);
        }
    }
}

impl SplittableDoFn for Watched {
    type Input = i64;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        self.instance = Some(calls.len());
        calls.push(vec!["setup"]);
        Ok(())
    }
    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.call("start");
        Ok(())
    }
    fn finish_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.call("finish");
        Ok(())
    }
    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        self.call("teardown");
        Ok(())
    }
    fn boundedness(&self) -> Boundedness {
        self.boundedness
    }
    fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        self.call("initial_restriction");
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
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }
    fn process(
        &mut self,
        _: &i64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        self.call("process");
        let i = claims.restriction().start;
        if !claims.try_claim(i) {
            return Ok(Continuation::Stop);
        }
        out.emit(i);
        Ok(Continuation::resume())
    }
}

/// Setup comes first and teardown last, once each; `process` is called within bundles only, which do not nest.
pub fn life_cycle(r: &dyn Runner) {
    for boundedness in KINDS {
        let calls = Calls::default();
        let dofn = Watched { boundedness, calls: calls.clone(), instance: None };
        let out = collect(r, |p| p.create("Numbers", [3_i64, 4]).par_do_splittable("Watched", dofn));
        assert_eq!(out, [0, 0, 1, 1, 2, 2, 3]);
        let calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(calls.iter().flatten().any(|call| *call == "process"));
        for calls in calls.iter() {
            assert_eq!((calls.first(), calls.last()), (Some(&"setup"), Some(&"teardown")), "{calls:?}");
            let mut inside = false;
            for (i, call) in calls.iter().enumerate() {
                match *call {
                    "setup" => assert_eq!(i, 0, "{calls:?}"),
                    "teardown" => assert!(i + 1 == calls.len() && !inside, "{calls:?}"),
                    "start" => assert!(!std::mem::replace(&mut inside, true), "{calls:?}"),
                    "finish" => assert!(std::mem::replace(&mut inside, false), "{calls:?}"),
                    "process" => assert!(inside, "{calls:?}"),
                    _ => {}
                }
            }
        }
    }
}
