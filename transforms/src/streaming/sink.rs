//! Where the result of a query goes.

use purlin_sdk::Result;

use super::{OutputMode, QueryTrigger};

/// Takes the result of a streaming query, epoch by epoch.
///
/// An epoch may be given twice, when the process died after the sink had it and before that was noted: then with the
/// same `epoch` and the same rows. A sink that remembers the last one that it has is exactly once.
pub trait StreamSink<T>: Send + 'static {
    /// What it is, as progress shows it.
    fn description(&self) -> String;

    /// Why it cannot be used so, and what can be, when that is so.
    fn refuses(&self, _mode: OutputMode, _trigger: QueryTrigger) -> Option<String> {
        None
    }

    /// Called once, before the first epoch.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn open(&mut self) -> Result {
        Ok(())
    }

    /// The result of an epoch, also when it has no rows. Under the triggers that do not wait for an epoch's end it is
    /// called several times an epoch, as rows come out.
    ///
    /// # Errors
    /// When it cannot take them: the query fails, and begins with this epoch when it is started again.
    fn add(&mut self, epoch: u64, rows: Vec<T>, mode: OutputMode) -> Result;

    /// Called once, when the query is over, however it ended.
    fn close(&mut self) {}
}
