//! The pipelines, by topic. Each is a function of a runner that runs it and asserts what must come out; those named
//! after an entry (`b091_...`) are field reports: faults that people met in systems of this kind.

pub mod basics;
pub mod batches;
pub mod bundles;
pub mod combine;
pub mod deep;
pub mod duplicates;
pub mod errors;
pub mod failure;
pub mod finalizers;
pub mod flatten;
pub mod handle;
pub mod lifecycle;
pub mod probe;
pub mod scripts;
pub mod sessions;
pub mod sides;
pub mod sources;
pub mod splittable;
pub mod support;
pub mod timers;
pub mod triggered_sides;
pub mod triggers;
pub mod wait;
pub mod watch;
pub mod watermarks;
pub mod windows;
