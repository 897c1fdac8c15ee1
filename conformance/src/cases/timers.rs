//! Timers: when they fire, in which order, and what they hold. Beam's `TimerTests`, `TimerFamilyTests` and `KeyTests`.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, PCollection, ProcessContext, Result, Runner, TimerContext, Timestamp,
    WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    state::TimeDomain,
    testing::TestStream,
    window::{FixedWindows, GlobalWindows, PaneTiming, SlidingWindows, Window},
};

use super::{
    probe::{Cells, CellsTimer, Keyed, Probe, k, outputs, values},
    support::{Log, assert_nothing, assert_says, at, at_ms, collect, ms, run, run_to_failure, secs, span},
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

/// Groups what comes in ten-second windows, and gives each group, sorted, with whether its pane is on time.
fn tens(pc: &PCollection<String>) -> PCollection<String> {
    pc.window_into("Tens", FixedWindows::of(secs(10))).map("One", |x| ((), x)).group_by_key("Group").map_cx(
        "List",
        |((), group), cx| {
            let mut all: Vec<String> = group.into_iter().collect();
            all.sort();
            let on_time = cx.pane().timing == PaneTiming::OnTime;
            Ok(format!("{:?}: {}{}", span(&cx.window()), all.join(" "), if on_time { "" } else { ", late" }))
        },
    )
}

/// A timer that will emit an old timestamp holds the watermark there.
pub fn b070_a_timer_holds_the_watermark_at_its_output_timestamp(r: &dyn Runner) {
    for processing in [false, true] {
        let probe = Probe::new(move |_, _, s, cx, out| {
            out.emit("element".to_owned());
            if processing { s.p.set(cx, at(100)) } else { s.a.with_output_timestamp(at(3)).set(cx, at(50)) }
        });
        let probe = probe.when_due(|_, _, _, cx, out| {
            out.emit(format!("timer@{}", cx.timestamp().as_millis() / 1000));
            Ok(())
        });
        let stream = stream().element_at(k(1), at(3)).advance_watermark_to(at(40));
        let stream = stream.advance_processing_time(secs(100)).advance_watermark_to(at(60));
        let log = Log::default();
        let outcome = run(r, |p| {
            log.note("Collect", &tens(&p.apply("Stream", stream.clone()).par_do_keyed("Probe", probe)));
        });
        assert_eq!(log.take(), ["(0, 10): element timer@3"]);
        assert_eq!(outcome.metrics.committed.counter("Group", DROPPED_DUE_TO_LATENESS), 0);
    }
}

/// Downstream, the watermark is held too: a timer at +8 does not fire while one upstream holds it at +5, though the
/// input watermark is past both.
pub fn a_timer_upstream_holds_timers_downstream(r: &dyn Runner) {
    for processing in [false, true] {
        let first = Probe::new(move |_, _, s, cx, out| {
            out.emit("element".to_owned());
            if processing {
                s.p.with_output_timestamp(at(5)).set_after(cx, secs(10))
            } else {
                s.a.with_output_timestamp(at(5)).set(cx, at(10))
            }
        });
        let first = first.when_due(|_, _, _, _, out| {
            out.emit("first".to_owned());
            Ok(())
        });
        let second = Probe::new(|_, i, s, cx, out| {
            out.emit(format!("got {i}"));
            s.a.set(cx, at(8))
        });
        let stream = stream().element_at(k(1), at(0)).advance_watermark_to(at(9));
        let stream = stream.advance_processing_time(secs(10)).advance_watermark_to(at(11));
        let out = outputs(r, &stream, |pc| {
            pc.par_do_keyed("First", first)
                .map("Number", |what| k(i64::from(what == "first")))
                .par_do_keyed("Second", second.when_due(tell_watermark))
        });
        let fired = if processing { "A at 9" } else { "A at 11" };
        assert_eq!(values(out), ["got 0", "got 1", fired]);
    }
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

/// A transform that gathers holds the watermark for what it has, so that the batch is on time.
pub fn b089_a_batch_that_waits_holds_the_watermark(r: &dyn Runner) {
    let batch = Probe::new(|_, i, s, cx, _| {
        if s.bag.is_empty() {
            s.p.set_after(cx, secs(60))?;
        }
        s.bag.add(i);
        Ok(())
    });
    let batch = batch.when_due(|_, _, s, _, out| {
        out.emit(format!("{:?}", s.bag.take()));
        Ok(())
    });
    let stream = stream().elements((1..=3).map(|i| (k(i), at(i)))).advance_watermark_to(at(100));
    let stream = stream.advance_processing_time(secs(60));
    let out = outputs(r, &stream, |pc| tens(&pc.par_do_keyed("Batch", batch)));
    assert_eq!(values(out), ["(0, 10): [1, 2, 3]"]);
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

/// In a callback, `timestamp` is the output timestamp, and what is emitted has it.
pub fn a_timer_s_timestamp_is_its_output_timestamp(r: &dyn Runner) {
    let probe = || {
        Probe::new(|_, _, s, cx, _| {
            let ts = cx.timestamp();
            s.a.with_output_timestamp(ts + secs(5)).set(cx, ts + secs(10))
        })
        .when_due(|_, _, _, cx, out| {
            assert_eq!((cx.time_domain(), cx.window()), (TimeDomain::Event, Window::Global));
            out.emit(format!("{} {}", cx.timestamp(), cx.fire_timestamp()));
            Ok(())
        })
    };
    let expected = [("1970-01-01T00:00:08Z 1970-01-01T00:00:13Z".to_owned(), at(8))];
    let stream = stream().element_at(k(1), at(3)).advance_watermark_to(at(20));
    assert_eq!(outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe())), expected);
    let bounded = collect(r, |p| {
        let fired = p.create_timestamped("Values", [(k(1), at(3))]).par_do_keyed("Probe", probe());
        fired.map_cx("Time", |x, cx| Ok((x, cx.timestamp())))
    });
    assert_eq!(bounded, expected);
}

/// A timer without an output timestamp holds nothing, and may emit nothing.
pub fn a_timer_without_an_output_timestamp(r: &dyn Runner) {
    let probe = Probe::new(|_, _, s, cx, out| {
        out.emit("element".to_owned());
        s.a.without_output_timestamp().set(cx, at(50))
    });
    let emit = |_, _: &str, _: &mut Cells, _: &TimerContext<'_>, out: &mut Emitter<'_, String>| {
        out.emit("timer".to_owned());
        Ok(())
    };
    let emit_at = |_, _: &str, _: &mut Cells, _: &TimerContext<'_>, out: &mut Emitter<'_, String>| {
        out.emit_at("timer".to_owned(), Timestamp::MAX);
        Ok(())
    };
    for emits in [probe.clone().when_due(emit), probe.clone().when_due(emit_at)] {
        let error = run_to_failure(r, |p| {
            p.create_timestamped("Values", [(k(1), at(3))]).par_do_keyed("Probe", emits);
        });
        assert_says(&error.to_string(), &["`Probe`", "timer", "cannot output with timestamp", "`A`"]);
    }
    let fired = Log::default();
    let note = fired.clone();
    let quiet = probe.when_due(move |_, _, _, cx, _| {
        note.push(cx.fire_timestamp());
        Ok(())
    });
    // The window closes at 40 and not at 60.
    let come_to = Arc::new(AtomicI64::new(40));
    let at_60 = come_to.clone();
    let stream = stream()
        .element_at(k(1), at(3))
        .advance_watermark_to(at(40))
        .mark(move || at_60.store(60, Ordering::SeqCst))
        .element_at(k(2), at(41));
    let out = outputs(r, &stream.advance_watermark_to(at(60)), |pc| {
        let windows = pc.par_do_keyed("Probe", quiet).map_cx("When", |x, cx| {
            let watermark = cx.current_watermark().unwrap_or(Timestamp::MIN).as_millis() / 1000;
            Ok(format!("{x}@{}", watermark.max(0)))
        });
        tens(&windows).map("Watermark", move |group| format!("{group} at {}", come_to.load(Ordering::SeqCst)))
    });
    assert_eq!(values(out), ["(0, 10): element@0 at 40", "(40, 50): element@40 at 60"]);
    assert_eq!(fired.take(), [at(50)]);
}

/// How far back a timer's output timestamp, and its output, may lie: from the element's time in `process`, from the
/// timer's output timestamp in `on_timer`.
pub fn timestamp_skew_in_timers(r: &dyn Runner) {
    #[derive(Clone)]
    struct Back {
        skew: Duration,
        output: Duration,
        emit: Duration,
    }
    impl KeyedDoFn for Back {
        type Key = String;
        type Value = i64;
        type Output = String;
        type State = Cells;
        fn process(
            &mut self,
            _: &String,
            _: i64,
            s: &mut Cells,
            cx: &ProcessContext<'_>,
            _: &mut Emitter<'_, String>,
        ) -> Result {
            s.a.with_output_timestamp(cx.timestamp() - self.output).set(cx, at(20))
        }
        fn on_timer(
            &mut self,
            timer: CellsTimer,
            _: &String,
            s: &mut Cells,
            cx: &TimerContext<'_>,
            out: &mut Emitter<'_, String>,
        ) -> Result {
            if timer == CellsTimer::A {
                return s.b.with_output_timestamp(cx.timestamp() - self.output).set(cx, at(25));
            }
            out.emit_at("emitted".to_owned(), cx.timestamp() - self.emit);
            Ok(())
        }
        fn allowed_timestamp_skew(&self) -> Duration {
            self.skew
        }
    }
    let back = |skew, output, emit| Back { skew: ms(skew), output: ms(output), emit: ms(emit) };
    let values = [(k(1), at(10))];
    let out = collect(r, |p| {
        let out = p.create_timestamped("Values", values.clone()).par_do_keyed("Back", back(10, 10, 10));
        out.map_cx("Time", |_, cx| Ok(cx.timestamp().as_millis()))
    });
    assert_eq!(out, [9_970]);
    for (dofn, words) in [
        (back(10, 11, 0), "timer `a` of `Back` cannot be set"),
        (back(10, 0, 11), "cannot output with timestamp"),
        (back(0, 1, 0), "allowed skew of 0s"),
    ] {
        let error = run_to_failure(r, |p| {
            p.create_timestamped("Values", values.clone()).par_do_keyed("Back", dofn);
        });
        assert_says(&error.to_string(), &["`Back`", words]);
    }
}

/// A processing-time timer fires when the clock has come to its time.
pub fn processing_time_timers(r: &dyn Runner) {
    let probe = Probe::new(|_, _, s, cx, out| {
        out.emit("element".to_owned());
        s.p.set_after(cx, secs(1))
    });
    let stream = stream()
        .element_at(k(1), at(3))
        .advance_processing_time(ms(999))
        .element_at(("other".to_owned(), 2), at(4))
        .advance_processing_time(ms(1))
        .advance_watermark_to(at(10));
    let out = outputs(r, &stream, |pc| {
        pc.par_do_keyed(
            "Probe",
            probe.when_due(|timer, key, _, cx, out| {
                out.emit(format!("{timer:?} of {key} at {}", cx.now().as_millis()));
                Ok(())
            }),
        )
    });
    // At the end of the input the other one is fired at once, at its own time.
    let expected = [("element", 3), ("element", 4), ("P of k at 1000", 3), ("P of other at 1999", 4)];
    let found: Vec<_> = out.iter().map(|(x, t)| (x.as_str(), t.as_millis() / 1000)).collect();
    assert_eq!(found, expected);
}

/// Timers that are due fire in the order of their times, and one that a callback sets takes its turn.
pub fn timers_fire_in_the_order_of_their_times(r: &dyn Runner) {
    let probe = || {
        Probe::new(|_, _, s, cx, _| {
            for i in (1..=9).rev() {
                s.tags.tag(&i.to_string()).set(cx, at(i))?;
            }
            // At one time: in the order in which they are set.
            s.b.set(cx, at(5))?;
            s.a.set(cx, at(5))
        })
        .when_due(|timer, key, s, cx, out| {
            if timer == CellsTimer::A {
                s.c.set(cx, at_ms(6_500))?;
            }
            tell_time(timer, key, s, cx, out)
        })
    };
    let tag = |i: i64| format!("Tags(\"{i}\") {i}");
    let mut expected: Vec<String> = (1..=9).map(tag).collect();
    expected.splice(5..5, ["B 5".to_owned(), "A 5".to_owned()]);
    expected.insert(8, "C 6.5".to_owned());
    let once = stream().element_at(k(1), at(0)).advance_watermark_to(at(20));
    assert_eq!(values(outputs(r, &once, |pc| pc.par_do_keyed("Probe", probe()))), expected);
    let twice = stream().element_at(k(1), at(0)).advance_watermark_to(at(6)).advance_watermark_to(at(20));
    assert_eq!(values(outputs(r, &twice, |pc| pc.par_do_keyed("Probe", probe()))), expected);
    let bounded = Log::default();
    run(r, |p| {
        let out = p.create_timestamped("Values", [(k(1), at(0))]).par_do_keyed("Probe", probe());
        bounded.note("Collect", &out);
    });
    assert_eq!(bounded.take(), expected);
}

/// Two timers that set each other take turns, over a hundred steps.
pub fn two_timers_that_set_each_other(r: &dyn Runner) {
    let probe = || {
        Probe::new(|_, _, s, cx, _| {
            s.a.set(cx, at(1))?;
            s.b.set(cx, at(2))
        })
        .when_due(|timer, key, s, cx, out| {
            let (time, next) = (cx.fire_timestamp(), cx.fire_timestamp() + secs(2));
            if time < at(100) {
                if timer == CellsTimer::A {
                    s.a.set(cx, next)?;
                } else {
                    s.b.set(cx, next)?;
                }
                // The other one is set again to what it is set to.
                if timer == CellsTimer::A {
                    s.b.set(cx, time + secs(1))?;
                } else {
                    s.a.set(cx, time + secs(1))?;
                }
            }
            tell_time(timer, key, s, cx, out)
        })
    };
    let expected: Vec<String> =
        (1..=101).map(|i| format!("{} {i}", if i % 2 == 1 { "A" } else { "B" })).collect();
    let jump = stream().element_at(k(1), at(0)).advance_watermark_to(at(200));
    assert_eq!(values(outputs(r, &jump, |pc| pc.par_do_keyed("Probe", probe()))), expected);
    let steps = (1..=110).fold(stream().element_at(k(1), at(0)), |s, i| s.advance_watermark_to(at(i)));
    assert_eq!(values(outputs(r, &steps, |pc| pc.par_do_keyed("Probe", probe()))), expected);
    let bounded = Log::default();
    run(r, |p| {
        let out = p.create_timestamped("Values", [(k(1), at(0))]).par_do_keyed("Probe", probe());
        bounded.note("Collect", &out);
    });
    assert_eq!(bounded.take(), expected);
}

/// A timer that is set to now comes back each time that the watermark has moved.
pub fn a_timer_that_is_set_to_now_follows_the_watermark(r: &dyn Runner) {
    let probe = Probe::new(|_, _, s, cx, _| s.a.with_output_timestamp(at(1)).set_after(cx, Duration::ZERO));
    let probe = probe.when_due(|timer, key, s, cx, out| {
        if cx.current_watermark() < Some(at(10)) {
            s.a.with_output_timestamp(cx.timestamp()).set_after(cx, Duration::ZERO)?;
        }
        tell_watermark(timer, key, s, cx, out)
    });
    let start = stream().advance_watermark_to(at(1)).element_at(k(1), at(1));
    let stream = [2, 5, 5, 10, 20].into_iter().fold(start, |s, t| s.advance_watermark_to(at(t)));
    let out = outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe));
    assert_eq!(out, ["A at 2", "A at 5", "A at 10"].map(|x| (x.to_owned(), at(1))));
}

