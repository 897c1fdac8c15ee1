//! A pipeline as data: what a runner gets.

mod changes;
mod node;
mod restore;
mod shape;
mod spec;
mod watermarks;

pub use node::{Collection, CollectionId, Graph, Node, NodeId, Op};
pub use spec::{CollectionSpec, GraphSpec, NodeSpec};
pub use watermarks::WatermarkSpec;
