//! Errors: what user code returns, what a build collects, and what a run ends in.

mod build;
mod dofn;
mod pipeline;

pub use build::{BuildError, BuildErrors};
pub use dofn::{DoFnError, Result};
pub use pipeline::{ErrorKind, Phase, PipelineError, Step};
