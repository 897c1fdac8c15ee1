//! DoFns with state and timers.

mod context;
mod keyed_do_fn;
mod rules;

pub use context::TimerContext;
pub use keyed_do_fn::{KeyedDoFn, TimerOf};

pub(crate) use context::Call;
pub(crate) use rules::TimerRules;
