//! Bundle finalizers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use purlin_sdk::{DoFnError, Duration, Runner, Timestamp, testing::TestStream};

use crate::{Committed, runners::run};

/// A finalizer runs once for each bundle that was committed, after the commit, and never for one that failed. Needs a
/// runner with retries.
pub fn b173_finalizers_run_for_committed_bundles_only(runner: &dyn Runner) {
    let (tries, acks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (tried, acked) = (tries.clone(), acks.clone());
    let out = Committed::new();
    run(runner, |p| {
        let all = p.create("One", [1_i64]).map_cx("Ack", move |n, cx| {
            let ack = acked.clone();
            cx.finalize(move || {
                ack.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            match tried.fetch_add(1, Ordering::SeqCst) {
                0 => Err(DoFnError::msg("not now").retryable()),
                _ => Ok(n),
            }
        });
        out.collect("Collect", &all);
    })
    .expect("the run fails");
    assert_eq!((tries.load(Ordering::SeqCst), acks.load(Ordering::SeqCst)), (2, 1));
    assert_eq!(out.values(), [1]);
}

/// A finalizer that fails or panics loses no data, and keeps no other from being called.
pub fn b173_a_finalizer_that_fails_loses_no_data(runner: &dyn Runner) {
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let out = Committed::new();
    run(runner, |p| {
        let all = p.create("Numbers", 0..10).map_cx("Finalize", move |n: i64, cx| {
            cx.finalize(|| Err(DoFnError::msg("on purpose")));
            cx.finalize(|| panic!("on purpose"));
            let called = count.clone();
            cx.finalize(move || {
                called.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            Ok(n)
        });
        out.collect("Collect", &all.reshuffle("Reshuffle"));
    })
    .expect("the run fails");
    assert_eq!(out.sorted(), (0..10).collect::<Vec<_>>());
    assert_eq!(called.load(Ordering::SeqCst), 10);
}

/// A finalizer is called until its expiry and not after it, by the clock that DoFns see.
pub fn b173_a_finalizer_is_called_up_to_its_expiry(runner: &dyn Runner) {
    let (early, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (on_time, expired) = (early.clone(), late.clone());
    run(runner, |p| {
        p.apply("Stream", TestStream::new().advance_processing_time(Duration::from_secs(100)).element(1_i64))
            .map_cx("Finalize", move |n, cx| {
                assert_eq!(cx.now(), Timestamp::from_secs(100));
                for (by, count) in [(0, &on_time), (-1, &expired)] {
                    let count = count.clone();
                    cx.finalize_before(cx.now() + Duration::from_millis(by), move || {
                        count.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    });
                }
                Ok(n)
            });
    })
    .expect("the run fails");
    assert_eq!((early.load(Ordering::SeqCst), late.load(Ordering::SeqCst)), (1, 0));
}

/// Three thousand bundles, each with a finalizer.
pub fn finalizers_of_three_thousand_bundles(runner: &dyn Runner) {
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    run(runner, |p| {
        let stream = (0..3000_i64).fold(TestStream::new(), TestStream::element);
        p.apply("Stream", stream).map_cx("Finalize", move |n, cx| {
            let called = count.clone();
            cx.finalize(move || {
                called.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            Ok(n)
        });
    })
    .expect("the run fails");
    assert_eq!(called.load(Ordering::SeqCst), 3000);
}

/// A finalizer in each method of a keyed DoFn, and in one with a side input, runs once.
pub fn finalizers_of_keyed_dofns(runner: &dyn Runner) {
    use super::probe::{Probe, k};
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let call = move || {
        let called = count.clone();
        move || {
            called.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    };
    run(runner, |p| {
        let (in_process, in_timer, at_expiry) = (call.clone(), call.clone(), call.clone());
        let side = p.create("Side", [5_i64]).view_as_singleton("View");
        let view = side.clone();
        let probe = Probe::new(move |_, _, s, cx, _| {
            assert_eq!(cx.side(&view)?, 5);
            cx.finalize(in_process());
            s.a.set_after(cx, Duration::from_secs(1))
        });
        let probe = probe.when_due(move |_, _, _, cx, _| {
            cx.finalize(in_timer());
            Ok(())
        });
        let expiring = probe.when_expired(move |_, _, cx, _| {
            cx.finalize(at_expiry());
            Ok(())
        });
        let values = p.create("Values", (0..10).map(k));
        values.par_do_keyed_with("Probe", purlin_sdk::KeyedParDo::of(expiring).side(&side));
    })
    .expect("the run fails");
    // Ten elements, one timer, one expiration.
    let called = called.load(Ordering::SeqCst);
    assert_eq!(called, 12);
}

/// And in a DoFn that waits for a side input.
pub fn finalizers_with_side_inputs(runner: &dyn Runner) {
    use purlin_sdk::{Emitter, ParDo, ProcessContext};
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let out = Committed::new();
    run(runner, |p| {
        let view = p.create("Side", [5_i64]).view_as_singleton("View");
        let given = view.clone();
        let read = move |n: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| {
            let called = count.clone();
            cx.finalize(move || {
                called.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            out.emit(n * cx.side(&given)?);
            Ok(())
        };
        let read = p.create("Values", 0..10_i64).par_do_with("Read", ParDo::from_fn(read).side(&view)).main();
        out.collect("Collect", &read);
    })
    .expect("the run fails");
    assert_eq!((called.load(Ordering::SeqCst), out.len()), (10, 10));
}
