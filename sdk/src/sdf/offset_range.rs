//! The restriction that most sources need.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

/// The offsets from `start` up to but not including `end`: bytes of a file, numbers of a sequence.
///
/// A range whose end is not after its start is empty. One that ends at [`i64::MAX`] is endless, for a
/// [`GrowableOffsetRangeTracker`](super::GrowableOffsetRangeTracker).
///
/// Source: Beam's `OffsetRange`.
///
/// ```
/// use purlin_sdk::sdf::OffsetRange;
/// let range = OffsetRange::new(0, 10);
/// assert_eq!(range.split(3), [OffsetRange::new(0, 4), OffsetRange::new(4, 7), OffsetRange::new(7, 10)]);
/// assert_eq!(range.chunks(8).collect::<Vec<_>>(), [OffsetRange::new(0, 8), OffsetRange::new(8, 10)]);
/// assert_eq!(OffsetRange::new(i64::MIN, i64::MAX).len(), u64::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OffsetRange {
    /// The first offset.
    pub start: i64,
    /// The offset after the last one.
    pub end: i64,
}

impl OffsetRange {
    /// The offsets `start..end`.
    pub const fn new(start: i64, end: i64) -> OffsetRange {
        OffsetRange { start, end }
    }

    /// All offsets from `start` on.
    pub const fn endless(start: i64) -> OffsetRange {
        OffsetRange::new(start, i64::MAX)
    }

    /// How many offsets there are: the size of the restriction.
    pub const fn len(self) -> u64 {
        if self.is_empty() { 0 } else { self.end.abs_diff(self.start) }
    }

    /// Whether there is no offset.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether it has no end of its own.
    pub const fn is_endless(self) -> bool {
        self.end == i64::MAX && !self.is_empty()
    }

    /// Whether `offset` is one of them.
    pub const fn contains(self, offset: i64) -> bool {
        self.start <= offset && offset < self.end
    }

    /// The range in `pieces` pieces whose lengths differ by at most 1; in fewer where there are not so many offsets. No
    /// piece is empty, so an empty range has none. 0 pieces count as 1.
    pub fn split(self, pieces: usize) -> Vec<OffsetRange> {
        let pieces = u64::try_from(pieces).unwrap_or(u64::MAX).max(1);
        // The first `longer` pieces have one offset more.
        let (short, longer) = (self.len() / pieces, self.len() % pieces);
        let mut start = self.start;
        (0..pieces)
            .map_while(|piece| {
                let taken = self.take_from(start, short + u64::from(piece < longer))?;
                start = taken.end;
                Some(taken)
            })
            .collect()
    }

    /// The range in pieces of `len` offsets; the last may be shorter. No piece is empty. A length of 0 counts as 1.
    pub fn chunks(self, len: u64) -> impl Iterator<Item = OffsetRange> {
        let mut start = self.start;
        std::iter::from_fn(move || {
            let taken = self.take_from(start, len.max(1))?;
            start = taken.end;
            Some(taken)
        })
    }

    /// At most `len` offsets of the range from `start` on, if there are any.
    fn take_from(self, start: i64, len: u64) -> Option<OffsetRange> {
        let end = start.saturating_add_unsigned(len).min(self.end);
        Some(OffsetRange { start, end }).filter(|range| !range.is_empty())
    }
}

impl From<Range<i64>> for OffsetRange {
    fn from(range: Range<i64>) -> OffsetRange {
        OffsetRange::new(range.start, range.end)
    }
}

impl fmt::Display for OffsetRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_endless() {
            return write!(f, "[{}, inf)", self.start);
        }
        write!(f, "[{}, {})", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any offset, with the ends of the type as likely as its middle.
    fn offset() -> impl Strategy<Value = i64> {
        prop_oneof![any::<i64>(), i64::MIN..i64::MIN + 40, -40..40_i64, i64::MAX - 40..=i64::MAX]
    }

    /// That `pieces` are the range cut into parts that are not empty.
    fn assert_covers(range: OffsetRange, pieces: &[OffsetRange]) {
        let mut next = range.start;
        for piece in pieces {
            assert_eq!(piece.start, next);
            assert!(!piece.is_empty());
            next = piece.end;
        }
        assert_eq!(next, range.end.max(range.start));
    }

    proptest! {
        #[test]
        fn pieces_cover_the_range_evenly(start in offset(), end in offset(), pieces in 0..50_usize) {
            let range = OffsetRange::new(start, end);
            let split = range.split(pieces);
            assert_covers(range, &split);
            prop_assert_eq!(split.len() as u64, range.len().min(pieces.max(1) as u64));
            if let (Some(first), Some(last)) = (split.first(), split.last()) {
                prop_assert!(first.len() - last.len() <= 1);
            }
        }

        #[test]
        fn chunks_cover_the_range(start in offset(), end in offset(), parts in 1..50_u64) {
            let range = OffsetRange::new(start, end);
            let len = range.len() / parts;
            let chunks: Vec<_> = range.chunks(len).take(200).collect();
            prop_assume!(chunks.len() < 200);
            assert_covers(range, &chunks);
            prop_assert!(chunks.iter().all(|c| c.len() <= len.max(1)));
        }

        #[test]
        fn a_range_contains_as_many_offsets_as_it_is_long(start in -20..20_i64, end in -20..20_i64) {
            let range = OffsetRange::new(start, end);
            prop_assert_eq!((-30..30).filter(|o| range.contains(*o)).count() as u64, range.len());
            prop_assert_eq!(range.is_empty(), !(-30..30).any(|o| range.contains(o)));
        }
    }

    #[test]
    fn chunks_are_made_one_at_a_time() {
        assert_eq!(
            OffsetRange::new(i64::MIN, i64::MAX).chunks(0).nth(2),
            Some((i64::MIN + 2..i64::MIN + 3).into())
        );
    }

    #[test]
    fn prints_as_an_interval() {
        assert_eq!(OffsetRange::new(-5, 10).to_string(), "[-5, 10)");
        assert_eq!(OffsetRange::endless(3).to_string(), "[3, inf)");
    }
}
