//! What happens when a window with state expires. Beam's `OnWindowExpirationTests`.

use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, PCollection, ProcessContext, Result, Runner, TimerContext, Timestamp,
    WindowInto,
    metrics::DROPPED_DUE_TO_LATENESS,
    testing::TestStream,
    window::{FixedWindows, PaneTiming, Window},
};

use super::{
    probe::{Cells, Expiring, Keyed, Probe, k, outputs, values},
    support::{Log, assert_says, at, at_ms, collect, run, run_to_failure, secs, span},
};

fn stream() -> Keyed {
    TestStream::new()
}

/// Counts elements, has a timer at the end of the window, and tells what it knows when that expires.
fn told() -> Expiring {
    let probe = Probe::new(|_, _, s, cx, out| {
        out.emit(format!("element {}", s.count()));
        s.a.set(cx, cx.window().max_timestamp())
    });
    let probe = probe.when_due(|_, _, s, _, out| {
        out.emit(format!("timer {:?}", s.n));
        Ok(())
    });
    probe.when_expired(|key, s, cx, out| {
        assert_eq!(cx.timestamp(), cx.window().max_timestamp());
        out.emit(format!("expired {key} {:?} {}", s.n, s.a.is_set()));
        Ok(())
    })
}

/// Once for each key and window, after all timers, with key and state; what is emitted is in the window, at its end.
pub fn once_for_each_key_and_window(r: &dyn Runner) {
    let build = |pc: PCollection<(String, i64)>| {
        pc.window_into("Ten", FixedWindows::of(secs(10)))
            .par_do_keyed("Told", told())
            .map_cx("Window", |x, cx| Ok((span(&cx.window()), cx.timestamp(), x)))
    };
    let mut expected = vec![
        ((0, 10), at(1), "element 1"),
        ((0, 10), at(1), "element 1"),
        ((0, 10), at(2), "element 2"),
        ((0, 10), at_ms(9_999), "expired k Some(2) false"),
        ((0, 10), at_ms(9_999), "expired other Some(1) false"),
        ((0, 10), at_ms(9_999), "timer Some(1)"),
        ((0, 10), at_ms(9_999), "timer Some(2)"),
        ((10, 20), at(11), "element 1"),
        ((10, 20), at_ms(19_999), "expired k Some(1) false"),
        ((10, 20), at_ms(19_999), "timer Some(1)"),
    ];
    expected.sort();
    let expected: Vec<_> = expected.into_iter().map(|(w, t, x)| (w, t, x.to_owned())).collect();
    let elements = || [(k(1), at(1)), (k(1), at(2)), (("other".to_owned(), 1), at(1)), (k(1), at(11))];
    // In a bounded run the order of a key's elements is open, so both are at one time there.
    let bounded = collect(r, |p| {
        let values = elements().into_iter().map(|(x, t)| (x, if t == at(2) { at(1) } else { t }));
        build(p.create_timestamped("Values", values))
    });
    let mut once: Vec<_> = expected.clone();
    once.iter_mut().filter(|(_, t, _)| *t == at(2)).for_each(|(_, t, _)| *t = at(1));
    once.sort();
    assert_eq!(bounded, once);
    let log = Log::default();
    run(r, |p| {
        let stream = elements().into_iter().fold(stream(), |s, (x, t)| s.element_at(x, t));
        let stream = stream.advance_watermark_to(at(10)).advance_watermark_to(at(30));
        log.note("Collect", &build(p.apply("Stream", stream)));
    });
    assert_eq!(log.take_sorted(), expected);
}

/// In the global window too: when the input is over.
pub fn at_the_end_of_the_global_window(r: &dyn Runner) {
    let element = stream().element_at(k(1), at(1)).advance_watermark_to(at(1_000_000));
    let out = outputs(r, &element, |pc| pc.par_do_keyed("Told", told()));
    let end = Timestamp::GLOBAL_WINDOW_MAX;
    let expected = [("element 1", at(1)), ("timer Some(1)", end), ("expired k Some(1) false", end)];
    assert_eq!(out, expected.map(|(x, t)| (x.to_owned(), t)));
}

/// Lateness of more than is left after the global window changes nothing.
pub fn b076_lateness_in_the_global_window(r: &dyn Runner) {
    let out = collect(r, |p| {
        let keys = ["a", "b", "c"].map(|key| (key.to_owned(), 1));
        p.create("Values", keys)
            .window_into("Late", WindowInto::same().allowed_lateness(Duration::from_days(2)))
            .par_do_keyed("Told", told())
    });
    let expired: Vec<_> = out.iter().filter(|x| x.starts_with("expired")).cloned().collect();
    assert_eq!(expired, ["a", "b", "c"].map(|key| format!("expired {key} Some(1) false")));
    assert_eq!(out.len(), 9);
}

