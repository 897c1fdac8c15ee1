//! The state of a key group.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use super::{
    queue::Entry,
    slots::{Slot, Slots},
    timers::{Owner, Timers},
    undo::{Before, Undo},
    waiting::{Queue, Turn, Waiting},
};
use crate::{
    Duration, Element, Key, Timestamp,
    exec::{GroupState, KeyedReport, holds::Holds},
    state::{KeyedState, TimeDomain, TimerEntry},
    window::Window,
};

/// What is the same for all keys of a keyed DoFn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeping {
    /// How long state is kept after its window's end.
    pub(crate) lateness: Duration,
    /// Whether windows are told of their expiry, which holds the output watermark until then.
    pub(crate) expiration: bool,
    /// Whether elements come in the order of time, and timers between them.
    pub(crate) sorted: bool,
}

impl Keeping {
    /// The time that must have come for a timer.
    fn due(&self, time: TimeDomain, entry: TimerEntry, window: &Window) -> Timestamp {
        if self.sorted && time == TimeDomain::Event {
            Turn::of(entry.fire, window, self.lateness, entry.order).due
        } else {
            entry.fire
        }
    }
}

/// The slots of a window. One that is gone stays in the list until there are many of them: a slot is in the list where it
/// knows its place to be.
#[derive(Debug, Default)]
struct Slotted {
    list: Vec<usize>,
    /// How many there are.
    len: usize,
}

/// So many that are gone are not looked for.
const FEW: usize = 64;

/// Timers of a slot that fired in one bundle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Firings {
    /// The latest time of one, in event time and in processing time.
    pub(super) latest: [Timestamp; 2],
    /// How many did without time going on.
    pub(super) idle: u32,
}

impl Default for Firings {
    fn default() -> Firings {
        // The first one is not noted, and counts.
        Firings { latest: [Timestamp::MIN; 2], idle: 1 }
    }
}

/// The state of all keys and windows of a key group, with its timers.
pub(crate) struct KeyStore<K, V, S> {
    pub(super) keeping: Keeping,
    pub(super) slots: Slots<K, S>,
    pub(super) timers: Timers,
    /// Elements that wait for their turn, when they are to be processed in the order of time.
    pub(super) queue: Queue<V>,
    /// The slots of each window, in the order in which windows expire.
    windows: BTreeMap<(Timestamp, Window), Slotted>,
    holds: Holds,
    /// Of slots whose timers fired more than once in this bundle.
    pub(super) firings: HashMap<usize, Firings>,
    /// The number of the next timer or waiting element.
    pub(super) order: u64,
    bundle: u64,
    atomic: bool,
    touched: Vec<usize>,
    undo: Undo<K, V, S>,
}

impl<K: Key, V: Element, S: KeyedState> KeyStore<K, V, S> {
    pub(crate) fn new(keeping: Keeping) -> KeyStore<K, V, S> {
        KeyStore {
            keeping,
            slots: Slots::default(),
            timers: Timers::new(!keeping.sorted),
            queue: Queue::new(),
            windows: BTreeMap::new(),
            holds: Holds::default(),
            firings: HashMap::new(),
            order: 0,
            bundle: 0,
            atomic: false,
            touched: Vec::new(),
            undo: Undo::default(),
        }
    }

    /// Begins a bundle, which may have to be undone if it is `atomic`.
    pub(super) fn begin(&mut self, atomic: bool) {
        self.bundle += 1;
        self.atomic = atomic;
        self.touched.clear();
        self.firings.clear();
    }

    /// The slot of a key and window, made if it is not there; the bundle is going to change it.
    #[inline]
    pub(super) fn open(&mut self, key: K, window: &Window) -> usize {
        let hash = match self.slots.find_or_hash(&key, window) {
            Ok(n) => {
                self.touch(n);
                return n;
            }
            Err(hash) => hash,
        };
        let slot = Slot {
            key,
            window: window.clone(),
            state: S::initial(),
            waiting: 0,
            place: 0,
            bundle: self.bundle,
            fired: false,
        };
        let n = self.slots.add_by(hash, slot);
        self.enlist(n, window.clone());
        self.touched.push(n);
        if self.atomic {
            self.undo.slots.push((n, None));
        }
        n
    }

