//! From a graph to stages.
//!
//! Consecutive transforms are fused into a stage, which runs as one bundle. A stage begins at a root: an impulse, a
//! grouping, a side input, the process step of a splittable DoFn, a flatten of several stages, a reshuffle, or a
//! transform that looks at side inputs (its elements may have to wait for them).

mod build;
mod instance;
mod stage;

pub(crate) use stage::{Edge, Feed, Root, SlotKind, SlotPlan, Stage};
pub use stage::{Plan, StageId};
