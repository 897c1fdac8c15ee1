//! Watermark estimators: how far the outputs of one restriction have come in event time.

mod bounded_out_of_orderness;
mod capped;
mod kind;
mod manual;
mod monotonic;
mod per_partition;
mod periodic;
mod source_watermark;
mod traits;
mod wall_time;
mod with_idleness;

pub use bounded_out_of_orderness::BoundedOutOfOrderness;
pub use capped::{Capped, CappedState};
pub use kind::{EstimatorKind, Observing, Plain};
pub use manual::{Manual, WatermarkError};
pub use monotonic::Monotonic;
pub use per_partition::{PerPartition, PerPartitionState};
pub use periodic::{Periodic, PeriodicState};
pub use source_watermark::{SourceWatermark, SourceWatermarkState};
pub use traits::{ManualWatermark, TimestampObserving, WatermarkEstimator};
pub use wall_time::WallTime;
pub use with_idleness::{IdlenessState, WithIdleness};
