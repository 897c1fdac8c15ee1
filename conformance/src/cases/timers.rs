//! Timers: when they fire, in which order, and what they hold. Beam's `TimerTests`, `TimerFamilyTests` and `KeyTests`.

mod holds;
mod order;

use purlin_sdk::{
    Duration, Emitter, ProcessContext, Result, Runner, TimerContext, Timestamp, WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{FixedWindows, SlidingWindows},
};

use super::{
    probe::{Cells, CellsTimer, Keyed, Probe, k, outputs, values},
    support::{Log, assert_nothing, assert_says, at, at_ms, collect, run, run_to_failure, secs, span},
};

pub use holds::{
    a_timer_s_timestamp_is_its_output_timestamp, a_timer_upstream_holds_timers_downstream,
    a_timer_without_an_output_timestamp, b070_a_timer_holds_the_watermark_at_its_output_timestamp,
    b089_a_batch_that_waits_holds_the_watermark, timestamp_skew_in_timers,
};
pub use order::{
    a_timer_that_is_set_to_now_follows_the_watermark, a_timer_without_a_callback_is_an_error, cleared_timers,
    key_and_options_in_timers, processing_time_timers, timer_families,
    timers_fire_in_the_order_of_their_times, timers_in_the_global_window_behind_others,
    two_timers_that_set_each_other,
};

fn stream() -> Keyed {
    TestStream::new()
}

/// Sets the timer `a` to `after` the element.
fn alarm(after: Duration) -> Probe {
    Probe::new(move |_, _, s, cx, _| s.a.set(cx, cx.timestamp() + after))
}

/// Emits the timer's name with the watermark at which it fires, in seconds.
fn tell_watermark(
    timer: CellsTimer,
    _: &str,
    _: &mut Cells,
    cx: &TimerContext<'_>,
    out: &mut Emitter<'_, String>,
) -> Result {
    let watermark = match cx.current_watermark() {
        Some(Timestamp::MAX) => "the end".to_owned(),
        Some(watermark) => (watermark.as_millis() as f64 / 1000.0).to_string(),
        None => "none".to_owned(),
    };
    out.emit(format!("{timer:?} at {watermark}"));
    Ok(())
}

/// Emits the timer's name with its time, in seconds.
fn tell_time(
    timer: CellsTimer,
    _: &str,
    _: &mut Cells,
    cx: &TimerContext<'_>,
    out: &mut Emitter<'_, String>,
) -> Result {
    out.emit(format!("{timer:?} {}", cx.fire_timestamp().as_millis() as f64 / 1000.0));
    Ok(())
}

/// A timer of a bounded input fires at its end; one that is set from now, and one at a time.
pub fn event_time_timer_bounded(r: &dyn Runner) {
    let out = collect(r, |p| {
        let probe = Probe::new(|_, _, s, cx, out| {
            out.emit("element".to_owned());
            s.a.set_after(cx, secs(1))
        });
        p.create("Values", [k(37)]).par_do_keyed("Probe", probe)
    });
    assert_eq!(out, ["A", "element"]);
}

/// The same behind a grouping.
pub fn timers_behind_a_grouping(r: &dyn Runner) {
    let out = collect(r, |p| {
        p.create_timestamped("Values", [(k(1), at(1)), (k(2), at(2))])
            .window_into("Ten", FixedWindows::of(secs(10)))
            .group_by_key("Group")
            .map("Count", |(key, values)| (key, values.into_iter().count() as i64))
            .par_do_keyed("Probe", alarm(Duration::ZERO).when_due(tell_time))
    });
    assert_eq!(out, ["A 9.999"]);
}

/// A timer fires when the watermark has passed it.
pub fn event_time_timer_unbounded(r: &dyn Runner) {
    let stream = stream().element_at(k(1), at(0)).advance_watermark_to(at(30)).advance_watermark_to(at(40));
    let out = outputs(r, &stream, |pc| pc.par_do_keyed("Probe", alarm(secs(35)).when_due(tell_watermark)));
    assert_eq!(out, [("A at 40".to_owned(), at(35))]);
}

/// Not at its time exactly, but one tick later; and in any case when the input is over.
pub fn b078_a_timer_fires_when_the_watermark_has_passed_it(r: &dyn Runner) {
    let probe = || alarm(secs(10)).when_due(tell_watermark);
    let element = stream().element_at(k(1), at(0)).advance_watermark_to(at(10));
    let ticks = element.clone().advance_watermark_to(at_ms(10_001));
    assert_eq!(values(outputs(r, &ticks, |pc| pc.par_do_keyed("Probe", probe()))), ["A at 10.001"]);
    assert_eq!(values(outputs(r, &element, |pc| pc.par_do_keyed("Probe", probe()))), ["A at the end"]);
}