/// A timer that is cleared does not fire: one that was set, one that was not, one that is due in the same bundle; and
/// one that is set after that fires once.
pub fn cleared_timers(r: &dyn Runner) {
    let probe = Probe::new(|_, what, s, cx, _| {
        match what {
            0 => {
                s.a.set(cx, at(5))?;
                s.p.set_after(cx, secs(5))?;
            }
            1 => {
                s.a.clear();
                s.p.clear();
                s.tags.clear("never set");
                assert!(!s.a.is_set() && !s.p.is_set() && !s.tags.is_set("never set"));
            }
            // Set and cleared in one call, and one that clears another which is due.
            _ => {
                s.c.set(cx, at(3))?;
                s.c.clear();
                s.q.set_after(cx, secs(1))?;
                s.q.clear();
                s.a.set(cx, at(5))?;
                s.b.set(cx, at(6))?;
                s.p.set_after(cx, secs(5))?;
                s.ptags.tag("x").set_after(cx, secs(6))?;
            }
        }
        Ok(())
    });
    let probe = probe.when_due(|timer, key, s, cx, out| {
        match timer {
            CellsTimer::A => {
                assert!(!s.a.is_set(), "a timer that fires is no longer set");
                s.b.clear();
            }
            CellsTimer::P => s.ptags.clear("x"),
            _ => {}
        }
        tell_time(timer, key, s, cx, out)
    });
    let go_on = |s: Keyed| s.advance_watermark_to(at(10)).advance_processing_time(secs(10));
    for (whats, expected) in [
        (vec![0, 1], vec![]),
        (vec![1], vec![]),
        (vec![2], vec!["A 5", "P 5"]),
        (vec![0, 1, 0], vec!["A 5", "P 5"]),
    ] {
        let set = whats.iter().fold(stream(), |s, what| s.element_at(k(*what), at(0)));
        let out = outputs(r, &go_on(set), |pc| pc.par_do_keyed("Probe", probe.clone()));
        assert_eq!(values(out), expected, "{whats:?}");
    }
}

