//! Several collections as one.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use purlin_sdk::{
    DoFnError, Duration, Emitter, ParDo, ProcessContext, Result, Runner, Timestamp,
    coder::Json,
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext,
        SplittableDoFn, WatermarkStateOf,
    },
    testing::TestStream,
    window::{FixedWindows, Sessions},
};

use super::support::{Log, Sum, assert_nothing, assert_says, at, build_errors, collect, run, secs, span};

/// Never emits and keeps its watermark at the beginning, until `done` says that all was seen elsewhere.
#[derive(Clone)]
struct Silent {
    done: Arc<AtomicUsize>,
    expected: usize,
    polls: Arc<AtomicUsize>,
}

/// Polls after which it is clear that nothing comes.
const PATIENCE: usize = 1000;

impl SplittableDoFn for Silent {
    type Input = Vec<u8>;
    type Output = i64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }
    fn initial_restriction(&self, _: &Vec<u8>, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, 1))
    }
    fn new_tracker(&self, _: &Vec<u8>, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(r))
    }
    fn initial_watermark_state(
        &self,
        _: &Vec<u8>,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<WatermarkStateOf<Self>> {
        Ok(Timestamp::MIN)
    }
    fn new_watermark_estimator(
        &self,
        state: WatermarkStateOf<Self>,
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
        if self.done.load(Ordering::SeqCst) >= self.expected {
            claims.try_claim(0);
            return Ok(Continuation::Stop);
        }
        if self.polls.fetch_add(1, Ordering::SeqCst) > PATIENCE {
            return Err(DoFnError::msg("the live branch's elements never came through"));
        }
        Ok(Continuation::Resume(Duration::from_millis(1)))
    }
}

/// A flatten hands on what a live branch gives, whatever the others do.
pub fn b050_silent_branches_hold_no_elements_back(r: &dyn Runner) {
    let seen = Arc::new(AtomicUsize::new(0));
    run(r, |p| {
        let live = p.create("Live", 0..20_i64);
        let silent = p
            .impulse("Start")
            .par_do_splittable("Silent", Silent { done: seen.clone(), expected: 20, polls: Arc::default() });
        let nothing = p.create("Nothing", Vec::<i64>::new());
        let seen = seen.clone();
        p.flatten("All", [live, silent, nothing]).map("See", move |x| {
            seen.fetch_add(1, Ordering::SeqCst);
            x
        });
    });
    assert_eq!(seen.load(Ordering::SeqCst), 20);
}

/// A collection counts as often as it is listed.
pub fn b051_the_same_collection_several_times(r: &dyn Runner) {
    let flat = |which: usize| {
        collect(r, |p| {
            let (a, b) = (p.create("A", [1, 2]), p.create("B", [3]));
            match which {
                0 => p.flatten("Four", [a.clone(), b, a.clone(), a]),
                1 => p.flatten("One", [a]),
                2 => p.flatten("Two", [a.clone(), a]),
                _ => {
                    let inner = p.flatten("Inner", [a.clone(), b]);
                    p.flatten("Outer", [inner, a])
                }
            }
        })
    };
    assert_eq!(flat(0), [1, 1, 1, 2, 2, 2, 3]);
    assert_eq!(flat(1), [1, 2]);
    assert_eq!(flat(2), [1, 1, 2, 2]);
    assert_eq!(flat(3), [1, 1, 2, 2, 3]);
}

/// A collection that feeds a flatten, a grouping and more gives all of it to each.
pub fn b053_a_collection_with_several_consumers(r: &dyn Runner) {
    let (flat, groups) = (Log::default(), Log::default());
    run(r, |p| {
        let a = p.create("A", [("k".to_owned(), 1_i64)]);
        let b = p.create("B", [("k".to_owned(), 2_i64)]).with_coder(Arc::new(Json::of()));
        flat.note("CollectFlat", &p.flatten("C", [a.clone(), b]));
        let d = a.group_by_key("D").map("Values", |(k, values)| (k, values.into_vec()));
        groups.note("CollectGroups", &d);
    });
    assert_eq!(flat.take_sorted(), [("k".to_owned(), 1), ("k".to_owned(), 2)]);
    assert_eq!(groups.take(), [("k".to_owned(), vec![1])]);
}