/// No timer fires before the watermark has come to it, whatever else goes on.
pub fn b063_no_timer_fires_early(r: &dyn Runner) {
    let probe = |after: i64| {
        Probe::new(move |_, i, s, cx, _| {
            match i % 5 {
                0 => s.a.set(cx, cx.timestamp() + secs(after))?,
                4 => s.a.clear(),
                _ => {}
            }
            Ok(())
        })
        .when_due(|_, _, _, cx, out| {
            assert!(cx.current_watermark() > Some(cx.fire_timestamp()));
            out.emit(format!("{}", cx.fire_timestamp().as_millis() / 1000));
            Ok(())
        })
    };
    let mut stream = stream();
    for i in 0..20 {
        stream = stream.advance_watermark_to(at(i)).element_at(k(i), at(i));
    }
    assert_nothing(outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe(10))));
    assert_eq!(values(outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe(2)))), ["2", "7", "12", "17"]);
}

/// A timer that is set again fires once, at the time that it was set to last: in processing time and in event time,
/// earlier and later, and within one call.
pub fn b065_setting_again_replaces(r: &dyn Runner) {
    let processing = Probe::new(|_, _, s, cx, _| s.p.set_after(cx, secs(10))).when_due(|_, _, _, cx, out| {
        out.emit(format!("{:?} {}", cx.time_domain(), cx.now().as_millis() / 1000));
        Ok(())
    });
    let five = |s: Keyed| s.advance_processing_time(secs(5));
    let twice = five(stream().element_at(k(1), at(0))).element_at(k(2), at(0));
    let ticking = five(five(five(twice)));
    let out = outputs(r, &ticking, |pc| pc.par_do_keyed("Probe", processing));
    assert_eq!(values(out), ["Processing 15"]);

    let event = || Probe::new(|_, to, s, cx, _| s.a.set(cx, at(to))).when_due(tell_watermark);
    for (first, second, expected) in [(20, 10, "A at 11"), (20, 30, "A at 31")] {
        let set = stream().element_at(k(first), at(0)).element_at(k(second), at(0));
        let ticking =
            set.advance_watermark_to(at(11)).advance_watermark_to(at(21)).advance_watermark_to(at(31));
        assert_eq!(values(outputs(r, &ticking, |pc| pc.par_do_keyed("Probe", event()))), [expected]);
    }

    let out = collect(r, |p| {
        let probe = Probe::new(|_, _, s, cx, _| {
            s.a.set(cx, at(5))?;
            s.a.set(cx, at(7))?;
            s.p.set(cx, at(5))?;
            s.p.set(cx, at(7))
        });
        p.create("Values", [k(1)]).par_do_keyed("Probe", probe.when_due(tell_time))
    });
    assert_eq!(out, ["A 7", "P 7"]);
}

/// What a callback does to timers that are due is obeyed: it clears one, moves one, sets one in between, sets its own.
pub fn b066_a_callback_changes_timers_that_are_due(r: &dyn Runner) {
    type Change = fn(&mut Cells, &TimerContext<'_>) -> Result;
    let changes: [(Change, &[&str]); 4] = [
        (
            |s, _| {
                s.b.clear();
                Ok(())
            },
            &["A 10"],
        ),
        (|s, cx| s.b.set(cx, at(30)), &["A 10", "B 30"]),
        (|s, cx| s.c.set(cx, at_ms(10_500)), &["A 10", "C 10.5", "B 11"]),
        (|s, cx| s.a.set(cx, at(12)), &["A 10", "B 11", "A 12"]),
    ];
    let stream = stream().element_at(k(1), at(0)).advance_watermark_to(at(20)).advance_watermark_to(at(40));
    for (change, expected) in changes {
        let probe = Probe::new(|_, _, s, cx, _| {
            s.b.set(cx, at(11))?;
            s.a.set(cx, at(10))
        });
        let probe = probe.when_due(move |timer, key, s, cx, out| {
            if timer == CellsTimer::A && cx.fire_timestamp() == at(10) {
                change(s, cx)?;
            }
            tell_time(timer, key, s, cx, out)
        });
        let out = outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe.clone()));
        assert_eq!(values(out), expected);
    }
}

