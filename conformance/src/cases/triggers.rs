//! Triggers, panes and allowed lateness.

use purlin_sdk::{
    Combine, Duration, GroupByKey, Runner, Timestamp, WindowInto,
    metrics::{DROPPED_DUE_TO_CLOSED_WINDOW, DROPPED_DUE_TO_LATENESS, LATE_DATA_OUTPUT},
    testing::TestStream,
    window::{
        ClosingBehavior, FixedWindows, GlobalWindows, OnTimeBehavior, PaneInfo, PaneTiming, Sessions,
        SlidingWindows, TimestampCombiner, Trigger, Window,
    },
};

use super::support::{Sum, assert_says, at, build_errors, ms, secs, span};
use crate::{Committed, Seen, runners::run};

/// A pane: its values sorted, its window in seconds, its timing, its index, its index among on-time and late panes,
/// whether it is the last.
type Pane = (Vec<i64>, (i64, i64), PaneTiming, i64, i64, bool);

const EARLY: PaneTiming = PaneTiming::Early;
const ON_TIME: PaneTiming = PaneTiming::OnTime;
const LATE: PaneTiming = PaneTiming::Late;

fn fixed() -> WindowInto {
    WindowInto::of(FixedWindows::of(secs(10)))
}

fn global() -> WindowInto {
    WindowInto::of(GlobalWindows)
}

/// A stream of numbers, each at its own second.
fn numbers(values: &[i64]) -> Vec<(i64, Timestamp)> {
    values.iter().map(|v| (*v, at(*v))).collect()
}

/// Groups a stream under one key and gives the panes in the order in which they came, and those that came together by
/// window.
fn panes(r: &dyn Runner, stream: TestStream<i64>, windowing: WindowInto) -> Vec<Pane> {
    seen(r, stream, windowing).into_iter().map(|s| pane_of(&s)).collect()
}

fn seen(r: &dyn Runner, stream: TestStream<i64>, windowing: WindowInto) -> Vec<Seen<Vec<i64>>> {
    let committed = Committed::new();
    let done = run(r, |p| {
        let grouped = p
            .apply("Stream", stream)
            .window_into("Window", windowing)
            .key_by("Key", |_| "k".to_owned())
            .group_by_key("Group")
            .map("Sorted", |(_, values)| sorted(values.into_vec()));
        committed.collect("Collect", &grouped);
    });
    if let Err(e) = done {
        panic!("the run failed: {e}");
    }
    committed.seen()
}

fn sorted(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable();
    values
}

fn pane_of(Seen { value, window, pane, .. }: &Seen<Vec<i64>>) -> Pane {
    let PaneInfo { timing, index, on_time_index, is_last, is_first } = *pane;
    assert_eq!(is_first, index == 0, "the first pane has the index 0");
    let window = if *window == Window::Global { GLOBAL } else { span(window) };
    (value.clone(), window, timing, index, on_time_index, is_last)
}

const GLOBAL: (i64, i64) = (i64::MIN, i64::MAX);

/// What a count never reached comes out when the window expires.
pub fn b105_the_rest_comes_out_at_expiry(r: &dyn Runner) {
    let windowing = global().trigger(Trigger::after_count(5)).accumulating().allow_data_loss();
    let stream = TestStream::new().elements(numbers(&[1, 2])).elements(numbers(&[3, 4]));
    assert_eq!(panes(r, stream, windowing), [(vec![1, 2, 3, 4], GLOBAL, ON_TIME, 0, 0, true)]);
}

