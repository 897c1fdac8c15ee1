//! Sources whose type of row is forgotten.

use purlin_sdk::{
    Result, Step, Timestamp,
    batch::{AnyBatch, Batch, Meta, Row, WindowSet},
    window::{PaneInfo, Window},
};

use super::{Offset, ReadUpTo, StreamSource};

/// A source of the query, with where it was applied.
pub(crate) struct Feed {
    pub(crate) step: Step,
    pub(crate) source: Box<dyn AnySource>,
}

/// A [`StreamSource`] of any row.
pub(crate) trait AnySource: Send {
    fn description(&self) -> String;
    fn initial_offset(&mut self) -> Result<Offset>;
    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>>;
    /// The rows as a batch, numbered from `first`.
    fn read(&mut self, from: &Offset, to: &Offset, first: i64) -> Result<AnyBatch>;
    fn commit(&mut self, to: &Offset) -> Result;
    fn stop(&mut self);
}

impl<S: StreamSource> AnySource for S {
    fn description(&self) -> String {
        StreamSource::description(self)
    }

    fn initial_offset(&mut self) -> Result<Offset> {
        StreamSource::initial_offset(self)
    }

    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>> {
        StreamSource::latest_offset(self, from, up_to)
    }

    fn read(&mut self, from: &Offset, to: &Offset, first: i64) -> Result<AnyBatch> {
        let mut batch = Batch::default();
        for (value, index) in StreamSource::read(self, from, to)?.into_iter().zip(first..) {
            // A row's number of arrival travels as the index of its pane, which nothing else uses before a grouping:
            // which of two rows came first must not depend on which of two threads was faster.
            let pane = PaneInfo { index, ..PaneInfo::NO_FIRING };
            let meta = Meta::constant(Timestamp::MIN, WindowSet::One(Window::Global), pane);
            batch.push(value, Row::of(&meta, 0));
        }
        Ok(Box::new(batch))
    }

    fn commit(&mut self, to: &Offset) -> Result {
        StreamSource::commit(self, to)
    }

    fn stop(&mut self) {
        StreamSource::stop(self);
    }
}
