//! Cells whose type only the state knows.

use super::{SavedCell, StateCell};
use crate::Result;

/// What has become of a cell since a bundle began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellChange {
    /// It is as it was.
    None,
    /// What was in it is in it still, and before what was added.
    Added,
    /// Anything.
    All,
}

/// A cell of a state, for who keeps each cell by itself: what [`StateCell`] is, without its type. All cells are this.
pub trait AnyCell {
    /// See [`StateCell::is_initial`].
    fn is_initial(&self) -> bool;

    /// See [`StateCell::begin`].
    fn begin(&mut self);

    /// See [`StateCell::change`].
    fn change(&self) -> CellChange;

    /// See [`SavedCell::save`].
    ///
    /// # Errors
    /// When a value does not encode.
    fn save(&self, out: &mut Vec<u8>) -> Result;

    /// See [`StateCell::save_added`].
    ///
    /// # Errors
    /// When a value does not encode.
    fn save_added(&self, out: &mut Vec<u8>) -> Result;

    /// Takes in what [`save`](AnyCell::save) wrote, or, behind that, what [`save_added`](AnyCell::save_added) did.
    ///
    /// # Errors
    /// When the bytes are no such cell.
    fn load(&mut self, input: &mut &[u8]) -> Result;
}

impl<C: StateCell> AnyCell for C {
    fn is_initial(&self) -> bool {
        StateCell::is_initial(self)
    }

    fn begin(&mut self) {
        StateCell::begin(self);
    }

    fn change(&self) -> CellChange {
        StateCell::change(self)
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        SavedCell::save(self, out)
    }

    fn save_added(&self, out: &mut Vec<u8>) -> Result {
        StateCell::save_added(self, out)
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        SavedCell::load(self, input)
    }
}
