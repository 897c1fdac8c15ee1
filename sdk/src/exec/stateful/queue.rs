//! Timers in the order in which they fire.
//!
//! A wheel of wheels: what is due within 64 milliseconds of what is next lies in a slot a millisecond, what is due within
//! 64 of those wheels in a slot a wheel, and so on, so that adding is one step, and a timer is moved as often as there are
//! wheels between it and what is next: for one an hour ahead that is three times. Nothing is taken out of the middle: a
//! timer that was set anew, or that is gone, is found out when its turn comes.

#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BinaryHeap};

use super::timers::Owner;
use crate::Timestamp;

/// How many bits of a time a wheel goes by.
const BITS: u32 = 6;
/// How many slots a wheel has.
const SLOTS: usize = 1 << BITS;
/// So many may be added that come before what was next.
const MOST_EARLY: usize = 64;
/// How many emptied lists are kept.
const SPARE: usize = SLOTS;

/// When a timer fires, and before which others: when it is due, its time, and a number for the order of what has the same
/// one. It is due at its time; where elements wait until nothing earlier can come, timers wait with them.
pub(super) type Turn = (Timestamp, Timestamp, u64);

/// A timer that was set.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) turn: Turn,
    pub(super) owner: Owner,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.turn == other.turn
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        self.turn.cmp(&other.turn)
    }
}

impl Entry {
    /// When it is due, as a number without a sign, in the same order.
    fn time(&self) -> u64 {
        number(self.turn.0)
    }
}

fn number(time: Timestamp) -> u64 {
    time.as_millis().cast_unsigned() ^ (1 << 63)
}

#[derive(Debug)]
struct Wheel {
    /// A bit for each slot that has something in it.
    filled: u64,
    slots: Vec<Vec<Entry>>,
}

/// Timers in the order of their turns.
#[derive(Debug, Default)]
pub(super) struct Queue {
    // Everything in the wheels comes later.
    base: u64,
    wheels: Vec<Wheel>,
    // What is due at `base`, the last one first.
    ready: Vec<Entry>,
    // What was added and was due by then.
    early: BinaryHeap<Reverse<Entry>>,
    len: usize,
    spare: Vec<Vec<Entry>>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.len += 1;
        if entry.time() > self.base {
            self.file(entry);
            return;
        }
        self.early.push(Reverse(entry));
        // One that was far ahead was once next.
        if self.early.len() >= MOST_EARLY.max(self.len / 2) {
            self.begin_anew();
        }
    }

    /// Files everything by what is next now.
    fn begin_anew(&mut self) {
        let mut all = std::mem::take(&mut self.ready);
        all.extend(self.early.drain().map(|Reverse(entry)| entry));
        for Wheel { filled, slots } in &mut self.wheels {
            *filled = 0;
            slots.iter_mut().for_each(|slot| all.append(slot));
        }
        self.deal(all);
    }

    /// Puts an entry where it belongs that is later than `base`.
    fn file(&mut self, entry: Entry) {
        let time = entry.time();
        let wheel = ((time ^ self.base).ilog2() / BITS) as usize;
        let slot = (time >> (wheel as u32 * BITS)) as usize % SLOTS;
        while self.wheels.len() <= wheel {
            let slots = (0..SLOTS).map(|_| Vec::new()).collect();
            self.wheels.push(Wheel { filled: 0, slots });
        }
        let Wheel { filled, slots } = &mut self.wheels[wheel];
        if *filled & (1 << slot) == 0 {
            *filled |= 1 << slot;
            if let Some(list) = self.spare.pop() {
                slots[slot] = list;
            }
        }
        slots[slot].push(entry);
    }

    /// What is next.
    pub(super) fn first(&mut self) -> Option<&Entry> {
        self.settle();
        match (self.ready.last(), self.early.peek()) {
            (Some(ready), Some(Reverse(early))) => Some(ready.min(early)),
            (ready, early) => ready.or(early.map(|Reverse(early)| early)),
        }
    }

    /// Takes what is next.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.settle();
        let early = match (self.ready.last(), self.early.peek()) {
            (Some(ready), Some(Reverse(early))) => early < ready,
            (ready, _) => ready.is_none(),
        };
        let popped = if early { self.early.pop().map(|Reverse(entry)| entry) } else { self.ready.pop() };
        self.len -= usize::from(popped.is_some());
        popped
    }

    /// Gets what is next out of the wheels.
    fn settle(&mut self) {
        if !self.ready.is_empty() || !self.early.is_empty() {
            return;
        }
        // Smaller wheels hold what is earlier.
        let Some(wheel) = self.wheels.iter_mut().find(|wheel| wheel.filled != 0) else { return };
        let slot = wheel.filled.trailing_zeros() as usize;
        wheel.filled &= !(1 << slot);
        // Slots of larger wheels stay what they are: it is no further than the end of this one.
        let list = std::mem::take(&mut wheel.slots[slot]);
        self.deal(list);
    }

    /// Takes in entries of which one is next.
    fn deal(&mut self, mut list: Vec<Entry>) {
        self.base = list.iter().map(Entry::time).min().unwrap_or(self.base);
        for entry in list.drain(..) {
            if entry.time() == self.base {
                self.ready.push(entry);
            } else {
                self.file(entry);
            }
        }
        self.ready.sort_unstable_by(|a, b| b.cmp(a));
        if self.spare.len() < SPARE {
            self.spare.push(list);
        }
    }

    /// All entries that are due by `end`, in no order.
    pub(super) fn until(&self, end: Timestamp) -> impl Iterator<Item = &Entry> {
        let last = number(end);
        let filed = self.wheels.iter().enumerate().flat_map(move |(n, wheel)| {
            let shift = n as u32 * BITS;
            // The slots whose times may come by then: those of a wheel share what lies above its bits with `base`.
            let first = self.base >> shift >> BITS << BITS;
            let slots = (last >> shift).checked_sub(first).map_or(0, |slots| slots.min(63) + 1);
            wheel.slots[..slots as usize].iter().flatten()
        });
        let all = self.ready.iter().chain(self.early.iter().map(|Reverse(entry)| entry)).chain(filed);
        all.filter(move |entry| entry.turn.0 <= end)
    }

    /// Keeps the entries for which `f` says so.
    pub(super) fn retain(&mut self, mut f: impl FnMut(&Entry) -> bool) {
        self.ready.retain(&mut f);
        self.early.retain(|Reverse(entry)| f(entry));
        for Wheel { filled, slots } in &mut self.wheels {
            for (n, slot) in slots.iter_mut().enumerate() {
                slot.retain(&mut f);
                if slot.is_empty() {
                    *filled &= !(1 << n);
                }
            }
        }
        let filed: usize = self.wheels.iter().flat_map(|wheel| &wheel.slots).map(Vec::len).sum();
        self.len = self.ready.len() + self.early.len() + filed;
    }
}
