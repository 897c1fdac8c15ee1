//! State of the engine's: cells of keyed DoFns, and elements of side inputs.
//!
//! There is one stream to each place that has state (`plane`), shared by all bundles: requests go out as they come and
//! answers are told apart by their numbers (`link`), so that a bundle asks for many cells at once. What belongs to one
//! bundle (`bundle`) notes what it changed, and waits until the engine has said that it has it.
//!
//! Nothing is kept between bundles: an engine says by tokens what may be, and only to workers that say that they keep it.

mod bundle;
mod cells;
mod link;
mod plane;
#[cfg(test)]
pub(in crate::worker) mod tests;

pub(super) use bundle::BundleState;
pub(super) use cells::Cells;
pub(super) use plane::StatePlane;
