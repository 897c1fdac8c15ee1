//! Elements as bytes.

pub mod bincode;
