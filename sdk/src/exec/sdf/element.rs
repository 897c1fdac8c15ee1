//! An element with the work that is left on it.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// An element with a restriction and the state of its watermark estimator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SdfElement<I, R, S> {
    /// The element.
    pub element: I,
    /// The work that is left.
    pub restriction: R,
    /// The estimator's state.
    pub state: S,
    /// How much work it is.
    pub size: f64,
    /// The watermark that was last reported for it.
    pub watermark: Timestamp,
    /// The watermark that its estimator last said.
    pub estimated: Timestamp,
    /// Whether it was truncated because the pipeline is drained.
    pub truncated: bool,
}
