//! Claiming and splitting a range of offsets.

use super::{Boundedness, OffsetRange, Progress, RestrictionTracker};

/// Hands out the offsets of an [`OffsetRange`] in strictly increasing order.
///
/// Offsets may be skipped: claiming 7 after 3 gives up 4 to 6, which is how a reader claims the starts of records
/// only. A claim at or past the end is `false`; one that is not after the last, or that lies before the start, is a
/// mistake of the DoFn and becomes the [`violation`](RestrictionTracker::violation).
///
/// The reader of such records ends with a failed claim past the end; that is what makes the tracker done when the last
/// record starts before the last offset.
///
/// Source: Beam's `OffsetRangeTracker`.
///
/// ```
/// use purlin_sdk::sdf::{OffsetRange, OffsetRangeTracker, RestrictionTracker};
/// let mut tracker = OffsetRangeTracker::new(OffsetRange::new(5, 10));
/// assert!(tracker.try_claim(5));
/// assert_eq!(tracker.pending(), "the offsets [6, 10) of [5, 10)");
/// assert!(!tracker.try_claim(5));
/// assert_eq!(tracker.violation().unwrap(), "offset 5 was claimed after offset 5; claims must increase");
/// ```
#[derive(Clone, Debug)]
pub struct OffsetRangeTracker {
    range: OffsetRange,
    /// The last offset asked for, whether it was given or not.
    attempted: Option<i64>,
    violation: Option<Violation>,
}

/// A claim against the rules.
#[derive(Clone, Copy, Debug)]
struct Violation {
    offset: i64,
    /// The claim before it; without one, it lies before the start.
    after: Option<i64>,
}

impl OffsetRangeTracker {
    /// A tracker of `range`, of which nothing is claimed.
    pub const fn new(range: OffsetRange) -> OffsetRangeTracker {
        OffsetRangeTracker { range, attempted: None, violation: None }
    }

    /// The last offset asked for, or the one before the start: wide, since that one may not exist.
    fn cursor(&self) -> i128 {
        self.attempted.map_or_else(|| i128::from(self.range.start) - 1, i128::from)
    }

    /// Splits at `fraction` of the way from the cursor to `until`, where the work is thought to end.
    pub(super) fn split_towards(&mut self, fraction: f64, until: i64) -> Option<OffsetRange> {
        if self.violation.is_some() || fraction.is_nan() {
            return None;
        }
        let cursor = self.cursor();
        let ahead = (i128::from(until) - cursor).max(1);
        // At least one ahead: what is claimed stays in the primary. Past the end after a failed claim, so no split then.
        let step = ((ahead as f64 * fraction.clamp(0.0, 1.0)) as i128).clamp(1, ahead);
        let at = i64::try_from(cursor + step).ok().filter(|at| *at < self.range.end)?;
        let residual = OffsetRange::new(at, self.range.end);
        self.range.end = at;
        Some(residual)
    }

    /// Progress when the work is thought to end at `until`.
    pub(super) fn progress_towards(&self, until: i64) -> Progress {
        let start = self.range.start;
        let at = self.attempted.unwrap_or(start).min(self.range.end.max(start));
        Progress::new(OffsetRange::new(start, at).len() as f64, OffsetRange::new(at, until).len() as f64)
    }
}

impl RestrictionTracker for OffsetRangeTracker {
    type Restriction = OffsetRange;
    type Position = i64;

    #[inline]
    fn try_claim(&mut self, offset: i64) -> bool {
        if self.violation.is_some() {
            return false;
        }
        if offset < self.range.start || self.attempted.is_some_and(|last| offset <= last) {
            self.violation = Some(Violation { offset, after: self.attempted });
            return false;
        }
        self.attempted = Some(offset);
        offset < self.range.end
    }

    fn try_split(&mut self, fraction: f64) -> Option<OffsetRange> {
        self.split_towards(fraction, self.range.end)
    }

    fn restriction(&self) -> OffsetRange {
        self.range
    }

    fn progress(&self) -> Progress {
        self.progress_towards(self.range.end)
    }

    fn is_done(&self) -> bool {
        self.range.is_empty() || self.cursor() >= i128::from(self.range.end) - 1
    }

