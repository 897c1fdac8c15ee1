//! Numbers at a steady rate.

use purlin_sdk::{ClockRef, DoFnError, Duration, Result, SystemClock, Timestamp};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

use crate::streaming::{Offset, ReadUpTo, StreamSource};

/// What a [`RateStream`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RateRow {
    /// When it was due.
    pub timestamp: Timestamp,
    /// 0, 1, 2, ...
    pub value: u64,
}

/// So many numbers each second, each with the time at which it was due: for trying things out. Source: Spark's `rate`.
///
/// What is due is counted from when the query was first started, so a query that was down makes up for it.
#[derive(Clone)]
pub struct RateStream {
    rows_per_second: u64,
    clock: ClockRef,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct At {
    /// When it began.
    start: Timestamp,
    /// Seconds since then.
    seconds: u64,
}

impl RateStream {
    /// So many rows each second.
    pub fn rows_per_second(rows_per_second: u64) -> RateStream {
        RateStream { rows_per_second, clock: Arc::new(SystemClock) }
    }

    /// The clock that it goes by; the machine's unless said otherwise.
    #[must_use]
    pub fn clock(self, clock: ClockRef) -> RateStream {
        RateStream { clock, ..self }
    }
}

fn at(offset: &Offset) -> Result<At> {
    serde_json::from_value(offset.clone())
        .map_err(|e| DoFnError::msg(format!("`{offset}` is no offset of a RateStream: {e}")))
}

impl StreamSource for RateStream {
    type Row = RateRow;

    fn description(&self) -> String {
        format!("RateStream[rowsPerSecond={}]", self.rows_per_second)
    }

    fn initial_offset(&mut self) -> Result<Offset> {
        Ok(serde_json::to_value(At { start: self.clock.now(), seconds: 0 })?)
    }

    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>> {
        let from = at(from)?;
        let passed = (self.clock.now() - from.start).as_millis().max(0) / 1000;
        let mut seconds = u64::try_from(passed).unwrap_or(0);
        if let Some(end) = up_to.end {
            seconds = seconds.min(at(end)?.seconds);
        }
        if seconds <= from.seconds {
            return Ok(None);
        }
        Ok(Some(serde_json::to_value(At { seconds, ..from })?))
    }

    fn read(&mut self, from: &Offset, to: &Offset) -> Result<Vec<RateRow>> {
        let (from, to) = (at(from)?, at(to)?);
        let first = from.seconds.saturating_mul(self.rows_per_second);
        let end = to.seconds.saturating_mul(self.rows_per_second);
        let due = |value: u64| {
            let millis = u128::from(value) * 1000 / u128::from(self.rows_per_second.max(1));
            from.start + Duration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        };
        Ok((first..end).map(|value| RateRow { timestamp: due(value), value }).collect())
    }
}

impl fmt::Debug for RateStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description())
    }
}
