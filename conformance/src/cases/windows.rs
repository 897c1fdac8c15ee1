//! Windows and timestamps.

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Emitter, ErrorKind, Key, PCollection, ParDo, Phase, ProcessContext,
    Result, Runner, Timestamp, WindowInto,
    metrics::{DROPPED_DUE_TO_LATENESS, ELEMENTS_IN_NO_WINDOW},
    testing::TestStream,
    window::{
        AssignContext, FixedWindows, GlobalWindows, PaneInfo, PaneTiming, SlidingWindows, TimestampCombiner,
        Trigger, Window, WindowFn,
    },
};

use super::support::{
    Log, Sum, assert_says, at, at_ms, collect, ms, run, run_to_failure, secs, span, span_ms,
};

/// Groups elements whose values are their timestamps in milliseconds; for each window its bounds and its elements.
fn grouped(
    runner: &dyn Runner,
    windows: impl Into<WindowInto>,
    times: impl IntoIterator<Item = i64>,
) -> Vec<((i64, i64), Vec<i64>)> {
    collect(runner, |p| {
        p.create_timestamped("Times", times.into_iter().map(|t| (t, at_ms(t))))
            .window_into("Windows", windows)
            .key_by("Key", |_| ())
            .group_by_key("Group")
            .map_cx("Bounds", |((), values), cx| {
                let mut values = values.into_vec();
                values.sort_unstable();
                Ok((span_ms(&cx.window()), values))
            })
    })
}

/// A truncating remainder would put times before the epoch into the window after theirs.
pub fn b091_negative_timestamps_and_offsets(r: &dyn Runner) {
    let fixed = FixedWindows::of(ms(7));
    assert_eq!(grouped(r, fixed, [-1, -7, -8]), [((-14, -7), vec![-8]), ((-7, 0), vec![-7, -1])]);
    let sliding = SlidingWindows::of(ms(10), ms(5)).offset(ms(2));
    assert_eq!(grouped(r, sliding, [-1]), [((-8, 2), vec![-1]), ((-3, 7), vec![-1])]);
    // Offsets below zero and above the size are normalised.
    for offset in [-1, 6, 13] {
        assert_eq!(grouped(r, fixed.offset(ms(offset)), [0]), [((-1, 6), vec![0])], "offset {offset}");
    }
}

/// Sliding windows shorter than their period leave gaps; an element in a gap is in no window, and counted.
pub fn b092_an_element_in_no_window_is_counted(r: &dyn Runner) {
    let log = Log::default();
    let outcome = run(r, |p| {
        let groups = p
            .create_timestamped("Times", (1..=10_i64).map(|t| (t, at(t))))
            .window_into("Windows", SlidingWindows::of(secs(5), secs(10)))
            .key_by("Key", |_| ())
            .group_by_key("Group")
            .map_cx("Bounds", |((), values), cx| {
                let mut values = values.into_vec();
                values.sort_unstable();
                Ok((span(&cx.window()), values))
            });
        log.note("Collect", &groups);
    });
    assert_eq!(log.take_sorted(), [((0, 5), vec![1, 2, 3, 4]), ((10, 15), vec![10])]);
    assert_eq!(outcome.metrics.committed.counter("Windows", ELEMENTS_IN_NO_WINDOW), 5);
}

/// Windows are exact far from the origin, whatever the size.
pub fn b094_precise_far_from_the_origin(r: &dyn Runner) {
    let ts = 1_709_315_512_577;
    let starts = |period| {
        let groups = grouped(r, SlidingWindows::of(ms(1600), ms(period)), [ts]);
        groups.into_iter().map(|((start, _), values)| (start, values)).collect::<Vec<_>>()
    };
    assert_eq!(starts(700), [(1_709_315_511_400, vec![ts]), (1_709_315_512_100, vec![ts])]);
    assert_eq!(starts(800), [(1_709_315_511_200, vec![ts]), (1_709_315_512_000, vec![ts])]);
}

