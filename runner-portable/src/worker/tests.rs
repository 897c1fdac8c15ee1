//! The worker against an engine that does what a test says, step by step.

mod bundles;
mod describe;
mod engine;
mod faults;
mod keyed;
mod reports;
mod restrictions;

use describe::Description;
use engine::Engine;
