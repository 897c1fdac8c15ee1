//! Where the time of a row is.

use std::{fmt, sync::Arc};

use purlin_sdk::Timestamp;

/// Reads a time from a row or a key.
pub(super) type ReadTime<T> = Arc<dyn Fn(&T) -> Option<Timestamp> + Send + Sync>;

/// A closure as [`ReadTime`].
pub(super) fn read_time<T, M, F>(f: F) -> ReadTime<T>
where
    F: Fn(&T) -> M + Send + Sync + 'static,
    M: Into<Option<Timestamp>>,
{
    Arc::new(move |row| f(row).into())
}

/// Where the time of a row is that an operator goes by.
pub(super) enum TimeOf<T> {
    /// Its timestamp, which `with_watermark` set.
    Timestamp,
    /// The event time, in the row.
    Event(ReadTime<T>),
    /// Another time, in the row.
    Other(ReadTime<T>),
}

impl<T> TimeOf<T> {
    /// Nothing for a row without a time.
    pub(super) fn get(&self, row: &T, timestamp: Timestamp) -> Option<Timestamp> {
        match self {
            TimeOf::Timestamp => (timestamp > Timestamp::MIN).then_some(timestamp),
            TimeOf::Event(read) | TimeOf::Other(read) => read(row),
        }
    }

    /// Whether it was said.
    pub(super) fn is_told(&self) -> bool {
        !matches!(self, TimeOf::Timestamp)
    }

    pub(super) fn is_event_time(&self) -> bool {
        !matches!(self, TimeOf::Other(_))
    }
}

impl<T> Clone for TimeOf<T> {
    fn clone(&self) -> TimeOf<T> {
        match self {
            TimeOf::Timestamp => TimeOf::Timestamp,
            TimeOf::Event(read) => TimeOf::Event(read.clone()),
            TimeOf::Other(read) => TimeOf::Other(read.clone()),
        }
    }
}

impl<T> fmt::Debug for TimeOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeOf::Timestamp => "timestamp",
            TimeOf::Event(_) => "event time",
            TimeOf::Other(_) => "other time",
        })
    }
}
