//! Pipelines as functions of a runner.
