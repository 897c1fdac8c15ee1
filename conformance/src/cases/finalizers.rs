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
