//! Values in the order in which they came.

use std::fmt;

use super::{CellKind, StateCell, cell::coder_of};
use crate::{
    Element,
    coder::{CoderError, CoderSpec},
};

/// Values, in the order in which they were added. Beam's `BagState`, which promises no order.
///
/// ```
/// use purlin_sdk::state::Bag;
/// let mut items = Bag::default();
/// items.add("a".to_owned());
/// items.add("a".to_owned());
/// assert_eq!(items.read(), ["a", "a"]);
/// assert_eq!(items.take().len(), 2);
/// assert!(items.is_empty());
/// ```
#[derive(Clone)]
pub struct Bag<T>(Vec<T>);

impl<T> Default for Bag<T> {
    fn default() -> Bag<T> {
        Bag(Vec::new())
    }
}

impl<T> Bag<T> {
    /// Adds `value`.
    #[inline]
    pub fn add(&mut self, value: T) {
        self.0.push(value);
    }

    /// All values.
    #[inline]
    pub fn read(&self) -> &[T] {
        &self.0
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all values out.
    pub fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.0)
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        // The memory goes too: it is not needed while the key is at rest.
        self.0 = Vec::new();
    }
}

impl<T: Element> StateCell for Bag<T> {
    const KIND: CellKind = CellKind::Bag;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<T>()?])
    }
}

impl<T: fmt::Debug> fmt::Debug for Bag<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
