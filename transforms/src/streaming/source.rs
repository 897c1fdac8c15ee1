//! What feeds a query.

use purlin_sdk::{Element, Result};

/// Where a source has come to, as JSON: it is written into the checkpoint, and shown as progress.
pub type Offset = serde_json::Value;

/// How far a read may go.
#[derive(Clone, Copy, Debug)]
pub struct ReadUpTo<'a> {
    /// Whether the source's own limits hold, such as a number of files an epoch.
    pub limited: bool,
    /// Not beyond this, which the source gave before.
    pub end: Option<&'a Offset>,
}

/// A source of a streaming query: it can say how far it could be read now, and read any such part again.
///
/// A part that was given once is given again after a restart, so what was read between two offsets must stay the same.
/// Its methods are called one at a time, on the query's own thread: they may wait for files and sockets.
/// Source: Spark's `MicroBatchStream`.
pub trait StreamSource: Send + 'static {
    /// What it gives.
    type Row: Element;

    /// What it is, as progress shows it.
    fn description(&self) -> String;

    /// Where the first epoch of a new query begins.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn initial_offset(&mut self) -> Result<Offset>;

    /// How far an epoch that begins at `from` may go. Nothing when there is nothing new; data without rows, such as an
    /// empty file, are new.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>>;

    /// The rows between two offsets, in the order in which they arrived.
    ///
    /// # Errors
    /// When they cannot be read (any more).
    fn read(&mut self, from: &Offset, to: &Offset) -> Result<Vec<Self::Row>>;

    /// What is before `to` will not be asked for again.
    ///
    /// # Errors
    /// When the source cannot be told.
    fn commit(&mut self, _to: &Offset) -> Result {
        Ok(())
    }

    /// Called once, after the last epoch.
    fn stop(&mut self) {}
}
