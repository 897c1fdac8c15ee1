//! The portable runner: a pipeline goes to an engine that speaks Beam's portability protocol, without a change.
#![forbid(unsafe_code)]

mod artifacts;
mod call;
mod failures;
mod launcher;
mod leftovers;
mod payload;
mod pipeline;
mod pool;
mod proto;
mod run;
mod runner;
mod trie;
mod urns;
mod worker;

pub use artifacts::artifact_path;
pub use call::{Provisioned, WorkerCall, serve_pool};
pub use pipeline::Environment;
pub use runner::PortableRunner;
