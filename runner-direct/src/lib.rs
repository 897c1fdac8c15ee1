//! The direct runner: one thread, deterministic under a seed, checks what users must obey.
//!
//! It encodes and decodes every element and every restriction, draws bundle boundaries, their order and the splits and
//! checkpoints of splittable DoFns at random, checks keys, and says the seed on failure, with which the same run can be
//! repeated.
//!
//! It drives the engine from one thread and imports the SDK and the engine only.
#![forbid(unsafe_code)]

mod run;
mod simulate;

pub use run::DirectRunner;