/// Triggers that may end are refused, with the ways out; those that lose nothing are not.
pub fn b106_triggers_that_lose_data_are_refused(r: &dyn Runner) {
    let count = || Trigger::after_count(1);
    let watermark = Trigger::after_watermark;
    let lateness = secs(10);
    for (windowing, refused) in [
        (fixed().trigger(count()).discarding(), true),
        (fixed().trigger(Trigger::after_processing_time()).discarding(), true),
        (fixed().trigger(Trigger::repeatedly(count())).discarding(), false),
        (fixed().trigger(watermark()), false),
        (fixed().trigger(watermark()).allowed_lateness(lateness), true),
        (fixed().trigger(watermark().early(count())).discarding(), false),
        (fixed().trigger(watermark().early(count())).discarding().allowed_lateness(lateness), true),
        (fixed().trigger(watermark().late(count())).discarding().allowed_lateness(lateness), false),
        (fixed().trigger(Trigger::never()).discarding(), false),
        (fixed().trigger(count()).discarding().allow_data_loss(), false),
        (fixed().trigger(Trigger::repeatedly(count()).or_finally(count())).discarding(), true),
    ] {
        let told = format!("{windowing:?}");
        let done = run(r, |p| {
            p.create("Numbers", [("k".to_owned(), 1)]).window_into("Window", windowing).group_by_key("Group");
        });
        match done {
            Ok(_) => assert!(!refused, "{told} was not refused"),
            Err(e) => {
                let text = e.to_string();
                assert!(refused, "{told} was refused: {text}");
                for part in ["`Group`", "Trigger::repeatedly", "allow_data_loss", ".late(", "triggers.rs"] {
                    assert!(text.contains(part), "{part} is not in: {text}");
                }
            }
        }
    }
}

/// What is wrong with windowing options is found when the pipeline is built.
pub fn options_are_checked_at_build(r: &dyn Runner) {
    for (windowing, what) in [
        (fixed().trigger(Trigger::repeatedly(Trigger::after_count(1))), ".accumulating()"),
        (fixed().trigger(Trigger::after_count(0)).discarding(), "after_count(1)"),
        (fixed().trigger(Trigger::never().early(Trigger::always())).discarding(), "after_watermark()"),
        (fixed().trigger(Trigger::after_all([])).discarding(), "at least one"),
        (fixed().allowed_lateness(ms(-1)), "negative"),
    ] {
        let done = run(r, |p| {
            p.create("Numbers", [("k".to_owned(), 1)]).window_into("Window", windowing);
        });
        let text = done.expect_err("it was not refused").to_string();
        assert!(text.contains("`Window`") && text.contains(what), "{what} is not in: {text}");
    }
}

/// A grouping that could never fire is refused also where a trigger was given.
pub fn a_trigger_that_never_fires_is_refused(r: &dyn Runner) {
    for (trigger, refused) in [
        (Trigger::default(), true),
        (Trigger::after_watermark().late(Trigger::after_count(1)), true),
        (Trigger::never(), true),
        (Trigger::after_watermark().early(Trigger::repeatedly(Trigger::after_count(1))), false),
        (Trigger::repeatedly(Trigger::after_processing_time().delay(secs(1))), false),
    ] {
        let done = run(r, |p| {
            p.apply("Stream", TestStream::new().element_at(1, at(1)))
                .window_into("Window", global().trigger(trigger.clone()).discarding())
                .key_by("Key", |_| ())
                .group_by_key("Group");
        });
        assert_eq!(done.is_err(), refused, "{trigger}");
    }
}

/// Early panes come when they are due, not when the window is done.
pub fn b109_early_panes_do_not_wait(r: &dyn Runner) {
    let committed = Committed::new();
    let clock = Committed::new();
    let stream = (0..12).fold(TestStream::new(), |s, i| {
        s.element_at(i, at(i)).advance_watermark_to(at(i)).advance_processing_time(secs(1))
    });
    run(r, |p| {
        let early = Trigger::after_watermark().early(Trigger::after_count(2));
        let grouped = p
            .apply("Stream", stream)
            .window_into("Window", fixed().trigger(early).discarding())
            .key_by("Key", |_| ())
            .group_by_key("Group");
        committed.collect("Panes", &grouped.map("Count", |(_, v)| v.len()));
        let seconds = |t: Timestamp| t.as_millis() / 1000;
        clock.collect(
            "Clock",
            &grouped.map_cx("Now", move |_, cx| Ok((seconds(cx.now()), cx.pane().timing == EARLY))),
        );
    })
    .unwrap();
    let seen = clock.values();
    let early: Vec<i64> = seen.iter().filter(|(_, early)| *early).map(|(t, _)| *t).collect();
    let on_time: Vec<i64> = seen.iter().filter(|(_, early)| !early).map(|(t, _)| *t).collect();
    assert_eq!(early, [1, 3, 5, 7, 9, 11]);
    assert_eq!(on_time.first(), Some(&10));
}

