//! An element that user code refused.

use serde::{Deserialize, Serialize};

/// A dead letter: an element with the error that it met.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failed<T> {
    /// The element as it went in.
    pub element: T,
    /// The error, with its causes.
    pub error: String,
    /// The transform's path.
    pub step: String,
}
