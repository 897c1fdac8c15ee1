//! One value, or none.

use std::fmt;

use super::{CellChange, CellKind, StateCell, cell::coder_of, undo::Undo};
use crate::{
    Element,
    coder::{CoderError, CoderSpec},
};

/// One value, or none. Beam's `ValueState`, or `ReadModifyWriteState`.
///
/// ```
/// use purlin_sdk::state::Value;
/// let mut total = Value::<i64>::default();
/// assert_eq!(total.read(), None);
/// total.write(7);
/// assert_eq!(total.read(), Some(&7));
/// assert_eq!(total.take(), Some(7));
/// assert!(total.is_empty());
/// ```
#[derive(Clone)]
pub struct Value<T> {
    value: Option<T>,
    undo: Undo<Option<T>>,
}

impl<T> Default for Value<T> {
    fn default() -> Value<T> {
        Value { value: None, undo: Undo::Off }
    }
}

impl<T> Value<T> {
    /// The value; none when none was written.
    #[inline]
    pub fn read(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// Puts `value` in the place of the one that is there.
    #[inline]
    pub fn write(&mut self, value: T) {
        let before = self.value.replace(value);
        self.undo.change(|| before);
    }

    /// Whether there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.value.is_none()
    }

    /// Removes the value.
    #[inline]
    pub fn clear(&mut self) {
        let before = self.value.take();
        self.undo.change(|| before);
    }
}

impl<T: Clone> Value<T> {
    /// Takes the value out.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.undo.change(|| self.value.clone());
        self.value.take()
    }
}

impl<T: Element> StateCell for Value<T> {
    const KIND: CellKind = CellKind::Value;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn begin(&mut self) {
        self.undo.begin();
    }

    fn undo(&mut self) {
        if let Some(before) = self.undo.end() {
            self.value = before;
        }
    }

    fn keep(&mut self) {
        self.undo.end();
    }

    fn change(&self) -> CellChange {
        self.undo.seen()
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<T>()?])
    }
}

impl<T: fmt::Debug> fmt::Debug for Value<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
