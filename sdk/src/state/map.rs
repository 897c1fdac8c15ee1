//! A value per key.

use std::{borrow::Borrow, fmt, hash::Hash};

use super::{CellChange, CellKind, StateCell, cell::coder_of, ordered_map::OrderedMap};
use crate::{
    Element, Key,
    coder::{CoderError, CoderSpec},
};

/// A value per key, in the order in which the keys were first put. Beam's `MapState`.
///
/// ```
/// use purlin_sdk::state::Map;
/// let mut map = Map::default();
/// assert_eq!(map.put("a".to_owned(), 1), None);
/// assert_eq!(map.put("a".to_owned(), 2), Some(1));
/// assert!(!map.put_if_absent("a".to_owned(), 3));
/// assert_eq!(map.get("a"), Some(&2));
/// assert_eq!(*map.get_or_put_with("b".to_owned(), || 5), 5);
/// assert_eq!(map.keys().collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(map.remove("a"), Some(2));
/// ```
#[derive(Clone)]
pub struct Map<K, V>(OrderedMap<K, V>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Map<K, V> {
        Map(OrderedMap::default())
    }
}

impl<K: Eq + Hash, V> Map<K, V> {
    /// The value of `key`.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }

    /// Gives `key` a value if it has none, and says whether that was so.
    pub fn put_if_absent(&mut self, key: K, value: V) -> bool {
        let before = self.0.len();
        self.0.get_or_insert_with(key, || value);
        self.0.len() > before
    }

    /// The value of `key`, which is made by `make` and put when there is none. Beam's `computeIfAbsent`.
    pub fn get_or_put_with(&mut self, key: K, make: impl FnOnce() -> V) -> &V {
        self.0.get_or_insert_with(key, make)
    }

    /// Whether `key` has a value.
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.get(key).is_some()
    }
}

impl<K, V> Map<K, V> {
    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter()
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(k, _)| k)
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, v)| v)
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<K: Eq + Hash, V: Clone> Map<K, V> {
    /// Gives `key` a value, and gives back the one that it had.
    pub fn put(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    /// Removes `key`, and gives back the value that it had.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(key)
    }
}

impl<K: Clone, V: Clone> Map<K, V> {
    /// Takes all keys and values out.
    pub fn take(&mut self) -> Vec<(K, V)> {
        self.0.take()
    }
}

impl<K: Key, V: Element> StateCell for Map<K, V> {
    const KIND: CellKind = CellKind::Map;

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
        Ok(vec![coder_of::<K>()?, coder_of::<V>()?])
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
