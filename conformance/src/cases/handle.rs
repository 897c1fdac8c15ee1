//! What can be done with a run from outside.

use std::sync::{Arc, mpsc};

use purlin_sdk::{
    DoFn, DoFnError, Duration, Emitter, Pipeline, ProcessContext, Result, RunHandle, RunState, Runner,
    SetupContext, Timestamp,
    sdf::{Continuation, Manual},
};

use crate::{
    Committed, OffsetSource,
    runners::{end_of, start},
};

/// Tells when it is torn down.
#[derive(Clone)]
struct Tell(mpsc::Sender<&'static str>);

impl DoFn for Tell {
    type Input = i64;
    type Output = i64;

    fn process(&mut self, n: i64, cx: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
        cx.counter("seen").inc(1);
        if n == 10 {
            self.0.send("ten")?;
        }
        out.emit(n);
        Ok(())
    }

    fn teardown(&mut self, _: &SetupContext<'_>) -> Result {
        // Nobody may listen any more.
        let _ = self.0.send("teardown");
        Ok(())
    }
}

fn endless(p: &Pipeline, tell: mpsc::Sender<&'static str>) {
    let source = OffsetSource::<Manual, _, _, _>::endless(|_: &Vec<u8>, at, _, out| {
        let n = at.range().start;
        if at.try_claim(n) {
            out.emit(n);
            at.set_watermark(Timestamp::from_secs(n))?;
        }
        Ok(Continuation::Resume(Duration::from_secs(1)))
    });
    p.impulse("Impulse").par_do_splittable("Tick", source).par_do("Tell", Tell(tell));
}

/// A wait that times out leaves the run as it is; cancel ends it as cancelled, with teardown called, and nothing of it
/// is left.
pub fn b179_wait_with_a_timeout_then_cancel(runner: &dyn Runner) {
    let (tell, told) = mpsc::channel();
    let handle = start(runner, |p| endless(p, tell)).expect("the pipeline is refused");
    let short = std::time::Duration::from_millis(5);
    assert!(handle.wait_timeout(short).is_none());
    assert_eq!(told.recv(), Ok("ten"));
    assert_eq!(handle.state(), RunState::Running);
    // The bundle with the tenth is committed when a later one tells that it is under way.
    while handle.metrics().committed.counter("Tell", "seen") < 11 {
        std::thread::yield_now();
    }
    assert!(handle.wait_timeout(short).is_none());
    handle.cancel();
    let outcome = end_of(&handle).expect("the run fails");
    assert_eq!((outcome.state, handle.state()), (RunState::Cancelled, RunState::Cancelled));
    assert!(outcome.metrics.committed.counter("Tell", "seen") >= 11);
    assert!(told.try_iter().filter(|what| *what == "teardown").count() > 0);
    // All senders are gone: no thread holds a DoFn any more. The last may still be on its way out.
    assert!(told.recv().is_err());
}

/// Cancelled twice, or after its end, a run ends as it ended.
pub fn cancel_is_final(runner: &dyn Runner) {
    let (tell, _told) = mpsc::channel();
    let handle = start(runner, |p| endless(p, tell)).expect("the pipeline is refused");
    handle.cancel();
    handle.cancel();
    handle.drain();
    assert_eq!(end_of(&handle).expect("the run fails").state, RunState::Cancelled);
    handle.drain();
    assert_eq!(handle.state(), RunState::Cancelled);

    let done = start(runner, |p| {
        p.create("One", [1]);
    })
    .expect("the pipeline is refused");
    assert_eq!(end_of(&done).expect("the run fails").state, RunState::Done);
    done.cancel();
    assert_eq!(done.state(), RunState::Done);
    assert_eq!(end_of(&done).expect("the run fails").state, RunState::Done);
}

/// Several may wait for one run, from several threads.
pub fn many_wait_for_one_run(runner: &dyn Runner) {
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Arc::new(std::sync::Mutex::new(may_go));
    let handle = start(runner, |p| {
        p.create("One", [1]).map_cx("Wait", move |n: i32, _| {
            let may_go = may_go.lock().map_err(|_| DoFnError::msg("another try failed"))?;
            may_go.recv()?;
            Ok(n)
        });
    })
    .expect("the pipeline is refused");
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let handle = handle.clone();
            std::thread::spawn(move || handle.wait().map(|outcome| outcome.state))
        })
        .collect();
    assert_eq!(handle.state(), RunState::Running);
    go.send(()).expect("the run is over");
    for waiting in waiting {
        let state = waiting.join().expect("no panic").expect("the run fails");
        assert_eq!(state, RunState::Done);
    }
}

/// Starts a run that ends when the returned sender is used; it hands on what is sent.
///
/// # Panics
/// When the pipeline is refused.
pub fn a_run_that_waits(runner: &dyn Runner) -> (RunHandle, mpsc::Sender<i64>, Committed<i64>) {
    let (give, given) = mpsc::channel();
    let given = Arc::new(std::sync::Mutex::new(given));
    let out = Committed::new();
    let handle = start(runner, |p| {
        let taken = p.impulse("Impulse").map_cx("Take", move |_, _| {
            let given = given.lock().map_err(|_| DoFnError::msg("another try failed"))?;
            Ok(given.recv()?)
        });
        out.collect("Collect", &taken);
    })
    .expect("the pipeline is refused");
    (handle, give, out)
}
