//! DoFns: user code on single elements.

mod context;
mod do_fn;
mod emitter;
mod failed;
mod per_worker;
mod tag;

pub use context::{BundleContext, ProcessContext, SetupContext};
pub use do_fn::DoFn;
pub use emitter::{BundleEmitter, Emitter};
pub use failed::Failed;
pub use per_worker::PerWorker;
pub use tag::Tag;

pub(crate) use context::StepScope;
pub(crate) use emitter::{EmitRules, Observed};
