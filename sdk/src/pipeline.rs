//! Building a pipeline.

mod builder;
mod handle;

pub(crate) use builder::{Builder, NewNode, slash_in};
pub use handle::Pipeline;
