//! When epochs begin.

use purlin_sdk::Duration;
use serde::{Deserialize, Serialize};

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
