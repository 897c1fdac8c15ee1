//! The keys and windows that have state.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::{Key, window::Window};

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
    /// Whether a timer fired in that bundle.
    pub(super) fired: bool,
}

/// Slots, found by key and window.
#[derive(Debug)]
pub(super) struct Slots<K, S> {
    // In parts of the same length: a slot is large, and is not moved when there are more.
    parts: Vec<Vec<Option<Slot<K, S>>>>,
    len: usize,
    free: Vec<usize>,
    // With their hashes, so that a table that grows does not look at keys.
    numbers: HashTable<(u64, usize)>,
}

/// How many slots a part has.
const PART: usize = 256;

impl<K, S> Default for Slots<K, S> {
    fn default() -> Slots<K, S> {
        Slots { parts: Vec::new(), len: 0, free: Vec::new(), numbers: HashTable::new() }
    }
}

fn hash_of<K: Key>(key: &K, window: &Window) -> u64 {
    FixedState::default().hash_one((key, window))
}

impl<K, S> Slots<K, S> {
    #[inline]
    pub(super) fn get(&self, n: usize) -> Option<&Slot<K, S>> {
        self.parts.get(n / PART)?.get(n % PART)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, n: usize) -> Option<&mut Slot<K, S>> {
        self.place(n)?.as_mut()
    }

    #[inline]
    fn place(&mut self, n: usize) -> Option<&mut Option<Slot<K, S>>> {
        self.parts.get_mut(n / PART)?.get_mut(n % PART)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Slot<K, S>)> {
        let all = self.parts.iter().flatten().enumerate();
        all.filter_map(|(n, slot)| slot.as_ref().map(|slot| (n, slot)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Slot<K, S>)> {
        let all = self.parts.iter_mut().flatten().enumerate();
        all.filter_map(|(n, slot)| slot.as_mut().map(|slot| (n, slot)))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

impl<K: Key, S> Slots<K, S> {
    #[inline]
    pub(super) fn find(&self, key: &K, window: &Window) -> Option<usize> {
        self.look(hash_of(key, window), key, window).ok()
    }

    /// The slot, or what to add it by.
    #[inline]
    pub(super) fn find_or_hash(&self, key: &K, window: &Window) -> Result<usize, u64> {
        self.look(hash_of(key, window), key, window)
    }

    #[inline]
    fn look(&self, hash: u64, key: &K, window: &Window) -> Result<usize, u64> {
        let same = |(h, n): &(u64, usize)| {
            *h == hash && self.get(*n).is_some_and(|s| s.key == *key && s.window == *window)
        };
        self.numbers.find(hash, same).map(|(_, n)| *n).ok_or(hash)
    }

    /// Adds a slot, which must not be there, and gives its number.
    pub(super) fn add(&mut self, slot: Slot<K, S>) -> usize {
        self.add_by(hash_of(&slot.key, &slot.window), slot)
    }

    /// The same, by the hash that [`find_or_hash`](Self::find_or_hash) gave.
    #[inline]
    pub(super) fn add_by(&mut self, hash: u64, slot: Slot<K, S>) -> usize {
        let n = match self.free.pop() {
            Some(n) => {
                self.put_back(n, Some(slot));
                n
            }
            None => {
                if self.len.is_multiple_of(PART) {
                    self.parts.push(Vec::with_capacity(PART));
                }
                if let Some(part) = self.parts.last_mut() {
                    part.push(Some(slot));
                }
                self.len += 1;
                self.len - 1
            }
        };
        self.numbers.insert_unique(hash, (hash, n), |(hash, _)| *hash);
        n
    }

    /// Forgets where a slot is, which [`put_back`](Self::put_back) or [`take`](Self::take) then empties. Its number is not
    /// used again before [`reuse`](Self::reuse).
    pub(super) fn forget(&mut self, n: usize) {
        let Some(Slot { key, window, .. }) = self.get(n) else { return };
        let hash = hash_of(key, window);
        if let Ok(entry) = self.numbers.find_entry(hash, |(_, m)| *m == n) {
            entry.remove();
        }
    }

    pub(super) fn take(&mut self, n: usize) -> Option<Slot<K, S>> {
        self.place(n)?.take()
    }

    /// Lets the number of a slot that was removed be used again.
    pub(super) fn reuse(&mut self, n: usize) {
        self.free.push(n);
    }

    /// Puts `slot` in the place of number `n`, whatever is there. Slots are found again after [`index`](Self::index).
    pub(super) fn put_back(&mut self, n: usize, slot: Option<Slot<K, S>>) {
        if let Some(place) = self.place(n) {
            *place = slot;
        }
    }

    /// Makes all slots be found, and all numbers without one be free.
    pub(super) fn index(&mut self) {
        self.numbers.clear();
        self.free.clear();
        for n in (0..self.len).rev() {
            match self.get(n) {
                Some(slot) => {
                    let hash = hash_of(&slot.key, &slot.window);
                    self.numbers.insert_unique(hash, (hash, n), |(hash, _)| *hash);
                }
                None => self.free.push(n),
            }
        }
    }
}
