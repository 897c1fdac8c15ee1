//! The portable runner: a pipeline goes to an engine that speaks Beam's portability protocol, without a change.
#![forbid(unsafe_code)]

#[allow(dead_code)]
mod payload;
#[allow(unused_imports)]
mod proto;
mod urns;
#[allow(dead_code)]
mod worker;
