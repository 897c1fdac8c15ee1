//! The transform library and the connectors.
#![forbid(unsafe_code)]

pub mod io;
