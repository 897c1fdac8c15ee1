//! Side inputs whose collection fires more than once: slowly changing ones, early and late panes.

use purlin_sdk::{
    Combine, Emitter, KeyedParDo, PCollection, ParDo, ProcessContext, Runner, Tag, View, WindowInto,
    testing::TestStreams,
    window::{FixedWindows, GlobalWindows, Trigger},
};

use super::probe::{Probe, k};
use super::support::{Log, Sum, assert_says, at, build_errors, run, run_to_failure, secs};

const MAIN: Tag<i64> = Tag::new("main");
const SIDE: Tag<i64> = Tag::new("side");

fn script() -> TestStreams {
    TestStreams::new().stream(MAIN).stream(SIDE)
}

fn per_element() -> Trigger {
    Trigger::repeatedly(Trigger::after_count(1))
}

fn latest() -> WindowInto {
    WindowInto::of(GlobalWindows).trigger(per_element()).discarding()
}

fn fixed() -> WindowInto {
    WindowInto::of(FixedWindows::of(secs(10)))
}

/// Applies a reader of `view` that notes each element with what it saw.
fn read<V: Clone + Send + Sync + 'static>(
    main: &PCollection<i64>,
    view: &View<V>,
    log: &Log<(i64, Vec<i64>)>,
    values: impl Fn(V) -> Vec<i64> + Clone + Send + 'static,
) {
    let (view, given, log) = (view.clone(), view.clone(), log.clone());
    let reader = move |x: i64, cx: &ProcessContext<'_>, _: &mut Emitter<'_, ()>| {
        let mut seen = values(cx.side(&view)?);
        seen.sort_unstable();
        log.push((x, seen));
        Ok(())
    };
    main.par_do_with("Read", ParDo::from_fn(reader).side(&given));
}

/// A singleton is what the latest firing said; an element waits for the first one, and no element sees what comes later.
pub fn the_latest_singleton(r: &dyn Runner) {
    let log = Log::default();
    let script = script()
        .elements(MAIN, [(1, at(1))])
        .elements(SIDE, [(10, at(1))])
        .elements(MAIN, [(2, at(2))])
        .elements(SIDE, [(20, at(2))])
        .elements(MAIN, [(3, at(3)), (4, at(4))]);
    run(r, |p| {
        let streams = p.apply("Streams", script);
        let side = streams.tagged(SIDE).window_into("Side", latest()).view_as_singleton("View");
        read(&streams.tagged(MAIN), &side, &log, |v| vec![v]);
    });
    let mut seen = log.take();
    seen.sort();
    assert_eq!(seen, [(1, vec![10]), (2, vec![10]), (3, vec![20]), (4, vec![20])]);
}

/// A list has the elements of all firings so far, whether the panes accumulate or not.
pub fn lists_grow(r: &dyn Runner) {
    for windowing in [latest(), latest().accumulating()] {
        let log = Log::default();
        let script = script()
            .elements(SIDE, [(10, at(1)), (11, at(1))])
            .elements(MAIN, [(1, at(1))])
            .elements(SIDE, [(20, at(2))])
            .elements(MAIN, [(2, at(2))]);
        run(r, |p| {
            let streams = p.apply("Streams", script);
            let side = streams.tagged(SIDE).window_into("Side", windowing).view_as_list("View");
            read(&streams.tagged(MAIN), &side, &log, |v| v.iter().copied().collect());
        });
        assert_eq!(log.take(), [(1, vec![10, 11]), (2, vec![10, 11, 20])]);
    }
}

/// A firing with several elements is no singleton.
pub fn several_elements_are_no_singleton(r: &dyn Runner) {
    let script = script().elements(SIDE, [(10, at(1)), (11, at(1))]).elements(MAIN, [(1, at(1))]);
    let error = run_to_failure(r, |p| {
        let streams = p.apply("Streams", script);
        let side = streams.tagged(SIDE).window_into("Side", latest()).view_as_singleton("View");
        read(&streams.tagged(MAIN), &side, &Log::default(), |v| vec![v]);
    });
    assert_says(&error.to_string(), &["`Read`", "`View`", "2 elements"]);
}

