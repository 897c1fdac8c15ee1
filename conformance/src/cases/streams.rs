//! Scripted streams: what is in them arrives whole. Go's `TestTestStream...Sequence`, Beam's `TestStreamTest`.

use purlin_sdk::{
    Element, Runner, WindowInto,
    testing::TestStream,
    window::{GlobalWindows, Trigger},
};

use super::support::{Log, Sum, at, collect, run, secs};

/// The values, given one by one and all at once.
fn arrives<T: Element + PartialEq + std::fmt::Debug>(r: &dyn Runner, values: &[T]) {
    let one_by_one = values.iter().fold(TestStream::new(), |s, v| s.element(v.clone()));
    let together = TestStream::new().elements(values.iter().map(|v| (v.clone(), at(0))));
    for stream in [one_by_one, together] {
        let log = Log::default();
        run(r, |p| log.note("Collect", &p.apply("Stream", stream)));
        let seen = log.take();
        assert_eq!(seen.len(), values.len());
        assert!(values.iter().all(|v| seen.contains(v)), "{seen:?}");
    }
}

/// Values of all kinds arrive as they are and in number.
pub fn values_of_all_kinds(r: &dyn Runner) {
    arrives(r, &["a".to_owned(), "b".to_owned(), String::new()]);
    arrives(r, &[vec![1_u8, 2], vec![], vec![255]]);
    arrives(r, &[i64::MIN, -1, 0, i64::MAX]);
    arrives(r, &[(1_i64, -1_i64), (2, -2)]);
    arrives(r, &[0.0_f64, -1.5, f64::INFINITY, f64::MIN_POSITIVE]);
    arrives(r, &[true, false, true]);
    arrives(r, &[Some(()), None]);
}

/// In the global window, sums that are due by processing time: early ones, as Beam's `testProcessingTimeTrigger`.
pub fn processing_time_trigger(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let trigger = Trigger::after_watermark().early(Trigger::after_processing_time().delay(secs(10)));
        let stream = TestStream::new()
            .elements([(1_i64, at(0)), (2, at(0))])
            .advance_processing_time(secs(11))
            .element_at(3, at(0))
            .advance_processing_time(secs(12));
        let sums = p
            .apply("Stream", stream)
            .window_into("Window", WindowInto::of(GlobalWindows).trigger(trigger).accumulating())
            .key_by("Key", |_| ())
            .combine_per_key("Sum", Sum)
            .map_cx("Pane", |(_, n), cx| Ok((n, cx.pane().timing as u8)));
        log.note("Collect", &sums);
    });
    let sums: Vec<i64> = log.take().into_iter().map(|(n, _)| n).collect();
    assert_eq!(sums, [3, 6, 6]);
}

/// A buffer per key that is flushed when it is full, and by a timer at the end of its window, as Python's
/// `test_pardo_state_timers` and `test_windowed_pardo_state_timers`.
pub fn a_buffer_flushed_by_count_or_timer(r: &dyn Runner) {
    use super::probe::{Probe, k};
    use purlin_sdk::window::FixedWindows;
    for windowed in [false, true] {
        let sizes = collect(r, |p| {
            let probe = Probe::new(|_, i, s, cx, out| {
                s.bag.add(i);
                if s.bag.len() == 10 {
                    s.a.clear();
                    out.emit(s.bag.take().len().to_string());
                    return Ok(());
                }
                s.a.set(cx, cx.window().max_timestamp())
            });
            let probe = probe.when_due(|_, _, s, _, out| {
                out.emit(s.bag.take().len().to_string());
                Ok(())
            });
            let values = p.create_timestamped("Values", (0..47_i64).map(|i| (k(i), at(i))));
            let values =
                if windowed { values.window_into("Twenty", FixedWindows::of(secs(20))) } else { values };
            values.par_do_keyed("Buffer", probe)
        });
        let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
        // 20, 20 and 7 in windows.
        assert_eq!(sizes, ["10", "10", "10", "10", "7"], "windowed: {windowed}");
    }
}
