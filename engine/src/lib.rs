//! The state machine that every runner drives.
//!
//! A graph becomes a [`Plan`] of stages; the [`Engine`] hands out bundles of work ([`Task`]), and takes back what they
//! did. Between two commits its state is a consistent cut of the pipeline: what is pending, what is gathered, where
//! watermarks are. It has no threads, no sockets and no clock of its own; a runner calls it from one thread, or from
//! many behind a lock that it takes once a bundle.
//!
//! ```text
//! Graph -> Plan -> Stages -> Bundles -> commit
//! ```
//!
//! It imports the SDK only, and knows nothing of element types.
#![forbid(unsafe_code)]

mod align;
mod assign;
mod checkpoint;
mod chooser;
mod commit;
mod config;
mod engine;
mod guard;
mod issue;
mod key_groups;
mod leftovers;
mod live;
mod metrics;
mod plan;
mod progress;
mod side;
mod split;
mod stall;
mod state;
mod task;
mod test_stream;
mod windows;

pub use checkpoint::{
    CheckpointDir, CheckpointOptions, Checkpoints, Cut, Found, Lent, Segment, SegmentName, SegmentPart,
    Snapshot,
};
pub use config::EngineConfig;
pub use engine::{Engine, Next};
pub use leftovers::Leftovers;
pub use metrics::RunMetrics;
pub use plan::{Plan, StageId};
pub use split::SplitCandidate;
pub use task::{BundleId, Finished, Task, Teardown};
