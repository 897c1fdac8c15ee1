//! What a transform needs to run for an engine that groups, keeps state and fires timers itself.
//!
//! In a run of ours a grouping gathers where the data are and closes windows by the watermark that it is told. An engine
//! that speaks Beam's portability protocol does that by its own means, on bytes; what is left for us are the functions
//! on either side of it: combining before and after, a keyed DoFn whose state is fetched and written back, the value of
//! a side input.
//!
//! [`GroupFactory::portable`](super::GroupFactory::portable) says what a grouping is there.

mod combine;
mod keyed;
mod part;
mod precombine;

use std::{fmt, sync::Arc};

pub use combine::{CombinePart, PortableCombine};
pub use keyed::{CellAddress, KeyedLink, PortableKeyed, PortableTimer, StateAccess, TimerBytes};
pub use part::{PartEnd, PortablePart};

pub(super) use combine::grouped;
pub(super) use keyed::KeyedOf;
pub(super) use precombine::precombine;

/// What a grouping is for an engine that does the grouping.
pub enum PortableGroup {
    /// Beam's GroupByKey: the engine gives every key with all of its values.
    GroupByKey,
    /// Beam's combine per key.
    Combine(Arc<dyn PortableCombine>),
    /// A keyed DoFn, on state and timers of the engine's.
    Keyed(Arc<dyn PortableKeyed>),
    /// No grouping at all: what is done before one, element by element.
    ParDo(PortablePart),
}

impl fmt::Debug for PortableGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PortableGroup::GroupByKey => "group by key",
            PortableGroup::Combine(_) => "combine per key",
            PortableGroup::Keyed(_) => "do in parallel with state",
            PortableGroup::ParDo(_) => "do in parallel",
        })
    }
}

#[cfg(test)]
mod tests;