/// A window fires once, and only when the watermark has passed its end.
pub fn b095_overlapping_windows_fire_at_their_ends(r: &dyn Runner) {
    let log = Log::default();
    let ticks = Log::default();
    run(r, |p| {
        let mut stream = TestStream::new();
        for t in 0..12_i64 {
            stream = stream.element_at(t, at(t)).advance_watermark_to(at(t));
        }
        let (log, ticks) = (log.clone(), ticks.clone());
        let seen = ticks.clone();
        p.apply("Ticks", stream)
            .map("See", move |t| {
                seen.push(t);
                t
            })
            .window_into("Windows", SlidingWindows::of(secs(5), secs(3)))
            .key_by("Key", |_| ())
            .group_by_key("Group")
            .map_cx("Fired", move |((), values), cx| {
                let mut values = values.into_vec();
                values.sort_unstable();
                log.push((span(&cx.window()), values, ticks.len()));
                Ok(())
            });
    });
    let expected = [
        ((-3, 2), vec![0, 1], 3),
        ((0, 5), vec![0, 1, 2, 3, 4], 6),
        ((3, 8), vec![3, 4, 5, 6, 7], 9),
        ((6, 11), vec![6, 7, 8, 9, 10], 12),
        ((9, 14), vec![9, 10, 11], 12),
    ];
    assert_eq!(log.take_sorted(), expected);
}

/// A group's timestamp lies in its window, so that the same windows hold it again.
pub fn b096_grouped_twice_in_the_same_window(r: &dyn Runner) {
    let groups = collect(r, |p| {
        let fixed = FixedWindows::of(secs(10));
        p.create_timestamped("One", [(("k".to_owned(), 1_i64), at(1))])
            .window_into("Windows", fixed)
            .combine_per_key("First", Sum)
            .window_into("Again", fixed)
            .combine_per_key("Second", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), cx.timestamp(), n)))
    });
    assert_eq!(groups, [((0, 10), at_ms(9_999), 1)]);
}

