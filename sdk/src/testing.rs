//! Testing pipelines and DoFns.

mod test_stream;

pub use test_stream::{StreamEvent, TestStream, TestStreamSource};
