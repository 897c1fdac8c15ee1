//! Claiming and splitting offsets that have no end yet.

use std::fmt;

use super::{Boundedness, OffsetRange, OffsetRangeTracker, Progress, RestrictionTracker};

/// Says where an endless range ends for now, such as the newest offset of a log plus 1.
///
/// It is asked at every split and progress report, with the tracker locked: a source that asks a server keeps the
/// last answer and refreshes it elsewhere. The estimate may be wrong, and may fall; it moves split points, never work.
///
/// Any `Fn() -> i64` is one.
pub trait EndEstimator: Send + 'static {
    /// The first offset that does not exist yet.
    fn estimate(&self) -> i64;
}

impl<F: Fn() -> i64 + Send + 'static> EndEstimator for F {
    fn estimate(&self) -> i64 {
        self()
    }
}

/// Hands out the offsets of an endless range `[start, i64::MAX)`, by the rules of [`OffsetRangeTracker`].
///
/// Claims go on for ever; only an estimate of the end makes progress and split points sensible. A split gives the
/// primary an end (it is then an ordinary range), and the residual stays endless. So a split at 1 is no refusal: the
/// primary keeps all that is thought to exist, the residual gets what is to come.
///
/// Source: Beam's `GrowableOffsetRangeTracker`.
///
/// ```
/// use purlin_sdk::sdf::{GrowableOffsetRangeTracker, OffsetRange, RestrictionTracker};
/// let mut tracker = GrowableOffsetRangeTracker::new(OffsetRange::endless(0), || 20);
/// assert!(tracker.try_claim(9));
/// assert_eq!(tracker.progress().remaining, 11.0);
/// assert_eq!(tracker.try_split(0.5), Some(OffsetRange::endless(14)));
/// assert_eq!(tracker.restriction(), OffsetRange::new(0, 14));
/// ```
#[derive(Clone)]
pub struct GrowableOffsetRangeTracker<E> {
    tracker: OffsetRangeTracker,
    end: E,
}

impl<E: EndEstimator> GrowableOffsetRangeTracker<E> {
    /// A tracker of `range`, of which nothing is claimed. A range that is not endless is an ordinary one, and its end
    /// is not estimated.
    pub const fn new(range: OffsetRange, end: E) -> GrowableOffsetRangeTracker<E> {
        GrowableOffsetRangeTracker { tracker: OffsetRangeTracker::new(range), end }
    }

    /// Where the work ends as far as is known.
    fn until(&self) -> i64 {
        let range = self.tracker.restriction();
        if range.is_endless() { self.end.estimate() } else { range.end }
    }
}

impl<E: EndEstimator> RestrictionTracker for GrowableOffsetRangeTracker<E> {
    type Restriction = OffsetRange;
    type Position = i64;

    #[inline]
    fn try_claim(&mut self, offset: i64) -> bool {
        self.tracker.try_claim(offset)
    }

    fn try_split(&mut self, fraction: f64) -> Option<OffsetRange> {
        self.tracker.split_towards(fraction, self.until())
    }

    fn restriction(&self) -> OffsetRange {
        self.tracker.restriction()
    }

    fn progress(&self) -> Progress {
        self.tracker.progress_towards(self.until())
    }

    fn is_done(&self) -> bool {
        self.tracker.is_done()
    }

    fn pending(&self) -> String {
        self.tracker.pending()
    }

    fn violation(&self) -> Option<String> {
        self.tracker.violation()
    }

    fn boundedness(&self) -> Boundedness {
        if self.restriction().is_endless() { Boundedness::Unbounded } else { Boundedness::Bounded }
    }
}

