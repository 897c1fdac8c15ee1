//! Field reports on runs seen from outside, and on watermarks, on every runner.

use purlin_conformance::{
    cases::{
        handle,
        watermarks::{self, Shape},
    },
    runners::setups,
};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{ManualClock, RunState};

/// The one thread of the reactor gives the run what it waits for while it awaits the run: only if awaiting does not
/// block it does this end.
#[tokio::test(flavor = "current_thread")]
async fn a_handle_is_a_future_that_does_not_block() {
    for setup in setups(0) {
        let (handle, give, out) = handle::a_run_that_waits(&*setup.runner);
        let later = async move {
            tokio::task::yield_now().await;
            give.send(7)
        };
        let (outcome, sent) = tokio::join!(handle.clone(), later);
        sent.unwrap();
        assert_eq!(outcome.unwrap().state, RunState::Done);
        assert_eq!(out.values(), [7]);
        // A run that is over can be awaited again.
        assert_eq!(handle.await.unwrap().state, RunState::Done);
    }
}

fn shape(seed: u64) -> Shape {
    let mut rng = fastrand::Rng::with_seed(seed);
    Shape {
        steps: (0..rng.usize(1..60)).map(|_| rng.i64(0..4)).collect(),
        per_pause: rng.usize(1..10),
        keys: rng.i64(1..4),
        sizes: [(); 3].map(|()| rng.i64(1..12)),
        reshuffles: [(); 3].map(|()| rng.bool()),
    }
}

#[test]
fn b174_nothing_on_time_is_late_threaded() {
    for seed in 0..1000 {
        let threads = if seed % 4 == 0 { 2 } else { 16 };
        let runner = ThreadedRunner::new().parallelism(threads).clock(ManualClock::default());
        watermarks::b174_nothing_on_time_is_late(&runner, &shape(seed));
    }
}

#[test]
fn b174_nothing_on_time_is_late_direct() {
    for seed in 0..300 {
        watermarks::b174_nothing_on_time_is_late(&DirectRunner::new().seed(seed), &shape(seed));
    }
}
