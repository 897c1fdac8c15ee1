//! Pipelines that every runner must pass.
//!
//! `cases` holds pipelines as functions of a [`Runner`](purlin_sdk::Runner), each of which checks its own result;
//! `table` lists them all, so that a runner from elsewhere can be put to the same test. [`runners`] holds the two
//! runners at hand, in every setup that they are tested in.
#![forbid(unsafe_code)]

#[cfg(feature = "cases")]
pub mod cases;
mod committed;
pub mod golden;
#[cfg(feature = "cases")]
mod list;
mod meeting;
mod offset_source;
pub mod runners;
#[cfg(feature = "cases")]
pub mod table;

pub use committed::{Committed, Seen};
pub use meeting::Meeting;
pub use offset_source::{Estimate, Offset, OffsetSource, Offsets, Partitions};
