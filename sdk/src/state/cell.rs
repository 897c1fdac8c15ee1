//! What all cells have in common.

use super::{CellChange, CellKind, SavedCell};
use crate::{
    Element,
    coder::{CoderError, CoderSpec, default_coder},
};

/// A cell of state: what a field of a struct with `#[derive(KeyedState)]` may be, beside timers.
///
/// There is nothing to implement: [`Value`](super::Value), [`Bag`](super::Bag), [`Combining`](super::Combining),
/// [`Map`](super::Map), [`Set`](super::Set), [`OrderedList`](super::OrderedList) and [`Multimap`](super::Multimap) are
/// the cells there are.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no cell of state",
    label = "not a cell",
    note = "the fields of a struct with `#[derive(KeyedState)]` are cells of `purlin::state`: write `Value<{Self}>` to keep one, `Bag<{Self}>` to keep many; what a cell holds is an element"
)]
pub trait StateCell: SavedCell + Clone + Send + 'static {
    /// What kind of cell it is.
    const KIND: CellKind;

    /// Whether it is as it was at first, so that it need not be kept.
    fn is_initial(&self) -> bool;

    /// A bundle begins that may have to be undone: what it changes is remembered, and not all that the cell holds.
    fn begin(&mut self);

    /// The bundle failed: the cell is as it was when it began.
    fn undo(&mut self);

    /// The bundle is done: what it changed stays.
    fn keep(&mut self);

    /// What has changed since [`begin`](StateCell::begin).
    fn change(&self) -> CellChange;

    /// Appends what was added since [`begin`](StateCell::begin), in the form of [`SavedCell::save`], when nothing else
    /// has changed.
    ///
    /// # Errors
    /// When a value does not encode.
    fn save_added(&self, out: &mut Vec<u8>) -> crate::Result {
        self.save(out)
    }

    /// How what it holds is encoded, in the order of its type parameters.
    ///
    /// # Errors
    /// When a type has no coder.
    fn coders() -> Result<Vec<CoderSpec>, CoderError>;
}

/// What the default coder of `T` writes.
pub(super) fn coder_of<T: Element>() -> Result<CoderSpec, CoderError> {
    default_coder::<T>().map(|coder| coder.spec())
}

/// A cell as it is at first. The code that `#[derive(KeyedState)]` makes calls it.
#[doc(hidden)]
pub fn initial<C: StateCell + Default>() -> C {
    C::default()
}