/// Elements at both ends of time are grouped once each, and nothing overflows.
pub fn b100_timestamps_at_the_ends_of_time(r: &dyn Runner) {
    let ends = [Timestamp::MIN, Timestamp::GLOBAL_WINDOW_MAX, Timestamp::MAX].map(Timestamp::as_millis);
    let log = Log::default();
    let outcome = run(r, |p| {
        let again = p
            .create_timestamped("Ends", ends.map(|t| (t, at_ms(t))))
            .flat_map_cx("Again", |t, cx, out: &mut Emitter<'_, i64>| {
                out.emit_at(t, cx.timestamp());
                Ok(())
            })
            .reshuffle("Spread");
        let groups = again.key_by("Key", |_| ()).group_by_key("Group").map("Values", |(_, values)| {
            let mut values = values.into_vec();
            values.sort_unstable();
            values
        });
        log.note("Collect", &groups);
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    assert_eq!(log.take(), [ends.to_vec()]);

    let near = [Timestamp::MIN + ms(1), Timestamp::MAX - ms(1)].map(Timestamp::as_millis);
    let windows = grouped(r, FixedWindows::of(secs(10)), near);
    assert_eq!(windows.iter().map(|(_, values)| values.clone()).collect::<Vec<_>>(), [[near[0]], [near[1]]]);
    for ((start, end), values) in windows {
        assert!(start <= values[0] && values[0] < end, "{} in [{start}, {end})", values[0]);
    }
}

/// What a window past the end of the global one gave is still grouped in the global window.
pub fn b100_grouped_again_after_a_window_past_the_global_end(r: &dyn Runner) {
    let log = Log::default();
    let late = Timestamp::MAX - ms(1);
    let outcome = run(r, |p| {
        let sums = p
            .create_timestamped("Ends", [(1_i64, late), (2, Timestamp::GLOBAL_WINDOW_MAX), (4, at(0))])
            .window_into("Fixed", FixedWindows::of(secs(10)))
            .key_by("Key", |_| ())
            .combine_per_key("PerWindow", Sum)
            .reshuffle("Spread")
            .window_into("Global", GlobalWindows)
            .combine_per_key("All", Sum);
        log.note("Collect", &sums.map("Sum", |(_, n)| n));
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    assert_eq!(log.take(), [7]);
}

/// A timestamp past the end of time is refused, by name of the transform.
pub fn b100_past_the_end_of_time(r: &dyn Runner) {
    let error = run_to_failure(r, |p| {
        p.create("One", [1_i64]).flat_map_cx("TooFar", |x, _, out: &mut Emitter<'_, i64>| {
            out.emit_at(x, Timestamp::from_millis(Timestamp::MAX.as_millis() + 1)?);
            Ok(())
        });
    });
    assert_eq!(error.step().map(|s| s.path()), Some("TooFar"));
    assert_says(&error.to_string(), &["`TooFar`", "process"]);
}

/// Keeps what it is given, and emits it when the bundle ends.
#[derive(Clone, Default)]
struct AtTheEnd(Vec<(i64, Timestamp, Window)>);

impl DoFn for AtTheEnd {
    type Input = i64;
    type Output = i64;
    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.0.clear();
        Ok(())
    }
    fn process(&mut self, x: i64, cx: &ProcessContext<'_>, _: &mut Emitter<'_, i64>) -> Result {
        self.0.push((x, cx.timestamp(), cx.window()));
        Ok(())
    }
    fn finish_bundle(&mut self, _: &BundleContext<'_>, out: &mut BundleEmitter<'_, i64>) -> Result {
        for (x, at, window) in self.0.drain(..) {
            out.emit_in(x, at, window);
        }
        Ok(())
    }
}

/// What is emitted at the end of a bundle lands in the window that it is given: there is no way to leave it out.
pub fn b103_output_at_the_end_of_a_bundle_has_a_window(r: &dyn Runner) {
    let sums = collect(r, |p| {
        p.create_timestamped("Times", (0..40_i64).map(|t| (t, at(t))))
            .window_into("Windows", FixedWindows::of(secs(10)))
            .par_do("AtTheEnd", AtTheEnd::default())
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Bounds", |(_, sum), cx| Ok((span(&cx.window()), sum)))
    });
    assert_eq!(sums, [((0, 10), 45), ((10, 20), 145), ((20, 30), 245), ((30, 40), 345)]);
}

/// The elements of a bundle hold the watermark until it is done, so what comes out at its end is not late.
pub fn a_bundle_holds_the_watermark(r: &dyn Runner) {
    let log = Log::default();
    let outcome = run(r, |p| {
        let stream =
            TestStream::new().elements((0..10_i64).map(|t| (t, at(t)))).advance_watermark_to(at(100));
        let sums = p
            .apply("Stream", stream)
            .window_into("Windows", FixedWindows::of(secs(10)))
            .par_do("AtTheEnd", AtTheEnd::default())
            .reshuffle("Spread")
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum);
        log.note("Collect", &sums.map("Value", |(_, sum)| sum));
    });
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    assert_eq!(log.take(), [45]);
}

type Facts = (i64, Timestamp, Window, PaneInfo);

fn note_facts(name: &str, pc: &PCollection<i64>, log: &Log<Facts>) {
    let log = log.clone();
    pc.map_cx(name, move |x, cx| {
        log.push((x, cx.timestamp(), cx.window(), cx.pane()));
        Ok(())
    });
}

fn sorted(log: &Log<Facts>) -> Vec<Facts> {
    let mut facts = log.take();
    facts.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
    facts
}

/// A reshuffle keeps values, timestamps, windows and panes, of elements that were grouped and of others.
pub fn b104_a_reshuffle_is_transparent(r: &dyn Runner) {
    let (before, after) = (Log::default(), Log::default());
    let (plain_before, plain_after) = (Log::default(), Log::default());
    run(r, |p| {
        let sliding = p
            .create_timestamped("Three", [(3_i64, at(3))])
            .window_into("Windows", SlidingWindows::of(secs(10), secs(5)));
        note_facts("PlainBefore", &sliding, &plain_before);
        note_facts("PlainAfter", &sliding.reshuffle("PlainSpread"), &plain_after);
        let sums = sliding.key_by("Key", |_| ()).combine_per_key("Sum", Sum).map("Value", |(_, n)| n);
        note_facts("Before", &sums, &before);
        note_facts("After", &sums.reshuffle("Spread"), &after);
    });
    let window = |start, end| Window::interval(at(start), at(end));
    let plain =
        vec![(3, at(3), window(-5, 5), PaneInfo::NO_FIRING), (3, at(3), window(0, 10), PaneInfo::NO_FIRING)];
    assert_eq!(sorted(&plain_before), plain);
    assert_eq!(sorted(&plain_after), plain);
    let grouped = vec![
        (3, at_ms(4_999), window(-5, 5), PaneInfo::ON_TIME_AND_ONLY),
        (3, at_ms(9_999), window(0, 10), PaneInfo::ON_TIME_AND_ONLY),
    ];
    assert_eq!(sorted(&before), grouped);
    assert_eq!(sorted(&after), grouped);
}