    fn pending(&self) -> String {
        if self.is_done() {
            return "no offset".to_owned();
        }
        let next = self.attempted.map_or(self.range.start, |last| last.saturating_add(1));
        format!("the offsets {} of {}", OffsetRange::new(next, self.range.end), self.range)
    }

    fn violation(&self) -> Option<String> {
        let Violation { offset, after } = self.violation?;
        Some(match after {
            Some(last) => format!("offset {offset} was claimed after offset {last}; claims must increase"),
            None => {
                format!("offset {offset} was claimed, before the start of the restriction {}", self.range)
            }
        })
    }

    fn boundedness(&self) -> Boundedness {
        if self.range.is_endless() { Boundedness::Unbounded } else { Boundedness::Bounded }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sdf::check_tracker_laws;

    fn tracker(start: i64, end: i64) -> OffsetRangeTracker {
        OffsetRangeTracker::new(OffsetRange::new(start, end))
    }

    #[test]
    fn a_range_without_end_is_unbounded() {
        assert_eq!(tracker(0, i64::MAX).boundedness(), Boundedness::Unbounded);
        assert_eq!(tracker(0, i64::MAX - 1).boundedness(), Boundedness::Bounded);
    }

    #[test]
    fn b017_no_split_after_a_failed_claim() {
        let mut t = tracker(100, 200);
        assert!(!t.try_claim(250));
        for fraction in [0.0, 0.5, 1.0] {
            assert_eq!(t.try_split(fraction), None);
        }
        assert_eq!(t.restriction(), OffsetRange::new(100, 200));
        assert!(t.is_done());
        assert_eq!(t.violation(), None);
    }

    #[test]
    fn b018_checkpoint_with_nothing_claimed() {
        let mut t = tracker(5, 10);
        assert_eq!(t.try_split(0.0), Some(OffsetRange::new(5, 10)));
        assert_eq!(t.restriction(), OffsetRange::new(5, 5));
        assert!(t.is_done());
        assert!(!t.try_claim(5));
        assert_eq!(t.violation(), None);
        assert!(t.is_done());
    }

    #[test]
    fn b021_an_empty_restriction_holds_no_work() {
        for (start, end) in [(7, 7), (i64::MIN, i64::MIN), (i64::MAX, i64::MAX), (9, 3)] {
            let mut t = tracker(start, end);
            assert!(t.is_done());
            assert_eq!(t.progress(), Progress { completed: 0.0, remaining: 0.0 });
            assert_eq!(t.progress().fraction(), 1.0);
            assert_eq!(t.try_split(0.0), None);
            assert!(!t.try_claim(start));
            assert_eq!((t.is_done(), t.violation()), (true, None));
            assert_eq!(t.progress(), Progress { completed: 0.0, remaining: 0.0 });
        }
    }

    #[test]
    fn b022_nothing_overflows_at_the_ends() {
        let mut whole = tracker(i64::MIN, i64::MAX);
        assert_eq!(whole.progress(), Progress { completed: 0.0, remaining: 2.0_f64.powi(64) });
        assert_eq!(whole.try_split(0.5), Some(OffsetRange::new(-1, i64::MAX)));
        assert_eq!(whole.restriction(), OffsetRange::new(i64::MIN, -1));

        let mut half = tracker(0, i64::MAX);
        assert!(half.try_claim(0));
        assert_eq!(half.progress(), Progress { completed: 0.0, remaining: 2.0_f64.powi(63) });

        let mut last = tracker(i64::MAX - 1, i64::MAX);
        assert!(last.try_claim(i64::MAX - 1));
        assert!(last.is_done());
        assert!(!last.try_claim(i64::MAX));
        assert_eq!(last.try_split(0.0), None);
        assert_eq!((last.is_done(), last.violation()), (true, None));
        assert_eq!(last.pending(), "no offset");
    }

    #[test]
    fn b024_progress_past_the_end_is_not_negative() {
        let mut t = tracker(0, 10);
        assert!(!t.try_claim(25));
        assert_eq!(t.progress(), Progress { completed: 10.0, remaining: 0.0 });
        assert_eq!(t.try_split(0.5), None);
    }

    #[test]
    fn a_claimed_offset_counts_as_remaining_until_the_next_claim() {
        let mut t = tracker(0, 10);
        assert_eq!(t.progress(), Progress { completed: 0.0, remaining: 10.0 });
        assert!(t.try_claim(3));
        assert_eq!(t.progress(), Progress { completed: 3.0, remaining: 7.0 });
        assert_eq!(t.try_split(0.0), Some(OffsetRange::new(4, 10)));
        assert_eq!(t.progress(), Progress { completed: 3.0, remaining: 1.0 });
    }

    #[test]
    fn claims_that_do_not_increase_stay_an_error() {
        let mut t = tracker(0, 10);
        assert!(t.try_claim(4));
        assert!(!t.try_claim(3));
        assert_eq!(t.violation().unwrap(), "offset 3 was claimed after offset 4; claims must increase");
        // Neither a good claim nor a worse one makes it forgotten, and the bundle is not to be split any more.
        assert!(!t.try_claim(5));
        assert!(!t.try_claim(1));
        assert_eq!(t.try_split(0.0), None);
        assert_eq!(t.violation().unwrap(), "offset 3 was claimed after offset 4; claims must increase");
        assert!(!t.is_done());
    }

    #[test]
    fn the_same_offset_again_is_an_error_also_when_it_was_refused() {
        for (end, claimed) in [(10, true), (5, false)] {
            let mut t = tracker(5, end);
            assert_eq!(t.try_claim(5), claimed);
            assert!(!t.try_claim(5));
            assert_eq!(t.violation().unwrap(), "offset 5 was claimed after offset 5; claims must increase");
        }
    }

    #[test]
    fn a_claim_before_the_start_is_an_error() {
        let mut t = tracker(5, 10);
        assert!(!t.try_claim(4));
        assert_eq!(
            t.violation().unwrap(),
            "offset 4 was claimed, before the start of the restriction [5, 10)"
        );
    }

    #[test]
    fn a_fraction_beyond_its_bounds_is_cut_and_nan_is_none() {
        assert_eq!(tracker(0, 10).try_split(f64::NAN), None);
        assert_eq!(tracker(0, 10).try_split(-3.0), Some(OffsetRange::new(0, 10)));
        assert_eq!(tracker(0, 10).try_split(f64::INFINITY), None);
    }

    proptest! {
        #[test]
        fn obeys_the_laws(
            base in prop_oneof![Just(i64::MIN), -5..5_i64, Just(i64::MAX - 12)],
            skip in 0..4_i64,
            len in 0..8_i64,
        ) {
            let start = base + skip;
            let range = OffsetRange::new(start, start + len);
            let checked = check_tracker_laws(OffsetRangeTracker::new, range, |r| (r.start..r.end).collect());
            prop_assert_eq!(checked, Ok(()));
        }

        /// Whatever is claimed and split in whatever order, wherever the range lies, every offset is claimed once.
        #[test]
        fn work_is_neither_lost_nor_done_twice(
            start in prop_oneof![Just(i64::MIN), -100..100_i64, Just(i64::MAX - 60)],
            len in 0..60_i64,
            fractions in prop::collection::vec((1..4_usize, 0.0..=1.0_f64), 1..30),
        ) {
            let mut waiting = vec![OffsetRange::new(start, start + len)];
            let mut claimed = Vec::new();
            let mut steps = fractions.into_iter().cycle();
            while let Some(range) = waiting.pop() {
                let mut t = OffsetRangeTracker::new(range);
                let mut next = range.start;
                // At least one claim before each split: without, a residual may be all of it, for ever.
                let (claims, fraction) = steps.next().unwrap();
                for _ in 0..claims {
                    if !t.try_claim(next) {
                        break;
                    }
                    claimed.push(next);
                    next += 1;
                }
                waiting.extend(t.try_split(fraction));
                prop_assert!(t.progress().is_valid());
                while next < t.restriction().end {
                    prop_assert!(!t.is_done());
                    prop_assert!(t.try_claim(next));
                    claimed.push(next);
                    next += 1;
                }
                prop_assert!(t.is_done());
                prop_assert_eq!(t.violation(), None);
            }
            claimed.sort_unstable();
            prop_assert_eq!(claimed, (start..start + len).collect::<Vec<_>>());
        }
    }
}
