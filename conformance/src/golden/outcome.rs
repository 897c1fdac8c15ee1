//! What becomes of a case.

use std::fmt;

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It came out as it should on every runner that was asked for.
    Passed,
    /// It did not: what was expected and what was there.
    Failed(String),
    /// It did not, and by the rule that is named it should not.
    Differs(String),
    /// It was not run, for this reason.
    Skipped(String),
}

/// How many cases there were of each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Cases that came out as they should.
    pub passed: usize,
    /// Cases that did not.
    pub failed: usize,
    /// Cases that differ by a rule.
    pub differ: usize,
    /// Cases that were not run.
    pub skipped: usize,
}

impl Totals {
    pub(super) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Differs(_) => self.differ += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
    }

    /// How many cases there were.
    pub fn all(&self) -> usize {
        self.passed + self.failed + self.differ + self.skipped
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.differ > 0 {
            write!(f, "{} differ, ", self.differ)?;
        }
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}