/// It keeps early, on-time and late panes apart, each with its number.
pub fn a_reshuffle_keeps_early_and_late_panes(r: &dyn Runner) {
    let (before, after) = (Log::default(), Log::default());
    let stream = TestStream::new()
        .element_at(1_i64, at(1))
        .element_at(2, at(2))
        .advance_watermark_to(at(12))
        .element_at(3, at(3))
        .advance_watermark_to(at(60));
    let each = || Trigger::after_count(1);
    let trigger = Trigger::after_watermark().early(each()).late(each());
    let windows = WindowInto::of(FixedWindows::of(secs(10))).trigger(trigger).accumulating();
    run(r, |p| {
        let windowed = p.apply("Stream", stream).window_into("Windows", windows.allowed_lateness(secs(20)));
        let sums = windowed.key_by("Key", |_| ()).combine_per_key("Sum", Sum).map("Value", |(_, n)| n);
        note_facts("Before", &sums, &before);
        note_facts("After", &sums.reshuffle("Spread"), &after);
    });
    let before = sorted(&before);
    let pane = |timing, index, on_time_index, is_first| {
        (timing, PaneInfo { is_first, is_last: false, timing, index, on_time_index })
    };
    let panes = [
        pane(PaneTiming::Early, 0, -1, true),
        pane(PaneTiming::Early, 1, -1, false),
        pane(PaneTiming::OnTime, 2, 0, false),
        pane(PaneTiming::Late, 3, 1, false),
    ];
    let mut found: Vec<_> = before.iter().map(|(_, _, _, pane)| (pane.timing, *pane)).collect();
    found.sort_by_key(|(_, pane)| pane.index);
    assert_eq!(found, panes);
    assert_eq!(sorted(&after), before);
}

/// An element that gets a new timestamp stays in its window, whatever the windows of the others in its bundle are.
pub fn new_timestamps_leave_elements_in_their_windows(r: &dyn Runner) {
    let windows = collect(r, |p| {
        let tens = p
            .create_timestamped("Times", (0..100_i64).map(|t| (t, at(t))))
            .window_into("Windows", FixedWindows::of(secs(10)));
        let later = tens.flat_map_cx("Later", |t, cx, out| {
            out.emit_at(t, cx.timestamp() + secs(25));
            if t % 3 == 0 {
                out.emit(-t);
            }
            out.emit_at(1000 + t, cx.timestamp() + secs(t % 7));
            Ok(())
        });
        later.map_cx("Bounds", |t, cx| Ok((t, span(&cx.window()).0)))
    });
    let expected = (0..100_i64).flat_map(|t| {
        let own = t / 10 * 10;
        [Some((t, own)), (t % 3 == 0).then_some((-t, own)), Some((1000 + t, own))].into_iter().flatten()
    });
    let mut expected: Vec<_> = expected.collect();
    expected.sort_unstable();
    assert_eq!(windows, expected);
}

/// Behind a reshuffle groupings still see the windows that were there.
pub fn a_reshuffle_keeps_the_windowing(r: &dyn Runner) {
    let sums = collect(r, |p| {
        p.create_timestamped("Times", (0..20_i64).map(|t| (t, at(t))))
            .window_into("Windows", FixedWindows::of(secs(10)))
            .reshuffle("Spread")
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Bounds", |(_, n), cx| Ok((span(&cx.window()), n)))
    });
    assert_eq!(sums, [((0, 10), 45), ((10, 20), 145)]);
}

