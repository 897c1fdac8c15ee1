//! Streaming queries: an unbounded pipeline that runs in epochs, as in Spark's Structured Streaming.
//!
//! An **epoch** takes what its sources have, works all of it off, moves the watermark, and hands the result to a sink,
//! all or nothing. When epochs begin is said by a trigger, what of the result an epoch shows by the output mode.

mod context;
mod epoch;
mod event_time;
mod operator;
mod output_mode;
mod source;
mod trigger;

pub use context::QueryContext;
pub use epoch::{Epoch, Phase};
pub use event_time::{EventTime, WatermarkId};
pub use operator::Operator;
pub use output_mode::OutputMode;
pub use source::{Offset, ReadUpTo, StreamSource};
pub use trigger::QueryTrigger;
