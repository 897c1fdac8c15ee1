//! Collections, and what can be done with every one of them.

mod async_par_do;
mod closures;
mod core;
mod keyed;
mod keyed_par_do;
mod outputs;
mod par_do;
mod sides;

pub use self::core::PCollection;
pub use async_par_do::AsyncParDo;
pub use closures::FnDoFn;
pub use keyed_par_do::KeyedParDo;
pub use outputs::OutputsBuilder;
pub use par_do::{ParDo, ParDoOutputs};

pub(crate) use par_do::{DeclaredTag, outputs_of};