/// The sum so far is a singleton, whichever way the panes are said to be, and however its firings come to the view.
pub fn a_sum_so_far_as_singleton(r: &dyn Runner) {
    for (windowing, second) in [(latest(), 20), (latest().accumulating(), 30)] {
        let log = Log::default();
        let script = script()
            .elements(SIDE, [(10, at(1))])
            .elements(MAIN, [(1, at(1))])
            .elements(SIDE, [(20, at(2))])
            .elements(MAIN, [(2, at(2))]);
        run(r, |p| {
            let streams = p.apply("Streams", script);
            let side = streams.tagged(SIDE).window_into("Side", windowing);
            let sum = side.apply("Sum", Combine::globally(Sum).without_defaults());
            read(&streams.tagged(MAIN), &sum.view_as_singleton("View"), &log, |v| vec![v]);
        });
        assert_eq!(log.take(), [(1, vec![10]), (2, vec![second])]);
    }
    let log = Log::default();
    run(r, |p| {
        let side = p.create("Side", [1_i64; 50]).window_into("Window", latest().accumulating());
        let sum = side.apply("Sum", Combine::globally(Sum).without_defaults());
        let main = p.create("Main", 0..50_i64);
        read(&main, &sum.view_as_singleton("View"), &log, |v| vec![v]);
    });
    let seen = log.take();
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|(_, sum)| (1..=50).contains(&sum[0])), "{seen:?}");
}

/// A map has for each key what was said last, whichever way the panes are said to be: of a collection, and of sums.
pub fn a_slowly_changing_map(r: &dyn Runner) {
    for (windowing, sum) in [(latest(), 20), (latest().accumulating(), 30)] {
        for summed in [false, true] {
            let log = Log::default();
            let script = script()
                .elements(SIDE, [(10, at(1)), (11, at(1))])
                .elements(MAIN, [(1, at(1))])
                .elements(SIDE, [(20, at(2))])
                .elements(MAIN, [(2, at(2))])
                .elements(SIDE, [(31, at(3)), (42, at(3))])
                .elements(MAIN, [(3, at(3))]);
            run(r, |p| {
                let streams = p.apply("Streams", script);
                let side = streams.tagged(SIDE).window_into("Side", windowing.clone());
                let keyed = side.key_by("Key", |x| x % 10);
                let keyed = if summed { keyed.combine_per_key("Sum", Sum) } else { keyed };
                read(&streams.tagged(MAIN), &keyed.view_as_map("View"), &log, |map| {
                    map.values().copied().collect()
                });
            });
            let (second, third) = if summed { (sum, if sum == 30 { 42 } else { 31 }) } else { (20, 31) };
            let expected = [vec![10, 11], vec![11, second], vec![second, third, 42]];
            let expected = expected.map(|mut values| {
                values.sort_unstable();
                values
            });
            let expected: Vec<_> = (1..).zip(expected).collect();
            assert_eq!(log.take(), expected, "summed {summed}, sum {sum}");
        }
    }
    // However the firings come to the view.
    let log = Log::default();
    run(r, |p| {
        let side = p.create("Side", (0..60_i64).map(|i| (i % 3, 1_i64)));
        let sums = side.window_into("Window", latest().accumulating()).combine_per_key("Sum", Sum);
        let main = p.create("Main", 0..50_i64);
        read(&main, &sums.view_as_map("View"), &log, |map| map.values().copied().collect());
    });
    let seen = log.take();
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().flat_map(|(_, sums)| sums).all(|sum| (1..=20).contains(sum)), "{seen:?}");
}

/// A key that one firing brings twice has no one value.
pub fn a_key_twice_in_a_firing_is_no_map(r: &dyn Runner) {
    let script = script().elements(SIDE, [(10, at(1)), (20, at(1))]).elements(MAIN, [(1, at(1))]);
    let error = run_to_failure(r, |p| {
        let streams = p.apply("Streams", script);
        let side = streams.tagged(SIDE).window_into("Side", latest()).key_by("Key", |x| x % 10);
        read(&streams.tagged(MAIN), &side.view_as_map("View"), &Log::default(), |_| vec![]);
    });
    assert_says(&error.to_string(), &["`Read`", "`View`", "same key twice", "combine"]);
}

/// A list that is replaced as a whole is one element.
pub fn a_list_that_is_replaced(r: &dyn Runner) {
    let log = Log::default();
    let script = script()
        .elements(SIDE, [(10, at(1)), (11, at(1))])
        .elements(MAIN, [(1, at(1))])
        .elements(SIDE, [(20, at(2))])
        .elements(MAIN, [(2, at(2))]);
    run(r, |p| {
        let streams = p.apply("Streams", script);
        let side = streams.tagged(SIDE).window_into("Side", latest()).key_by("Unit", |_| ());
        let lists = side.group_by_key("List").map("Values", |(_, values)| values.into_vec());
        read(&streams.tagged(MAIN), &lists.view_as_singleton("View"), &log, |v| v);
    });
    assert_eq!(log.take(), [(1, vec![10, 11]), (2, vec![20])]);
}

