//! Sources that make up their own elements: numbers, and times.

mod generate;
mod periodic;
mod schedule;
mod source;

pub use generate::GenerateSequence;
pub use periodic::{PeriodicImpulse, PeriodicSequence, Span};
