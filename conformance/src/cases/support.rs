//! What the cases share.

use std::sync::{Arc, Mutex, PoisonError};

use purlin_sdk::{
    CombineFn, Duration, Element, PCollection, Pipeline, PipelineError, RunOutcome, Runner, Timestamp,
    window::Window,
};

/// What a pipeline did, noted from within it. Clones share the same notes.
#[derive(Debug)]
pub struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Log<T> {
        Log(Arc::clone(&self.0))
    }
}

impl<T> Default for Log<T> {
    fn default() -> Log<T> {
        Log(Arc::default())
    }
}

impl<T> Log<T> {
    /// Adds a note.
    pub fn push(&self, note: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// How many notes there are.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the notes out, in the order in which they were made.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the notes out, in their own order.
    pub fn take_sorted(&self) -> Vec<T>
    where
        T: Ord,
    {
        let mut notes = self.take();
        notes.sort();
        notes
    }
}

impl<T: Element> Log<T> {
    /// Notes every element of a collection.
    #[track_caller]
    pub fn note(&self, name: &str, pc: &PCollection<T>) {
        let log = self.clone();
        pc.map(name, move |x| log.push(x));
    }
}

/// Runs the pipeline that `build` makes, which must succeed.
///
/// # Panics
/// When the run fails.
pub fn run(runner: &dyn Runner, build: impl FnOnce(&Pipeline)) -> RunOutcome {
    let p = Pipeline::new();
    build(&p);
    let handle = p.run_on(runner).unwrap_or_else(|e| panic!("it did not start: {e}"));
    handle.wait().unwrap_or_else(|e| panic!("it failed: {e}"))
}

/// Runs the pipeline that `build` makes, which must fail.
///
/// # Panics
/// When the run succeeds.
pub fn run_to_failure(runner: &dyn Runner, build: impl FnOnce(&Pipeline)) -> PipelineError {
    let p = Pipeline::new();
    build(&p);
    match p.run_on(runner).and_then(|handle| handle.wait()) {
        Ok(outcome) => panic!("it should fail and ended as {}", outcome.state),
        Err(error) => error,
    }
}

/// Runs the pipeline that `build` makes and returns what is in the collection, sorted.
pub fn collect<T: Element + Ord>(
    runner: &dyn Runner,
    build: impl FnOnce(&Pipeline) -> PCollection<T>,
) -> Vec<T> {
    let log = Log::default();
    run(runner, |p| log.note("Collect", &build(p)));
    log.take_sorted()
}

/// The text of what is wrong with the pipeline that `build` makes.
///
/// # Panics
/// When nothing is.
pub fn build_errors(build: impl FnOnce(&Pipeline)) -> String {
    let p = Pipeline::new();
    build(&p);
    match p.build() {
        Ok(_) => panic!("the pipeline was built"),
        Err(errors) => errors.to_string(),
    }
}

/// Panics unless `text` contains all of `parts`.
#[track_caller]
pub fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not said in: {text}");
    }
}

/// Panics unless there is nothing in `values`.
#[track_caller]
pub fn assert_nothing<T: std::fmt::Debug>(values: Vec<T>) {
    assert!(values.is_empty(), "there should be nothing, and there is {values:?}");
}

/// The timestamp `secs` seconds after the epoch.
pub const fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(secs)
}

/// The timestamp `millis` milliseconds after the epoch.
pub const fn at_ms(millis: i64) -> Timestamp {
    Timestamp::saturating_from_millis(millis)
}

/// A duration of `n` seconds.
pub const fn secs(n: i64) -> Duration {
    Duration::from_secs(n)
}

/// A duration of `n` milliseconds.
pub const fn ms(n: i64) -> Duration {
    Duration::from_millis(n)
}

/// Start and end of an interval window in milliseconds.
///
/// # Panics
/// For a window of another kind.
pub fn span_ms(window: &Window) -> (i64, i64) {
    let w = window.as_interval().expect("the windows here are intervals");
    (w.start().as_millis(), w.end().as_millis())
}

/// Start and end of an interval window in seconds.
pub fn span(window: &Window) -> (i64, i64) {
    let (start, end) = span_ms(window);
    (start.div_euclid(1000), end.div_euclid(1000))
}

/// Sums integers.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl CombineFn for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;
    fn create(&self) -> i64 {
        0
    }
    fn add_input(&self, acc: &mut i64, x: i64) {
        *acc += x;
    }
    fn merge(&self, acc: &mut i64, other: i64) {
        *acc += other;
    }
    fn extract(&self, acc: i64) -> i64 {
        acc
    }
}

/// Numbers that look random and are the same each time (a linear congruential generator).
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of `seed`.
    pub fn of(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// A number from 0 up to `below`, which is not in it.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}
