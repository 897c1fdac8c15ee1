//! The handle on a run.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use super::{RunResult, RunShared, RunState, StallReport};
use crate::metrics::MetricsSnapshot;

/// A run under way. It is a `Future` of its result, and can be waited for without one; it never blocks a reactor.
/// Cheap to clone. Dropping it does not end the run.
#[derive(Clone, Debug)]
pub struct RunHandle {
    shared: Arc<RunShared>,
}

impl RunHandle {
    /// The handle on the run that `shared` belongs to.
    pub fn new(shared: Arc<RunShared>) -> RunHandle {
        RunHandle { shared }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// When the run failed.
    pub fn wait(&self) -> RunResult {
        match self.shared.wait(None) {
            Some(result) => result,
            // Without a timeout there is always a result.
            None => Err(crate::PipelineError::runner("the run went away without a result")),
        }
    }

    /// Waits for the end, but not longer than `timeout`; then there is nothing, and the run goes on.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<RunResult> {
        self.shared.wait(Some(timeout))
    }

    /// Where the run is.
    pub fn state(&self) -> RunState {
        self.shared.state()
    }

    /// Stops the run as soon as it can be: what is not committed is thrown away. Ends in `Cancelled`.
    pub fn cancel(&self) {
        self.shared.request(true);
    }

    /// Brings the sources to their end: what they have begun is finished, splittable DoFns are truncated, the
    /// watermark goes to the maximum, windows close. Ends in `Drained`.
    pub fn drain(&self) {
        self.shared.request(false);
    }

    /// Why there is no output: what holds the watermark of each stage that is not done, since when, and what would
    /// release it. Empty when the run is over.
    pub fn stall_report(&self) -> StallReport {
        self.shared.control().map(|control| control.stall_report()).unwrap_or_default()
    }

    /// What parts of the run say of how far they are, by their names: streaming queries their last epoch.
    pub fn status(&self) -> BTreeMap<String, String> {
        self.shared.status()
    }

    /// What was counted so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        if let Some(control) = self.shared.control() {
            return control.metrics();
        }
        match self.shared.result() {
            Some(Ok(outcome)) => outcome.metrics,
            _ => MetricsSnapshot::default(),
        }
    }
}

impl Future for RunHandle {
    type Output = RunResult;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<RunResult> {
        match self.shared.result_or_wake(cx.waker()) {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}
