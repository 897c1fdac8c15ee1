//! One value, or none.

use std::fmt;

use super::{CellKind, StateCell, cell::coder_of};
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
pub struct Value<T>(Option<T>);

impl<T> Default for Value<T> {
    fn default() -> Value<T> {
        Value(None)
    }
}

impl<T> Value<T> {
    /// The value; none when none was written.
    #[inline]
    pub fn read(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Puts `value` in the place of the one that is there.
    #[inline]
    pub fn write(&mut self, value: T) {
        self.0 = Some(value);
    }

    /// Takes the value out.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }

    /// Whether there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Removes the value.
    #[inline]
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T: Element> StateCell for Value<T> {
    const KIND: CellKind = CellKind::Value;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<T>()?])
    }
}

impl<T: fmt::Debug> fmt::Debug for Value<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