/// Early panes make a window ready; a window without data is ready when no late data can come any more.
pub fn windows_are_ready_at_their_first_pane(r: &dyn Runner) {
    let log = Log::default();
    let notes = log.clone();
    let mark = move |n: i64| {
        let notes = notes.clone();
        move || notes.push((n, vec![]))
    };
    let early = Trigger::after_watermark().early(Trigger::after_count(1)).late(Trigger::after_count(1));
    let script = script()
        .elements(MAIN, [(5, at(5)), (15, at(15))])
        .mark(mark(-1))
        .elements(SIDE, [(1, at(1))])
        .mark(mark(-2))
        .advance_watermark_to(SIDE, at(22))
        .mark(mark(-3))
        .advance_watermark_to(SIDE, at(30));
    run(r, |p| {
        let streams = p.apply("Streams", script);
        let windowing = fixed().trigger(early).discarding().allowed_lateness(secs(5));
        let side = streams.tagged(SIDE).window_into("Side", windowing).view_as_list("View");
        let main = streams.tagged(MAIN).window_into("Main", fixed());
        read(&main, &side, &log, |v| v.iter().copied().collect());
    });
    assert_eq!(log.take(), [(-1, vec![]), (5, vec![1]), (-2, vec![]), (-3, vec![]), (15, vec![])]);
}

/// Late data of the side input are there for late elements of the main one.
pub fn late_data_reach_late_readers(r: &dyn Runner) {
    let log = Log::default();
    let script = script()
        .elements(SIDE, [(1, at(1))])
        .advance_watermark_to(SIDE, at(12))
        .advance_watermark_to(MAIN, at(12))
        .elements(SIDE, [(2, at(2))])
        .elements(MAIN, [(5, at(5))]);
    run(r, |p| {
        let streams = p.apply("Streams", script);
        let windowing = fixed().allowed_lateness(secs(60));
        let side = streams.tagged(SIDE).window_into("Side", windowing.clone()).view_as_list("View");
        read(&streams.tagged(MAIN).window_into("Main", windowing), &side, &log, |v| {
            v.iter().copied().collect()
        });
    });
    assert_eq!(log.take(), [(5, vec![1, 2])]);
}

/// A side input that can never be ready is refused, with the ways out.
pub fn a_side_input_that_is_never_ready_is_refused(_: &dyn Runner) {
    let view = |windowing: WindowInto| {
        build_errors(|p| {
            let streams = p.apply("Streams", script());
            streams.tagged(SIDE).window_into("Side", windowing).view_as_list("View");
        })
    };
    assert_says(&view(WindowInto::of(GlobalWindows)), &["`View`", "never ready", "Trigger::repeatedly"]);
    let once = WindowInto::of(GlobalWindows).trigger(Trigger::after_count(1)).discarding();
    assert_says(&view(once), &["`View`", "may end", "allow_data_loss"]);
}

/// An element of a stateful DoFn waits until its side window is ready, and its state is not touched before: what comes
/// later for the key and window finds it as if the one that waited had not been there yet.
pub fn b136_a_stateful_dofn_waits_for_its_side_input(r: &dyn Runner) {
    const KEYED: Tag<(String, i64)> = Tag::new("keyed");
    let log: Log<String> = Log::default();
    let (first, second, noted) = (log.clone(), log.clone(), log.clone());
    let script = TestStreams::new()
        .stream(KEYED)
        .stream(SIDE)
        .elements(KEYED, [(k(1), at(1)), (k(2), at(2)), (k(3), at(11))])
        .mark(move || first.push("nothing is ready".to_owned()))
        .elements(SIDE, [(10, at(3))])
        .advance_watermark_to(SIDE, at(10))
        .mark(move || second.push("the first window is ready".to_owned()))
        .elements(KEYED, [(k(4), at(4)), (k(5), at(15))])
        .elements(SIDE, [(20, at(13))]);
    run(r, |p| {
        let streams = p.apply("Streams", script);
        let view = streams.tagged(SIDE).window_into("Side", fixed()).view_as_list("View");
        let side = view.clone();
        let probe = Probe::new(move |_, i, s, cx, _| {
            let seen = cx.side(&side)?.to_vec();
            noted.push(format!("{i} sees {seen:?}, as number {}", s.count()));
            Ok(())
        });
        let keyed = streams.tagged(KEYED).window_into("Main", fixed());
        keyed.par_do_keyed_with("Read", KeyedParDo::of(probe).side(&view));
    });
    let mut seen = log.take();
    // Those of the second window waited in no order.
    seen[5..].sort();
    let numbers =
        |text: &str| text.replace("as number 1", "as number n").replace("as number 2", "as number n");
    assert_eq!(
        seen[..5],
        [
            "nothing is ready",
            "1 sees [10], as number 1",
            "2 sees [10], as number 2",
            "the first window is ready",
            "4 sees [10], as number 3",
        ]
    );
    let last: Vec<String> = seen[5..].iter().map(|text| numbers(text)).collect();
    assert_eq!(last, ["3 sees [20], as number n", "5 sees [20], as number n"]);
}