    /// The bundle is going to change a slot that is there.
    #[inline]
    pub(super) fn touch(&mut self, n: usize) {
        let Some(slot) = self.slots.get_mut(n).filter(|slot| slot.bundle != self.bundle) else { return };
        if self.atomic {
            slot.state.begin();
            let Slot { waiting, place, bundle, .. } = *slot;
            self.undo.slots.push((n, Some(Before { waiting, place, bundle })));
        }
        slot.bundle = self.bundle;
        slot.fired = false;
        self.touched.push(n);
    }

    fn enlist(&mut self, n: usize, window: Window) {
        let window = (window.expiry(self.keeping.lateness), window);
        // One that there is need not be copied, and most come in the window that expires first.
        let slotted = match self.windows.first_entry() {
            Some(first) if *first.key() == window => first.into_mut(),
            _ => self.windows.entry(window).or_default(),
        };
        if let Some(slot) = self.slots.get_mut(n) {
            slot.place = slotted.list.len();
            if slotted.len == 0 && self.keeping.expiration {
                self.holds.add(slot.window.result_timestamp());
            }
        }
        slotted.list.push(n);
        slotted.len += 1;
    }

    /// A slot is gone from its window.
    fn unlist(&mut self, window: Window) {
        let key = (window.expiry(self.keeping.lateness), window);
        let Some(slotted) = self.windows.get_mut(&key) else { return };
        slotted.len -= 1;
        if slotted.len == 0 {
            self.windows.remove(&key);
            if self.keeping.expiration {
                self.holds.remove(key.1.result_timestamp());
            }
        } else if slotted.list.len() > FEW + 4 * slotted.len {
            let slots = &mut self.slots;
            let (mut place, mut kept) = (0, 0);
            slotted.list.retain(|n| {
                let here = slots.get_mut(*n).filter(|slot| slot.place == place && slot.window == key.1);
                place += 1;
                let Some(slot) = here else { return false };
                slot.place = kept;
                kept += 1;
                true
            });
        }
    }

    /// Brings the index up to date with the timers of a slot, and says whether any has changed.
    pub(super) fn sync(&mut self, n: usize) -> bool {
        let KeyStore { keeping, slots, timers, holds, .. } = self;
        let mut changed = false;
        if let Some(Slot { state, window, .. }) = slots.get_mut(n) {
            state.for_each_timer(&mut |number, cell| {
                let time = cell.time_domain();
                cell.changes(&mut |tag, was, is| {
                    changed = true;
                    if let Some(entry) = was {
                        timers.remove(time, entry, holds);
                    }
                    if let Some(entry) = is {
                        let due = keeping.due(time, entry, window);
                        timers.add(time, due, entry, Owner { slot: n, number, tag: tag.into() }, holds);
                    }
                });
            });
        }
        changed
    }

    /// The next timer for which time has come: when it is due, and its time.
    #[inline]
    pub(super) fn next_timer(
        &mut self,
        time: TimeDomain,
        has_come: impl Fn(Timestamp) -> bool,
    ) -> Option<(Timestamp, Timestamp)> {
        let KeyStore { slots, timers, .. } = self;
        loop {
            let first = timers.first(time).filter(|first| has_come(first.turn.0))?;
            if is_set(slots, first) {
                let (due, fire, _) = first.turn;
                return Some((due, fire));
            }
            timers.pop(time);
        }
    }

    /// Takes a timer that fires now.
    pub(super) fn fire(&mut self, owner: &Owner) -> Option<(TimeDomain, TimerEntry)> {
        self.touch(owner.slot);
        let KeyStore { slots, timers, holds, .. } = self;
        let cell = slots.get_mut(owner.slot)?.state.timer(owner.number)?;
        let (time, entry) = (cell.time_domain(), cell.fire(&owner.tag)?);
        timers.remove(time, entry, holds);
        Some((time, entry))
    }

