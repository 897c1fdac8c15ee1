//! What every runner must do at least: DoFns, their outputs and timestamps, created collections, metrics, test streams.

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Duration, Emitter, ParDo, Pipeline, ProcessContext, Result, Runner,
    Tag, Timestamp, WithTimestamps,
    metrics::{DROPPED_DUE_TO_LATENESS, DistributionValue},
    testing::TestStream,
    window::{FixedWindows, Window},
};

use super::support::{
    Log, Sum, assert_nothing, assert_says, at, at_ms, build_errors, collect, ms, run, run_to_failure, secs,
    span,
};

/// Each element is processed once, and bundles begin and end around them.
pub fn par_do(r: &dyn Runner) {
    #[derive(Clone)]
    struct Process(Log<&'static str>);
    impl DoFn for Process {
        type Input = i64;
        type Output = String;
        fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
            self.0.push("start");
            Ok(())
        }
        fn process(&mut self, x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, String>) -> Result {
            out.emit(format!("processing: {x}"));
            Ok(())
        }
        fn finish_bundle(&mut self, _: &BundleContext<'_>, out: &mut BundleEmitter<'_, String>) -> Result {
            self.0.push("finish");
            out.emit_in("finished".to_owned(), Timestamp::EPOCH, Window::Global);
            Ok(())
        }
    }
    let log = Log::default();
    let mut out = collect(r, |p| p.create("Values", [3, -42, 666]).par_do("Process", Process(log.clone())));
    let bundles = log.take();
    let begun = bundles.iter().filter(|b| **b == "start").count();
    assert_eq!(begun * 2, bundles.len());
    assert_eq!(out.iter().filter(|o| *o == "finished").count(), begun, "one output a bundle");
    out.retain(|o| o != "finished");
    assert_eq!(out, ["processing: -42", "processing: 3", "processing: 666"]);
}

/// Nothing in gives nothing, and so does a DoFn that emits nothing.
pub fn par_do_of_nothing(r: &dyn Runner) {
    assert_nothing(collect(r, |p| p.create("None", Vec::<i64>::new()).map("Same", |x| x)));
    assert_nothing(collect(r, |p| p.create("Some", [1_i64]).flat_map("Nothing", |_| Vec::<i64>::new())));
}

const EVEN: Tag<i64> = Tag::new("even");
const TEXT: Tag<String> = Tag::new("text");
const UNUSED: Tag<u8> = Tag::new("unused");

fn to_tags(x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
    if x % 2 == 0 {
        out.emit_to(EVEN, x);
    }
    out.emit_to(TEXT, x.to_string());
    out.emit(-x);
    Ok(())
}

/// The main output and further ones; one that is declared and not written to is empty.
pub fn par_do_with_tagged_outputs(r: &dyn Runner) {
    let (main, even, text, unused) = (Log::default(), Log::default(), Log::default(), Log::default());
    run(r, |p| {
        let par_do = ParDo::from_fn(to_tags).tag(EVEN).tag(TEXT).tag(UNUSED);
        let parts = p.create("Values", 1..=4_i64).par_do_with("Split", par_do);
        main.note("Main", &parts.main());
        even.note("Even", &parts.tagged(EVEN));
        text.note("Text", &parts.tagged(TEXT));
        unused.note("Unused", &parts.tagged(UNUSED));
    });
    assert_eq!(main.take_sorted(), [-4, -3, -2, -1]);
    assert_eq!(even.take_sorted(), [2, 4]);
    assert_eq!(text.take_sorted(), ["1", "2", "3", "4"]);
    assert_nothing(unused.take());
    // Outputs that nobody reads are fine.
    assert_eq!(
        collect(r, |p| {
            let par_do = ParDo::from_fn(to_tags).tag(EVEN).tag(TEXT);
            p.create("Values", 1..=4_i64).par_do_with("Split", par_do).tagged(EVEN)
        }),
        [2, 4]
    );
}

/// Outputs may have timestamps of their own: also tagged ones.
pub fn output_with_timestamps(r: &dyn Runner) {
    let (main, tagged) = (Log::default(), Log::default());
    run(r, |p| {
        let emit = |x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            out.emit_at(x, at(x));
            out.emit_to_at(EVEN, x, at(2 * x));
            Ok(())
        };
        let parts = p.create("Values", [3_i64, 42]).par_do_with("Emit", ParDo::from_fn(emit).tag(EVEN));
        main.note("Main", &parts.main().map_cx("MainTime", |x, cx| Ok((x, cx.timestamp()))));
        tagged.note("Tagged", &parts.tagged(EVEN).map_cx("TaggedTime", |x, cx| Ok((x, cx.timestamp()))));
    });
    assert_eq!(main.take_sorted(), [(3, at(3)), (42, at(42))]);
    assert_eq!(tagged.take_sorted(), [(3, at(6)), (42, at(84))]);
}

