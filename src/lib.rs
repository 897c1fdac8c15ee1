//! Purlin: Apache Beam's model in Rust. A pipeline is written once, and a runner is picked when it is launched.
//!
//! ```no_run
//! use purlin::prelude::*;
//!
//! #[derive(clap::Args, Clone)]
//! struct Options {
//!     /// Words to count.
//!     #[arg(long, value_delimiter = ',')]
//!     words: Vec<String>,
//! }
//!
//! fn build(p: &Pipeline, options: &Options) {
//!     p.create("Words", options.words.clone())
//!         .apply("Count", Count::per_element())
//!         .map("Print", |(word, n)| println!("{word}: {n}"));
//! }
//!
//! fn main() -> ExitCode {
//!     purlin::launch::<Options>(build)
//! }
//! ```
//! | what | where |
//! |---|---|
//! | everything that most pipelines need | [`prelude`] |
//! | from a function to a program: options, signals, errors, exit codes | [`launch`](fn@launch) |
//! | aggregations, joins | [`transforms`] |
//! | files | [`io`] |
//! | streaming queries: output modes, query triggers, checkpoints | [`streaming`] |
//! | windows | [`window`] |
//! | watermarks of collections | [`watermark`] |
//! | state and timers of DoFns | [`state`] |
//! | sources of one's own | [`sdf`] |
//! | tests of pipelines and of DoFns | [`testing`] |
#![forbid(unsafe_code)]

mod launch;
pub mod prelude;
pub mod testing;

pub use launch::{MemorySize, RunOptions, RunnerKind, launch, launch_from, runner_from};
pub use purlin_derive::{KeyedState, Outputs};
pub use purlin_runner_direct::DirectRunner;
#[cfg(feature = "portable")]
pub use purlin_runner_portable::{Environment, PortableRunner, artifact_path};
pub use purlin_runner_threaded::ThreadedRunner;
pub use purlin_sdk::*;
pub use purlin_transforms as transforms;
pub use purlin_transforms::{io, streaming};

/// The guides and the README: every Rust block in them is a test.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../docs/first-pipeline.md")]
    mod first_pipeline {}
    #[doc = include_str!("../docs/first-source.md")]
    mod first_source {}
    #[doc = include_str!("../docs/triggers-and-state.md")]
    mod triggers_and_state {}
    #[doc = include_str!("../docs/watermarks.md")]
    mod watermarks {}
    #[doc = include_str!("../docs/cookbook.md")]
    mod cookbook {}
    #[doc = include_str!("../docs/testing.md")]
    mod testing {}
    #[doc = include_str!("../docs/semantics.md")]
    mod semantics {}
    #[doc = include_str!("../docs/engines.md")]
    mod engines {}
    #[doc = include_str!("../docs/runners.md")]
    mod runners {}
    #[doc = include_str!("../docs/streaming-queries.md")]
    mod streaming_queries {}
}
