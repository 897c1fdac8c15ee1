//! How a worker finds the code of a transform: what the pipeline carries in place of a function.

use serde::{Deserialize, Serialize};

/// The payload of every function of ours. Engines rename transforms and pass payloads through as they are, so this is
/// what a worker goes by, and never a transform's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FnPayload {
    /// The path of the transform in the graph.
    pub(crate) path: String,
    /// The fingerprint of the graph that was submitted.
    pub(crate) fingerprint: String,
}

impl FnPayload {
    /// As bytes.
    ///
    /// # Errors
    /// None in practice: a struct of two strings is JSON.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// From what an engine passed through.
    ///
    /// # Errors
    /// When the bytes are no payload of ours.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<FnPayload, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}