/// With lateness, a window expires when that is over. Until then the watermark is held at the window's end, so what is
/// emitted then is on time.
pub fn expiration_holds_the_watermark(r: &dyn Runner) {
    let stream = stream().element_at(k(1), at(1)).advance_watermark_to(at(12)).element_at(k(2), at(2));
    let stream = stream.advance_watermark_to(at(14)).advance_watermark_to(at(15)).element_at(k(3), at(3));
    let probe = Probe::new(|_, _, s, _, _| {
        s.count();
        Ok(())
    });
    let expiring = probe.when_expired(|_, s, cx, out| {
        let watermark = cx.current_watermark().unwrap_or(Timestamp::MIN).as_millis() / 1000;
        out.emit(format!("{:?} at {watermark}", s.n));
        Ok(())
    });
    let log = Log::default();
    let outcome = run(r, |p| {
        let windows = WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(secs(5));
        let out = p
            .apply("Stream", stream.clone())
            .window_into("Ten", windows)
            .par_do_keyed("Expiring", expiring.clone())
            .window_into("Tens", WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(secs(0)))
            .map("One", |x| ((), x))
            .group_by_key("Group")
            .map_cx("On time", |(_, group), cx| {
                assert_eq!(cx.pane().timing, PaneTiming::OnTime);
                Ok(group.into_iter().next().unwrap_or_default())
            });
        log.note("Collect", &out);
    });
    assert_eq!(log.take(), ["Some(2) at 15"]);
    let dropped = |step| outcome.metrics.committed.counter(step, DROPPED_DUE_TO_LATENESS);
    assert_eq!((dropped("Expiring"), dropped("Group")), (1, 0));
}

/// What is left at the end happens in order: event-time timers, processing-time timers, each for the last time, and
/// what those set; then the expiration.
pub fn the_order_of_the_last_things(r: &dyn Runner) {
    let probe = Probe::new(|_, _, s, cx, _| {
        s.q.set_after(cx, secs(2000))?;
        s.p.set_after(cx, secs(1000))?;
        s.ptags.tag("x").set_after(cx, secs(3000))?;
        s.a.set(cx, cx.window().max_timestamp())
    });
    let probe = probe.when_due(|timer, _, s, cx, out| {
        out.emit(format!("{timer:?}"));
        match format!("{timer:?}").as_str() {
            // Sets itself, which is for nothing now, and others, which are not.
            "P" => {
                s.p.set_after(cx, secs(1000))?;
                s.ptags.clear("x");
                s.ptags.tag("y").set_after(cx, secs(1))?;
                s.b.set(cx, at(5))
            }
            "Q" => s.b.set_after(cx, secs(1)),
            _ => Ok(()),
        }
    });
    let expiring = probe.when_expired(|_, s, _, out| {
        assert!(s.p.is_set());
        out.emit("expired".to_owned());
        Ok(())
    });
    let log = Log::default();
    run(r, |p| {
        let out = p
            .apply("Stream", stream().element_at(k(1), at(1)).advance_watermark_to(at(10)))
            .window_into("Ten", FixedWindows::of(secs(10)))
            .par_do_keyed("Probe", expiring);
        log.note("Collect", &out);
    });
    assert_eq!(log.take(), ["A", "P", "B", "Ptags(\"y\")", "Q", "B", "expired"]);
}

/// A periodic timer in processing time ends with the input, if it is not set when there is nothing left to do.
pub fn a_periodic_flush_ends_with_the_input(r: &dyn Runner) {
    let probe = Probe::new(|_, i, s, cx, _| {
        s.bag.add(i);
        if s.p.is_set() { Ok(()) } else { s.p.set_after(cx, secs(10)) }
    });
    let flush = probe.when_due(|_, _, s, cx, out| {
        let batch = s.bag.take();
        let set = !batch.is_empty();
        out.emit(format!("{batch:?} at {}", cx.now().as_millis() / 1000));
        if set { s.p.set_after(cx, secs(10)) } else { Ok(()) }
    });
    let stream = stream()
        .element_at(k(1), at(1))
        .advance_processing_time(secs(10))
        .element_at(k(2), at(2))
        .element_at(k(3), at(3))
        .advance_processing_time(secs(15))
        .element_at(k(4), at(4));
    let out = values(outputs(r, &stream, |pc| pc.par_do_keyed("Flush", flush)));
    assert_eq!(out, ["[1] at 10", "[2, 3] at 25", "[4] at 35", "[] at 45"]);
}