    /// Lets an element wait for its turn.
    pub(super) fn enqueue(&mut self, turn: Turn, waiting: Waiting<V>) {
        if let Some(slot) = self.slots.get_mut(waiting.slot) {
            slot.waiting += 1;
        }
        self.queue.insert(turn, waiting);
        self.holds.add(turn.timestamp);
        if self.atomic {
            self.undo.queued.push(turn);
        }
    }

    /// The watermark that must be passed for the next element that waits, and its timestamp.
    pub(super) fn next_turn(&self) -> Option<(Timestamp, Timestamp)> {
        self.queue.keys().next().map(|turn| (turn.due, turn.timestamp))
    }

    /// Takes the next element that waits, with its timestamp.
    pub(super) fn dequeue(&mut self) -> Option<(Timestamp, Waiting<V>)> {
        let (turn, waiting) = self.queue.pop_first()?;
        self.touch(waiting.slot);
        if let Some(slot) = self.slots.get_mut(waiting.slot) {
            slot.waiting -= 1;
        }
        self.holds.remove(turn.timestamp);
        if self.atomic {
            self.undo.taken.push((turn, waiting.clone()));
        }
        Some((turn.timestamp, waiting))
    }

    /// The processing-time timers of a slot with their times, in the order in which they fire.
    pub(super) fn pending(&mut self, n: usize) -> Vec<(Timestamp, Owner)> {
        let mut pending = Vec::new();
        if let Some(slot) = self.slots.get_mut(n) {
            slot.state.for_each_timer(&mut |number, cell| {
                if cell.time_domain() == TimeDomain::Processing {
                    cell.entries(&mut |tag, entry| {
                        pending.push(((entry.fire, entry.order), Owner { slot: n, number, tag: tag.into() }));
                    });
                }
            });
        }
        pending.sort_by_key(|(turn, _)| *turn);
        pending.into_iter().map(|((fire, _), owner)| (fire, owner)).collect()
    }

    /// A slot whose window has expired.
    pub(super) fn expired(&mut self, watermark: Timestamp) -> Option<usize> {
        let mut first = self.windows.first_entry().filter(|first| first.key().0 < watermark)?;
        loop {
            let list = &first.get().list;
            let n = *list.last()?;
            let place = list.len() - 1;
            let here = |slot: &Slot<K, S>| slot.place == place && slot.window == first.key().1;
            if self.slots.get(n).is_some_and(here) {
                return Some(n);
            }
            first.get_mut().list.pop();
        }
    }

    /// Removes a slot, with its timers.
    pub(super) fn remove(&mut self, n: usize) {
        self.touch(n);
        self.slots.forget(n);
        let KeyStore { slots, timers, holds, .. } = self;
        let Some(slot) = slots.get_mut(n) else { return };
        slot.state.for_each_timer(&mut |_, cell| {
            let time = cell.time_domain();
            cell.entries(&mut |_, entry| timers.remove(time, entry, holds));
        });
        let window = slot.window.clone();
        let before = if self.atomic { self.slots.take(n) } else { None };
        self.slots.put_back(n, None);
        self.unlist(window);
        self.undo.removed.push((n, before));
    }

    /// Removes the slots that the bundle touched and left empty, and notes what is due next.
    pub(super) fn tidy(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.drain(..).for_each(|n| self.remove_empty(n));
        self.touched = touched;
        self.settle();
    }

    /// Removes a slot that has nothing in it.
    pub(super) fn remove_empty(&mut self, n: usize) {
        let empty = |s: &Slot<K, S>| s.waiting == 0 && s.state.is_initial();
        // A window that is told of its expiry is told for every key that had an element.
        if !self.keeping.expiration && self.slots.get(n).is_some_and(empty) {
            self.remove(n);
        }
    }

    fn settle(&mut self) {
        let KeyStore { slots, timers, .. } = self;
        timers.settle(|entry| is_set(slots, entry));
    }

    /// The state of a key and window.
    pub(crate) fn state(&self, key: &K, window: &Window) -> Option<&S> {
        self.slots.find(key, window).and_then(|n| self.slots.get(n)).map(|slot| &slot.state)
    }

