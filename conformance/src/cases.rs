//! Pipelines as functions of a runner. Each checks its own result and panics when it is wrong.

pub mod failure;
pub mod finalizers;
pub mod handle;
pub mod lifecycle;
pub mod sources;
pub mod splittable;
pub mod watermarks;
