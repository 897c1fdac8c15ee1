//! Testing pipelines and DoFns.

mod combine_laws;
mod test_stream;

pub use combine_laws::check_combine_fn_laws;
pub use test_stream::{StreamEvent, TestStream, TestStreamSource};
