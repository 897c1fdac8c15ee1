//! What is left to do for an element, and how it is handed out: poll by poll.

use std::{fmt, sync::Arc};

use purlin_sdk::{
    Element, Timestamp,
    sdf::{Boundedness, Progress, RestrictionTracker},
};
use serde::{Deserialize, Serialize};

use super::{fingerprint::Fingerprint, termination::Polls};

/// Outputs with their timestamps.
pub(super) type Found<O> = Arc<Vec<(O, Timestamp)>>;

/// What is left to do for an element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Growth<O> {
    /// To poll, again and again.
    Poll {
        /// What was found before, in order.
        known: Vec<Fingerprint>,
        /// The polls so far.
        polls: Polls,
    },
    /// To emit what a poll has found, and nothing else.
    Emit(Found<O>),
}

/// A poll that was done: what is claimed.
#[derive(Clone, Debug)]
pub(super) struct Round<O> {
    /// What is new.
    pub(super) found: Found<O>,
    /// Its fingerprints.
    pub(super) new: Vec<Fingerprint>,
    /// The polls, this one among them.
    pub(super) polls: Polls,
    /// Whether it was the last one.
    pub(super) last: bool,
}

/// Hands out one poll; what comes after it is the residual.
pub(super) struct GrowthTracker<O> {
    growth: Growth<O>,
    claimed: Option<Round<O>>,
    // What is left was given away.
    split: bool,
}

impl<O> GrowthTracker<O> {
    pub(super) fn new(growth: Growth<O>) -> GrowthTracker<O> {
        GrowthTracker { growth, claimed: None, split: false }
    }
}

impl<O: Element> RestrictionTracker for GrowthTracker<O> {
    type Restriction = Growth<O>;
    type Position = Round<O>;

    fn try_claim(&mut self, round: Round<O>) -> bool {
        if self.split || self.claimed.is_some() {
            return false;
        }
        self.claimed = Some(round);
        true
    }

    fn try_split(&mut self, fraction: f64) -> Option<Growth<O>> {
        // The next poll needs to know what this one found, so nobody else can do it meanwhile.
        if fraction > 0.0 || self.split {
            return None;
        }
        let Growth::Poll { known, .. } = &mut self.growth else { return None };
        let (mine, rest) = match &self.claimed {
            Some(Round { last: true, .. }) => return None,
            Some(Round { found, new, polls, .. }) => {
                let mut known = std::mem::take(known);
                known.extend(new);
                known.sort_unstable();
                (Growth::Emit(found.clone()), Growth::Poll { known, polls: *polls })
            }
            None => {
                let all = std::mem::replace(&mut self.growth, Growth::Emit(Found::default()));
                self.split = true;
                return Some(all);
            }
        };
        self.growth = mine;
        self.split = true;
        Some(rest)
    }

    fn restriction(&self) -> Growth<O> {
        self.growth.clone()
    }

    fn progress(&self) -> Progress {
        if self.is_done() { Progress::new(1.0, 0.0) } else { Progress::new(0.0, 1.0) }
    }

    fn is_done(&self) -> bool {
        match (&self.growth, &self.claimed) {
            _ if self.split => true,
            (Growth::Emit(found), None) => found.is_empty(),
            (Growth::Emit(_), Some(_)) => true,
            (Growth::Poll { .. }, claimed) => claimed.as_ref().is_some_and(|round| round.last),
        }
    }

    fn pending(&self) -> String {
        match self.growth {
            Growth::Poll { .. } => "polls to come".to_owned(),
            Growth::Emit(_) => "outputs of a poll to emit".to_owned(),
        }
    }

    fn boundedness(&self) -> Boundedness {
        match self.growth {
            Growth::Poll { .. } => Boundedness::Unbounded,
            Growth::Emit(_) => Boundedness::Bounded,
        }
    }
}

impl<O> fmt::Debug for GrowthTracker<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowthTracker").field("split", &self.split).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn print(text: &str) -> Fingerprint {
        Fingerprint::of(text.as_bytes())
    }

    fn tracker() -> GrowthTracker<String> {
        let (known, polls) = (vec![print("a")], Polls::none(at(0)));
        GrowthTracker::new(Growth::Poll { known, polls })
    }

    fn round(last: bool) -> Round<String> {
        let found = Arc::new(vec![("b".to_owned(), at(5))]);
        Round { found, new: vec![print("b")], polls: Polls::none(at(0)).and_one(true, at(1)), last }
    }

    #[test]
    fn a_poll_is_claimed_once_and_the_rest_knows_what_it_found() {
        let mut mine = tracker();
        assert!(!mine.is_done() && mine.try_split(0.5).is_none());
        assert!(mine.try_claim(round(false)) && !mine.is_done());
        assert_eq!(mine.boundedness(), Boundedness::Unbounded);
        let Some(Growth::Poll { known, polls }) = mine.try_split(0.0) else { panic!("there is more to do") };
        let mut both = vec![print("a"), print("b")];
        both.sort_unstable();
        assert_eq!((known, polls.count, polls.new), (both, 1, Some(at(1))));
        // The primary is this poll and nothing else: done again it emits the same.
        assert!(mine.is_done() && mine.try_split(0.0).is_none() && !mine.try_claim(round(false)));
        assert_eq!(mine.boundedness(), Boundedness::Bounded);
        let Growth::Emit(found) = mine.restriction() else { panic!("it polls again") };
        let mut again = GrowthTracker::new(Growth::Emit(found.clone()));
        assert!(!again.is_done() && again.try_split(0.0).is_none());
        assert!(again.try_claim(Round { found, ..round(true) }) && again.is_done());
    }

    #[test]
    fn the_last_poll_leaves_nothing() {
        let mut mine = tracker();
        assert!(mine.try_claim(round(true)) && mine.is_done() && mine.try_split(0.0).is_none());
    }

    #[test]
    fn before_its_poll_all_of_it_can_be_given_away() {
        let mut mine = tracker();
        let Some(Growth::Poll { known, polls }) = mine.try_split(0.0) else { panic!("all is left to do") };
        assert_eq!((known, polls.count), (vec![print("a")], 0));
        assert!(mine.is_done() && !mine.try_claim(round(true)) && mine.try_split(0.0).is_none());
    }
}