/// Empty panes at a window's end and at its expiry come as they were asked for.
pub fn b110_empty_panes(r: &dyn Runner) {
    use {ClosingBehavior as Closing, OnTimeBehavior as OnTime};
    for on_time in [OnTime::FireAlways, OnTime::FireIfNonEmpty] {
        for closing in [Closing::FireIfNonEmpty, Closing::FireAlways] {
            let stream = TestStream::new()
                .advance_watermark_to(at(0))
                .element_at(2, at(2))
                .advance_watermark_to(at(11))
                .advance_watermark_to(at(16));
            let windowing = fixed()
                .trigger(
                    Trigger::after_watermark().early(Trigger::after_count(1)).late(Trigger::after_count(1)),
                )
                .discarding()
                .allowed_lateness(secs(5))
                .on_time(on_time)
                .closing(closing);
            let mut expected = vec![(vec![2], (0, 10), EARLY, 0, -1, false)];
            if on_time == OnTime::FireAlways {
                expected.push((vec![], (0, 10), ON_TIME, 1, 0, false));
            }
            if closing == Closing::FireAlways {
                let index = expected.len() as i64;
                // Without an empty on-time pane the closing one is the first after the window's end.
                let (timing, on_time_index) = if index == 2 { (LATE, 1) } else { (LATE, 0) };
                expected.push((vec![], (0, 10), timing, index, on_time_index, true));
            }
            let got = panes(r, stream, windowing);
            if on_time == OnTime::FireIfNonEmpty && closing == Closing::FireAlways {
                assert_eq!(got.len(), 2, "{got:?}");
                assert_eq!((&got[1].0, got[1].3, got[1].5), (&vec![], 1, true));
            } else {
                assert_eq!(got, expected, "{on_time:?} {closing:?}");
            }
        }
    }
}

/// A delay in processing time counts from the first element of a pane.
pub fn b112_processing_time_counts_from_the_first_element(r: &dyn Runner) {
    let trigger = Trigger::repeatedly(Trigger::after_processing_time().delay(secs(2)));
    let stream = TestStream::new()
        .element_at(1, at(1))
        .advance_processing_time(ms(1500))
        .element_at(2, at(2))
        .advance_processing_time(ms(499))
        .element_at(3, at(3))
        .advance_processing_time(ms(1))
        .advance_processing_time(secs(1))
        .element_at(4, at(4))
        .advance_processing_time(ms(1999))
        .element_at(5, at(5))
        .advance_processing_time(ms(1));
    let got = panes(r, stream, global().trigger(trigger).discarding());
    assert_eq!(
        got,
        [(vec![1, 2, 3], GLOBAL, EARLY, 0, -1, false), (vec![4, 5], GLOBAL, EARLY, 1, -1, false)]
    );
}

/// A session that grows for ever has its early panes.
pub fn b117_a_growing_session_fires_early(r: &dyn Runner) {
    let trigger = Trigger::after_watermark().early(Trigger::after_processing_time().delay(secs(60)));
    let stream = (0..200).fold(TestStream::new(), |s, i| {
        s.element_at(i, at(i)).advance_watermark_to(at(i)).advance_processing_time(secs(1))
    });
    let windowing = WindowInto::of(Sessions::with_gap(secs(30))).trigger(trigger).discarding();
    let got = panes(r, stream, windowing);
    let sizes: Vec<_> = got.iter().map(|p| (p.0.len(), p.2)).collect();
    assert_eq!(sizes, [(60, EARLY), (60, EARLY), (60, EARLY), (20, ON_TIME)]);
}

/// The early trigger counts across a merge.
pub fn b118_a_count_goes_through_a_merge(r: &dyn Runner) {
    let trigger = Trigger::after_watermark().early(Trigger::after_count(3));
    let stream = TestStream::new().element_at(0, at(0)).element_at(12, at(12)).element_at(6, at(6));
    let windowing = WindowInto::of(Sessions::with_gap(secs(10))).trigger(trigger).discarding();
    let got = panes(r, stream, windowing);
    assert_eq!(got[0], (vec![0, 6, 12], (0, 22), EARLY, 0, -1, false));
    assert_eq!(got[1], (vec![], (0, 22), ON_TIME, 1, 0, true));
    assert_eq!(got.len(), 2);
}

