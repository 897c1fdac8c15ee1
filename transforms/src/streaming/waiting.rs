//! Rows that wait for their operator's turn.

use purlin_sdk::{
    Duration, Result, Timestamp,
    state::{KeyedContext, Timer, Value},
};

use super::place::TICK;

/// A row that waits: its number of arrival, its timestamp, itself.
pub(super) type Waiting<T> = (i64, Timestamp, T);

/// Sets `show` to the next tick, and holds the watermark at the earliest of what waits.
pub(super) fn wait(
    show: &mut Timer,
    earliest: &mut Value<Timestamp>,
    cx: &impl KeyedContext,
    timestamp: Timestamp,
) -> Result {
    if show.is_set() && earliest.read().is_some_and(|earliest| *earliest <= timestamp) {
        return Ok(());
    }
    earliest.write(timestamp);
    show.with_output_timestamp(timestamp).set_after(cx, TICK)
}

/// Output has the timestamps of its rows, wherever they are from.
pub(super) const ANY_SKEW: Duration = Duration::MAX;
