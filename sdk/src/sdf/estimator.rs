//! Watermark estimators: how far the outputs of one restriction have come in event time.

mod bounded_out_of_orderness;
mod kind;
mod manual;
mod monotonic;
mod traits;
mod wall_time;

pub use bounded_out_of_orderness::BoundedOutOfOrderness;
pub use kind::{EstimatorKind, Observing, Plain};
pub use manual::{Manual, WatermarkError};
pub use monotonic::Monotonic;
pub use traits::{ManualWatermark, TimestampObserving, WatermarkEstimator};
pub use wall_time::WallTime;