/// Groups by key in sliding windows of five seconds every three, as Beam's `testGroupByKeyMultipleWindows`.
pub fn grouping_in_overlapping_windows(r: &dyn Runner) {
    let groups = grouped(r, SlidingWindows::of(ms(5), ms(3)), [1, 4]);
    assert_eq!(groups, [((-3, 2), vec![1]), ((0, 5), vec![1, 4]), ((3, 8), vec![4])]);
}

/// The timestamp of a group is the earliest, the latest, or the window's last, as Beam's `testTimestampCombiner...`.
pub fn a_group_has_the_timestamp_that_was_asked_for(r: &dyn Runner) {
    let stamp = |combiner: Option<TimestampCombiner>, key: fn(i64) -> u8| {
        collect(r, |p| {
            let window = WindowInto::of(FixedWindows::of(secs(600)));
            let window = match combiner {
                Some(combiner) => window.timestamp_combiner(combiner),
                None => window,
            };
            stamped(
                &p.create_timestamped("Times", [(0, at(0)), (10, at(10))])
                    .window_into("Windows", window)
                    .map("Pair", move |t| (key(t), t)),
            )
        })
    };
    assert_eq!(stamp(Some(TimestampCombiner::Earliest), |_| 0), [at(0)]);
    assert_eq!(stamp(Some(TimestampCombiner::Latest), |_| 0), [at(10)]);
    assert_eq!(stamp(Some(TimestampCombiner::EndOfWindow), |_| 0), [at_ms(599_999)]);
    assert_eq!(stamp(None, |_| 0), [at_ms(599_999)]);
    // Each key has its own.
    assert_eq!(stamp(Some(TimestampCombiner::Earliest), |t| u8::from(t > 5)), [at(0), at(10)]);
}

fn stamped<K: Key>(pc: &PCollection<(K, i64)>) -> PCollection<Timestamp> {
    pc.group_by_key("Group").map_cx("Timestamp", |_, cx| Ok(cx.timestamp()))
}

/// Changing options alone puts no element into another window, as Beam's `testNoWindowFnDoesNotReassignWindows`.
pub fn options_alone_do_not_assign_windows(r: &dyn Runner) {
    let windows = collect(r, |p| {
        p.create_timestamped("One", [(1_i64, at(3))])
            .window_into("Windows", FixedWindows::of(secs(10)))
            .with_timestamps("Later", |_| at(25))
            .window_into("Options", WindowInto::same().timestamp_combiner(TimestampCombiner::Earliest))
            .key_by("Key", |_| ())
            .group_by_key("Group")
            .map_cx("Bounds", |_, cx| Ok((span(&cx.window()), cx.timestamp())))
    });
    assert_eq!(windows, [((0, 10), at(25))]);
}

/// Windows survive what works element by element, flattens and reshuffles.
pub fn windows_are_preserved(r: &dyn Runner) {
    let windows = collect(r, |p| {
        let a =
            p.create_timestamped("A", [(1_i64, at(3))]).window_into("Windows", FixedWindows::of(secs(10)));
        let b = a.map("Double", |x| x * 2).filter("All", |_| true).reshuffle("Spread");
        p.flatten("Both", [a, b])
            .par_do_with(
                "Same",
                ParDo::from_fn(|x, _, out: &mut Emitter<'_, i64>| {
                    out.emit(x);
                    Ok(())
                }),
            )
            .main()
            .map_cx("Bounds", |x, cx| Ok((span(&cx.window()), x)))
    });
    assert_eq!(windows, [((0, 10), 1), ((0, 10), 2)]);
}

/// Elements a little before the end of time fall into ordinary windows, as Beam's
/// `testElementsAtAlmostPositiveInfinity`.
pub fn elements_almost_at_the_end_of_time(r: &dyn Runner) {
    let end = Timestamp::GLOBAL_WINDOW_MAX;
    let words = collect(r, |p| {
        let stream = TestStream::new()
            .element_at("foo".to_owned(), end)
            .element_at("bar".to_owned(), end)
            .advance_watermark_to(end);
        p.apply("Stream", stream)
            .window_into("Windows", FixedWindows::of(secs(6 * 3600)))
            .key_by("Key", |w| w.clone())
            .group_by_key("Group")
            .map("Size", |(w, group)| (w, group.len()))
    });
    assert_eq!(words, [("bar".to_owned(), 1), ("foo".to_owned(), 1)]);
}