/// State is never empty in a callback while it should not be: keys with timers that are set again and again.
pub fn b068_state_is_there_when_timers_fire(r: &dyn Runner) {
    for keys in [3, 300] {
        let out = collect(r, |p| {
            let probe = alarm(secs(1)).when_due(|_, key, s, cx, out| {
                let n = s.count();
                assert_eq!(n, cx.fire_timestamp().as_millis() / 1000, "the state of {key} is lost");
                if n < 1000 {
                    return s.a.set(cx, cx.fire_timestamp() + secs(1));
                }
                out.emit(key.to_owned());
                Ok(())
            });
            let elements = (0..keys).map(|i| ((format!("{i:03}"), i), at(0)));
            p.create_timestamped("Values", elements).par_do_keyed("Probe", probe)
        });
        assert_eq!(out, (0..keys).map(|i| format!("{i:03}")).collect::<Vec<_>>());
    }
}

/// The state of a window is there for timers at its end, and for as long as lateness allows.
pub fn b069_state_lives_until_its_window_expires(r: &dyn Runner) {
    let probe = || {
        Probe::new(|_, _, s, cx, out| {
            out.emit(format!("element {}", s.count()));
            s.a.set(cx, cx.window().max_timestamp())
        })
        .when_due(|_, _, s, _, out| {
            out.emit(format!("end {:?}", s.n));
            Ok(())
        })
    };
    let windows = |lateness| WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(lateness);
    let stream = stream()
        .element_at(k(1), at(1))
        .advance_watermark_to(at(12))
        .element_at(k(2), at(2))
        .advance_watermark_to(at(15))
        .element_at(k(3), at(3));
    let run_with = |lateness: Duration| {
        let log = Log::default();
        let outcome = run(r, |p| {
            let windowed = p.apply("Stream", stream.clone()).window_into("Ten", windows(lateness));
            log.note("Collect", &windowed.par_do_keyed("Probe", probe()));
        });
        (log.take(), outcome.metrics.committed.counter("Probe", DROPPED_DUE_TO_LATENESS))
    };
    let seen = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    assert_eq!(run_with(Duration::ZERO), (seen(&["element 1", "end Some(1)"]), 2));
    let kept = seen(&["element 1", "end Some(1)", "element 2", "end Some(2)"]);
    assert_eq!(run_with(secs(5)), (kept, 1));
}

