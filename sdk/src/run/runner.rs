//! What runs pipelines.

use std::fmt;

use super::RunHandle;
use crate::{PipelineError, graph::Graph};

/// Something that can run a pipeline. A pipeline gives the same result on every runner.
pub trait Runner: fmt::Debug {
    /// The runner's name, as on the command line.
    fn name(&self) -> &str;

    /// Starts the pipeline and returns at once.
    ///
    /// # Errors
    /// When the runner cannot run it at all, with what it cannot do and what to do instead.
    fn run(&self, graph: Graph) -> Result<RunHandle, PipelineError>;
}
