//! Values in the order in which they came.

use std::fmt;

use super::{CellChange, CellKind, StateCell, cell::coder_of};
use crate::{
    Element,
    coder::{CoderError, CoderSpec},
    exec::save::{put, put_len},
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
pub struct Bag<T> {
    values: Vec<T>,
    before: Before<T>,
}

/// What is needed to make it as it was.
#[derive(Clone)]
enum Before<T> {
    /// Nothing: no bundle is at work that may be undone.
    Off,
    /// It had so many values, and they are there still.
    Length(usize),
    /// It had these, and they are gone.
    Values(Vec<T>),
}

impl<T> Default for Bag<T> {
    fn default() -> Bag<T> {
        Bag { values: Vec::new(), before: Before::Off }
    }
}

impl<T> Bag<T> {
    /// Adds `value`.
    #[inline]
    pub fn add(&mut self, value: T) {
        self.values.push(value);
    }

    /// All values.
    #[inline]
    pub fn read(&self) -> &[T] {
        &self.values
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        // The memory goes too: it is not needed while the key is at rest.
        let mut values = std::mem::take(&mut self.values);
        if let Before::Length(len) = self.before {
            values.truncate(len);
            self.before = Before::Values(values);
        }
    }
}

impl<T: Clone> Bag<T> {
    /// Takes all values out.
    pub fn take(&mut self) -> Vec<T> {
        if let Before::Length(len) = self.before {
            self.before = Before::Values(self.values[..len].to_vec());
        }
        std::mem::take(&mut self.values)
    }
}

impl<T: Element> StateCell for Bag<T> {
    const KIND: CellKind = CellKind::Bag;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn begin(&mut self) {
        self.before = Before::Length(self.values.len());
    }

    fn undo(&mut self) {
        match std::mem::replace(&mut self.before, Before::Off) {
            Before::Off => {}
            Before::Length(len) => self.values.truncate(len),
            Before::Values(values) => self.values = values,
        }
    }

    fn keep(&mut self) {
        self.before = Before::Off;
    }

    fn change(&self) -> CellChange {
        match &self.before {
            Before::Length(len) if *len == self.values.len() => CellChange::None,
            Before::Length(_) => CellChange::Added,
            Before::Off | Before::Values(_) => CellChange::All,
        }
    }

    fn save_added(&self, out: &mut Vec<u8>) -> crate::Result {
        let added = match &self.before {
            Before::Length(len) => self.values.get(*len..).unwrap_or_default(),
            Before::Off | Before::Values(_) => &self.values,
        };
        put_len(added.len(), out)?;
        added.iter().try_for_each(|value| put(value, out))
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<T>()?])
    }
}

impl<T: fmt::Debug> fmt::Debug for Bag<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}
