//! Values per key.

use std::{borrow::Borrow, fmt, hash::Hash};

use super::{CellChange, CellKind, StateCell, cell::coder_of, ordered_map::OrderedMap};
use crate::{
    Element, Key,
    coder::{CoderError, CoderSpec},
};

/// Values per key, the same one as often as it was put. Keys are in the order in which they were first put, and so are
/// the values of each. Beam's `MultimapState`.
///
/// ```
/// use purlin_sdk::state::Multimap;
/// let mut visits = Multimap::default();
/// visits.put("a".to_owned(), 1);
/// visits.put("b".to_owned(), 2);
/// visits.put("a".to_owned(), 1);
/// assert_eq!(visits.get("a"), [1, 1]);
/// assert!(visits.get("c").is_empty());
/// assert_eq!(visits.remove("a"), [1, 1]);
/// assert_eq!(visits.entries().count(), 1);
/// ```
#[derive(Clone)]
pub struct Multimap<K, V>(OrderedMap<K, Vec<V>>);

impl<K, V> Default for Multimap<K, V> {
    fn default() -> Multimap<K, V> {
        Multimap(OrderedMap::default())
    }
}

impl<K: Eq + Hash, V> Multimap<K, V> {
    /// Gives `key` one more value.
    pub fn put(&mut self, key: K, value: V) {
        self.0.push(key, value);
    }

    /// The values of `key`; none when it is not there.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> &[V]
    where
        K: Borrow<Q>,
    {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// Whether `key` has a value.
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.get(key).is_some()
    }
}

impl<K, V> Multimap<K, V> {
    /// The keys that have values.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(k, _)| k)
    }

    /// Every value with its key.
    pub fn entries(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().flat_map(|(k, values)| values.iter().map(move |v| (k, v)))
    }

    /// Whether no key has values.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<K: Eq + Hash, V: Clone> Multimap<K, V> {
    /// Removes `key`, and gives back the values that it had.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Vec<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).unwrap_or_default()
    }
}

impl<K: Key, V: Element> StateCell for Multimap<K, V> {
    const KIND: CellKind = CellKind::Multimap;

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

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Multimap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter()).finish()
    }
}