/// Timers of a family are told apart by their tags, which the callback gets; the same tag in two families, and a tag
/// that is called like a timer, are different timers.
pub fn timer_families(r: &dyn Runner) {
    let probe = Probe::new(|_, _, s, cx, _| {
        s.tags.tag("one").set(cx, at(1))?;
        s.tags.tag("two").set(cx, at(2))?;
        s.more.tag("one").set(cx, at(3))?;
        s.tags.tag("a").set(cx, at(4))?;
        s.a.set(cx, at(5))?;
        s.tags.tag("").set(cx, at(6))?;
        s.ptags.tag("one").set_after(cx, secs(1))?;
        s.ptags.tag("two").set_after(cx, secs(2))?;
        // Moved, and taken back.
        s.tags.tag("two").set(cx, at(7))?;
        s.more.tag("gone").set(cx, at(2))?;
        s.more.clear("gone");
        assert_eq!(s.tags.tags().collect::<Vec<_>>(), ["", "a", "one", "two"]);
        Ok(())
    });
    let stream =
        stream().element_at(k(1), at(0)).advance_watermark_to(at(10)).advance_processing_time(secs(2));
    let out = outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe.when_due(tell_time)));
    let expected = [
        "Tags(\"one\") 1",
        "More(\"one\") 3",
        "Tags(\"a\") 4",
        "A 5",
        "Tags(\"\") 6",
        "Tags(\"two\") 7",
        "Ptags(\"one\") 1",
        "Ptags(\"two\") 2",
    ];
    assert_eq!(values(out), expected);
}

