//! Testing pipelines and DoFns.
//!
//! | what is tested | how |
//! |---|---|
//! | a pipeline | [`assert_that`] on its collections, [`run_and_check`] on a runner |
//! | what happens when | [`TestStream`] scripts elements, the watermark and processing time; [`TestStreams`] several at once |
//! | one DoFn | [`DoFnTester`] |
//! | one DoFn with state and timers | [`KeyedTester`] |
//! | one splittable DoFn | [`SdfTester`], with [`check_laws`](SdfTester::check_laws) for all splits |
//! | a CombineFn | [`check_combine_fn_laws`] |
//! | a Coder, of elements or of keys | [`check_coder_laws`], [`check_key_coder_laws`] |
//! | a WindowFn | [`check_window_fn_laws`] |

mod assert;
mod coder_laws;
mod combine_laws;
mod dofn_tester;
mod harness;
mod keyed_tester;
mod runner;
mod sdf_tester;
mod sides;
mod test_stream;
mod test_streams;
mod window_fn_laws;

pub use assert::{ASSERTION, Assertion, assert_that, check_assertions};
pub use coder_laws::{check_coder_laws, check_key_coder_laws};
pub use combine_laws::check_combine_fn_laws;
pub use dofn_tester::DoFnTester;
pub use keyed_tester::KeyedTester;
pub use runner::run_and_check;
pub use sdf_tester::SdfTester;
pub use test_stream::{ScriptId, StreamEvent, TestStream, TestStreamSource};
pub use test_streams::{TestStreamOutputs, TestStreams};
pub use window_fn_laws::{SideWindows, check_window_fn_laws, check_window_fn_specs};
