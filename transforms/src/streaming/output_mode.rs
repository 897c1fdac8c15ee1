//! What of the result table an epoch shows.

use std::{error::Error, fmt, str::FromStr};

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

/// A text that is no [`OutputMode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOutputModeError {
    text: String,
}

impl fmt::Display for ParseOutputModeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no output mode; there are append, update and complete", self.text)
    }
}

impl Error for ParseOutputModeError {}

impl FromStr for OutputMode {
    type Err = ParseOutputModeError;

    /// In any letter case.
    ///
    /// ```
    /// use purlin_transforms::streaming::OutputMode;
    /// assert_eq!("Append".parse(), Ok(OutputMode::Append));
    /// assert!("overwrite".parse::<OutputMode>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<OutputMode, ParseOutputModeError> {
        let modes = [OutputMode::Append, OutputMode::Update, OutputMode::Complete];
        let found = modes.into_iter().find(|mode| mode.to_string() == text.to_ascii_lowercase());
        found.ok_or_else(|| ParseOutputModeError { text: text.to_owned() })
    }
}
