//! Waiting for other collections. Beam's `WaitTest`.

use purlin_sdk::{
    Duration, Element, PCollection, Pipeline, Runner, Tag, Timestamp, WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::{TestStream, TestStreams},
    window::{FixedWindows, GlobalWindows, PaneInfo, Sessions, SlidingWindows, Trigger},
};
use purlin_transforms::Wait;

use super::support::{Log, Numbers, assert_says, at, build_errors, collect, run, secs, span};

const MAIN: Tag<i64> = Tag::new("main");
const SIGNAL: Tag<i64> = Tag::new("signal");
const OTHER: Tag<String> = Tag::new("other");

fn script() -> TestStreams {
    TestStreams::new().stream(MAIN).stream(SIGNAL)
}

fn fixed(size: i64) -> WindowInto {
    WindowInto::of(FixedWindows::of(secs(size)))
}

fn each() -> Trigger {
    Trigger::repeatedly(Trigger::after_count(1))
}

/// Elements and watermarks of two streams in disorder, each element within `lateness` of the watermark before it.
fn disorder(seed: u64, (mains, signals): (usize, usize), lateness: Duration) -> TestStreams {
    let mut numbers = Numbers::of(seed);
    let mut below = |n: i64| numbers.below(n.unsigned_abs()) as i64;
    let mut events = Vec::new();
    for (tag, n) in [(MAIN, mains), (SIGNAL, signals)] {
        let mut watermarks: Vec<i64> = (0..n).map(|_| below(60)).collect();
        watermarks.sort_unstable();
        for (i, watermark) in watermarks.into_iter().enumerate() {
            let back = below(1 + lateness.as_millis() / 1000);
            events.push((i * 60 / (n + 1), tag, watermark, i as i64, watermark - back));
        }
    }
    events.sort_by_key(|(when, ..)| *when);
    let mut script = script();
    for (_, tag, watermark, value, timestamp) in events {
        script = script.advance_watermark_to(tag, at(watermark)).elements(tag, [(value, at(timestamp))]);
    }
    script
}

/// Fires for every element.
fn fire(pc: &PCollection<i64>, name: &str, windows: WindowInto) -> PCollection<i64> {
    pc.composite(name, |pc| {
        let windowed = pc.window_into("Windows", windows.trigger(each()).discarding());
        windowed.key_by("Key", |_| ()).group_by_key("Group").flat_map("Values", |((), values)| values)
    })
}

/// No signal comes with a timestamp before that of an element which was released, whatever the windows are, and no element
/// is lost.
fn waits(r: &dyn Runner, main: &WindowInto, signal: &WindowInto, lateness: Duration) {
    for seed in 0..3 {
        let log = Log::<(bool, i64, Timestamp)>::default();
        let streams = disorder(seed, (20, 20), lateness).bounded();
        run(r, |p| {
            let streams = p.apply("Streams", streams);
            let signals = fire(&streams.tagged(SIGNAL), "Signal", signal.clone().allowed_lateness(lateness));
            let signals = signals.map_cx("Time", |x, cx| Ok((false, x, cx.timestamp())));
            log.note("Signals", &signals);
            let mains = fire(&streams.tagged(MAIN), "Main", main.clone().allowed_lateness(lateness));
            let released = mains.apply("Wait", Wait::on(&signals));
            log.note("Released", &released.map_cx("Time of main", |x, cx| Ok((true, x, cx.timestamp()))));
        });
        let (mut latest, mut released) = (Timestamp::MIN, Vec::new());
        for (is_main, value, time) in log.take() {
            if is_main {
                latest = latest.max(time);
                released.push(value);
            } else {
                assert!(
                    time >= latest,
                    "signal {value} at {time} after an element of {latest} (seed {seed})"
                );
            }
        }
        released.sort_unstable();
        assert_eq!(released, (0..20).collect::<Vec<_>>());
    }
}

/// Both in the same windows.
pub fn in_the_same_windows(r: &dyn Runner) {
    waits(r, &fixed(15), &fixed(15), secs(15));
}

/// In fixed windows of different sizes.
pub fn in_different_windows(r: &dyn Runner) {
    waits(r, &fixed(15), &fixed(7), secs(15));
    waits(r, &fixed(7), &fixed(15), secs(15));
}

/// The signal is in sliding windows.
pub fn a_signal_in_sliding_windows(r: &dyn Runner) {
    waits(r, &fixed(15), &WindowInto::of(SlidingWindows::of(secs(7), secs(1))), secs(15));
}

/// Both in the global window, and one of them.
pub fn in_the_global_window(r: &dyn Runner) {
    let global = || WindowInto::of(GlobalWindows);
    waits(r, &global(), &global(), secs(15));
    waits(r, &fixed(15), &global(), secs(15));
    waits(r, &global(), &fixed(15), secs(15));
}

/// Some windows have no signal.
pub fn windows_without_a_signal(r: &dyn Runner) {
    waits(r, &fixed(1), &fixed(1), Duration::ZERO);
}

/// What was released between the events of a script; `-n` is its `n`-th mark.
fn released<T: Element>(
    r: &dyn Runner,
    script: impl FnOnce(Box<dyn Fn(i64) -> Box<dyn Fn() + Send + Sync>>) -> TestStreams,
    build: impl FnOnce(&Pipeline, TestStreams) -> PCollection<T>,
) -> Vec<i64>
where
    i64: From<T>,
{
    let log = Log::default();
    let marks = log.clone();
    let mark = move |n: i64| {
        let marks = marks.clone();
        Box::new(move || marks.push(-n)) as Box<dyn Fn() + Send + Sync>
    };
    let script = script(Box::new(mark));
    run(r, |p| {
        let out = build(p, script).map("Number", i64::from);
        log.note("Released", &out);
    });
    log.take()
}

