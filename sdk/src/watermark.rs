//! Watermarks that are assigned to a collection, whatever its source says.
//!
//! | | |
//! |---|---|
//! | [`PCollection::with_watermark`](crate::PCollection::with_watermark) | Spark's: the greatest time so far less a delay |
//! | [`PCollection::assign_watermark`](crate::PCollection::assign_watermark) | Flink's: a [`WatermarkStrategy`] |
//!
//! From there on the watermark is what the strategy says, and the end of time when the input is over. What lies behind it
//! is late for groupings downstream. A source of one's own that knows its watermark says it by an
//! [estimator](crate::sdf) instead.

mod alignment;
mod control;
mod generator;
mod partitions;
mod strategy;

pub use alignment::Alignment;
pub use control::{ControlPoint, MultipleWatermarks, WatermarkControl};
pub use generator::{WatermarkGenerator, WatermarkOutput};
pub use strategy::WatermarkStrategy;

pub(crate) use generator::WarmUp;
pub(crate) use partitions::{Assigner, Standing};
