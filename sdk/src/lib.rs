//! The Beam model in Rust: what people write pipelines against. It knows no runner.
#![forbid(unsafe_code)]

pub mod batch;
pub mod coder;
mod element;
mod error;
mod time;
pub mod window;

pub use element::{Element, Key};
pub use error::{BuildError, BuildErrors, DoFnError, ErrorKind, Phase, PipelineError, Result, Step};
pub use time::{Duration, ParseDurationError, Timestamp, TimestampOutOfBounds};