/// Makes many of each, some at a time: more than a batch has room for, and each way of doing it after each other.
fn make_many(x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
    let later = |i: i64| (i, cx.timestamp() + ms(i % 7));
    out.emit_all((0..1_500).map(|i| x + i));
    out.emit_all_at((1_500..4_000).map(|i| later(x + i)));
    out.emit(x + 4_000);
    out.emit_all((4_001..4_010).filter(|i| i % 2 == 0).map(|i| x + i));
    out.emit_all_at((4_010..6_000).filter(|i| i % 2 == 0).map(|i| later(x + i)));
    out.emit_all(Vec::new());
    out.emit_all_at(Vec::new());
    Ok(())
}

/// Many outputs at once, with the input's timestamp and with their own, from inputs at one time, at times of their own
/// and in windows.
pub fn many_outputs_at_once(r: &dyn Runner) {
    let expected = |x: i64, start: i64| {
        let own = |i: &i64| (1_500..4_000).contains(i) || *i >= 4_010;
        let made = (0..6_000).filter(|i| *i <= 4_000 || i % 2 == 0);
        made.map(move |i| (x + i, at_ms(start + if own(&i) { (x + i) % 7 } else { 0 })))
    };
    let inputs = [(10_000_i64, at_ms(3)), (20_000, at_ms(5_042))];
    let mut all: Vec<_> = inputs.iter().flat_map(|(x, t)| expected(*x, t.as_millis())).collect();
    all.sort();
    let time = |x: i64, cx: &ProcessContext<'_>| Ok((x, cx.timestamp()));
    let (even, small) = (|(x, _): &(i64, Timestamp)| x % 2 == 0, |x: &i64| x % 3 == 0);
    let made = collect(r, |p| {
        let values = p.create_timestamped("Values", inputs);
        values.par_do_with("Make", ParDo::from_fn(make_many)).main().map_cx("Time", time)
    });
    assert_eq!(made, all);
    // Filters of each kind see to it that timestamps stay with their elements, whatever is known of the windows.
    let kept: Vec<_> = all.iter().copied().filter(|made| even(made) && small(&made.0)).collect();
    for windowed in [false, true] {
        let made = collect(r, |p| {
            let values = p.create_timestamped("Values", inputs);
            let values =
                if windowed { values.window_into("Windows", FixedWindows::of(secs(1))) } else { values };
            values
                .par_do_with("Make", ParDo::from_fn(make_many))
                .main()
                .filter("Small", small)
                .fused("Chain", |s| {
                    s.map("Same", |x: i64| x).filter("Even", |x| x % 2 == 0).map("Again", |x| x)
                })
                .map_cx("Time", time)
        });
        assert_eq!(made, kept);
    }
    // One that comes too early fails, wherever among them it is.
    for early in [0, 1, 700, 1_024, 1_999] {
        let error = run_to_failure(r, |p| {
            let make = move |_: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
                let time = cx.timestamp();
                out.emit_all_at(
                    (0..2_000).map(|i| (i, if i == early { time - ms(1) } else { time + ms(i) })),
                );
                Ok(())
            };
            p.create_timestamped("Values", inputs).par_do_with("Make", ParDo::from_fn(make));
        });
        assert_says(&error.to_string(), &["`Make`", "cannot output with timestamp", "allowed skew"]);
    }
}

/// Moves timestamps by `shift`, with `skew` allowed.
#[derive(Clone)]
struct Shift {
    shift: Duration,
    skew: Duration,
}

impl DoFn for Shift {
    type Input = i64;
    type Output = i64;
    fn process(&mut self, x: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        out.emit_at(x, cx.timestamp() + self.shift);
        Ok(())
    }
    fn allowed_timestamp_skew(&self) -> Duration {
        self.skew
    }
}

fn shift(p: &Pipeline, shift: Duration, skew: Duration) -> purlin_sdk::PCollection<(i64, Timestamp)> {
    p.create_timestamped("Values", [(3_i64, at_ms(3)), (42, at_ms(42))])
        .par_do("Shift", Shift { shift, skew })
        .map_cx("Time", |x, cx| Ok((x, cx.timestamp())))
}

