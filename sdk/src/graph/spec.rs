//! A pipeline as JSON, and its fingerprint.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;
use serde::{Deserialize, Serialize};

use super::Graph;
use crate::coder::CoderSpec;

/// Everything of a graph that is data: names, edges, coders, windows, the configuration of named DoFns.
///
/// Closures and generic DoFns are code: they are found again, by the transform's path, in the pipeline that the same
/// program builds. [`Graph::restore`] is the way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphSpec {
    /// The transforms.
    pub transforms: Vec<NodeSpec>,
    /// The collections.
    pub collections: Vec<CollectionSpec>,
}

/// A transform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Its full path.
    pub path: String,
    /// Beam's URN.
    pub urn: String,
    /// The source line that applied it; not part of the fingerprint.
    pub built_at: String,
    /// Numbers of the collections that it reads.
    pub inputs: Vec<usize>,
    /// Paths of the views that it looks at.
    pub views: Vec<String>,
    /// Numbers of the collections that it makes.
    pub outputs: Vec<usize>,
    /// Configuration.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub payload: serde_json::Value,
}

/// A collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectionSpec {
    /// The Rust type of its elements.
    pub element: String,
    /// How they are encoded.
    pub coder: CoderSpec,
    /// How it is windowed.
    pub windowing: String,
    /// Whether it has an end.
    pub bounded: bool,
}

impl Graph {
    /// The graph as data.
    pub fn spec(&self) -> GraphSpec {
        let transforms = self
            .nodes
            .iter()
            .map(|n| NodeSpec {
                path: n.step.path().to_owned(),
                urn: n.op.urn().to_owned(),
                built_at: n.step.site().to_string(),
                inputs: n.inputs.iter().map(|c| c.0).collect(),
                views: n.views.iter().map(|v| v.to_string()).collect(),
                outputs: n.outputs.iter().map(|c| c.0).collect(),
                payload: n.payload.clone(),
            })
            .collect();
        let collections = self
            .collections
            .iter()
            .map(|c| CollectionSpec {
                element: c.element.to_owned(),
                coder: c.coder.clone(),
                windowing: format!("{:?}", c.strategy),
                bounded: c.bounded,
            })
            .collect();
        GraphSpec { transforms, collections }
    }

    /// Tells two graphs apart: equal for equal transforms, names, edges, coders, windows and configuration, wherever
    /// in the source they were written and in whatever order.
    ///
    /// A configuration with a `HashSet` is written in an order of its own each time; use a `BTreeSet`.
    pub fn fingerprint(&self) -> u64 {
        self.spec().fingerprint()
    }
}

impl GraphSpec {
    /// See [`Graph::fingerprint`].
    pub fn fingerprint(&self) -> u64 {
        let shapes = self.shapes();
        let mut hasher = FixedState::default().build_hasher();
        // Serialising plain data to memory does not fail; should it ever, the text of the spec tells graphs apart too.
        let bytes = serde_json::to_vec(&shapes).unwrap_or_else(|_| format!("{self:?}").into_bytes());
        hasher.write(&bytes);
        hasher.finish()
    }
}
