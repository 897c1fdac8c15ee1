//! What a poll found.

use purlin_sdk::Timestamp;

/// All that a poll of a [`Watch`](crate::Watch) found, also what was found before, and whether there may be more.
///
/// ```
/// use purlin_sdk::Timestamp;
/// use purlin_transforms::PollResult;
/// let at = Timestamp::from_secs;
/// let result = PollResult::incomplete([("a.csv", at(10)), ("b.csv", at(12))]).with_watermark(at(12));
/// # let _ = result;
/// ```
#[derive(Clone, Debug)]
#[must_use = "it is what the poll returns"]
pub struct PollResult<O> {
    pub(super) outputs: Vec<(O, Timestamp)>,
    pub(super) watermark: Option<Timestamp>,
    pub(super) complete: bool,
}

impl<O> PollResult<O> {
    /// These outputs, each with its timestamp, and there will be no others: the element is not polled again.
    pub fn complete(outputs: impl IntoIterator<Item = (O, Timestamp)>) -> PollResult<O> {
        PollResult { complete: true, ..PollResult::incomplete(outputs) }
    }

    /// These outputs, all at `timestamp`, and there will be no others.
    pub fn complete_at(timestamp: Timestamp, outputs: impl IntoIterator<Item = O>) -> PollResult<O> {
        PollResult { complete: true, ..PollResult::incomplete_at(timestamp, outputs) }
    }

    /// These outputs, each with its timestamp, and there may be others later.
    pub fn incomplete(outputs: impl IntoIterator<Item = (O, Timestamp)>) -> PollResult<O> {
        PollResult { outputs: outputs.into_iter().collect(), watermark: None, complete: false }
    }

    /// These outputs, all at `timestamp`, and there may be others later. It matters only for those that are new.
    pub fn incomplete_at(timestamp: Timestamp, outputs: impl IntoIterator<Item = O>) -> PollResult<O> {
        PollResult::incomplete(outputs.into_iter().map(|output| (output, timestamp)))
    }

    /// Promises that what later polls find will have timestamps of `watermark` or later; what has an earlier one may be
    /// late. Once it has been said, an earlier one changes nothing. [`Timestamp::MAX`] says that there will be no more.
    pub fn with_watermark(mut self, watermark: Timestamp) -> PollResult<O> {
        self.watermark = Some(watermark);
        self
    }
}
