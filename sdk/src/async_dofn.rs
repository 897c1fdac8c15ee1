//! DoFns that wait for something outside: many elements at once, on one thread.

mod async_do_fn;
mod context;
#[cfg(feature = "tokio")]
mod tokio_runtime;

pub use async_do_fn::AsyncDoFn;
pub use context::AsyncContext;

pub(crate) use context::{Emission, Emitted, Surroundings, take};
#[cfg(feature = "tokio")]
pub(crate) use tokio_runtime::handle as tokio_handle;
