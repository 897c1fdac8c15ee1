//! The portable runner: a pipeline goes to an engine that speaks Beam's portability protocol, without a change.
#![forbid(unsafe_code)]

mod payload;
mod pipeline;
mod proto;
mod urns;

pub use pipeline::Environment;
