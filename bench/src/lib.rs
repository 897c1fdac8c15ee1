//! Purlin beside hand-written loops and its peers on the same work, on the same machine, in the same minute.
//!
//! ```text
//! cargo run --release -p purlin-bench --bin bench -- --threads=1,2 --runs=5
//! ```
//!
//! What runs is data: [`works::WORKS`] lists the works, and each [`Work`] lists the systems that do it, the hand-written
//! loop first. A system is one function from [`Params`] to an [`Outcome`], or a peer's program, so a new one is one line
//! in that table. [`harness`] runs every measurement in a process of its own, compares checksums and prints ratios;
//! absolute times are worth little on a shared machine, ratios of neighbouring runs are.
#![forbid(unsafe_code)]

pub mod hand;
pub mod harness;
pub mod purlin;
mod work;
pub mod works;

pub use purlin_bench_common::{checksum, generate, measure, nexmark, text};
pub use work::{
    Against, Comparison, Failure, Input, Latency, Outcome, Params, Place, Run, Sample, System, Work, vs,
    within,
};
