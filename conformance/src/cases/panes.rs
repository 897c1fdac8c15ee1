//! Panes through groupings, combines and fan-outs.

use purlin_sdk::{
    CoGroupByKey, Combine, PTransform, Runner, WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{
        ClosingBehavior, FixedWindows, GlobalWindows, PaneTiming, Sessions, SlidingWindows,
        TimestampCombiner, Trigger,
    },
};

use super::support::{Log, Sum, at, at_ms, ms, run, secs, span};

/// A pane's window, sum, timing, and whether it is the last.
type Pane = ((i64, i64), i64, PaneTiming, bool);

/// The panes of the sums under one key, with a fan-out, window by window.
fn sums(r: &dyn Runner, stream: TestStream<i64>, windowing: WindowInto, fanout: Option<usize>) -> Vec<Pane> {
    let log = Log::default();
    let noted = log.clone();
    run(r, |p| {
        let keyed =
            p.apply("Stream", stream).window_into("Windows", windowing).key_by("Key", |_| "hot".to_owned());
        let sums = match fanout {
            Some(n) => keyed.apply("Sum", Combine::per_key(Sum).with_hot_key_fanout(n)),
            None => keyed.apply("Sum", Combine::per_key(Sum)),
        };
        sums.map_cx("Pane", move |(_, sum), cx| {
            let window = cx.window();
            let span = if window.as_interval().is_some() { span(&window) } else { (0, 0) };
            noted.push((span, sum, cx.pane().timing, cx.pane().is_last));
            Ok(())
        });
    });
    let mut panes = log.take();
    // Stable: the panes of a window stay in the order in which they came.
    panes.sort_by_key(|pane| pane.0);
    panes
}

/// A timer in processing time that comes when the window has expired makes no pane, as Beam's
/// `testCombiningAccumulatingProcessingTime`.
pub fn combining_accumulating_processing_time(r: &dyn Runner) {
    let windowing = WindowInto::of(FixedWindows::of(ms(100)))
        .timestamp_combiner(TimestampCombiner::Earliest)
        .trigger(Trigger::repeatedly(Trigger::after_processing_time().delay(ms(10))))
        .accumulating();
    let stream = TestStream::new()
        .advance_watermark_to(at_ms(0))
        .elements([(2, at_ms(2)), (5, at_ms(5))])
        .advance_watermark_to(at_ms(100))
        .advance_processing_time(ms(10));
    let panes = sums(r, stream, windowing, None);
    assert_eq!(panes.iter().map(|pane| pane.1).collect::<Vec<_>>(), [7]);
}

/// The last pane has the whole sum, with a fan-out as without, as Beam's `testHotKeyCombiningWithAccumulationMode`.
pub fn a_fanout_with_accumulating_panes(r: &dyn Runner) {
    let each = || Trigger::repeatedly(Trigger::after_count(1));
    for fanout in [None, Some(1), Some(2), Some(100)] {
        let windowing =
            WindowInto::of(GlobalWindows).trigger(each()).accumulating().closing(ClosingBehavior::FireAlways);
        let stream = (1..=5).fold(TestStream::new(), |s, i| s.element_at(i, at(i)));
        let panes = sums(r, stream, windowing, fanout);
        let last: Vec<_> = panes.iter().filter(|pane| pane.3).map(|pane| pane.1).collect();
        assert_eq!(last, [15], "fan-out {fanout:?}");
        assert_eq!(panes.iter().map(|pane| pane.1).take(5).collect::<Vec<_>>(), [1, 3, 6, 10, 15]);
    }
}

/// Early and late panes of each kind of window are the same with a fan-out as without.
pub fn b140_a_fanout_changes_no_pane(r: &dyn Runner) {
    let stream = || {
        let early =
            (0..12).fold(TestStream::new(), |s, i| s.element_at(i, at(i)).advance_processing_time(secs(1)));
        early.advance_watermark_to(at(9)).element_at(100, at(2)).advance_watermark_to(at(40))
    };
    let windows = [
        WindowInto::of(FixedWindows::of(secs(10))),
        WindowInto::of(SlidingWindows::of(secs(10), secs(5))),
        WindowInto::of(Sessions::with_gap(secs(3))),
    ];
    for windows in windows {
        for accumulating in [false, true] {
            let trigger = Trigger::after_watermark()
                .early(Trigger::after_processing_time().delay(secs(4)))
                .late(Trigger::after_count(1));
            let windowing = windows.clone().trigger(trigger).allowed_lateness(secs(20));
            let windowing = if accumulating { windowing.accumulating() } else { windowing.discarding() };
            let plain = sums(r, stream(), windowing.clone(), None);
            assert!(plain.iter().any(|pane| pane.2 == PaneTiming::Early), "{plain:?}");
            for fanout in [1, 4, 100] {
                assert_eq!(
                    sums(r, stream(), windowing.clone(), Some(fanout)),
                    plain,
                    "{windowing:?} {fanout}"
                );
            }
        }
    }
}

/// Tables joined by key under a trigger: each pane has both sides.
pub fn co_group_by_key_in_panes(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let trigger = Trigger::after_watermark().late(Trigger::after_count(1));
        let windowing = WindowInto::of(FixedWindows::of(secs(10)))
            .trigger(trigger)
            .accumulating()
            .allowed_lateness(secs(60));
        let stream = TestStream::new()
            .elements([((true, 1_i64), at(1)), ((false, 2), at(2)), ((false, 3), at(3))])
            .advance_watermark_to(at(11))
            .element_at((true, 4), at(4));
        let all = p.apply("Stream", stream).window_into("Windows", windowing);
        let left = all.filter("Left", |(left, _)| *left).map("LeftPair", |(_, n)| ((), n));
        let right = all.filter("Right", |(left, _)| !*left).map("RightPair", |(_, n)| ((), n));
        let noted = log.clone();
        CoGroupByKey.expand((left, right)).map_cx("Sizes", move |(_, (left, right)), cx| {
            noted.push((cx.pane().timing, left.len(), right.len()));
            Ok(())
        });
    });
    assert_eq!(log.take(), [(PaneTiming::OnTime, 1, 2), (PaneTiming::Late, 2, 2)]);
}

/// Allowed lateness that reaches beyond the end of time is cut there: nothing overflows, nothing fires twice.
pub fn b101_lateness_near_the_end_of_time(r: &dyn Runner) {
    use purlin_sdk::{Duration, Timestamp};
    let near = Timestamp::GLOBAL_WINDOW_MAX - Duration::from_days(1);
    let fixed = || WindowInto::of(FixedWindows::of(secs(10)));
    for (windowing, time) in [
        (fixed().allowed_lateness(Duration::from_days(365)), near),
        (fixed().allowed_lateness(Duration::MAX), near),
        (fixed().allowed_lateness(Duration::MAX), at(5)),
        (WindowInto::of(GlobalWindows).allowed_lateness(Duration::from_days(3)), near),
        (WindowInto::of(Sessions::with_gap(secs(10))).allowed_lateness(Duration::MAX), near),
    ] {
        let log = Log::default();
        let noted = log.clone();
        let outcome = run(r, |p| {
            p.create_timestamped("Value", [(((), 7_i64), time)])
                .window_into("Windows", windowing.clone())
                .combine_per_key("Sum", Sum)
                .map_cx("Pane", move |(_, n), cx| {
                    noted.push((n, cx.pane().timing));
                    Ok(())
                });
        });
        assert_eq!(log.take(), [(7, PaneTiming::OnTime)], "{windowing:?}");
        assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0);
    }
}
