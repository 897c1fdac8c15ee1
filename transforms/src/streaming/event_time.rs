//! What a query has seen of event time.

use purlin_sdk::{Duration, Timestamp};
use serde::{Deserialize, Serialize};

/// One `with_watermark` of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatermarkId(pub(crate) usize);

/// The event times of some rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventTime {
    /// How many rows.
    pub rows: u64,
    /// The earliest, when there is a row.
    pub min: Option<Timestamp>,
    /// The latest, when there is a row.
    pub max: Option<Timestamp>,
    /// The sum of all, in ms since the epoch.
    pub sum: i128,
}

impl EventTime {
    /// Adds a row.
    pub fn add(&mut self, at: Timestamp) {
        self.merge(&EventTime { rows: 1, min: Some(at), max: Some(at), sum: at.as_millis().into() });
    }

    /// Adds the rows of `other`.
    pub fn merge(&mut self, other: &EventTime) {
        self.rows += other.rows;
        self.min = self.min.into_iter().chain(other.min).min();
        self.max = self.max.into_iter().chain(other.max).max();
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// The mean, when there is a row.
    pub fn mean(&self) -> Option<Timestamp> {
        let mean = self.sum.checked_div(self.rows.into())?;
        let mean = i64::try_from(mean).unwrap_or(if mean < 0 { i64::MIN } else { i64::MAX });
        Some(Timestamp::saturating_from_millis(mean))
    }
}

/// A `with_watermark` of a query.
#[derive(Clone, Debug)]
pub(crate) struct WatermarkNode {
    /// How far the watermark stays behind the latest event time.
    pub(crate) delay: Duration,
    /// Of the epoch at work.
    pub(crate) seen: EventTime,
    /// The latest event time since the query was started.
    pub(crate) latest: Option<Timestamp>,
}
