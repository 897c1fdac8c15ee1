//! Running a pipeline: runners, and the handle on a run.

mod handle;
mod result;
mod runner;
mod shared;
mod stall;

pub use handle::RunHandle;
pub use result::{RunOutcome, RunResult, RunState};
pub use runner::Runner;
pub use shared::{RunControl, RunShared};
pub use stall::{Hold, Holder, StageReport, StallReport};
