//! What every system of the benchmark shares: the inputs, the checksums of results, and the way a run is measured and
//! told. Peers live in a workspace of their own and know nothing of Purlin but this.
#![forbid(unsafe_code)]

mod ask;
pub mod checksum;
pub mod generate;
pub mod measure;
pub mod nexmark;
mod sample;
pub mod text;

pub use ask::{Ask, Input, Params};
pub use sample::{Failure, Latency, Outcome, Sample, measured, print};