/// The callback gets the key, the pipeline's options, and the same windows as the element.
pub fn key_and_options_in_timers(r: &dyn Runner) {
    #[derive(Clone)]
    struct Keys<K>(std::marker::PhantomData<fn() -> K>);
    impl<K: purlin_sdk::Key + std::fmt::Debug> KeyedDoFn for Keys<K> {
        type Key = K;
        type Value = i64;
        type Output = String;
        type State = Cells;
        fn process(
            &mut self,
            _: &K,
            _: i64,
            s: &mut Cells,
            cx: &ProcessContext<'_>,
            _: &mut Emitter<'_, String>,
        ) -> Result {
            s.a.set(cx, at(5))
        }
        fn on_timer(
            &mut self,
            _: CellsTimer,
            key: &K,
            _: &mut Cells,
            cx: &TimerContext<'_>,
            out: &mut Emitter<'_, String>,
        ) -> Result {
            out.emit(format!("{key:?} {}", cx.options::<String>()?));
            Ok(())
        }
    }
    fn fired<K: purlin_sdk::Key + std::fmt::Debug>(r: &dyn Runner, keys: Vec<K>) -> Vec<String> {
        let log = Log::default();
        let p = purlin_sdk::Pipeline::with_options("option".to_owned());
        let keyed = p.create("Values", keys.into_iter().map(|key| (key, 1_i64)));
        log.note("Collect", &keyed.par_do_keyed("Keys", Keys(std::marker::PhantomData)));
        let outcome = p.run_on(r).and_then(|handle| handle.wait());
        assert!(outcome.is_ok(), "{outcome:?}");
        log.take_sorted()
    }
    assert_eq!(fired(r, vec!["a".to_owned(), "b".to_owned()]), ["\"a\" option", "\"b\" option"]);
    assert_eq!(fired(r, vec![(1, Some(2)), (1, None)]), ["(1, None) option", "(1, Some(2)) option"]);
}