impl<E> fmt::Debug for GrowableOffsetRangeTracker<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowableOffsetRangeTracker").field("tracker", &self.tracker).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use proptest::prelude::*;

    use super::*;
    use crate::sdf::check_tracker_laws;

    fn endless(start: i64, end: i64) -> GrowableOffsetRangeTracker<impl EndEstimator> {
        GrowableOffsetRangeTracker::new(OffsetRange::endless(start), move || end)
    }

    #[test]
    fn b023_progress_and_split_follow_the_estimate() {
        let end = Arc::new(AtomicI64::new(20));
        let asked = end.clone();
        let estimator = move || asked.load(Ordering::Relaxed);
        let mut t = GrowableOffsetRangeTracker::new(OffsetRange::endless(0), estimator);
        assert!(t.try_claim(9));
        assert_eq!(t.progress(), Progress { completed: 9.0, remaining: 11.0 });
        let mut behind = t.clone();
        assert_eq!(t.try_split(0.5), Some(OffsetRange::endless(14)));
        assert_eq!(t.restriction(), OffsetRange::new(0, 14));
        assert_eq!(t.boundedness(), Boundedness::Bounded);
        assert_eq!(t.progress(), Progress { completed: 9.0, remaining: 5.0 });

        // The end falls behind the cursor.
        end.store(5, Ordering::Relaxed);
        assert_eq!(behind.progress(), Progress { completed: 9.0, remaining: 0.0 });
        assert_eq!(behind.try_split(0.5), Some(OffsetRange::endless(10)));
        assert_eq!(behind.restriction(), OffsetRange::new(0, 10));
        assert!(behind.is_done());
        // The primary has an end of its own now.
        assert_eq!(t.progress(), Progress { completed: 9.0, remaining: 5.0 });
    }

    #[test]
    fn checkpoints_leave_the_endless_rest() {
        let mut untouched = endless(7, 3);
        assert_eq!(untouched.try_split(0.0), Some(OffsetRange::endless(7)));
        assert!(untouched.is_done());

        let mut t = endless(0, 20);
        assert!(t.try_claim(19));
        assert!(!t.is_done());
        assert_eq!(t.pending(), "the offsets [20, inf) of [0, inf)");
        assert_eq!(t.try_split(1.0), Some(OffsetRange::endless(20)));
        assert!(t.is_done());
        assert_eq!(t.try_split(0.0), None);
    }

    #[test]
    fn b022_nothing_overflows_at_the_ends() {
        for estimate in [i64::MIN, 0, i64::MAX] {
            let mut t = endless(i64::MIN, estimate);
            assert!(t.progress().is_valid());
            assert!(t.try_split(0.5).is_some());
            let mut last = endless(i64::MIN, estimate);
            assert!(last.try_claim(i64::MAX - 1));
            assert!(last.is_done());
            assert!(last.progress().is_valid());
            assert_eq!(last.try_split(0.0), None);
            assert!(!last.try_claim(i64::MAX));
            assert_eq!(last.try_split(0.5), None);
            assert_eq!(last.progress().remaining, 0.0);
            assert_eq!(last.violation(), None);
        }
    }

    #[test]
    fn b021_an_empty_restriction_holds_no_work() {
        for range in [OffsetRange::new(7, 7), OffsetRange::endless(i64::MAX)] {
            let mut t = GrowableOffsetRangeTracker::new(range, || i64::MAX);
            assert!(t.is_done());
            assert_eq!(t.boundedness(), Boundedness::Bounded);
            assert_eq!(t.progress().fraction(), 1.0);
            assert_eq!(t.try_split(0.5), None);
            assert!(!t.try_claim(range.start));
            assert_eq!(t.violation(), None);
        }
    }

    proptest! {
        /// Up to offset 20: what lies beyond cannot be listed, so no estimate, and no primary, reaches past it.
        #[test]
        fn obeys_the_laws(start in 0..20_i64, end in prop_oneof![-5..=20_i64, Just(i64::MIN)]) {
            let make = |r| GrowableOffsetRangeTracker::new(r, move || end);
            let listed = |r: &OffsetRange| (r.start..r.end.min(20)).collect();
            prop_assert_eq!(check_tracker_laws(make, OffsetRange::endless(start), listed), Ok(()));
            prop_assert_eq!(check_tracker_laws(make, OffsetRange::new(start, 20), listed), Ok(()));
        }

        #[test]
        fn a_split_never_goes_behind_the_cursor(
            claim in 0..i64::MAX,
            end in any::<i64>(),
            fraction in 0.0..=1.0_f64,
        ) {
            let mut t = endless(0, end);
            prop_assert!(t.try_claim(claim));
            match t.try_split(fraction) {
                Some(residual) => {
                    prop_assert!(residual.start > claim && residual.is_endless());
                    prop_assert!(residual.start <= end.max(claim + 1));
                    prop_assert_eq!(t.restriction().end, residual.start);
                }
                // Only where there is no offset between the cursor, or the estimate, and the last there is.
                None => prop_assert!(claim == i64::MAX - 1 || end == i64::MAX),
            }
        }
    }
}
