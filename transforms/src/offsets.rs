//! Handing out offsets that cannot always be divided.

use purlin_sdk::sdf::{EndEstimator, GrowableOffsetRangeTracker, OffsetRange, Progress, RestrictionTracker};

/// Hands out the offsets of a range, bounded work also where the range is endless: its source knows when to stop.
///
/// A range that is not divisible is never split for another worker, but can still be checkpointed.
#[derive(Debug)]
pub(crate) struct Offsets<E> {
    offsets: GrowableOffsetRangeTracker<E>,
    divisible: bool,
}

impl<E: EndEstimator> Offsets<E> {
    /// `end` says where an endless range ends for now; it moves only progress.
    pub(crate) fn new(range: OffsetRange, end: E, divisible: bool) -> Offsets<E> {
        Offsets { offsets: GrowableOffsetRangeTracker::new(range, end), divisible }
    }
}

impl<E: EndEstimator> RestrictionTracker for Offsets<E> {
    type Restriction = OffsetRange;
    type Position = i64;

    #[inline]
    fn try_claim(&mut self, offset: i64) -> bool {
        self.offsets.try_claim(offset)
    }

    fn try_split(&mut self, fraction: f64) -> Option<OffsetRange> {
        if !self.divisible && fraction > 0.0 {
            return None;
        }
        self.offsets.try_split(fraction)
    }

    fn restriction(&self) -> OffsetRange {
        self.offsets.restriction()
    }

    fn progress(&self) -> Progress {
        self.offsets.progress()
    }

    fn is_done(&self) -> bool {
        self.offsets.is_done()
    }

    fn pending(&self) -> String {
        self.offsets.pending()
    }

    fn violation(&self) -> Option<String> {
        self.offsets.violation()
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::sdf::check_tracker_laws;

    use super::*;

    #[test]
    fn obeys_the_laws() {
        let made = |r| Offsets::new(r, || 6, true);
        check_tracker_laws(made, OffsetRange::new(0, 6), |r| (r.start..r.end).collect()).unwrap();
    }

    #[test]
    fn what_is_not_divisible_is_checkpointed_but_not_split() {
        let mut tracker = Offsets::new(OffsetRange::endless(0), || 24, false);
        assert_eq!(tracker.progress(), Progress::new(0.0, 24.0));
        assert!(tracker.try_claim(3));
        assert_eq!(tracker.try_split(0.5), None);
        assert_eq!(tracker.try_split(0.0), Some(OffsetRange::endless(4)));
        assert!(tracker.is_done());
    }
}
