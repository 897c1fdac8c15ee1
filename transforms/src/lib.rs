//! The transform library and the connectors.
#![forbid(unsafe_code)]

pub mod io;
mod offsets;
mod sequence;

pub use sequence::{GenerateSequence, PeriodicImpulse, PeriodicSequence, Span};
