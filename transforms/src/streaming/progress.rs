//! What a query did in an epoch, as Spark writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Offset, Operator};

/// What a query did in an epoch. As JSON it has the names of Spark's `StreamingQueryProgress`, so that what reads those
/// reads these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryProgress {
    /// The query's, the same after a restart from its checkpoint.
    pub id: String,
    /// That of this start.
    pub run_id: String,
    /// The query's name.
    pub name: Option<String>,
    /// When the epoch's trigger was.
    pub timestamp: String,
    /// The epoch.
    pub batch_id: u64,
    /// How long it took, in ms.
    pub batch_duration: u64,
    /// Rows that were read.
    pub num_input_rows: u64,
    /// Rows per second since the trigger before.
    pub input_rows_per_second: f64,
    /// Rows per second of the epoch's own time.
    pub processed_rows_per_second: f64,
    /// In ms, by what was done: `latestOffset`, `walCommit`, `getBatch`, `addBatch`, `commitOffsets`,
    /// `triggerExecution`.
    pub duration_ms: BTreeMap<String, u64>,
    /// Nothing when the query has no watermark.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub event_time: Option<EventTimeProgress>,
    /// Operators with state.
    pub state_operators: Vec<StateOperatorProgress>,
    /// In the order in which they were applied.
    pub sources: Vec<SourceProgress>,
    /// The sink.
    pub sink: SinkProgress,
}

/// Event time in an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTimeProgress {
    /// The watermark in force: results that end at or before it are final.
    pub watermark: String,
    /// The earliest event time of the epoch's rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min: Option<String>,
    /// The latest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max: Option<String>,
    /// The mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub avg: Option<String>,
}

/// An operator with state in an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateOperatorProgress {
    /// What it is.
    pub operator_name: String,
    /// Rows of state when the epoch was done.
    pub num_rows_total: u64,
    /// Rows of state that the epoch made or changed.
    pub num_rows_updated: u64,
    /// Rows of state that it removed.
    pub num_rows_removed: u64,
    /// Rows that were late.
    pub num_rows_dropped_by_watermark: u64,
}

/// A source in an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceProgress {
    /// What it is.
    pub description: String,
    /// Where the epoch began.
    pub start_offset: Option<Offset>,
    /// Where it ended.
    pub end_offset: Option<Offset>,
    /// How far the source could have been read.
    pub latest_offset: Option<Offset>,
    /// Rows that were read of it.
    pub num_input_rows: u64,
    /// Rows per second since the trigger before.
    pub input_rows_per_second: f64,
    /// Rows per second of the epoch's own time.
    pub processed_rows_per_second: f64,
}

/// The sink in an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SinkProgress {
    /// What it is.
    pub description: String,
    /// Rows that it was given; -1 when that is not known.
    pub num_output_rows: i64,
}

impl StateOperatorProgress {
    /// Of an operator that keeps state.
    pub(super) fn of(operator: &Operator) -> Option<StateOperatorProgress> {
        let rows = &operator.rows;
        Some(StateOperatorProgress {
            operator_name: operator.kind.state_name()?.to_owned(),
            num_rows_total: rows.total(),
            num_rows_updated: rows.updated(),
            num_rows_removed: rows.removed(),
            num_rows_dropped_by_watermark: rows.dropped_by_watermark(),
        })
    }
}

impl QueryProgress {
    /// As one line of JSON.
    pub fn json(&self) -> String {
        // Text keys and finite numbers only: this is always JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As a line for people: the epoch, the watermark, its rows, and how fast they were.
    pub(crate) fn line(&self) -> String {
        let QueryProgress { batch_id, num_input_rows, processed_rows_per_second, .. } = self;
        let watermark = self.event_time.as_ref().map(|e| format!(", watermark {}", e.watermark));
        let rows = if *num_input_rows == 1 { "row" } else { "rows" };
        format!(
            "epoch {batch_id}{}, {num_input_rows} {rows} ({processed_rows_per_second:.0}/s)",
            watermark.unwrap_or_default()
        )
    }
}
