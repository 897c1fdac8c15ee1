//! How a splittable DoFn leaves a restriction.

use crate::Duration;

/// What `process` of a splittable DoFn returns.
///
/// `Stop` promises that all of the restriction was claimed; a tracker that is not done then fails the bundle, so that
/// no work is lost by accident. `Resume` hands back what is left.
///
/// Source: Beam's `DoFn.ProcessContinuation`.
///
/// ```
/// use purlin_sdk::{Duration, sdf::Continuation};
/// assert_eq!(Continuation::resume(), Continuation::Resume(Duration::ZERO));
/// assert!(!Continuation::Stop.is_resume());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "what it says decides whether the rest of the restriction is run"]
pub enum Continuation {
    /// The restriction is done.
    Stop,
    /// There is more, but not now: call again with the unclaimed rest, after about this long. The delay is a hint; it
    /// may be shortened (a drain, a restart) or grow. A negative one counts as none.
    Resume(Duration),
}

impl Continuation {
    /// There is more: call again as soon as others had their turn.
    pub const fn resume() -> Continuation {
        Continuation::Resume(Duration::ZERO)
    }

    /// Whether there is more.
    pub const fn is_resume(self) -> bool {
        matches!(self, Continuation::Resume(_))
    }
}
