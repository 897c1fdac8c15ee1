//! A hash map that goes through its entries in the order in which they were inserted, so that state does not depend on
//! how keys happen to hash.

use std::{borrow::Borrow, hash::BuildHasher, hash::Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::CellChange;

#[derive(Clone)]
pub(super) struct OrderedMap<K, V> {
    // Places in `entries`, by the hash of their keys.
    places: HashTable<usize>,
    // In the order of insertion, with holes where entries were removed.
    entries: Vec<Option<(K, V)>>,
    // What was done since a bundle began that may be undone.
    log: Option<Vec<Step<K, V>>>,
}

/// A change, with what takes it back.
#[derive(Clone)]
enum Step<K, V> {
    /// An entry was put at the end, at this place.
    Inserted(usize),
    /// The value at a place was this one.
    Replaced(usize, V),
    /// This entry was at a place.
    Removed(usize, (K, V)),
    /// The value at a place grew; this makes it as it was.
    Grown(usize, fn(&mut V)),
    /// These were all entries.
    Cleared(Vec<Option<(K, V)>>),
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> OrderedMap<K, V> {
        OrderedMap { places: HashTable::new(), entries: Vec::new(), log: None }
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

    pub(super) fn clear(&mut self) {
        self.places = HashTable::new();
        let entries = std::mem::take(&mut self.entries);
        if let Some(log) = &mut self.log {
            log.push(Step::Cleared(entries));
        }
    }

    /// What has changed since [`begin`](Self::begin).
    pub(super) fn change(&self) -> CellChange {
        match &self.log {
            Some(log) if log.is_empty() => CellChange::None,
            _ => CellChange::All,
        }
    }

    /// From here on changes may have to be undone.
    pub(super) fn begin(&mut self) {
        self.log = Some(Vec::new());
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
                if let Some(log) = &mut self.log {
                    log.push(Step::Inserted(place));
                }
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

    /// Makes it as it was when the bundle began.
    pub(super) fn undo(&mut self) {
        let Some(log) = self.log.take() else { return };
        if log.is_empty() {
            return;
        }
        for step in log.into_iter().rev() {
            match step {
                Step::Inserted(place) => self.entries.truncate(place),
                Step::Replaced(place, value) => {
                    if let Some((_, there)) = self.entries.get_mut(place).and_then(Option::as_mut) {
                        *there = value;
                    }
                }
                Step::Removed(place, entry) => {
                    if let Some(there) = self.entries.get_mut(place) {
                        *there = Some(entry);
                    }
                }
                Step::Grown(place, shrink) => {
                    if let Some((_, there)) = self.entries.get_mut(place).and_then(Option::as_mut) {
                        shrink(there);
                    }
                }
                Step::Cleared(entries) => self.entries = entries,
            }
        }
        // The bundle may have ended in the middle of a change, so nothing is known of the places.
        self.close_holes();
    }

    /// The changes stay.
    pub(super) fn keep(&mut self) {
        self.log = None;
        self.close_many_holes();
    }

    fn close_many_holes(&mut self) {
        // While changes may be undone entries stay at their places.
        if self.log.is_none() && self.entries.len() > 8 && self.entries.len() > 2 * self.places.len() {
            self.close_holes();
        }
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

impl<K: Eq + Hash, V: Clone> OrderedMap<K, V> {
    /// Gives `key` the value, and gives back the one that it had. A key that is there keeps its place.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let place = self.place(&key);
        if let Some((place, (_, old))) = place.and_then(|at| Some(at).zip(self.entries[at].as_mut())) {
            if let Some(log) = &mut self.log {
                log.push(Step::Replaced(place, old.clone()));
            }
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
        let copy = match (&self.log, &self.entries[place]) {
            (Some(_), Some((_, value))) => Some(value.clone()),
            _ => None,
        };
        let (key, value) = self.entries[place].take()?;
        if let (Some(log), Some(copy)) = (&mut self.log, copy) {
            log.push(Step::Removed(place, (key, copy)));
        }
        self.close_many_holes();
        Some(value)
    }
}

impl<K: Clone, V: Clone> OrderedMap<K, V> {
    /// Takes everything out.
    pub(super) fn take(&mut self) -> Vec<(K, V)> {
        if self.log.is_none() {
            self.places = HashTable::new();
            return std::mem::take(&mut self.entries).into_iter().flatten().collect();
        }
        let entries = self.entries.iter().flatten().cloned().collect();
        self.clear();
        entries
    }
}

impl<K: Eq + Hash, V> OrderedMap<K, Vec<V>> {
    /// Adds a value to those of `key`.
    pub(super) fn push(&mut self, key: K, value: V) {
        if let (Some(place), Some(log)) = (self.place(&key), &mut self.log) {
            log.push(Step::Grown(place, |values| {
                values.pop();
            }));
        }
        self.get_or_insert_with(key, Vec::new).push(value);
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

        #[test]
        fn is_as_it_was_when_it_is_undone(
            before in proptest::collection::vec((0..4, 0..20_u8), 0..60),
            after in proptest::collection::vec((0..7, 0..20_u8), 0..60),
        ) {
            fn change(map: &mut OrderedMap<u8, Vec<usize>>, i: usize, step: i32, key: u8) {
                match step {
                    0 | 1 => drop(map.insert(key, vec![i])),
                    2 => drop(map.remove(&key)),
                    3 | 4 => map.push(key, i),
                    5 => map.clear(),
                    _ => drop(map.take()),
                }
            }
            let entries = |map: &OrderedMap<u8, Vec<usize>>| {
                map.iter().map(|(k, v)| (*k, v.clone())).collect::<Vec<_>>()
            };
            let mut map = OrderedMap::default();
            for (i, (step, key)) in before.into_iter().enumerate() {
                change(&mut map, i, step, key);
            }
            let was = entries(&map);
            for keeps in [false, true] {
                map.begin();
                for (i, (step, key)) in after.iter().enumerate() {
                    change(&mut map, i, *step, *key);
                }
                let is = entries(&map);
                if keeps { map.keep() } else { map.undo() }
                prop_assert_eq!(&entries(&map), if keeps { &is } else { &was });
                for (key, values) in entries(&map) {
                    prop_assert_eq!(map.get(&key), Some(&values));
                }
                prop_assert_eq!(map.len(), map.iter().count());
            }
        }
    }
}
