//! A hash map that goes through its entries in the order in which they were inserted, so that state does not depend on
//! how keys happen to hash.

use std::{borrow::Borrow, hash::BuildHasher, hash::Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

#[derive(Clone)]
pub(super) struct OrderedMap<K, V> {
    // Places in `entries`, by the hash of their keys.
    places: HashTable<usize>,
    // In the order of insertion, with holes where entries were removed.
    entries: Vec<Option<(K, V)>>,
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> OrderedMap<K, V> {
        OrderedMap { places: HashTable::new(), entries: Vec::new() }
    }
}

fn hash_of<Q: Hash + ?Sized>(key: &Q) -> u64 {
    FixedState::default().hash_one(key)
}

impl<K, V> OrderedMap<K, V> {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().flatten().map(|(k, v)| (k, v))
    }

    pub(super) fn into_entries(self) -> impl Iterator<Item = (K, V)> {
        self.entries.into_iter().flatten()
    }
}

impl<K: Eq + Hash, V> OrderedMap<K, V> {
    fn place<Q>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let same = |place: &usize| matches!(&self.entries[*place], Some((k, _)) if k.borrow() == key);
        self.places.find(hash_of(key), same).copied()
    }

    pub(super) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.place(key).and_then(|place| self.entries[place].as_ref()).map(|(_, v)| v)
    }

    /// The value of `key`, made by `make` when there is none.
    pub(super) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Some(place) => place,
            None => {
                let place = self.entries.len();
                let hash = hash_of(&key);
                self.entries.push(Some((key, make())));
                let entries = &self.entries;
                self.places
                    .insert_unique(hash, place, |at| entries[*at].as_ref().map_or(0, |(k, _)| hash_of(k)));
                place
            }
        };
        match &mut self.entries[place] {
            Some((_, value)) => value,
            None => unreachable!("a key has a place only while it is there"),
        }
    }

    /// Gives `key` the value, and gives back the one that it had. A key that is there keeps its place.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some((_, old)) = self.place(&key).and_then(|place| self.entries[place].as_mut()) {
            return Some(std::mem::replace(old, value));
        }
        self.get_or_insert_with(key, || value);
        None
    }

    pub(super) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let entries = &self.entries;
        let same = |place: &usize| matches!(&entries[*place], Some((k, _)) if k.borrow() == key);
        let (place, _) = self.places.find_entry(hash_of(key), same).ok()?.remove();
        let removed = self.entries[place].take();
        if self.entries.len() > 8 && self.entries.len() > 2 * self.places.len() {
            self.close_holes();
        }
        removed.map(|(_, v)| v)
    }

    fn close_holes(&mut self) {
        self.entries.retain(Option::is_some);
        self.places.clear();
        let entries = &self.entries;
        let hash = |at: &usize| entries[*at].as_ref().map_or(0, |(k, _)| hash_of(k));
        for place in 0..entries.len() {
            self.places.insert_unique(hash(&place), place, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn does_what_a_list_of_pairs_does(steps in proptest::collection::vec((0..4, 0..20_u8), 0..200)) {
            let mut map = OrderedMap::default();
            let mut list: Vec<(u8, usize)> = Vec::new();
            for (i, (step, key)) in steps.into_iter().enumerate() {
                let at = list.iter().position(|(k, _)| *k == key);
                match (step, at) {
                    (0 | 1, Some(at)) => {
                        prop_assert_eq!(map.insert(key, i), Some(std::mem::replace(&mut list[at].1, i)));
                    }
                    (0 | 1, None) => {
                        prop_assert_eq!(map.insert(key, i), None);
                        list.push((key, i));
                    }
                    (2, at) => prop_assert_eq!(map.remove(&key), at.map(|at| list.remove(at).1)),
                    (_, at) => prop_assert_eq!(map.get(&key).copied(), at.map(|at| list[at].1)),
                }
                prop_assert_eq!(map.len(), list.len());
                prop_assert_eq!(map.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>(), list.clone());
            }
        }
    }
}
