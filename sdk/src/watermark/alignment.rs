//! Sources that are kept together in event time.

use std::sync::Arc;

use crate::Duration;

/// Which sources are kept together, and how closely.
///
/// Of the watermarks in a group the least one counts: a source, or one of its partitions, that is ahead of it by more
/// than the drift is given no work until the others have come closer. What it has emitted already goes on. So a join of
/// two sources need not keep hours of the faster one.
///
/// Not counted are what has no watermark yet, what is idle and what is over. When nothing is left to count there is no
/// limit.
///
/// Source: Flink's [watermark alignment](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#watermark-alignment).
///
/// ```
/// use purlin_sdk::{Duration, watermark::Alignment};
/// let alignment = Alignment::group("orders").max_drift(Duration::from_secs(30));
/// assert_eq!(Alignment::DRIFT, Duration::from_secs(60));
/// # let _ = alignment;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    group: Arc<str>,
    max_drift: Duration,
    update_interval: Duration,
}

impl Alignment {
    /// How far a source may be ahead unless it is said otherwise: 60 s, as in Confluent's Flink.
    pub const DRIFT: Duration = Duration::from_secs(60);

    /// How old the limit may be unless it is said otherwise: 1 s, as in Flink.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    /// The group of this name.
    pub fn group(name: &str) -> Alignment {
        Alignment { group: name.into(), max_drift: Alignment::DRIFT, update_interval: Alignment::INTERVAL }
    }

    /// How far it may be ahead of the least watermark in the group. A negative drift counts as zero.
    #[must_use]
    pub fn max_drift(mut self, drift: Duration) -> Alignment {
        self.max_drift = drift.max(Duration::ZERO);
        self
    }

    /// How old, in processing time, the least watermark may be by which it is decided. Not above zero: it is looked up
    /// each time.
    #[must_use]
    pub fn update_interval(mut self, interval: Duration) -> Alignment {
        self.update_interval = interval.max(Duration::ZERO);
        self
    }

    /// The group's name.
    pub fn name(&self) -> &str {
        &self.group
    }

    /// How far it may be ahead.
    pub fn drift(&self) -> Duration {
        self.max_drift
    }

    /// How old the limit may be.
    pub fn interval(&self) -> Duration {
        self.update_interval
    }
}
