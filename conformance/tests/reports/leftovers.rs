//! What a run that failed still had is gone when its end is told.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use purlin_conformance::{cases::support::at, runners::for_each_runner};
use purlin_sdk::{DoFnError, ParDo, Pipeline, RunHandle, RunState};
use serde::{Deserialize, Serialize};

/// The run at hand.
static RUN: Mutex<Option<RunHandle>> = Mutex::new(None);
/// How many elements were there when it was over already.
static TOO_LATE: AtomicUsize = AtomicUsize::new(0);
static MADE: AtomicUsize = AtomicUsize::new(0);

fn the_run() -> Option<RunHandle> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Something outside hangs on it, such as a temporary file.
#[derive(Serialize, Deserialize)]
struct Held(i64);

impl Clone for Held {
    fn clone(&self) -> Held {
        Held::new(self.0)
    }
}

impl Held {
    fn new(n: i64) -> Held {
        MADE.fetch_add(1, Ordering::SeqCst);
        Held(n)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if the_run().is_some_and(|run| run.state() != RunState::Running) {
            TOO_LATE.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn what_a_failed_run_held_is_gone_when_its_end_is_told() {
    for_each_runner(|runner| {
        let p = Pipeline::new();
        // In a side input, and perhaps in a window that is open.
        let numbers = p.create("Numbers", [1, 2, 3]);
        let view = numbers.map("Held", Held::new).view_as_list("AsList");
        let stream = purlin_sdk::testing::TestStream::new().element_at(1, at(1)).advance_watermark_to(at(5));
        let fail = ParDo::from_fn(move |_: i64, _, out| {
            // The main thread has the handle soon.
            while the_run().is_none() {
                std::thread::yield_now();
            }
            out.emit(());
            Err(DoFnError::msg("out of luck"))
        });
        numbers.key_by("Key", |n| *n).map("Held too", |(k, n)| (k, Held::new(n))).group_by_key("Group");
        p.apply("Stream", stream).par_do_with("Fail", fail.side(&view));
        let run = p.run_on(runner).unwrap();
        *RUN.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.clone());
        let error = run.wait().unwrap_err();
        assert!(error.to_string().contains("out of luck"), "{error}");
        *RUN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        assert_eq!(TOO_LATE.load(Ordering::SeqCst), 0);
    });
    assert!(MADE.load(Ordering::SeqCst) > 0);
}
