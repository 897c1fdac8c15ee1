//! Assertions on collections: transforms that fail the run.
//!
//! Elements are gathered, with their windows and panes, in the global window; one firing at the end of the run, which
//! happens also when there is no element, checks them. The check counts that it ran, so that an assertion that never
//! ran is found out by [`check_assertions`].
//!
//! Source: Beam's `PAssert`.

mod assertion;
mod check;
mod multiset;
mod ran;
mod selection;
mod shapes;

pub use assertion::{Assertion, assert_that};
pub use ran::{ASSERTION, check_assertions};

pub(super) use multiset::Difference;
