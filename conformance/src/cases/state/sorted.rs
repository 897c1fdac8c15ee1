//! Elements in the order of their times.

use purlin_sdk::{
    KeyedParDo, PCollection, ParDoOutputs, Runner, Tag, Timestamp, WindowInto,
    metrics::{DROPPED_DUE_TO_LATENESS, LATE_DATA_OUTPUT},
    window::FixedWindows,
};

use super::{
    super::{
        probe::{Probe, k, outputs, values},
        support::{Log, at, run, secs, span},
    },
    stream,
};

/// Emits elements in the order in which they come.
fn in_order() -> Probe {
    Probe::new(|_, i, s, cx, out| {
        assert!(s.n.read().is_none_or(|last| *last <= cx.timestamp().as_millis()), "out of order");
        s.n.write(cx.timestamp().as_millis());
        out.emit(i.to_string());
        Ok(())
    })
}

fn sorted(pc: &PCollection<(String, i64)>, name: &str) -> PCollection<String> {
    pc.par_do_keyed_with(name, KeyedParDo::of(in_order()).time_sorted()).main()
}

/// A thousand elements in reverse reach the DoFn in the order of time: bounded, and in a stream.
pub fn time_sorted_input(r: &dyn Runner) {
    let expected: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    let bounded = Log::default();
    run(r, |p| {
        let values = p.create_timestamped("Values", (0..1000).rev().map(|i| (k(i), at(i))));
        bounded.note("Collect", &sorted(&values, "Sorted"));
    });
    assert_eq!(bounded.take(), expected);
    let stream = (0..10).rev().fold(stream(), |s, block| {
        s.elements((0..100).rev().map(move |i| (k(block * 100 + i), at(block * 100 + i))))
    });
    let stream = stream.advance_watermark_to(at(500)).advance_watermark_to(at(700));
    assert_eq!(values(outputs(r, &stream, |pc| sorted(&pc, "Sorted"))), expected);
}

/// What comes when its turn is over is dropped and counted; the rest is in order, also through a second one.
pub fn time_sorted_input_with_late_data(r: &dyn Runner) {
    let start = stream().elements((900..1000).rev().map(|i| (k(i), at(i)))).advance_watermark_to(at(100));
    let stream = start.elements((0..900).rev().map(|i| (k(i), at(i))));
    let log = Log::default();
    let outcome = run(r, |p| {
        let first = sorted(&p.apply("Stream", stream.clone()), "First");
        let again = first.map("Again", |x| k(x.parse().unwrap_or(-1)));
        log.note("Collect", &sorted(&again, "Second"));
    });
    assert_eq!(log.take(), (100..1000).map(|i| i.to_string()).collect::<Vec<_>>());
    let dropped = |step| outcome.metrics.committed.counter(step, DROPPED_DUE_TO_LATENESS);
    assert_eq!((dropped("First"), dropped("Second")), (100, 0));
}

/// With lateness allowed, elements wait for as long, and nothing is lost.
pub fn time_sorted_input_with_allowed_lateness(r: &dyn Runner) {
    let start = stream().elements((900..1000).rev().map(|i| (k(i), at(i)))).advance_watermark_to(at(100));
    let stream = start.elements((0..900).rev().map(|i| (k(i), at(i))));
    let log = Log::default();
    run(r, |p| {
        let late = WindowInto::same().allowed_lateness(secs(5000));
        let values = p.apply("Stream", stream.clone()).window_into("Late", late);
        log.note("Collect", &sorted(&values, "Sorted"));
    });
    assert_eq!(log.take(), (0..1000).map(|i| i.to_string()).collect::<Vec<_>>());
}

/// Late by less than is allowed is delivered; by more it is dropped and counted, or had.
pub fn b088_sorted_input_that_is_late_but_allowed(r: &dyn Runner) {
    const LATE: Tag<(String, i64)> = Tag::new("late");
    let stream = stream().advance_watermark_to(at(20)).element_at(k(15), at(15)).element_at(k(5), at(5));
    let stream = stream.advance_watermark_to(at(25)).advance_watermark_to(at(26)).element_at(k(30), at(30));
    for has_output in [false, true] {
        let (log, late) = (Log::default(), Log::default());
        let outcome = run(r, |p| {
            let windows = WindowInto::same().allowed_lateness(secs(10));
            let values = p.apply("Stream", stream.clone()).window_into("Late", windows);
            let probe = Probe::new(|_, i, _, cx, out| {
                let watermark = cx.current_watermark().unwrap_or(Timestamp::MIN);
                let when = if watermark == Timestamp::MAX { -1 } else { watermark.as_millis() / 1000 };
                out.emit(format!("{i} at {when}"));
                Ok(())
            });
            let par_do = KeyedParDo::of(probe).time_sorted();
            let par_do = if has_output { par_do.late_data(LATE) } else { par_do };
            let parts: ParDoOutputs<String> = values.par_do_keyed_with("Sorted", par_do);
            log.note("Collect", &parts.main());
            if has_output {
                late.note("CollectLate", &parts.tagged(LATE));
            }
        });
        assert_eq!(log.take(), ["15 at 26", "30 at -1"]);
        assert_eq!(late.take(), if has_output { vec![k(5)] } else { vec![] });
        let dropped = outcome.metrics.committed.counter("Sorted", DROPPED_DUE_TO_LATENESS);
        assert_eq!(dropped, i64::from(!has_output));
        let rescued = outcome.metrics.committed.counter("Sorted", LATE_DATA_OUTPUT);
        assert_eq!(rescued, i64::from(has_output));
    }
}

