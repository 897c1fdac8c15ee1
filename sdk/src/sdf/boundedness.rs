//! Whether work ends.

use serde::{Deserialize, Serialize};

/// Whether a collection, or the work of a restriction, is known to end.
///
/// On drain a bounded restriction is finished and an unbounded one is dropped, unless the DoFn truncates it otherwise.
///
/// Source: Beam's `PCollection.IsBounded` and `RestrictionTracker.isBounded`.
///
/// ```
/// use purlin_sdk::sdf::{Boundedness, GrowableOffsetRangeTracker, OffsetRange, RestrictionTracker};
/// let mut tracker = GrowableOffsetRangeTracker::new(OffsetRange::endless(0), || 20);
/// assert_eq!(tracker.boundedness(), Boundedness::Unbounded);
/// tracker.try_split(0.0);
/// assert_eq!(tracker.boundedness(), Boundedness::Bounded);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Boundedness {
    /// It ends.
    #[default]
    Bounded,
    /// It may go on for ever.
    Unbounded,
}
