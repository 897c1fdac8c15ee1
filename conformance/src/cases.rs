//! Pipelines as functions of a runner. Each checks its own result and panics when it is wrong.

pub mod sources;
pub mod splittable;
