//! Work that is paused, and not shared out.

use super::{Boundedness, Progress, RestrictionTracker};

/// A tracker whose work stays in one piece: the rest is saved for later when the runner asks for it, but never cut in
/// two that go on side by side.
///
/// For what has an order: a partition whose watermark is taken from its records, a file that grows. The watermark of a
/// second half would stand still until the first has come to it, and hold up all windows.
///
/// Source: Beam's `UnsplittableRestrictionTracker` (Python).
///
/// ```
/// use purlin_sdk::sdf::{OffsetRange, OffsetRangeTracker, RestrictionTracker, Unsplittable};
/// let mut tracker = Unsplittable::new(OffsetRangeTracker::new(OffsetRange::new(0, 10)));
/// assert!(tracker.try_claim(3));
/// assert_eq!(tracker.try_split(0.5), None);
/// // A checkpoint is none of that: the rest goes on later.
/// assert_eq!(tracker.try_split(0.0), Some(OffsetRange::new(4, 10)));
/// ```
#[derive(Clone, Debug)]
pub struct Unsplittable<T>(T);

impl<T: RestrictionTracker> Unsplittable<T> {
    /// What `tracker` hands out, in one piece.
    pub const fn new(tracker: T) -> Unsplittable<T> {
        Unsplittable(tracker)
    }
}

impl<T: RestrictionTracker> RestrictionTracker for Unsplittable<T> {
    type Restriction = T::Restriction;
    type Position = T::Position;

    fn try_claim(&mut self, position: T::Position) -> bool {
        self.0.try_claim(position)
    }

    fn try_split(&mut self, fraction: f64) -> Option<T::Restriction> {
        if fraction <= 0.0 { self.0.try_split(fraction) } else { None }
    }

    fn restriction(&self) -> T::Restriction {
        self.0.restriction()
    }

    fn progress(&self) -> Progress {
        self.0.progress()
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    fn pending(&self) -> String {
        self.0.pending()
    }

    fn violation(&self) -> Option<String> {
        self.0.violation()
    }

    fn boundedness(&self) -> Boundedness {
        self.0.boundedness()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::{OffsetRange, OffsetRangeTracker, check_tracker_laws};

    #[test]
    fn obeys_the_laws() {
        let made = |range: OffsetRange| Unsplittable::new(OffsetRangeTracker::new(range));
        check_tracker_laws(made, OffsetRange::new(-2, 5), |r| (r.start..r.end).collect()).unwrap();
    }

    #[test]
    fn nan_divides_nothing() {
        let mut tracker = Unsplittable::new(OffsetRangeTracker::new(OffsetRange::new(0, 10)));
        assert_eq!(tracker.try_split(f64::NAN), None);
        assert_eq!(tracker.restriction(), OffsetRange::new(0, 10));
    }
}
