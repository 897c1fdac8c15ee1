//! Each value once.

use std::{borrow::Borrow, fmt, hash::Hash};

use super::{CellChange, CellKind, StateCell, cell::coder_of, ordered_map::OrderedMap};
use crate::{
    Key,
    coder::{CoderError, CoderSpec},
};

/// Values, each once, in the order in which they were first added. Beam's `SetState`.
///
/// ```
/// use purlin_sdk::state::Set;
/// let mut seen = Set::default();
/// assert!(seen.add("a".to_owned()));
/// assert!(!seen.add("a".to_owned()));
/// assert!(seen.contains("a"));
/// assert!(seen.remove("a") && seen.is_empty());
/// ```
#[derive(Clone)]
pub struct Set<T>(OrderedMap<T, ()>);

impl<T> Default for Set<T> {
    fn default() -> Set<T> {
        Set(OrderedMap::default())
    }
}

impl<T: Eq + Hash> Set<T> {
    /// Adds `value`, and says whether it is new. Beam's `add` and `addIfAbsent` in one.
    pub fn add(&mut self, value: T) -> bool {
        self.0.insert(value, ()).is_none()
    }

    /// Whether `value` is there.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.get(value).is_some()
    }

    /// Removes `value`, and says whether it was there.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(value).is_some()
    }
}

impl<T> Set<T> {
    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(v, ())| v)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T: Clone> Set<T> {
    /// Takes all values out.
    pub fn take(&mut self) -> Vec<T> {
        self.0.take().into_iter().map(|(v, ())| v).collect()
    }
}

impl<T: Key> StateCell for Set<T> {
    const KIND: CellKind = CellKind::Set;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn begin(&mut self) {
        self.0.begin();
    }

    fn undo(&mut self) {
        self.0.undo();
    }

    fn keep(&mut self) {
        self.0.keep();
    }

    fn change(&self) -> CellChange {
        self.0.change()
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<T>()?])
    }
}

impl<T: fmt::Debug> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
