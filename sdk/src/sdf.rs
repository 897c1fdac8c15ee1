//! Splittable DoFns: what a piece of work is, how it is claimed and split, and how far its event time has come.
//!
//! A **restriction** describes work on one element, such as the offsets `[0, 100)` of a file. A
//! [`RestrictionTracker`] hands that work out: the DoFn claims one position after the other, and the runner may at any
//! time split what is left, so that the tracker keeps the *primary* and somebody else gets the *residual*. Whatever
//! is split when, every position is done once.
//!
//! ```
//! use purlin_sdk::sdf::{OffsetRange, OffsetRangeTracker, RestrictionTracker};
//! let mut tracker = OffsetRangeTracker::new(OffsetRange::new(0, 100));
//! assert!(tracker.try_claim(0));
//! assert_eq!(tracker.try_split(0.5), Some(OffsetRange::new(50, 100)));   // now somebody else's
//! assert_eq!(tracker.restriction(), OffsetRange::new(0, 50));
//! assert!(tracker.try_claim(49));
//! assert!(!tracker.try_claim(50));                                        // stop, and emit nothing more
//! assert!(tracker.is_done());
//! ```
//!
//! A [`WatermarkEstimator`] says how far the outputs of one restriction have come in event time. Its state travels
//! with the residual. See [`Monotonic`], [`Manual`], [`WallTime`], [`BoundedOutOfOrderness`] and [`SourceWatermark`], and
//! what lies around one of these: [`WithIdleness`], [`PerPartition`], [`Capped`] and [`Periodic`].
//!
//! Who writes a tracker or an estimator has [`check_tracker_laws`] and [`check_estimator_laws`] to test it with.
//!
//! Source of the rules: the Beam programming guide, [Splittable
//! `DoFn`s](https://beam.apache.org/documentation/programming-guide/#splittable-dofns).

mod boundedness;
mod claims;
mod context;
mod continuation;
mod dofn;
mod estimator;
mod growable_offset_range;
mod laws;
mod offset_range;
mod offset_range_tracker;
mod par_do;
mod progress;
mod tracker;
mod unsplittable;

pub use boundedness::Boundedness;
pub use claims::Claims;
pub use context::SdfContext;
pub use continuation::Continuation;
pub use dofn::{PositionOf, RestrictionOf, SplittableDoFn, WatermarkStateOf};
pub use estimator::{
    BoundedOutOfOrderness, Capped, CappedState, EstimatorKind, IdlenessState, Manual, ManualWatermark,
    Monotonic, Observing, PerPartition, PerPartitionState, Periodic, PeriodicState, Plain, SourceWatermark,
    SourceWatermarkState, TimestampObserving, WallTime, WatermarkError, WatermarkEstimator, WithIdleness,
};
pub use growable_offset_range::{EndEstimator, GrowableOffsetRangeTracker};
pub use laws::{check_estimator_laws, check_tracker_laws};
pub use offset_range::OffsetRange;
pub use offset_range_tracker::OffsetRangeTracker;
pub use par_do::ParDoSplittable;
pub use progress::Progress;
pub use tracker::RestrictionTracker;
pub use unsplittable::Unsplittable;