/// An element behind the watermark has no say in its group's timestamp, which would be late too; a group of such
/// elements alone comes out at the window's end. As Beam's transcript `known_late_data_watermark`.
pub fn elements_behind_the_watermark_do_not_move_timestamps(r: &dyn Runner) {
    let late_is_allowed = |w: WindowInto| w.allowed_lateness(secs(1));
    for combiner in [TimestampCombiner::Earliest, TimestampCombiner::Latest] {
        // With allowed lateness windows are gathered by key, without it where the data are.
        for lateness in [false, true] {
            let windows = WindowInto::of(FixedWindows::of(secs(10))).timestamp_combiner(combiner);
            let windows = if lateness { late_is_allowed(windows) } else { windows };
            let groups = collect(r, |p| {
                let stream = TestStream::new()
                    .advance_watermark_to(at(5))
                    .elements(
                        [("some", 2), ("some", 3), ("all", 4), ("some", 7), ("some", 8)]
                            .map(|(k, t)| ((k.to_owned(), t), at(t))),
                    )
                    .advance_watermark_to(at(11));
                p.apply("Stream", stream)
                    .window_into("Windows", windows)
                    .group_by_key("Group")
                    .map_cx("Time", |(key, values), cx| Ok((key, values.len(), cx.timestamp())))
            });
            let time = if combiner == TimestampCombiner::Earliest { at(7) } else { at(8) };
            let expected = [("all".to_owned(), 1, at_ms(9_999)), ("some".to_owned(), 4, time)];
            assert_eq!(groups, expected, "{combiner:?}, late data allowed: {lateness}");
        }
    }
}
/// A window function that gives an element at second `t` what `.0` makes of it.
#[derive(Clone)]
struct Gives(fn(Timestamp, &mut Vec<Window>));

impl std::fmt::Debug for Gives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gives")
    }
}

impl WindowFn for Gives {
    fn assign(&self, cx: &AssignContext<'_>, out: &mut Vec<Window>) -> Result {
        (self.0)(cx.timestamp(), out);
        Ok(())
    }
}

/// A window that ends where it starts or before, and one that an element is in twice, name the function.
pub fn windows_that_cannot_be(r: &dyn Runner) {
    type Give = fn(Timestamp, &mut Vec<Window>);
    let cases: [(Give, &str); 4] = [
        (|_, out| out.push(Window::interval(at(9), at(3))), "[1970-01-01T00:00:09Z, 1970-01-01T00:00:03Z)"),
        (
            |t, out| out.extend([Window::interval(t, t + secs(9)), Window::interval(t, t)]),
            "start comes first",
        ),
        (|t, out| out.extend([Window::interval(t, t + secs(9)), Window::interval(t, t + secs(9))]), "twice"),
        (
            |_, out| {
                let of = |end: i64| Window::interval(at(0), at(end));
                out.extend([of(5), of(9), of(7), of(5)]);
            },
            "[1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z) twice",
        ),
    ];
    for (give, what) in cases {
        let error = run_to_failure(r, |p| {
            p.create_timestamped("Values", (0..9_i64).map(|t| (t, at(t))))
                .window_into("Odd", Gives(give))
                .map("After", |x| x);
        });
        assert_eq!(error.step().map(|s| s.path()), Some("Odd"), "{error}");
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Contract, Some(Phase::Window)), "{error}");
        assert_says(&error.to_string(), &["Gives", what]);
    }
    let several: Give = |t, out| {
        let of = |end: i64| Window::interval(t, t + secs(end));
        out.extend([of(5), of(9), of(7)]);
    };
    let ends = collect(r, |p| {
        p.create_timestamped("Values", [(1_i64, at(0))])
            .window_into("Several", Gives(several))
            .map_cx("Ends", |_, cx| Ok(span(&cx.window()).1))
    });
    assert_eq!(ends, [5, 7, 9]);
    let side = Gives(|_, out| out.push(Window::interval(at(9), at(3))));
    assert_says(&side.side_window(at(5)).unwrap_err().to_string(), &["Gives", "start comes first"]);
}