/// What is dropped as late is counted for each grouping, and can be had as an output.
pub fn b121_late_data_are_counted_and_can_be_had(r: &dyn Runner) {
    let (late, summed, late_summands) = (Committed::new(), Committed::new(), Committed::new());
    let result = run(r, |p| {
        let stream = TestStream::new()
            .advance_watermark_to(at(100))
            .elements((0..7).map(|i| (("k".to_owned(), i), at(i))))
            .element_at(("k".to_owned(), 100), at(100));
        let windowed = p.apply("Stream", stream).window_into("Window", FixedWindows::of(secs(10)));
        windowed.group_by_key("Dropping");
        let (_, rest) = windowed.apply("Keeping", GroupByKey::with_late_data());
        late.collect("Late", &rest);
        let (sums, rest) = windowed.apply("Summing", Combine::per_key(Sum).with_late_data());
        summed.collect("Sums", &sums.map("Sum", |(_, sum)| sum));
        late_summands.collect("LateSummands", &rest.map("Summand", |(_, x)| x));
    })
    .unwrap();
    assert_eq!((summed.sorted(), late_summands.sorted()), (vec![100], (0..7).collect()));
    let counted = |step, metric| result.metrics.committed.counter(step, metric);
    let dropped = |step| counted(step, DROPPED_DUE_TO_LATENESS);
    // What comes out is not dropped.
    assert_eq!((dropped("Dropping"), dropped("Keeping/Group")), (7, 0));
    let rescued = |step| counted(step, LATE_DATA_OUTPUT);
    assert_eq!((rescued("Dropping"), rescued("Keeping/Group")), (0, 7));
    let mut kept: Vec<_> =
        late.seen().into_iter().map(|s| (s.value.1, s.timestamp, span(&s.window))).collect();
    kept.sort_unstable();
    assert_eq!(kept, (0..7).map(|i| (i, at(i), (0, 10))).collect::<Vec<_>>());
}

/// Early panes by processing time, a late one for each late element, accumulating, and a last pane at the end.
pub fn late_data_accumulate(r: &dyn Runner) {
    let trigger = Trigger::after_watermark()
        .early(Trigger::after_processing_time().delay(secs(5)))
        .late(Trigger::after_count(1));
    let windowing = WindowInto::of(FixedWindows::of(Duration::from_minutes(5)))
        .trigger(trigger)
        .accumulating()
        .allowed_lateness(Duration::from_minutes(5))
        .closing(ClosingBehavior::FireAlways);
    let minute = |m: i64| at(60 * m);
    let stream = TestStream::new()
        .advance_watermark_to(minute(0))
        .elements([(1, minute(0)), (2, minute(0)), (3, minute(0))])
        .advance_processing_time(secs(6))
        .advance_watermark_to(minute(6))
        .elements([(4, minute(1)), (5, minute(1))])
        .advance_watermark_to(minute(11))
        .element_at(9, minute(1));
    assert_eq!(
        panes(r, stream, windowing),
        [
            (vec![1, 2, 3], (0, 300), EARLY, 0, -1, false),
            (vec![1, 2, 3], (0, 300), ON_TIME, 1, 0, false),
            (vec![1, 2, 3, 4, 5], (0, 300), LATE, 2, 1, false),
            (vec![1, 2, 3, 4, 5], (0, 300), LATE, 3, 2, true),
        ]
    );
}

/// What came late to a window whose trigger has no late panes comes out in the last pane.
pub fn discarding_leaves_the_late_to_the_last_pane(r: &dyn Runner) {
    let trigger = Trigger::after_watermark().early(Trigger::after_count(2)).late(Trigger::never());
    let windowing = fixed().trigger(trigger).discarding().allowed_lateness(secs(30));
    let stream = TestStream::new()
        .elements(numbers(&[1, 2]))
        .advance_watermark_to(at(11))
        .elements(numbers(&[3]))
        .advance_watermark_to(at(20))
        .elements(numbers(&[4]));
    assert_eq!(
        panes(r, stream, windowing),
        [
            (vec![1, 2], (0, 10), EARLY, 0, -1, false),
            (vec![], (0, 10), ON_TIME, 1, 0, false),
            (vec![3, 4], (0, 10), LATE, 2, 1, true),
        ]
    );
}

/// A first element that comes too late leaves nothing behind.
pub fn a_first_element_that_is_late(r: &dyn Runner) {
    let windowing = fixed().allowed_lateness(secs(5));
    let stream = TestStream::new().advance_watermark_to(at(20)).element_at(3, at(3)).element_at(25, at(25));
    assert_eq!(panes(r, stream, windowing), [(vec![25], (20, 30), ON_TIME, 0, 0, true)]);
}

