//! What timers hold, and the timestamps of what they emit.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, PCollection, ProcessContext, Result, Runner, TimerContext, Timestamp,
    metrics::DROPPED_DUE_TO_LATENESS,
    state::TimeDomain,
    window::{FixedWindows, PaneTiming, Window},
};

use super::{
    super::{
        probe::{Cells, CellsTimer, Probe, k, outputs, values},
        support::{Log, assert_says, at, collect, ms, run, run_to_failure, secs, span},
    },
    stream, tell_watermark,
};

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
