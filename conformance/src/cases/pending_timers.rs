//! Processing-time timers that are pending when the input is over: Go's `TestTimersProcessingTimeBounded`.

use purlin_sdk::{Runner, WindowInto, testing::TestStream, window::FixedWindows};

use super::{
    probe::{Keyed, Probe, k, outputs, values},
    support::{assert_says, at, collect, run_to_failure, secs, span},
};

fn stream() -> Keyed {
    TestStream::new()
}

/// Sets itself again after `period`, `times` times in all, and tells when it fires.
fn periodic(period: i64, times: i64) -> Probe {
    Probe::new(move |_, _, s, cx, _| s.p.set_after(cx, secs(period))).when_due(move |_, key, s, cx, out| {
        let n = s.count();
        assert_eq!(cx.now(), cx.fire_timestamp(), "`now` is the timer's own time");
        out.emit(format!("{key}{n}"));
        if n < times { s.p.set_after(cx, secs(period)) } else { Ok(()) }
    })
}

/// A timer that sets itself fires as often as it does so, in a bounded input and behind a stream.
pub fn a_timer_that_sets_itself_goes_on_after_the_end(r: &dyn Runner) {
    let expected: Vec<String> =
        ["a", "b", "c"].iter().flat_map(|key| (1..=4).map(move |n| format!("{key}{n}"))).collect();
    let out = collect(r, |p| {
        let keys = ["a", "b", "c"].map(|key| (key.to_owned(), 1_i64));
        p.create("Values", keys).par_do_keyed("Probe", periodic(3600, 4))
    });
    assert_eq!(out, expected);
    let stream =
        stream().element_at(k(1), at(0)).advance_processing_time(secs(10)).advance_watermark_to(at(1));
    let out = values(outputs(r, &stream, |pc| pc.par_do_keyed("Probe", periodic(10, 4))));
    assert_eq!(out, ["k1", "k2", "k3", "k4"]);
}

/// Several timers fire in the order of their times, also those that callbacks set, with `now` as their own time.
pub fn pending_timers_fire_in_order(r: &dyn Runner) {
    let probe = Probe::new(|_, _, s, cx, _| {
        s.q.set_after(cx, secs(25))?;
        s.ptags.tag("x").set_after(cx, secs(12))?;
        s.p.set_after(cx, secs(10))
    });
    let probe = probe.when_due(|timer, _, s, cx, out| {
        out.emit(format!("{timer:?} {}", cx.now().as_millis() / 1000));
        match format!("{timer:?}").as_str() {
            // Its event-time timer is due at once, since all time is over; so is one in the past.
            "P" if s.count() < 3 => {
                s.a.set(cx, at(1_000_000))?;
                s.p.set_after(cx, secs(10))
            }
            "Ptags(\"x\")" => s.ptags.tag("y").set(cx, at(3)),
            _ => Ok(()),
        }
    });
    let stream = stream().element_at(k(1), at(0)).advance_processing_time(secs(5));
    let out = values(outputs(r, &stream, |pc| pc.par_do_keyed("Probe", probe)));
    assert_eq!(out, ["P 10", "A 10", "Ptags(\"x\") 12", "Ptags(\"y\") 12", "P 20", "A 20", "Q 25", "P 30"]);
}

/// A queue that gives one element a tick gives all of them, however many there are when the input is over: those that were
/// set before, and those that set each other.
pub fn pending_timers_all_fire(r: &dyn Runner) {
    let many = collect(r, |p| {
        let probe = Probe::new(|_, _, s, cx, _| {
            (0..1500).try_for_each(|i| s.ptags.tag(&i.to_string()).set_after(cx, secs(i)))
        });
        p.create("Values", [k(1)]).par_do_keyed("Probe", probe)
    });
    assert_eq!(many.len(), 1500);
    let queued = collect(r, |p| {
        let queue = Probe::new(|_, i, s, cx, _| {
            s.n.write(s.n.read().copied().unwrap_or(0) + i);
            if s.p.is_set() { Ok(()) } else { s.p.set_after(cx, secs(1)) }
        });
        let queue = queue.when_due(|_, _, s, cx, out| {
            let left = s.n.read().copied().unwrap_or(0) - 1;
            s.n.write(left);
            out.emit(left.to_string());
            if left > 0 { s.p.set_after(cx, secs(1)) } else { Ok(()) }
        });
        p.create("Values", (0..30).map(|_| k(100))).par_do_keyed("Queue", queue)
    });
    assert_eq!(queued.len(), 3000);
}