    /// How many keys and windows have state.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Makes all indexes anew, from the slots and the queue.
    pub(super) fn index(&mut self) {
        self.slots.index();
        self.timers.clear();
        self.windows.clear();
        self.holds.clear();
        let mut windows = Vec::with_capacity(self.slots.len());
        let KeyStore { keeping, slots, timers, holds, queue, .. } = self;
        for (n, Slot { state, window, .. }) in slots.iter_mut() {
            windows.push((n, window.clone()));
            state.for_each_timer(&mut |number, cell| {
                let time = cell.time_domain();
                cell.entries(&mut |tag, entry| {
                    let due = keeping.due(time, entry, window);
                    timers.add(time, due, entry, Owner { slot: n, number, tag: tag.into() }, holds);
                });
            });
        }
        queue.keys().for_each(|turn| holds.add(turn.timestamp));
        for (n, window) in windows {
            self.enlist(n, window);
        }
        self.settle();
    }
}

/// Whether a timer is still set as it was when it was added.
fn is_set<K, S: KeyedState>(slots: &mut Slots<K, S>, entry: &Entry) -> bool {
    let Entry { turn: (.., order), owner } = entry;
    let cell = slots.get_mut(owner.slot).and_then(|slot| slot.state.timer(owner.number));
    cell.and_then(|cell| cell.entry(&owner.tag)).is_some_and(|set| set.order == *order)
}

impl<K: Key, V: Element, S: KeyedState> GroupState for KeyStore<K, V, S> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn report(&self) -> KeyedReport {
        let first = |turn: Option<(Timestamp, Timestamp)>| turn.map(|(due, _)| due);
        let event = self.timers.next(TimeDomain::Event);
        let expiry = self.windows.keys().next().map(|(expiry, _)| *expiry);
        KeyedReport {
            hold: self.holds.first().min(self.timers.hold()),
            due: expiry.into_iter().chain(first(self.next_turn())).fold(event, Timestamp::min),
            due_clock: self.timers.next(TimeDomain::Processing),
            sides: expiry.unwrap_or(Timestamp::MAX),
            ..KeyedReport::IDLE
        }
    }

    fn undo(&mut self) {
        let Undo { slots, queued, taken, removed } = std::mem::take(&mut self.undo);
        let queued: BTreeSet<Turn> = queued.into_iter().collect();
        for (n, slot) in removed {
            self.slots.put_back(n, slot);
        }
        for (n, before) in slots {
            let Some(Before { waiting, place, bundle }) = before else {
                self.slots.put_back(n, None);
                continue;
            };
            if let Some(slot) = self.slots.get_mut(n) {
                slot.state.undo();
                (slot.waiting, slot.place, slot.bundle) = (waiting, place, bundle);
            }
        }
        queued.iter().for_each(|turn| drop(self.queue.remove(turn)));
        for (turn, waiting) in taken {
            // One that came in the same bundle is tried again with it.
            if !queued.contains(&turn) {
                self.queue.insert(turn, waiting);
            }
        }
        // The bundle may have ended anywhere, so nothing is known of the indexes.
        self.index();
    }

    fn keep(&mut self) {
        let Undo { slots, removed, .. } = std::mem::take(&mut self.undo);
        for (n, _) in slots.into_iter().filter(|(_, before)| before.is_some()) {
            if let Some(slot) = self.slots.get_mut(n) {
                slot.state.keep();
            }
        }
        removed.into_iter().for_each(|(n, _)| self.slots.reuse(n));
    }

    fn save(&self, out: &mut Vec<u8>) -> crate::Result {
        self.save_all(out)
    }

    fn side_windows(&self, watermark: Timestamp, now: Timestamp) -> Vec<Window> {
        let mut windows: HashSet<Window> = HashSet::new();
        let expired = self.windows.keys().take_while(|(expiry, _)| *expiry < watermark);
        windows.extend(expired.map(|(_, window)| window.clone()));
        let turns = self.queue.iter().take_while(|(turn, _)| turn.due < watermark);
        let slots = self.timers.due(watermark, now).chain(turns.map(|(_, waiting)| waiting.slot));
        windows.extend(slots.filter_map(|n| self.slots.get(n)).map(|slot| slot.window.clone()));
        windows.into_iter().collect()
    }
}
