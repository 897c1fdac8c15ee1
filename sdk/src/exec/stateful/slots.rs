//! The keys and windows that have state.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::{Key, Timestamp, window::Window};

/// The state of one key and window.
#[derive(Debug)]
pub(super) struct Slot<K, S> {
    pub(super) key: K,
    pub(super) window: Window,
    pub(super) state: S,
    /// How many of its elements wait for their turn.
    pub(super) waiting: usize,
    /// Its place in the list of its window's slots.
    pub(super) place: usize,
    /// The bundle that touched it last.
    pub(super) bundle: u64,
    /// What fired in that bundle.
    pub(super) fired: Fired,
}

/// Timers of a slot that fired in one bundle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fired {
    /// The latest time of one, in event time and in processing time.
    pub(super) latest: [Timestamp; 2],
    /// How many did without time going on.
    pub(super) idle: u32,
}

impl Default for Fired {
    fn default() -> Fired {
        Fired { latest: [Timestamp::MIN; 2], idle: 0 }
    }
}

/// Slots, found by key and window.
#[derive(Debug)]
pub(super) struct Slots<K, S> {
    all: Vec<Option<Slot<K, S>>>,
    free: Vec<usize>,
    numbers: HashTable<usize>,
}

impl<K, S> Default for Slots<K, S> {
    fn default() -> Slots<K, S> {
        Slots { all: Vec::new(), free: Vec::new(), numbers: HashTable::new() }
    }
}

fn hash_of<K: Key>(key: &K, window: &Window) -> u64 {
    FixedState::default().hash_one((key, window))
}

impl<K, S> Slots<K, S> {
    pub(super) fn get(&self, n: usize) -> Option<&Slot<K, S>> {
        self.all.get(n).and_then(Option::as_ref)
    }

    pub(super) fn get_mut(&mut self, n: usize) -> Option<&mut Slot<K, S>> {
        self.all.get_mut(n).and_then(Option::as_mut)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Slot<K, S>)> {
        self.all.iter().enumerate().filter_map(|(n, slot)| slot.as_ref().map(|slot| (n, slot)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Slot<K, S>)> {
        self.all.iter_mut().enumerate().filter_map(|(n, slot)| slot.as_mut().map(|slot| (n, slot)))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

impl<K: Key, S> Slots<K, S> {
    pub(super) fn find(&self, key: &K, window: &Window) -> Option<usize> {
        let same = |n: &usize| matches!(&self.all[*n], Some(s) if s.window == *window && s.key == *key);
        self.numbers.find(hash_of(key, window), same).copied()
    }

    /// Adds a slot, which must not be there, and gives its number.
    pub(super) fn add(&mut self, slot: Slot<K, S>) -> usize {
        let n = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        });
        let hash = hash_of(&slot.key, &slot.window);
        self.all[n] = Some(slot);
        self.note(hash, n);
        n
    }

    fn note(&mut self, hash: u64, n: usize) {
        let all = &self.all;
        let rehash = |n: &usize| all[*n].as_ref().map_or(0, |s| hash_of(&s.key, &s.window));
        self.numbers.insert_unique(hash, n, rehash);
    }

    /// Takes a slot out. Its number is not used again before [`reuse`](Self::reuse).
    pub(super) fn remove(&mut self, n: usize) -> Option<Slot<K, S>> {
        let slot = self.all.get_mut(n)?.take()?;
        if let Ok(entry) = self.numbers.find_entry(hash_of(&slot.key, &slot.window), |m| *m == n) {
            entry.remove();
        }
        Some(slot)
    }

    /// Lets the number of a slot that was removed be used again.
    pub(super) fn reuse(&mut self, n: usize) {
        self.free.push(n);
    }

    /// Puts `slot` in the place of number `n`, whatever is there. Slots are found again after [`index`](Self::index).
    pub(super) fn put_back(&mut self, n: usize, slot: Option<Slot<K, S>>) {
        if let Some(place) = self.all.get_mut(n) {
            *place = slot;
        }
    }

    /// Makes all slots be found, and all numbers without one be free.
    pub(super) fn index(&mut self) {
        self.numbers.clear();
        self.free.clear();
        for n in (0..self.all.len()).rev() {
            match &self.all[n] {
                Some(slot) => self.note(hash_of(&slot.key, &slot.window), n),
                None => self.free.push(n),
            }
        }
    }
}