/// What it may not do is told.
pub fn mistakes_in_on_window_expiration(r: &dyn Runner) {
    type Expire = fn(&str, &mut Cells, &TimerContext<'_>, &mut Emitter<'_, String>) -> Result;
    let mistakes: [(Expire, &[&str]); 3] = [
        (
            |_, s, cx, _| s.a.set(cx, at(20)),
            &["sets a timer in `on_window_expiration`", "[1970-01-01T00:00:00Z, 1970-01-01T00:00:10Z)"],
        ),
        (
            |_, _, cx, out| {
                out.emit_at("late".to_owned(), cx.timestamp() + Duration::from_millis(1));
                Ok(())
            },
            &["cannot output with timestamp 1970-01-01T00:00:10Z, after the end of"],
        ),
        (
            |_, _, cx, out| {
                out.emit_at("early".to_owned(), cx.timestamp() - secs(1));
                Ok(())
            },
            &["cannot output with timestamp", "allowed skew of 0s"],
        ),
    ];
    for (expire, words) in mistakes {
        let error = run_to_failure(r, |p| {
            let probe = Probe::new(|_, _, _, _, _| Ok(())).when_expired(expire);
            p.create_timestamped("Values", [(k(1), at(1))])
                .window_into("Ten", FixedWindows::of(secs(10)))
                .par_do_keyed("Probe", probe);
        });
        assert_says(&error.to_string(), &["`Probe`", "on_window_expiration"]);
        assert_says(&error.to_string(), words);
    }
}

/// Forgetting to say that there is one would let what it emits be late, so it is an error.
pub fn on_window_expiration_must_be_declared(r: &dyn Runner) {
    #[derive(Clone)]
    struct Undeclared;
    impl KeyedDoFn for Undeclared {
        type Key = String;
        type Value = i64;
        type Output = Window;
        type State = Cells;
        fn process(
            &mut self,
            _: &String,
            i: i64,
            s: &mut Cells,
            _: &ProcessContext<'_>,
            _: &mut Emitter<'_, Window>,
        ) -> Result {
            s.n.write(i);
            Ok(())
        }
        fn on_window_expiration(
            &mut self,
            _: &String,
            _: &mut Cells,
            cx: &TimerContext<'_>,
            out: &mut Emitter<'_, Window>,
        ) -> Result {
            out.emit(cx.window());
            Ok(())
        }
    }
    let error = run_to_failure(r, |p| {
        p.create("Values", [k(1)]).par_do_keyed("Undeclared", Undeclared);
    });
    assert_says(&error.to_string(), &["`Undeclared`", "const ON_WINDOW_EXPIRATION: bool = true"]);
}

/// How far back what is emitted may lie when a window expires: from the window's last timestamp, by the allowed skew.
pub fn timestamp_skew_at_expiration(r: &dyn Runner) {
    #[derive(Clone)]
    struct Back {
        by: Duration,
    }
    impl KeyedDoFn for Back {
        type Key = String;
        type Value = i64;
        type Output = String;
        type State = Cells;
        const ON_WINDOW_EXPIRATION: bool = true;
        fn process(
            &mut self,
            _: &String,
            _: i64,
            s: &mut Cells,
            cx: &ProcessContext<'_>,
            out: &mut Emitter<'_, String>,
        ) -> Result {
            s.n.write(1);
            out.emit_at("element".to_owned(), cx.timestamp() - secs(1));
            Ok(())
        }
        fn on_window_expiration(
            &mut self,
            _: &String,
            _: &mut Cells,
            cx: &TimerContext<'_>,
            out: &mut Emitter<'_, String>,
        ) -> Result {
            out.emit_at("expired".to_owned(), cx.timestamp() - self.by);
            Ok(())
        }
        fn allowed_timestamp_skew(&self) -> Duration {
            secs(2)
        }
    }
    let back = |by: Duration| {
        move |p: &purlin_sdk::Pipeline| {
            p.create_timestamped("Values", [(k(1), at(5))])
                .window_into("Ten", FixedWindows::of(secs(10)))
                .par_do_keyed("Back", Back { by })
                .map_cx("Time", |x, cx| Ok((x, cx.timestamp())))
        }
    };
    let expected = [("element", at(4)), ("expired", at_ms(7_999))].map(|(x, t)| (x.to_owned(), t));
    assert_eq!(collect(r, back(secs(2))), expected);
    let error = run_to_failure(r, |p| {
        back(secs(2) + Duration::from_millis(1))(p);
    });
    assert_says(
        &error.to_string(),
        &["`Back`", "on_window_expiration", "cannot output with timestamp", "skew of 2s"],
    );
}