/// Early panes one by one, and exactly one on-time pane.
pub fn early_panes_of_a_window(r: &dyn Runner) {
    let trigger = Trigger::after_watermark().early(Trigger::after_processing_time().delay(ms(1)));
    let windowing = fixed().trigger(trigger).accumulating();
    let stream = (1..=3).fold(TestStream::new().advance_watermark_to(at(0)), |s, i| {
        s.element_at(i, at(i)).advance_processing_time(ms(1))
    });
    assert_eq!(
        panes(r, stream, windowing),
        [
            (vec![1], (0, 10), EARLY, 0, -1, false),
            (vec![1, 2], (0, 10), EARLY, 1, -1, false),
            (vec![1, 2, 3], (0, 10), EARLY, 2, -1, false),
            (vec![1, 2, 3], (0, 10), ON_TIME, 3, 0, true),
        ]
    );
}

/// A trigger that never fires leaves everything to the last pane.
pub fn never(r: &dyn Runner) {
    let stream = TestStream::new()
        .elements(numbers(&[1, 2]))
        .advance_watermark_to(at(5))
        .elements(numbers(&[6]))
        .advance_watermark_to(at(11))
        .elements(numbers(&[15]));
    let windowing = fixed().trigger(Trigger::never()).discarding();
    assert_eq!(
        panes(r, stream, windowing),
        [(vec![1, 2, 6], (0, 10), ON_TIME, 0, 0, true), (vec![15], (10, 20), ON_TIME, 0, 0, true)]
    );
}

/// Six elements in two bundles under a repeated count of two: evaluated once a bundle.
pub fn a_count_is_looked_at_once_a_bundle(r: &dyn Runner) {
    let windowing = global().trigger(Trigger::repeatedly(Trigger::after_count(2))).discarding();
    let stream = TestStream::new().elements(numbers(&[1, 2, 3])).elements(numbers(&[4, 5, 6]));
    assert_eq!(
        panes(r, stream, windowing),
        [(vec![1, 2, 3], GLOBAL, EARLY, 0, -1, false), (vec![4, 5, 6], GLOBAL, EARLY, 1, -1, false)]
    );
}

/// All of them, each in turn, the first of them.
pub fn composites(r: &dyn Runner) {
    let stream = || {
        [1, 2, 3, 4]
            .iter()
            .fold(TestStream::new(), |s, v| s.elements(numbers(&[*v])))
            .advance_watermark_to(at(12))
            .elements(numbers(&[5]))
    };
    let count = Trigger::after_count;
    let lossy = |t: Trigger| fixed().trigger(t).discarding().allowed_lateness(secs(60)).allow_data_loss();
    let all = panes(r, stream(), lossy(Trigger::after_all([count(2), Trigger::after_watermark()])));
    assert_eq!(all, [(vec![1, 2, 3, 4], (0, 10), ON_TIME, 0, 0, true)]);
    let any = panes(r, stream(), lossy(Trigger::after_any([count(3), Trigger::after_watermark()])));
    assert_eq!(any, [(vec![1, 2, 3], (0, 10), EARLY, 0, -1, true)]);
    let each = Trigger::after_each([count(1), count(2), Trigger::after_watermark().late(count(1))]);
    assert_eq!(
        panes(r, stream(), lossy(each)),
        [
            (vec![1], (0, 10), EARLY, 0, -1, false),
            (vec![2, 3], (0, 10), EARLY, 1, -1, false),
            (vec![4], (0, 10), ON_TIME, 2, 0, false),
            (vec![5], (0, 10), LATE, 3, 1, false),
        ]
    );
    let finally = Trigger::repeatedly(count(1)).or_finally(count(3));
    assert_eq!(
        panes(r, stream(), lossy(finally)),
        [
            (vec![1], (0, 10), EARLY, 0, -1, false),
            (vec![2], (0, 10), EARLY, 1, -1, false),
            (vec![3], (0, 10), EARLY, 2, -1, true),
        ]
    );
}