/// Where they set each other without an end that is an error, also in a window that is gone. Takes long: a million firings.
pub fn b073_pending_timers_without_an_end_are_an_error(r: &dyn Runner) {
    let again = Probe::new(|_, _, s, cx, _| s.p.set_after(cx, secs(1)))
        .when_due(|_, _, s, cx, _| s.p.set_after(cx, secs(1)));
    let error = run_to_failure(r, |p| {
        p.create("Values", [k(1)]).par_do_keyed("Probe", again);
    });
    assert_says(&error.to_string(), &["`Probe`", "timer", "1000000 times when the input was over", "`P`"]);
    let chain = Probe::new(|_, _, s, cx, _| s.ptags.tag("0").set_after(cx, secs(1)));
    let chain = chain.when_due(|_, _, s, cx, _| {
        let n = s.count();
        s.ptags.tag(&n.to_string()).set_after(cx, secs(1))
    });
    let error = run_to_failure(r, |p| {
        p.create_timestamped("Values", [0, 5, 15].map(|t| (k(t), at(t)))).par_do_keyed("Chain", chain);
    });
    assert_says(&error.to_string(), &["`Chain`", "1000000 times", "global window"]);
}

/// In a window that ends before the input may end a timer that sets itself fires once more, at its own time, whether
/// the window ends while time goes on or with the input, which is a matter of how bundles fall.
pub fn the_last_timers_of_a_window(r: &dyn Runner) {
    let stream = stream().element_at(k(1), at(1)).advance_watermark_to(at(11)).element_at(k(1), at(12));
    let out = outputs(r, &stream, |pc| {
        pc.window_into("Ten", FixedWindows::of(secs(10))).par_do_keyed("Once", periodic(1, i64::MAX))
    });
    assert_eq!(values(out), ["k1", "k1"]);
    // Windows that end before, with, and after the elements of others, at many places in many bundles.
    for lateness in [secs(0), secs(25)] {
        let fired = collect(r, |p| {
            let elements = (0..60_i64).map(|t| ((format!("{}", t % 2), t), at(t)));
            p.create_timestamped("Values", elements)
                .window_into("Ten", WindowInto::of(FixedWindows::of(secs(10))).allowed_lateness(lateness))
                .par_do_keyed("Once", periodic(1, i64::MAX))
                .map_cx("Window", |fired, cx| Ok((span(&cx.window()), fired)))
        });
        let expected =
            (0..6).flat_map(|n| ["01", "11"].map(|first| ((10 * n, 10 * n + 10), first.to_owned())));
        assert_eq!(fired, expected.collect::<Vec<_>>(), "lateness {lateness}");
    }
}

/// Work that takes long in callbacks: each fires once, whatever is split or stolen meanwhile.
pub fn b031_every_callback_of_a_bundle_is_called(r: &dyn Runner) {
    let out = collect(r, |p| {
        let probe = Probe::new(|_, _, s, cx, _| s.a.set(cx, cx.window().max_timestamp()));
        let probe = probe.when_due(|_, key, _, _, out| {
            // Others have time to split what is under way.
            (0..100).for_each(|_| std::thread::yield_now());
            out.emit(key.to_owned());
            Ok(())
        });
        let keys = ["a", "b", "c"].map(|key| ((key.to_owned(), 1_i64), at(1)));
        p.create_timestamped("Values", keys)
            .window_into("Ten", FixedWindows::of(secs(10)))
            .par_do_keyed("Probe", probe)
    });
    assert_eq!(out, ["a", "b", "c"]);
}