/// What cannot be is an error at the call, which names transform and timer.
pub fn b072_impossible_times_are_errors_where_they_are_set(r: &dyn Runner) {
    type Set = fn(&mut Cells, &ProcessContext<'_>) -> Result;
    let impossible: [(Set, &[&str]); 6] = [
        (
            |s, cx| s.a.with_output_timestamp(at(9)).set(cx, at(8)),
            &["timer `a`", "after the time at which it fires"],
        ),
        (|s, cx| s.b.set(cx, at(13)), &["timer `b`", "is to fire at 1970-01-01T00:00:13Z", "expires at"]),
        (|s, cx| s.p.with_output_timestamp(at(13)).set_after(cx, secs(1)), &["timer `p`", "expires at"]),
        (|s, cx| s.a.with_output_timestamp(at(4)).set(cx, at(8)), &["timer `a`", "allowed skew of 0s"]),
        (
            |s, cx| s.q.with_output_timestamp(at(4)).set_after(cx, secs(1)),
            &["timer `q`", "allowed skew of 0s"],
        ),
        (|s, cx| s.tags.tag("x").set(cx, at(13)), &["timer `tags` with the tag `x`", "expires at"]),
    ];
    for (set, words) in impossible {
        let error = run_to_failure(r, |p| {
            let windows = WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(secs(3));
            p.create_timestamped("Values", [(k(1), at(5))])
                .window_into("Ten", windows)
                .par_do_keyed("Probe", Probe::new(move |_, _, s, cx, _| set(s, cx)));
        });
        assert_says(&error.to_string(), &["`Probe`", "process", "cannot be set"]);
        assert_says(&error.to_string(), words);
    }
}

/// A callback that sets its own timer again: a number of times, and without an end.
pub fn b073_a_timer_that_sets_itself_ends(r: &dyn Runner) {
    let again = |times: i64| {
        alarm(secs(1)).when_due(move |timer, key, s, cx, out| {
            if s.count() <= times {
                s.a.set(cx, cx.fire_timestamp() + secs(1))?;
            }
            tell_time(timer, key, s, cx, out)
        })
    };
    let element = stream().element_at(k(1), at(0));
    let out = outputs(r, &element, |pc| pc.par_do_keyed("Probe", again(5)));
    assert_eq!(values(out), ["A 1", "A 2", "A 3", "A 4", "A 5", "A 6"]);

    // In a window, the last is the one that is beyond it.
    let error = run_to_failure(r, |p| {
        p.create_timestamped("Values", [(k(1), at(0))])
            .window_into("Ten", FixedWindows::of(secs(10)))
            .par_do_keyed("Probe", again(i64::MAX));
    });
    assert_says(&error.to_string(), &["`Probe`", "timer `a`", "expires at 1970-01-01T00:00:09.999Z"]);
}

/// In the global window there is always time left, so it is stopped.
pub fn b073_a_timer_that_sets_itself_for_ever_is_an_error(r: &dyn Runner) {
    for in_the_past in [false, true] {
        let error = run_to_failure(r, |p| {
            let again =
                move |_, _: &str, s: &mut Cells, cx: &TimerContext<'_>, _: &mut Emitter<'_, String>| {
                    s.a.set(cx, cx.fire_timestamp() + if in_the_past { Duration::ZERO } else { secs(1) })
                };
            let stream = stream().element_at(k(1), at(0)).advance_watermark_to(at(5));
            let stream = if in_the_past { stream.advance_processing_time(secs(1)) } else { stream };
            p.apply("Stream", stream).par_do_keyed("Probe", alarm(secs(1)).when_due(again));
        });
        assert_says(&error.to_string(), &["`Probe`", "timer", "1000000 times", "`A`"]);
        let why = if in_the_past { "at times that are over" } else { "when the input was over" };
        assert_says(&error.to_string(), &[why]);
    }
}

/// What a timer in the past emits is no earlier than the element that set it, unless its DoFn allows for that: nothing
/// holds the watermark there. So it is not late where it goes.
pub fn a_timer_in_the_past_emits_nothing_late(r: &dyn Runner) {
    let probe = Probe::new(|_, _, s, cx, _| s.a.set(cx, at(3))).when_due(|_, _, _, cx, out| {
        out.emit((cx.timestamp().as_millis() / 1000).to_string());
        Ok(())
    });
    let stream = stream().element_at(k(1), at(1)).advance_watermark_to(at(25)).element_at(k(2), at(27));
    let log = Log::default();
    let outcome = run(r, |p| {
        let tens = p.apply("Stream", stream).window_into("Tens", FixedWindows::of(secs(10)));
        let out = tens.par_do_keyed("Probe", probe).window_into("Again", FixedWindows::of(secs(10)));
        let grouped = out.map("Unit", |at| ((), at)).group_by_key("Group");
        log.note("Values", &grouped.map_cx("Window", |(_, at), cx| Ok((span(&cx.window()), at.into_vec()))));
    });
    assert_eq!(log.take_sorted(), [((0, 10), vec!["3".to_owned()]), ((20, 30), vec!["27".to_owned()])]);
    assert_eq!(outcome.metrics.committed.counter("Group", DROPPED_DUE_TO_LATENESS), 0);
}

/// A timer that is set to a time that is over fires once, at once, without that time has to go on: set by an element and
/// by a callback, in event time and in processing time.
pub fn b074_a_timer_in_the_past_fires_at_once_and_once(r: &dyn Runner) {
    let probe = Probe::new(|_, what, s, cx, _| match what {
        0 => s.a.set(cx, at(50)),
        1 => s.p.set(cx, at(-7)),
        _ => s.q.set_after(cx, Duration::ZERO),
    });
    let probe = probe.when_due(|timer, key, s, cx, out| {
        match timer {
            CellsTimer::A => s.b.set(cx, at(20))?,
            CellsTimer::P => s.ptags.tag("x").set(cx, at(-8))?,
            _ => {}
        }
        let now = cx.now().as_millis() / 1000;
        assert_eq!((cx.current_watermark(), now), (Some(at(100)), 10), "something had to move");
        tell_time(timer, key, s, cx, out)
    });
    let start = stream().advance_watermark_to(at(100)).advance_processing_time(secs(10));
    for (what, expected) in
        [(0, ["A 50", "B 20"].as_slice()), (1, &["P -7", "Ptags(\"x\") -8"]), (2, &["Q 10"])]
    {
        let stream = start.clone().element_at(k(what), at(120)).advance_processing_time(secs(60));
        let stream = stream.advance_watermark_to(at(200));
        let out = outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe.clone()));
        assert_eq!(values(out), expected);
    }
}

