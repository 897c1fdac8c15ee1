//! How much of a restriction is done.

/// Work done and work left, in one unit of the tracker's choice: offsets, bytes, records.
///
/// Both numbers are finite and not negative. [`Progress::new`] sees to it; who fills in the fields must too, and
/// [`check_tracker_laws`](super::check_tracker_laws) tests it. Only their ratio matters to a runner when it picks the
/// piece to split, and `remaining` when it sums up a backlog.
///
/// Source: Beam's `RestrictionTracker.Progress`, where a position that is claimed counts as remaining until the next
/// one is asked for.
///
/// ```
/// use purlin_sdk::sdf::Progress;
/// assert_eq!(Progress::new(3.0, 1.0).fraction(), 0.75);
/// assert_eq!(Progress::new(0.0, 0.0).fraction(), 1.0);      // no work is done work
/// assert_eq!(Progress::new(f64::NAN, -7.0), Progress { completed: 0.0, remaining: 0.0 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Work done, finite and >= 0.
    pub completed: f64,
    /// Work left, finite and >= 0.
    pub remaining: f64,
}

impl Progress {
    /// Progress of these numbers. Negative ones and NaN become 0, and infinity the greatest finite number.
    pub const fn new(completed: f64, remaining: f64) -> Progress {
        Progress { completed: within_bounds(completed), remaining: within_bounds(remaining) }
    }

    /// The part that is done, from 0 to 1. Where there is no work at all it is 1.
    pub fn fraction(self) -> f64 {
        let Progress { completed, remaining } = Progress::new(self.completed, self.remaining);
        let total = completed + remaining;
        if total == 0.0 {
            return 1.0;
        }
        // The sum of two finite numbers may be infinite; that of their halves is not.
        if total.is_finite() {
            completed / total
        } else {
            completed / 2.0 / (completed / 2.0 + remaining / 2.0)
        }
    }

    /// Whether both numbers are finite and not negative.
    pub fn is_valid(self) -> bool {
        [self.completed, self.remaining].into_iter().all(|n| n.is_finite() && n >= 0.0)
    }
}

const fn within_bounds(n: f64) -> f64 {
    // `max` and `min` return the number when the other operand is NaN.
    n.max(0.0).min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_always_between_0_and_1() {
        let numbers = [0.0, 1.0, 1e-308, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0];
        for completed in numbers {
            for remaining in numbers {
                let made = Progress::new(completed, remaining);
                assert!(made.is_valid(), "{made:?}");
                for progress in [made, Progress { completed, remaining }] {
                    let fraction = progress.fraction();
                    assert!((0.0..=1.0).contains(&fraction), "{progress:?}: {fraction}");
                }
            }
        }
        assert_eq!(Progress::new(f64::MAX, f64::MAX).fraction(), 0.5);
    }

    #[test]
    fn invalid_numbers_are_told_apart() {
        for (completed, remaining) in [(-1.0, 0.0), (0.0, f64::NAN), (f64::INFINITY, 0.0)] {
            assert!(!Progress { completed, remaining }.is_valid());
        }
    }
}
