//! The threaded runner: bundles in parallel on one machine, in bounded memory.
//!
//! Workers share one [`Engine`](purlin_engine::Engine) behind a lock that each takes once a bundle, to commit what it
//! did and to take what is next. A worker takes a few bundles at once when there are many, into a deque of its own;
//! workers with nothing to do steal from the others, then split splittable DoFns that are at work, then sleep.
//!
//! It imports the SDK and the engine only.
#![forbid(unsafe_code)]

mod checkpointer;
mod run;
mod runner;
mod worker;

pub use runner::ThreadedRunner;