/// An element is released when its window of the signal is closed, not by early panes, nor by data of other windows; late
/// data count as long as they are allowed.
pub fn released_when_the_signal_s_window_is_closed(r: &dyn Runner) {
    let found = released(
        r,
        |mark| {
            script()
                .elements(MAIN, [(3, at(3)), (12, at(12))])
                .elements(SIGNAL, [(1, at(1)), (11, at(11)), (25, at(25))])
                .mark(mark(1))
                .advance_watermark_to(SIGNAL, at(10))
                .elements(SIGNAL, [(2, at(2))])
                .advance_watermark_to(SIGNAL, at(14))
                .mark(mark(2))
                .advance_watermark_to(SIGNAL, at(15))
                .mark(mark(3))
                .end(SIGNAL)
                .mark(mark(4))
                .elements(MAIN, [(24, at(24))])
        },
        |p, script| {
            let streams = p.apply("Streams", script);
            let windows = fixed(10).allowed_lateness(secs(5));
            let signal = fire(&streams.tagged(SIGNAL), "Signal", windows);
            streams.tagged(MAIN).window_into("Main", fixed(10)).apply("Wait", Wait::on(&signal))
        },
    );
    assert_eq!(found, [-1, -2, 3, -3, 12, -4, 24]);
}

/// All signals must be closed, of whatever type.
pub fn all_of_several_signals(r: &dyn Runner) {
    let found = released(
        r,
        |mark| {
            script()
                .stream(OTHER)
                .elements(MAIN, [(3, at(3))])
                .end(SIGNAL)
                .mark(mark(1))
                .advance_watermark_to(OTHER, at(9))
                .mark(mark(2))
                .advance_watermark_to(OTHER, at(10))
                .mark(mark(3))
        },
        |p, script| {
            let streams = p.apply("Streams", script);
            let signal = streams.tagged(SIGNAL).window_into("Signal", fixed(5));
            let other = streams.tagged(OTHER).window_into("Other", fixed(10));
            streams.tagged(MAIN).window_into("Main", fixed(5)).apply("Wait", Wait::on(&signal).and(&other))
        },
    );
    assert_eq!(found, [-1, -2, 3, -3]);
}

/// Signals that are empty, and none at all.
pub fn empty_signals(r: &dyn Runner) {
    let found = collect(r, |p| {
        let nothing = p.create::<i64>("Nothing", []);
        let main =
            p.create("Main", 0..3).apply("One", Wait::on(&nothing)).apply("Two", Wait::on_all([nothing]));
        main.apply("None", Wait::on_all::<i64>([]))
    });
    assert_eq!(found, [0, 1, 2]);
}

/// Elements keep timestamps, windows, also several at once, and panes.
pub fn released_elements_are_as_they_were(r: &dyn Runner) {
    let found = collect(r, |p| {
        let signal = p.create("Signal", [1]);
        p.create_timestamped("Main", [(3, at(3))])
            .window_into("Sliding", SlidingWindows::of(secs(10), secs(5)))
            .apply("Wait", Wait::on(&signal))
            .map_cx("Facts", |x, cx| Ok((x, cx.timestamp(), span(&cx.window()), cx.pane())))
    });
    let pane = PaneInfo::NO_FIRING;
    assert_eq!(found, [(3, at(3), (-5, 5), pane), (3, at(3), (0, 10), pane)]);
}

/// An element that waits holds the watermark, so it is not late behind it.
pub fn an_element_that_waits_holds_the_watermark(r: &dyn Runner) {
    let log = Log::default();
    let script = script()
        .elements(MAIN, [(3, at(3))])
        .advance_watermark_to(MAIN, at(100))
        .elements(MAIN, [(101, at(101))])
        .end(SIGNAL);
    let outcome = run(r, |p| {
        let streams = p.apply("Streams", script);
        let signal = streams.tagged(SIGNAL).window_into("Signal", fixed(10));
        let main = streams.tagged(MAIN).window_into("Main", fixed(10)).apply("Wait", Wait::on(&signal));
        log.note(
            "Groups",
            &main.key_by("Key", |_| ()).group_by_key("Group").map("Values", |((), g)| g.into_vec()),
        );
    });
    assert_eq!(log.take_sorted(), [vec![3], vec![101]]);
    assert_eq!(outcome.metrics.committed.counter("Group", DROPPED_DUE_TO_LATENESS), 0);
}

/// A signal that is never complete, or has no windows to look at, is refused.
pub fn signals_that_cannot_be_waited_for(_: &dyn Runner) {
    let text = build_errors(|p| {
        let main = p.create("Main", [1]);
        let stream = p.apply("Stream", TestStream::new().element(1));
        main.apply("Endless", Wait::on(&stream));
        let early = stream.window_into("Early", WindowInto::of(GlobalWindows).trigger(each()).discarding());
        main.apply("Endless too", Wait::on(&early));
        let sessions = stream.window_into("Sessions", Sessions::with_gap(secs(1)));
        main.apply("Merging", Wait::on(&sessions));
    });
    assert_says(
        &text,
        &["`Endless`", "never complete", "`Endless too`", "`Merging/Complete1`", "fixed windows first"],
    );
    assert_says(&text, &["for 3 reasons"]);
}
