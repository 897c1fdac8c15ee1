//! A splittable DoFn at work.
//!
//! It is two kernels: one pairs each element with its initial restrictions, at the end of the stage before; one works on
//! a restriction, as the first kernel of a stage of its own. What travels between them, and back to the engine when a
//! restriction is not done, is an [`SdfElement`].

mod element;
mod item_coder;
mod op;
mod pair;
mod part;
mod process;
mod shared;

pub use element::SdfElement;
pub use op::{SdfFactory, SdfPart};

pub(crate) use op::SdfOp;
pub(crate) use shared::{Running, Shared};
