//! What of the result table an epoch shows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What of the result table an epoch gives to the sink. Source: Spark's output modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputMode {
    /// Rows that will never change: each once, when it is final.
    Append,
    /// Rows that changed in this epoch.
    Update,
    /// All rows.
    Complete,
}

impl fmt::Display for OutputMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OutputMode::Append => "append",
            OutputMode::Update => "update",
            OutputMode::Complete => "complete",
        })
    }
}
