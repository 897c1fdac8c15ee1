//! The Beam model in Rust: what people write pipelines against. It knows no runner.
#![forbid(unsafe_code)]

mod clock;
mod element;
mod error;
pub mod sdf;
mod time;

pub use clock::{Clock, ClockRef, ManualClock, SystemClock};
pub use element::{Element, Key};
pub use error::{BuildError, BuildErrors, DoFnError, ErrorKind, Phase, PipelineError, Result, Step};
pub use time::{Duration, ParseDurationError, Timestamp, TimestampOutOfBounds};
