//! Building a pipeline.

mod builder;
mod handle;

pub(crate) use builder::{Builder, NewNode};
pub use handle::Pipeline;
