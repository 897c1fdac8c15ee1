//! Running a pipeline on every runner, and what comes out of it.
#![allow(dead_code)]

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    Duration, Element, PCollection, Pipeline, Runner, Timestamp,
    window::{FixedWindows, SlidingWindows, Window},
};

/// The runners, with what to call them in a message.
fn runners() -> Vec<(String, Box<dyn Runner>)> {
    let mut all: Vec<(String, Box<dyn Runner>)> = Vec::new();
    for seed in [0, 1, 7, 42] {
        all.push((format!("direct, seed {seed}"), Box::new(DirectRunner::new().seed(seed))));
    }
    for threads in [1, 2, 16] {
        all.push((format!("{threads} threads"), Box::new(ThreadedRunner::new().parallelism(threads))));
    }
    all
}

/// Runs the pipeline on every runner and gives `check` the name of the runner and what came out.
pub(crate) fn on_every_runner<T: Element>(
    build: impl Fn(&Pipeline) -> PCollection<T>,
    check: impl Fn(&str, Vec<T>),
) {
    for (name, runner) in runners() {
        let out = Arc::new(Mutex::new(Vec::new()));
        let p = Pipeline::new();
        let sink = Arc::clone(&out);
        build(&p).map("Collect", move |x| sink.lock().unwrap().push(x));
        p.run_on(&*runner).unwrap().wait().unwrap_or_else(|e| panic!("{name}: {e}"));
        let out = std::mem::take(&mut *out.lock().unwrap());
        check(&name, out);
    }
}

/// The pipeline gives `want` on every runner, in any order.
pub(crate) fn gives<T: Element + Ord + Debug>(
    want: impl IntoIterator<Item = T>,
    build: impl Fn(&Pipeline) -> PCollection<T>,
) {
    let mut want: Vec<T> = want.into_iter().collect();
    want.sort();
    on_every_runner(build, |name, mut got| {
        got.sort();
        assert_eq!(got, want, "{name}");
    });
}

/// `n` at second `n`, for each `n`.
pub(crate) fn seconds(p: &Pipeline, numbers: impl IntoIterator<Item = i64>) -> PCollection<i64> {
    p.create_timestamped("Seconds", numbers.into_iter().map(|n| (n, Timestamp::from_secs(n))))
}

/// Windows of ten seconds.
pub(crate) fn tens() -> FixedWindows {
    FixedWindows::of(Duration::from_secs(10))
}

/// Windows of ten seconds, one every five.
pub(crate) fn sliding() -> SlidingWindows {
    SlidingWindows::of(Duration::from_secs(10), Duration::from_secs(5))
}

/// Each element with the second at which its window begins.
pub(crate) fn with_window<T: Element>(pc: &PCollection<T>) -> PCollection<(i64, T)> {
    pc.map_cx("Window", |x, cx| match cx.window() {
        Window::Interval(w) => Ok((w.start().as_millis() / 1000, x)),
        other => Err(purlin_sdk::DoFnError::msg(format!("not an interval: {other}"))),
    })
}

/// Text to words.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
