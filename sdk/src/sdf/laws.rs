//! The laws of trackers and estimators as functions, for the tests of whoever writes one.

mod estimator;
mod tracker;

pub use estimator::check_estimator_laws;
pub use tracker::check_tracker_laws;