/// Timers come between the elements that they are between in time, and waiting elements hold the watermark.
pub fn time_sorted_input_with_timers(r: &dyn Runner) {
    let probe = Probe::new(|_, i, s, cx, out| {
        out.emit(format!("{i}"));
        if i == 1 { s.a.set(cx, at(5)) } else { Ok(()) }
    });
    let stream = stream().elements([9, 5, 1, 4].map(|t| (k(t), at(t)))).advance_watermark_to(at(20));
    let (log, counted) = (Log::default(), Log::default());
    run(r, |p| {
        let values = p.apply("Stream", stream.clone());
        let out = values.par_do_keyed_with("Sorted", KeyedParDo::of(probe).time_sorted()).main();
        log.note("Collect", &out);
        let fives = out.window_into("Fives", FixedWindows::of(secs(5))).map("One", |_| ((), 1_i64));
        let grouped = fives.group_by_key("Group");
        counted.note("Count", &grouped.map_cx("Size", |(_, v), cx| Ok((span(&cx.window()).0, v.len()))));
    });
    assert_eq!(log.take(), ["1", "4", "5", "A", "9"]);
    assert_eq!(counted.take_sorted(), [(0, 2), (5, 3)]);
}

/// So it is with lateness allowed: a timer waits as long as an element of its time would.
pub fn timers_between_sorted_elements_with_lateness(r: &dyn Runner) {
    // A session of its own: it ends three seconds after its last element.
    let probe = Probe::new(|_, i, s, cx, out| {
        out.emit(format!("{i}"));
        s.a.set(cx, (cx.timestamp() + secs(3)).min(cx.window().max_timestamp()))
    });
    for lateness in [0, 4, 200] {
        let windows = || WindowInto::of(FixedWindows::of(secs(100))).allowed_lateness(secs(lateness));
        let log = Log::default();
        run(r, |p| {
            let elements = [21, 4, 2, 99, 0, 20, 150].map(|t| (k(t), at(t)));
            let values = p.create_timestamped("Values", elements).window_into("Hundred", windows());
            let sorted = values.par_do_keyed_with("Sorted", KeyedParDo::of(probe.clone()).time_sorted());
            log.note("Collect", &sorted.main());
        });
        let mut seen = log.take();
        // Windows end in any order when the input ends.
        let second = seen.iter().position(|x| x == "150").expect("it is there");
        assert_eq!(seen.drain(second..second + 2).collect::<Vec<_>>(), ["150", "A"]);
        assert_eq!(seen, ["0", "2", "4", "A", "20", "21", "A", "99", "A"], "lateness {lateness}");
    }
    // What is late and allowed still comes before the timers of later times, and what they emit is not late.
    let stream = stream().elements([0, 2, 20].map(|t| (k(t), at(t)))).advance_watermark_to(at(8));
    let stream = stream.elements([5, 4].map(|t| (k(t), at(t)))).advance_watermark_to(at(13));
    let (log, late) = (Log::default(), Log::default());
    let outcome = run(r, |p| {
        let windows = WindowInto::of(FixedWindows::of(secs(100))).allowed_lateness(secs(4));
        let values = p.apply("Stream", stream.clone()).window_into("Hundred", windows);
        let out = values.par_do_keyed_with("Sorted", KeyedParDo::of(probe.clone()).time_sorted()).main();
        log.note("Collect", &out);
        let fives = out.window_into("Fives", FixedWindows::of(secs(5)));
        let grouped = fives.map("One", |_| ((), 1_i64)).group_by_key("Group");
        late.note("Count", &grouped.map_cx("Size", |(_, v), cx| Ok((span(&cx.window()).0, v.len()))));
    });
    assert_eq!(log.take(), ["0", "2", "4", "5", "A", "20", "A"]);
    // The four came late; what timers emitted did not.
    assert_eq!(late.take_sorted(), [(0, 1), (0, 2), (5, 2), (20, 2)]);
    assert_eq!(outcome.metrics.committed.counter("Group", DROPPED_DUE_TO_LATENESS), 0);
}
