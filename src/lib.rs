//! Purlin.