/// Timestamps may go back by the allowed skew, and no further.
pub fn timestamp_skew(r: &dyn Runner) {
    let back = |millis: i64| ms(-millis);
    let shifted = collect(r, |p| shift(p, back(1000), ms(1000)));
    assert_eq!(shifted, [(3, at_ms(-997)), (42, at_ms(-958))]);
    let unlimited = collect(r, |p| shift(p, Duration::MIN, Duration::MAX));
    assert_eq!(unlimited, [(3, Timestamp::MIN), (42, Timestamp::MIN)]);
    for (by, skew) in [(1001, 1000), (1, 0)] {
        let error = run_to_failure(r, |p| {
            shift(p, back(by), ms(skew));
        });
        assert_says(&error.to_string(), &["`Shift`", "cannot output with timestamp", "allowed skew"]);
    }
    let error = run_to_failure(r, |p| {
        p.create_timestamped("Values", [(1_i64, at(5))]).with_timestamps("Earlier", |_| at(4));
    });
    assert_says(&error.to_string(), &["`Earlier`", "cannot output with timestamp", "allowed_skew"]);
    let earlier = collect(r, |p| {
        p.create_timestamped("Values", [(1_i64, at(5))])
            .apply("Earlier", WithTimestamps::of(|_: &i64| at(4)).allowed_skew(secs(1)))
            .map_cx("Time", |_, cx| Ok(cx.timestamp()))
    });
    assert_eq!(earlier, [at(4)]);
}

/// Created collections: of nothing, of options, of units, of structs, with timestamps.
pub fn create(r: &dyn Runner) {
    assert_eq!(collect(r, |p| p.create("Values", [3_i64, 1, 2])), [1, 2, 3]);
    assert_eq!(collect(r, |p| p.create("None", Vec::<String>::new())), Vec::<String>::new());
    let options = [Some("a".to_owned()), None, Some("b".to_owned()), None];
    let sorted = [None, None, Some("a".to_owned()), Some("b".to_owned())];
    assert_eq!(collect(r, |p| p.create("Options", options)), sorted);
    assert_eq!(collect(r, |p| p.create("Units", [(), ()])), [(), ()]);
    assert_eq!(collect(r, |p| p.create("Pairs", [((), ()), ((), ())])), [((), ()), ((), ())]);
    let times = [(1_i64, at(-1)), (2, Timestamp::MIN), (3, at(1_000_000_000))];
    let created = collect(r, |p| {
        p.create_timestamped("Times", times).map_cx("Time", |x, cx| Ok((x, cx.timestamp(), cx.window())))
    });
    assert_eq!(created, times.map(|(x, t)| (x, t, Window::Global)));
    let impulse = collect(r, |p| p.impulse("One").map_cx("Time", |x, cx| Ok((x, cx.timestamp()))));
    assert_eq!(impulse, [(Vec::<u8>::new(), Timestamp::MIN)]);
}

/// Counters, distributions and gauges of each step, as Beam's `testAllCommittedMetrics`.
pub fn metrics(r: &dyn Runner) {
    let outcome = run(r, |p| {
        let count = |x: i64, cx: &ProcessContext<'_>| -> Result<i64> {
            cx.counter("count").inc(1);
            cx.distribution("input").record(x);
            cx.gauge("gauge").set(12);
            Ok(x)
        };
        p.create("Values", [5_i64, 8, 13]).map_cx("Step1", count).flat_map("Twice", |x| [x, x]).map_cx(
            "Step2",
            move |x, cx| {
                cx.counter("count").inc(1);
                Ok(x)
            },
        );
    });
    for metrics in [&outcome.metrics.committed, &outcome.metrics.attempted] {
        assert_eq!(metrics.counter("Step1", "count"), 3);
        assert_eq!(metrics.counter("Step2", "count"), 6);
        assert_eq!(metrics.counter("Step2", "other"), 0);
        let expected = DistributionValue { sum: 26, count: 3, min: 5, max: 13 };
        assert_eq!(metrics.distribution("Step1", "input"), Some(expected));
        assert_eq!(metrics.gauge("Step1", "gauge").map(|g| g.value), Some(12));
        assert_eq!(metrics.gauge("Step2", "gauge"), None);
    }
}

/// Options are seen as they were when the pipeline was built.
pub fn pipeline_options(r: &dyn Runner) {
    struct Options {
        greeting: String,
    }
    let log = Log::default();
    let p = Pipeline::with_options(Options { greeting: "hello".to_owned() });
    let greeted = p
        .create("Names", ["you".to_owned()])
        .map_cx("Greet", |name, cx| Ok(format!("{} {name}", cx.options::<Options>()?.greeting)));
    log.note("Collect", &greeted);
    p.run_on(r).and_then(|run| run.wait()).expect("the pipeline is right");
    assert_eq!(log.take(), ["hello you"]);
}

