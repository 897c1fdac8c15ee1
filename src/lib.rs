//! Purlin.
#![forbid(unsafe_code)]

pub mod testing;

pub use purlin_derive::Outputs;
pub use purlin_sdk::*;
