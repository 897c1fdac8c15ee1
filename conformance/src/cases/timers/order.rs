//! Timers in both kinds of time, in their order, in families.

use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, ProcessContext, Result, Runner, TimerContext,
    window::{FixedWindows, GlobalWindows},
};

use super::{
    super::{
        probe::{Cells, CellsTimer, Keyed, Probe, k, outputs, values},
        support::{Log, assert_says, at, at_ms, collect, ms, run, run_to_failure, secs},
    },
    alarm, stream, tell_time, tell_watermark,
};

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