/// What is derived from a collection may be encoded otherwise; the collection itself stays as it was.
pub fn b053_another_coder_does_not_leak(_: &dyn Runner) {
    let p = purlin_sdk::Pipeline::new();
    let json = || Arc::new(Json::of()) as purlin_sdk::coder::CoderRef<(String, i64)>;
    let a = p.create("A", [("k".to_owned(), 1_i64)]);
    let _ = p.flatten("Flat", [a.clone()]).with_coder(json());
    let _ = a.filter("Filter", |_| true).with_coder(json());
    let _ = a.reshuffle("Spread").with_coder(json());
    let _ = a.window_into("Windows", FixedWindows::of(secs(1))).with_coder(json());
    let _ = a.with_timestamps("Times", |_| at(0)).with_coder(json());
    let parts = a.apply("Parts", purlin_sdk::Partition::of(2, |_| 0));
    let _ = parts[0].clone().with_coder(json());
    let graph = p.build().expect("the pipeline is right");
    let coders = |path: &str| {
        let node = graph.nodes.iter().find(|n| n.step.path() == path).expect("the transform is there");
        let of = |id: &purlin_sdk::graph::CollectionId| graph.collections[id.0].coder.to_string();
        node.outputs.iter().map(of).collect::<Vec<_>>()
    };
    let plain = "kv<string_utf8, varint>";
    assert_eq!(coders("A/Spread"), [plain], "the collection's own coder changed");
    for path in ["Flat", "Filter", "Spread", "Windows", "Times"] {
        assert_ne!(coders(path), [plain], "{path} was given another coder");
    }
    assert_eq!(coders("Parts/Choose")[1], plain, "the other part's coder changed");
}

/// A flatten of nothing is an empty collection, also as a side input and under a global combine.
pub fn b054_a_flatten_of_nothing(r: &dyn Runner) {
    let sizes = collect(r, |p| {
        let none = p.flatten::<i32>("None", []);
        let view = none.view_as_list("View");
        let read = view.clone();
        p.create("Main", [1_i64, 2])
            .par_do_with(
                "Read",
                ParDo::from_fn(move |x, cx, out: &mut Emitter<'_, (i64, usize)>| {
                    out.emit((x, cx.side(&read)?.len()));
                    Ok(())
                })
                .side(&view),
            )
            .main()
    });
    assert_eq!(sizes, [(1, 0), (2, 0)]);
    assert_eq!(collect(r, |p| p.flatten::<i64>("None", []).combine_globally("Count", Sum)), [0]);
    assert_nothing(collect(r, |p| p.flatten::<i64>("None", []).map("Next", |x| x)));
}

/// Collections in different windows are refused before anything runs, and both are named.
pub fn b055_incompatible_windows(_: &dyn Runner) {
    let text = build_errors(|p| {
        let x = p.create("X", [1]).window_into("Ten", FixedWindows::of(secs(10)));
        let y = p.create("Y", [2]).window_into("Twenty", FixedWindows::of(secs(20)));
        p.flatten("Both", [x, y]);
    });
    assert_says(&text, &["`Both`", "`Ten`", "`Twenty`", "10s", "20s", "window_into"]);
    let text = build_errors(|p| {
        let x = p.create("X", [1]).window_into("Five", Sessions::with_gap(secs(5)));
        let y = p.create("Y", [2]).window_into("Ten", Sessions::with_gap(secs(10)));
        p.flatten("Both", [x, y]);
    });
    assert_says(&text, &["`Both`", "`Five`", "`Ten`", "5s", "10s"]);
}

/// A bounded and an unbounded collection flow together, and once the bounded one is done only the other's watermark
/// counts.
pub fn b205_bounded_and_unbounded_together(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let mut ticks = TestStream::new();
        for t in 0..25_i64 {
            ticks = ticks.element_at(100 + t, at(t)).advance_watermark_to(at(t));
        }
        let bounded = p.create_timestamped("Bounded", [1_i64, 2, 3].map(|x| (x, at(0))));
        let ticked = log.clone();
        let unbounded = p.apply("Ticks", ticks).map("Tick", move |t| {
            ticked.push((t, (0, 0), 0));
            t
        });
        let log = log.clone();
        p.flatten("All", [bounded, unbounded])
            .window_into("Windows", FixedWindows::of(secs(10)))
            .map("One", |_| ((), 1_i64))
            .combine_per_key("Count", Sum)
            .map_cx("Fired", move |(_, n), cx| {
                log.push((-1, span(&cx.window()), n));
                Ok(())
            });
    });
    let log = log.take();
    let fired: Vec<_> = log.iter().enumerate().filter(|(_, l)| l.0 < 0).map(|(i, l)| (i, l.1, l.2)).collect();
    // Each window fires after the tick that ends it and before the next one.
    assert_eq!(fired, [(11, (0, 10), 13), (22, (10, 20), 10), (27, (20, 30), 5)]);
}
