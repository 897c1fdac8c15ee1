//! When epochs begin.

use std::fmt;

use purlin_sdk::Duration;
use serde::{Deserialize, Serialize};

use super::interval::{IntervalError, parse_trigger};

/// When the epochs of a query begin, and when it ends. Source: Spark's query triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueryTrigger {
    /// The first at once, then at multiples of the interval since 1970. With an interval of zero, which is the default,
    /// as soon as the one before is done and there is something to do.
    ProcessingTime(Duration),
    /// One epoch over all that is there, whatever the sources' limits; then the query ends.
    Once,
    /// All that was there at the start, in as many epochs as the sources' limits make of it; then the query ends.
    AvailableNow,
    /// Rows flow without waiting for each other; an epoch ends every so often.
    Continuous(Duration),
    /// Rows flow through all operators at once; an epoch ends every so often.
    RealTime(Duration),
}

impl Default for QueryTrigger {
    fn default() -> QueryTrigger {
        QueryTrigger::ProcessingTime(Duration::ZERO)
    }
}

impl QueryTrigger {
    /// An epoch every `interval`, which is written as in `"5 seconds"`; `"0 seconds"` is as fast as it can.
    ///
    /// ```
    /// use purlin_sdk::Duration;
    /// use purlin_transforms::streaming::QueryTrigger;
    /// assert_eq!(
    ///     QueryTrigger::processing_time("5 seconds"),
    ///     Ok(QueryTrigger::ProcessingTime(Duration::from_secs(5)))
    /// );
    /// assert!(QueryTrigger::processing_time("5").is_err());
    /// ```
    /// # Errors
    /// When it is no span of time, is below zero, or has months or years.
    pub fn processing_time(interval: &str) -> Result<QueryTrigger, IntervalError> {
        parse_trigger(interval).map(QueryTrigger::ProcessingTime)
    }

    /// See [`QueryTrigger::Once`].
    pub fn once() -> QueryTrigger {
        QueryTrigger::Once
    }

    /// See [`QueryTrigger::AvailableNow`].
    pub fn available_now() -> QueryTrigger {
        QueryTrigger::AvailableNow
    }

    /// Rows flow without waiting; an epoch ends every `interval`.
    ///
    /// # Errors
    /// See [`processing_time`](Self::processing_time).
    pub fn continuous(interval: &str) -> Result<QueryTrigger, IntervalError> {
        parse_trigger(interval).map(QueryTrigger::Continuous)
    }

    /// Rows flow through all operators at once; an epoch ends every `duration`.
    ///
    /// # Errors
    /// See [`processing_time`](Self::processing_time); when it is zero.
    pub fn real_time(duration: &str) -> Result<QueryTrigger, IntervalError> {
        match parse_trigger(duration)? {
            Duration::ZERO => Err(IntervalError::Zero { text: duration.to_owned() }),
            time => Ok(QueryTrigger::RealTime(time)),
        }
    }
}

impl QueryTrigger {
    /// Why no query can have it.
    pub(super) fn refused(self) -> Option<String> {
        match self {
            QueryTrigger::ProcessingTime(every) | QueryTrigger::Continuous(every)
                if every < Duration::ZERO =>
            {
                Some(format!(
                    "its trigger has an interval of {every}, which is below zero; leave the minus out"
                ))
            }
            _ => None,
        }
    }
}

impl fmt::Display for QueryTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryTrigger::ProcessingTime(every) => write!(f, "processing time ({every})"),
            QueryTrigger::Once => f.write_str("once"),
            QueryTrigger::AvailableNow => f.write_str("available now"),
            QueryTrigger::Continuous(every) => write!(f, "continuous ({every})"),
            QueryTrigger::RealTime(every) => write!(f, "real time ({every})"),
        }
    }
}
