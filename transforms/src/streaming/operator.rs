//! What a query is made of, as far as output modes ask.

use purlin_sdk::{
    Step,
    graph::{CollectionId, Graph},
};

/// One operator of a query: a composite transform that keeps state over epochs, or that matters for which output modes
/// there can be.
#[derive(Clone, Debug)]
pub struct Operator<K> {
    /// The composite.
    pub step: Step,
    /// What it reads.
    pub inputs: Vec<CollectionId>,
    /// What it is.
    pub kind: K,
}

impl<K> Operator<K> {
    /// Whether `path` is the operator's own or that of a transform that it is made of.
    pub fn contains(&self, path: &str) -> bool {
        path.strip_prefix(self.step.path()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The collections that it gives.
    pub fn outputs<'g>(&'g self, graph: &'g Graph) -> impl Iterator<Item = CollectionId> + 'g {
        let own = graph.nodes.iter().filter(|node| self.contains(node.step.path()));
        own.flat_map(|node| node.outputs.iter().copied())
    }
}
