//! That every law is found broken where it is.

use super::*;
use crate::sdf::{OffsetRange, OffsetRangeTracker, Progress};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Faultless,
    /// The position at the split is in both parts.
    Overlaps,
    /// The position at the split is in neither part.
    LosesWork,
    /// A checkpoint gives away the position just claimed.
    GivesAwayClaimed,
    /// Hands out a residual and keeps all of it too, for claims.
    ClaimsPastTheEnd,
    /// Refuses the last position that it covers.
    RefusesTheLast,
    SplitsAfterAFailedClaim,
    NegativeProgress,
    EndlessProgress,
    NeverDone,
    DoneTooSoon,
    /// Keeps an unclaimed position at a checkpoint.
    CheckpointKeepsWork,
    /// Says that nothing was split off, having shrunk.
    ShrinksSilently,
    /// Gives away all of it again at every split.
    SplitsTwice,
    ComplainsOfLawfulUse,
}
use Fault::*;

/// Does what a tracker of offsets does, but for one fault.
struct Broken {
    fault: Fault,
    range: OffsetRange,
    inner: OffsetRangeTracker,
    next: i64,
    failed: bool,
}

impl Broken {
    fn new(fault: Fault, range: OffsetRange) -> Broken {
        Broken { fault, range, inner: OffsetRangeTracker::new(range), next: range.start, failed: false }
    }
}

impl RestrictionTracker for Broken {
    type Restriction = OffsetRange;
    type Position = i64;

    fn try_claim(&mut self, offset: i64) -> bool {
        self.next = offset + 1;
        let claimed = self.inner.try_claim(offset);
        self.failed |= !claimed;
        match self.fault {
            ClaimsPastTheEnd => true,
            RefusesTheLast => claimed && offset < self.range.end - 1,
            _ => claimed,
        }
    }

    fn try_split(&mut self, fraction: f64) -> Option<OffsetRange> {
        let whole = self.inner.restriction();
        let residual = self.inner.try_split(fraction);
        match (self.fault, residual) {
            (SplitsAfterAFailedClaim, _) if self.failed => Some(OffsetRange::new(whole.end, whole.end + 1)),
            (SplitsTwice, None) if !whole.is_empty() && self.range.end > whole.end => {
                Some(OffsetRange::new(whole.end, self.range.end))
            }
            (Overlaps, Some(r)) if r.start > self.next => Some(OffsetRange::new(r.start - 1, r.end)),
            (LosesWork, Some(r)) => Some(OffsetRange::new(r.start + 1, r.end)),
            (GivesAwayClaimed, Some(r)) if fraction == 0.0 && self.next > self.range.start => {
                Some(OffsetRange::new(r.start - 1, r.end))
            }
            (CheckpointKeepsWork, Some(r)) if fraction == 0.0 && r.len() > 1 => {
                let mut kept = OffsetRangeTracker::new(OffsetRange::new(whole.start, r.start + 1));
                (whole.start..self.next).for_each(|o| _ = kept.try_claim(o));
                self.inner = kept;
                Some(OffsetRange::new(r.start + 1, r.end))
            }
            (ShrinksSilently, _) => None,
            (_, residual) => residual,
        }
    }

    fn restriction(&self) -> OffsetRange {
        self.inner.restriction()
    }

    fn progress(&self) -> Progress {
        let (completed, remaining) = (self.inner.progress().completed, self.inner.progress().remaining);
        match self.fault {
            NegativeProgress => Progress { completed, remaining: remaining - 2.0 },
            EndlessProgress => Progress { completed, remaining: remaining / completed },
            _ => self.inner.progress(),
        }
    }

    fn is_done(&self) -> bool {
        match self.fault {
            NeverDone => false,
            DoneTooSoon => self.next >= self.restriction().end - 1,
            _ => self.inner.is_done(),
        }
    }

    fn violation(&self) -> Option<String> {
        (self.fault == ComplainsOfLawfulUse && self.next > 2).then(|| "too many claims".to_owned())
    }
}

fn check(fault: Fault, range: OffsetRange) -> Result<(), String> {
    check_tracker_laws(|r| Broken::new(fault, r), range, |r| (r.start..r.end).collect())
}

#[test]
fn broken_trackers_are_found() {
    for (fault, words) in [
        (Overlaps, "are not together"),
        (LosesWork, "are not together"),
        (GivesAwayClaimed, "which is claimed"),
        (ClaimsPastTheEnd, "which it gave away"),
        (RefusesTheLast, "could not claim"),
        (SplitsAfterAFailedClaim, "had failed"),
        (NegativeProgress, "finite and not negative"),
        (EndlessProgress, "finite and not negative"),
        (NeverDone, "not done although"),
        (DoneTooSoon, "done after"),
        (CheckpointKeepsWork, "has more than"),
        (ShrinksSilently, "nothing was split off"),
        (SplitsTwice, "split at 0"),
        (ComplainsOfLawfulUse, "too many claims"),
    ] {
        let found = check(fault, OffsetRange::new(0, 6)).expect_err(&format!("{fault:?} is not found"));
        assert!(found.contains(words), "{fault:?}: {found}");
    }
}

#[test]
fn the_same_tracker_without_a_fault_passes() {
    for range in [OffsetRange::new(0, 6), OffsetRange::new(4, 5), OffsetRange::new(3, 3)] {
        assert_eq!(check(Faultless, range), Ok(()));
    }
}

#[test]
fn positions_are_compared_in_any_order_but_counted() {
    assert!(same(&[1, 2, 3], &[3, 1, 2]));
    assert!(!same(&[1, 2, 2], &[1, 1, 2]));
    assert!(!same(&[1, 2], &[1, 2, 2]));
}
