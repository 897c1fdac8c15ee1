//! Pipelines that every runner must pass.
#![forbid(unsafe_code)]

pub mod cases;
