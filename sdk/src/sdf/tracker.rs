//! Handing out the work of a restriction.

use super::{Boundedness, Progress};
use crate::Element;

/// Hands out the work of one restriction, position by position, while others may take away what is left of it.
///
/// A DoFn claims a position *before* it works on it. `false` means that the position is not (or no longer) its own:
/// it stops at once and emits nothing more. A runner splits between claims; the kernel keeps the tracker in a mutex,
/// so a tracker needs no lock of its own, and every method should be fast.
///
/// The laws, which [`check_tracker_laws`](super::check_tracker_laws) tests:
/// - primary and residual of a split together are what the restriction was, and share nothing;
/// - claimed work is never in the residual, and the primary cannot claim the residual's;
/// - a split at fraction 0 leaves the primary with what is claimed, so it is done;
/// - after a failed claim there is no split: the DoFn has seen the end already;
/// - the tracker is done once the last position is claimed, and not before;
/// - progress is finite and never negative.
///
/// Source: Beam's [`RestrictionTracker`](https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/transforms/splittabledofn/RestrictionTracker.html).
///
/// ```
/// use purlin_sdk::sdf::{Progress, RestrictionTracker};
///
/// /// One piece of work that cannot be shared: it is all there or all done.
/// struct Whole { left: bool, asked: bool }
/// impl RestrictionTracker for Whole {
///     type Restriction = bool;       // whether there is work at all
///     type Position = ();
///     fn try_claim(&mut self, (): ()) -> bool { !std::mem::replace(&mut self.asked, true) && self.left }
///     fn try_split(&mut self, _fraction: f64) -> Option<bool> {
///         (self.left && !self.asked).then(|| std::mem::replace(&mut self.left, false))
///     }
///     fn restriction(&self) -> bool { self.left }
///     fn progress(&self) -> Progress {
///         let left = f64::from(u8::from(self.left));
///         if self.asked { Progress::new(left, 0.0) } else { Progress::new(0.0, left) }
///     }
///     fn is_done(&self) -> bool { self.asked || !self.left }
/// }
///
/// let made = |left| Whole { left, asked: false };
/// purlin_sdk::sdf::check_tracker_laws(made, true, |left| vec![(); usize::from(*left)]).unwrap();
/// ```
pub trait RestrictionTracker: Send + 'static {
    /// A description of work: saved, sent to other workers, and made into a tracker again.
    type Restriction: Element;
    /// What is claimed.
    type Position;

    /// Takes `position` as one's own. `false`: it lies past the end of the restriction as it is now; stop, and emit
    /// nothing more.
    ///
    /// A claim against the tracker's rules (one that goes back, say) is `false` too, and is told by
    /// [`violation`](Self::violation).
    fn try_claim(&mut self, position: Self::Position) -> bool;

    /// Gives away part of the unclaimed rest: this tracker becomes the primary, the residual is returned.
    ///
    /// `fraction`, from 0 to 1, is the part of the unclaimed rest that the primary should keep, as near as can be. At 0
    /// (a checkpoint) the primary keeps what is claimed and nothing else. `None` changes nothing, and says that there
    /// is nothing to give or that the work cannot be divided there.
    fn try_split(&mut self, fraction: f64) -> Option<Self::Restriction>;

    /// The restriction as it is now: the primary of all splits so far, with what is claimed of it.
    fn restriction(&self) -> Self::Restriction;

    /// Work done and work left.
    fn progress(&self) -> Progress;

    /// Whether nothing is left to claim. A DoFn that stops before fails its bundle, since work would be lost.
    fn is_done(&self) -> bool;

    /// Which part is left to claim, in words that end the sentence "the restriction was left with ...".
    fn pending(&self) -> String {
        let Progress { completed, remaining } = self.progress();
        format!("unclaimed work ({completed} done, {remaining} to do)")
    }

    /// What the DoFn did against the tracker's rules, if anything. It stays once it is set, and the kernel fails the
    /// bundle with it.
    fn violation(&self) -> Option<String> {
        None
    }

    /// Whether the restriction as it is now is known to end.
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }
}