/// A DoFn that sets a timer and has nothing to do when it fires is told so.
pub fn a_timer_without_a_callback_is_an_error(r: &dyn Runner) {
    #[derive(Clone)]
    struct Forgetful;
    impl KeyedDoFn for Forgetful {
        type Key = String;
        type Value = i64;
        type Output = ();
        type State = Cells;
        fn process(
            &mut self,
            _: &String,
            _: i64,
            s: &mut Cells,
            cx: &ProcessContext<'_>,
            _: &mut Emitter<'_, ()>,
        ) -> Result {
            s.tags.tag("x").set(cx, at(5))
        }
    }
    let error = run_to_failure(r, |p| {
        p.create("Values", [k(1)]).par_do_keyed("Forgetful", Forgetful);
    });
    assert_says(&error.to_string(), &["`Forgetful`", "timer", "Tags(\"x\")", "has no `on_timer`"]);
}

/// Put back into the global window, timers may be anywhere in it.
pub fn timers_in_the_global_window_behind_others(r: &dyn Runner) {
    let out = collect(r, |p| {
        p.create_timestamped("Values", [(k(1), at(5))])
            .window_into("Ten", FixedWindows::of(secs(10)))
            .window_into("All", GlobalWindows)
            .par_do_keyed("Probe", alarm(secs(1000)).when_due(tell_time))
    });
    assert_eq!(out, ["A 1005"]);
}