/// A test stream that does not go to infinity by itself is taken there at its end.
pub fn b202_a_test_stream_without_an_end(r: &dyn Runner) {
    let counts = collect(r, |p| {
        let stream =
            TestStream::new().element_at(1_i64, at(1)).element_at(1, at(2)).advance_watermark_to(at(5));
        p.apply("Stream", stream)
            .window_into("Windows", FixedWindows::of(secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map("Value", |(_, n)| n)
    });
    assert_eq!(counts, [2]);
    assert_nothing(collect(r, |p| p.apply("Stream", TestStream::<i64>::new())));
}

/// What a test stream cannot do is told before anything runs.
pub fn impossible_test_streams(_: &dyn Runner) {
    let text = build_errors(|p| {
        p.apply("Back", TestStream::<i64>::new().advance_watermark_to(at(5)).advance_watermark_to(at(4)));
        p.apply("End", TestStream::<i64>::new().advance_watermark_to(Timestamp::MAX));
        p.apply("After", TestStream::new().element_at(1, Timestamp::MAX));
        p.apply("Clock", TestStream::<i64>::new().advance_processing_time(secs(0)));
    });
    assert_says(&text, &["`Back/Stream`", "cannot go back", "`End/Stream`", "infinity"]);
    assert_says(&text, &["`After/Stream`", "`Clock/Stream`", "go forward"]);
}

/// An event is worked off through all stages before the next one, as Beam's `testMultiStage`.
pub fn a_test_stream_runs_to_quiescence(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let stream = TestStream::new()
            .element_at("before".to_owned(), at(0))
            .advance_watermark_to(at(1))
            .element_at("after".to_owned(), at(12));
        let first = log.clone();
        let words = p
            .apply("Stream", stream)
            .map("First", move |w| {
                first.push(w.clone());
                w
            })
            .reshuffle("Spread")
            .window_into("Windows", FixedWindows::of(ms(1)))
            .key_by("Key", |w| w.clone())
            .group_by_key("Group")
            .map("Upper", |(w, _)| w.to_uppercase());
        let second = log.clone();
        words.reshuffle("Again").map("Second", move |w| second.push(w));
    });
    assert_eq!(log.take(), ["before", "BEFORE", "after", "AFTER"]);
}

/// A first element that is too late leaves its window empty.
pub fn the_first_element_is_late(r: &dyn Runner) {
    let log = Log::default();
    let outcome = run(r, |p| {
        let stream =
            TestStream::new().advance_watermark_to(at(1000)).element_at(1_i64, at(5)).element_at(2, at(1005));
        let sums = p
            .apply("Stream", stream)
            .window_into("Windows", FixedWindows::of(secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)));
        log.note("Collect", &sums);
    });
    assert_eq!(log.take(), [((1000, 1010), 2)]);
    assert_eq!(outcome.metrics.committed.counter("Sum", DROPPED_DUE_TO_LATENESS), 1);
}

/// Several test streams in one pipeline: each with its own watermark, one after the other.
pub fn several_test_streams(r: &dyn Runner) {
    let sums = collect(r, |p| {
        let one = p.apply("One", TestStream::new().element_at(1_i64, at(1)).advance_watermark_to(at(50)));
        let two = p.apply("Two", TestStream::new().element_at(2_i64, at(2)).advance_watermark_to(at(9)));
        p.flatten("Both", [one, two])
            .window_into("Windows", FixedWindows::of(secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map("Value", |(_, n)| n)
    });
    assert_eq!(sums, [3]);
}

/// Filters one behind the other, through further outputs, as Beam's `testMultiOutputChaining`.
pub fn chained_tagged_outputs(r: &dyn Runner) {
    const REST: Tag<i64> = Tag::new("rest");
    let split = |by: i64| {
        ParDo::from_fn(move |x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            if x % by == 0 {
                out.emit(x);
            } else {
                out.emit_to(REST, x);
            }
            Ok(())
        })
        .tag(REST)
    };
    let (twos, threes, rest) = (Log::default(), Log::default(), Log::default());
    run(r, |p| {
        let by_two = p.create("Values", 0..12_i64).par_do_with("Two", split(2));
        let by_three = by_two.tagged(REST).par_do_with("Three", split(3));
        twos.note("Twos", &by_two.main());
        threes.note("Threes", &by_three.main());
        rest.note("Rest", &by_three.tagged(REST));
    });
    assert_eq!(twos.take_sorted(), [0, 2, 4, 6, 8, 10]);
    assert_eq!((threes.take_sorted(), rest.take_sorted()), (vec![3, 9], vec![1, 5, 7, 11]));
}