/// Aligned to full minutes less a second: the output timestamp is that time.
pub fn aligned_timers(r: &dyn Runner) {
    let probe =
        Probe::new(|_, _, s, cx, _| s.a.align_to(secs(60)).offset(secs(1)).set_after(cx, Duration::ZERO));
    let start = stream().advance_watermark_to(at(5)).element_at(k(37), at(5));
    let stream = start.clone().advance_watermark_to(at(59)).advance_watermark_to(at(66));
    let out = outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe.clone().when_due(tell_watermark)));
    assert_eq!(out, [("A at 66".to_owned(), at(59))]);
    assert_eq!(
        collect(r, |p| {
            p.create_timestamped("Values", [(k(1), at(5))]).par_do_keyed("Probe", probe.when_due(tell_time))
        }),
        ["A 59"]
    );

    // One that would lie after the end of the window fires there.
    let century = Duration::from_days(4_000_000_000_000);
    let probe = Probe::new(move |_, _, s, cx, _| s.a.align_to(century).set_after(cx, Duration::ZERO));
    let out = outputs(r, &start, |pc| pc.par_do_keyed("Probe", probe));
    assert_eq!(out, [("A".to_owned(), Timestamp::GLOBAL_WINDOW_MAX)]);
}

/// Timers fire in each of the windows that their element is in.
pub fn timers_fire_in_the_windows_of_the_element(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let out = p
            .create_timestamped("Values", [(k(1), at(65))])
            .window_into("Windows", SlidingWindows::of(secs(180), secs(60)))
            .par_do_keyed("Probe", alarm(secs(1)))
            .map_cx("Window", |x, cx| Ok((x, cx.timestamp(), span(&cx.window()))));
        log.note("Collect", &out);
    });
    let expected = [(-60, 120), (0, 180), (60, 240)].map(|w| ("A".to_owned(), at(66), w));
    assert_eq!(log.take_sorted(), expected);
}

/// A timer at the last timestamp of its window fires, also in the global window.
pub fn a_timer_at_the_end_of_its_window(r: &dyn Runner) {
    let probe = || Probe::new(|_, _, s, cx, _| s.a.set(cx, cx.window().max_timestamp()));
    let values = || [(k(1), at(5))];
    let global = collect(r, |p| {
        let fired = p.create_timestamped("Values", values()).par_do_keyed("Probe", probe());
        fired.map_cx("Time", |x, cx| Ok((x, cx.timestamp())))
    });
    assert_eq!(global, [("A".to_owned(), Timestamp::GLOBAL_WINDOW_MAX)]);
    let fixed = collect(r, |p| {
        let windowed =
            p.create_timestamped("Values", values()).window_into("Ten", FixedWindows::of(secs(10)));
        let fired = windowed.par_do_keyed("Probe", probe());
        fired.map_cx("Time", |x, cx| Ok((x, cx.timestamp())))
    });
    assert_eq!(fixed, [("A".to_owned(), at_ms(9_999))]);
}

/// Within the allowed lateness a timer may lie after the window's end.
pub fn a_timer_within_the_allowed_lateness(r: &dyn Runner) {
    let stream = stream().element_at(k(1), at(5)).advance_watermark_to(at(15)).advance_watermark_to(at(16));
    let out = outputs(r, &stream, |pc| {
        pc.window_into("Ten", WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(secs(10)))
            .par_do_keyed("Probe", alarm(secs(10)).when_due(tell_watermark))
    });
    assert_eq!(out, [("A at 16".to_owned(), at(15))]);
}

/// Five firings for each of three keys.
pub fn a_timer_in_a_loop(r: &dyn Runner) {
    let out = collect(r, |p| {
        let probe = alarm(secs(1)).when_due(|_, key, s, cx, out| {
            let n = s.count();
            out.emit(format!("{key}{n}"));
            if n < 5 { s.a.set(cx, cx.fire_timestamp() + secs(1)) } else { Ok(()) }
        });
        let elements = ["a", "b", "c"].map(|key| ((key.to_owned(), 1), at(0)));
        p.create_timestamped("Values", elements).par_do_keyed("Probe", probe)
    });
    let expected: Vec<String> =
        ["a", "b", "c"].iter().flat_map(|key| (1..=5).map(move |n| format!("{key}{n}"))).collect();
    assert_eq!(out, expected);
}

/// Many elements of many keys: each key's timer fires once, and finds the state of all of them.
pub fn one_timer_for_each_of_many_keys(r: &dyn Runner) {
    let out = collect(r, |p| {
        let probe = Probe::new(|_, i, s, cx, _| {
            s.bag.add(i);
            s.a.set(cx, at(100))
        });
        let probe = probe.when_due(|_, key, s, _, out| {
            let mut all = s.bag.take();
            all.sort();
            assert_eq!(all, (0..15).collect::<Vec<_>>());
            out.emit(key.to_owned());
            Ok(())
        });
        let elements = (0..50 * 15).map(|i| ((format!("{:02}", i % 50), i / 50), at(i % 7)));
        p.create_timestamped("Values", elements).par_do_keyed("Probe", probe)
    });
    assert_eq!(out, (0..50).map(|key| format!("{key:02}")).collect::<Vec<_>>());
}
