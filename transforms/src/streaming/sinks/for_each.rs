//! A closure as a sink.

use std::fmt;

use purlin_sdk::Result;

use crate::streaming::{OutputMode, QueryTrigger, StreamSink};

/// Calls a closure on the rows of each epoch, see [`StreamWriter::for_each_batch`](super::super::StreamWriter).
pub struct ForEachBatch<F>(F);

impl<F> ForEachBatch<F> {
    /// Calls `f`.
    pub fn new(f: F) -> ForEachBatch<F> {
        ForEachBatch(f)
    }
}

impl<T, F: FnMut(Vec<T>, u64) -> Result + Send + 'static> StreamSink<T> for ForEachBatch<F> {
    fn description(&self) -> String {
        "ForEachBatch".into()
    }

    fn refuses(&self, _: OutputMode, trigger: QueryTrigger) -> Option<String> {
        matches!(trigger, QueryTrigger::Continuous(_) | QueryTrigger::RealTime(_)).then(|| {
            "`for_each_batch` needs the rows of an epoch as a whole, and under a continuous or real-time trigger they \
             come one by one: use `for_each`, or another trigger"
                .to_owned()
        })
    }

    fn add(&mut self, epoch: u64, rows: Vec<T>, _: OutputMode) -> Result {
        (self.0)(rows, epoch)
    }
}

impl<F> fmt::Debug for ForEachBatch<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForEachBatch")
    }
}

/// Calls a closure on each row, see [`StreamWriter::for_each`](super::super::StreamWriter).
pub struct ForEach<F>(F);

impl<F> ForEach<F> {
    /// Calls `f`.
    pub fn new(f: F) -> ForEach<F> {
        ForEach(f)
    }
}

impl<T, F: FnMut(T) -> Result + Send + 'static> StreamSink<T> for ForEach<F> {
    fn description(&self) -> String {
        "ForEach".into()
    }

    fn add(&mut self, _: u64, rows: Vec<T>, _: OutputMode) -> Result {
        rows.into_iter().try_for_each(&mut self.0)
    }
}

impl<F> fmt::Debug for ForEach<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForEach")
    }
}