/// What comes to a window that its trigger has closed is dropped and counted.
pub fn data_for_a_closed_window_are_counted(r: &dyn Runner) {
    let result = run(r, |p| {
        let stream = TestStream::new()
            .elements(numbers(&[1, 2]))
            .elements(numbers(&[3, 4, 5]))
            .advance_watermark_to(at(11))
            .elements(numbers(&[6]));
        p.apply("Stream", stream)
            .window_into("Window", fixed().trigger(Trigger::after_count(2)).discarding().allow_data_loss())
            .key_by("Key", |_| ())
            .group_by_key("Group");
    })
    .unwrap();
    let counter = |name| result.metrics.committed.counter("Group", name);
    assert_eq!((counter(DROPPED_DUE_TO_CLOSED_WINDOW), counter(DROPPED_DUE_TO_LATENESS)), (3, 1));
}

/// A grouping behind one by processing time fires once for what came together, not for each key.
pub fn processing_time_is_synchronized_downstream(r: &dyn Runner) {
    let committed = Committed::new();
    run(r, |p| {
        let trigger = Trigger::repeatedly(Trigger::after_processing_time().delay(secs(10)));
        let stream = TestStream::new()
            .elements((0..42).map(|i| (i, at(0))))
            .advance_processing_time(secs(10))
            .advance_processing_time(secs(10));
        let counts = p
            .apply("Stream", stream)
            .window_into("Window", global().trigger(trigger).discarding())
            .key_by("Each", |i| *i)
            .group_by_key("First")
            .map("One", |(_, values)| ((), values.len()))
            .group_by_key("Second")
            .map("Sum", |(_, values)| values.into_iter().sum::<usize>());
        committed.collect("Collect", &counts);
    })
    .unwrap();
    assert_eq!(committed.values(), [42]);
}

/// Elements behind the watermark do not pull a pane's timestamp back.
pub fn late_elements_do_not_pull_the_timestamp_back(r: &dyn Runner) {
    let windowing = || fixed().timestamp_combiner(TimestampCombiner::Earliest).allowed_lateness(secs(60));
    let stream = TestStream::new()
        .advance_watermark_to(at(4))
        .elements(numbers(&[2, 6, 8]))
        .advance_watermark_to(at(12))
        .elements(numbers(&[3]));
    let got: Vec<_> = seen(r, stream, windowing()).into_iter().map(|s| (s.value, s.timestamp)).collect();
    assert_eq!(got, [(vec![2, 6, 8], at(6)), (vec![3], at(10) - ms(1))]);
}

/// Lateness is judged by each of an element's windows.
pub fn lateness_of_sliding_windows(r: &dyn Runner) {
    let windowing = WindowInto::of(SlidingWindows::of(secs(10), secs(5))).allowed_lateness(secs(3));
    let stream = TestStream::new().advance_watermark_to(at(16)).elements(numbers(&[9]));
    assert_eq!(panes(r, stream, windowing), [(vec![9], (5, 15), LATE, 0, 0, false)]);
}

/// A global combine with a default under early panes.
pub fn a_default_under_triggers(r: &dyn Runner) {
    let sums = |stream: TestStream<i64>| {
        let committed = Committed::new();
        run(r, |p| {
            let trigger = Trigger::after_watermark().early(Trigger::after_count(1));
            let sum = p
                .apply("Stream", stream)
                .window_into("Window", global().trigger(trigger).accumulating())
                .combine_globally("Sum", super::support::Sum);
            committed.collect("Collect", &sum);
        })
        .unwrap();
        committed.seen().into_iter().map(|s| (s.value, s.pane.timing, s.pane.is_last)).collect::<Vec<_>>()
    };
    assert_eq!(sums(TestStream::new()), [(0, ON_TIME, true)]);
    assert_eq!(
        sums(TestStream::new().element_at(1, at(1)).element_at(2, at(2))),
        [(1, EARLY, false), (3, EARLY, false), (3, ON_TIME, true)]
    );
}

/// One that waits for ever after its first pane says nothing of what comes later, where windows have no end.
pub fn a_trigger_that_stops_in_a_window_without_an_end_is_refused(_: &dyn Runner) {
    let once = || Trigger::after_each([Trigger::after_count(1), Trigger::never()]);
    for trigger in [Trigger::repeatedly(once()), Trigger::after_watermark().early(once())] {
        let text = build_errors(|p| {
            let windows = WindowInto::of(GlobalWindows).trigger(trigger).discarding();
            let pairs = p.apply("Stream", TestStream::new().element((0, 1_i64)));
            pairs.window_into("Global", windows).group_by_key("Group");
        });
        assert_says(&text, &["`Group`", "after_each(after_count(1), never)"]);
    }
}
