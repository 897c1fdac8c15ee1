//! Connectors: what reads from and writes to the world outside a pipeline.
//!
//! [`files`] holds what every file format shares: patterns, compression, the writing of one shard. [`text`] holds
//! records split by a delimiter.

pub mod files;
pub mod text;

pub use text::TextIo;
