//! The state of one key and window while a bundle is at work on it.

use std::{collections::BTreeMap, sync::Arc};

use super::{CellAddress, Layout, StateAccess};
use crate::{
    DoFnError, Result,
    exec::save::{put, take},
    state::{CellChange, KeyedState, TimeDomain, TimerEntry},
    window::Window,
};

/// The number of a timer or family, and the tag.
pub(super) type TimerName = (usize, String);

/// A key and window, with its state as it was fetched and changed since.
pub(super) struct Slot<K, S> {
    pub(super) key: K,
    pub(super) window: Window,
    /// One for each bag, and whether the engine has anything in it.
    bags: Vec<CellAddress>,
    filled: Vec<bool>,
    pub(super) state: S,
    /// What was in the bag of the timers.
    timers: Vec<u8>,
    /// The timers that the engine has.
    pub(super) engine: BTreeMap<TimerName, TimerEntry>,
    /// Whether the engine has a timer for the window's end.
    pub(super) expiry: bool,
    /// An element came: its window's end is to be told.
    pub(super) had_element: bool,
    /// The window has expired, and nothing is kept.
    pub(super) expired: bool,
}

/// What a slot leaves for the engine's timers: the timer, and what it is set to, or nothing to clear it.
pub(super) type TimerChange = (TimerName, Option<TimerEntry>);

/// The bytes of a varint.
fn put_varint(mut n: usize, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn take_varint(input: &mut &[u8]) -> Result<usize> {
    let mut n = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let Some((byte, rest)) = input.split_first() else { break };
        *input = rest;
        n |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(n);
        }
    }
    Err(DoFnError::msg("a record of its state has no length"))
}

/// A record as an item of a bag.
fn item(record: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len() + 3);
    put_varint(record.len(), &mut out);
    out.extend_from_slice(record);
    out
}

/// Takes the next record off the items of a bag.
fn take_record<'a>(items: &mut &'a [u8]) -> Result<&'a [u8]> {
    let len = take_varint(items)?;
    let Some((record, rest)) = items.split_at_checked(len) else {
        return Err(DoFnError::msg("a record of its state is cut off"));
    };
    *items = rest;
    Ok(record)
}

impl<K, S: KeyedState> Slot<K, S> {
    /// The slot of a key and window, of which nothing is fetched yet.
    pub(super) fn new(key: K, window: Window, bags: Vec<CellAddress>) -> Slot<K, S> {
        Slot {
            key,
            window,
            filled: vec![false; bags.len()],
            bags,
            state: S::initial(),
            timers: Vec::new(),
            engine: BTreeMap::new(),
            expiry: false,
            had_element: false,
            expired: false,
        }
    }

    pub(super) fn bags(&self) -> &[CellAddress] {
        &self.bags
    }

    /// Takes in what its bags hold, and gives the number that the next timer has at least.
    pub(super) fn load(&mut self, layout: &Layout, contents: Vec<Vec<u8>>) -> Result<u64> {
        self.filled = contents.iter().map(|items| !items.is_empty()).collect();
        let mut contents = contents.into_iter();
        for (n, (name, items)) in layout.cells.iter().zip(&mut contents).enumerate() {
            let Some(cell) = self.state.cell(n) else { continue };
            let mut rest = &items[..];
            let mut load = || {
                while !rest.is_empty() {
                    let mut record = take_record(&mut rest)?;
                    cell.load(&mut record)?;
                    if !record.is_empty() {
                        return Err(DoFnError::msg("bytes are left over"));
                    }
                }
                Ok(())
            };
            load().map_err(|e| DoFnError::msg(format!("its state `{name}` cannot be read: {e}")))?;
            cell.begin();
        }
        let Some(items) = contents.next() else { return Ok(0) };
        let next = self
            .load_timers(&items)
            .map_err(|e| DoFnError::msg(format!("its timers cannot be read: {e}")))?;
        self.timers = items;
        Ok(next)
    }

    fn load_timers(&mut self, items: &[u8]) -> Result<u64> {
        let mut next = 0;
        if items.is_empty() {
            return Ok(next);
        }
        let mut record = take_record(&mut &items[..])?;
        self.expiry = take(&mut record)?;
        let mut done = Ok(());
        let engine = &mut self.engine;
        self.state.for_each_timer(&mut |number, cell| {
            if done.is_ok() {
                done = cell.load(&mut record);
            }
            cell.entries(&mut |tag, entry| {
                next = next.max(entry.order + 1);
                engine.insert((number, tag.to_owned()), entry);
            });
        });
        done.map(|()| next)
    }

    /// Whether anything was in the bag of the timers.
    pub(super) fn had_timers(&self) -> bool {
        !self.timers.is_empty()
    }

    /// The timers that are set.
    pub(super) fn entries(&mut self) -> Vec<(TimerName, TimeDomain, TimerEntry)> {
        let mut all = Vec::new();
        self.state.for_each_timer(&mut |number, cell| {
            let time = cell.time_domain();
            cell.entries(&mut |tag, entry| all.push(((number, tag.to_owned()), time, entry)));
        });
        all
    }

    /// What is to be told of its timers, beside the window's end; the engine then has it.
    pub(super) fn timer_changes(&mut self) -> Vec<TimerChange> {
        let mut set = BTreeMap::new();
        if !self.expired {
            set.extend(self.entries().into_iter().map(|(name, _, entry)| (name, entry)));
        }
        let mut changes: Vec<TimerChange> = Vec::new();
        for (name, entry) in &set {
            if self.engine.get(name) != Some(entry) {
                changes.push((name.clone(), Some(*entry)));
            }
        }
        for name in self.engine.keys().filter(|name| !set.contains_key(*name)) {
            changes.push((name.clone(), None));
        }
        self.engine = set;
        changes
    }

    /// Writes back what has changed.
    pub(super) fn store(&mut self, layout: &Layout, access: &dyn StateAccess) -> Result {
        let Slot { bags, filled, state, expired, .. } = self;
        for (n, ((name, bag), filled)) in layout.cells.iter().zip(&*bags).zip(filled).enumerate() {
            let Some(cell) = state.cell(n) else { continue };
            let failed = |e| DoFnError::msg(format!("its state `{name}` cannot be kept: {e}"));
            let change = if *expired { CellChange::All } else { cell.change() };
            let mut record = Vec::new();
            match change {
                CellChange::None => continue,
                CellChange::Added => cell.save_added(&mut record).map_err(failed)?,
                CellChange::All => {
                    if std::mem::take(filled) {
                        access.clear(bag)?;
                    }
                    if *expired || cell.is_initial() {
                        continue;
                    }
                    cell.save(&mut record).map_err(failed)?;
                }
            }
            *filled = true;
            access.append(bag, item(&record))?;
        }
        if let Some(bag) = layout.keeps_timers().then(|| self.bags.last().cloned()).flatten() {
            self.store_timers(&bag, access)?;
        }
        Ok(())
    }

    fn store_timers(&mut self, bag: &CellAddress, access: &dyn StateAccess) -> Result {
        let items = self.timer_items()?;
        if items == self.timers {
            return Ok(());
        }
        if !self.timers.is_empty() {
            access.clear(bag)?;
        }
        if !items.is_empty() {
            access.append(bag, items.clone())?;
        }
        self.timers = items;
        Ok(())
    }

    /// What is to be in the bag of the timers: nothing when none is set.
    fn timer_items(&mut self) -> Result<Vec<u8>> {
        if self.expired || (!self.expiry && self.engine.is_empty()) {
            return Ok(Vec::new());
        }
        let mut record = Vec::new();
        put(&self.expiry, &mut record)?;
        let mut done = Ok(());
        self.state.for_each_timer(&mut |_, cell| {
            if done.is_ok() {
                done = cell.save(&mut record);
            }
        });
        done?;
        Ok(item(&record))
    }
}

/// The addresses of the bags of a key and window.
pub(super) fn bags_of(names: &[Arc<str>], window: Vec<u8>, key: Vec<u8>) -> Vec<CellAddress> {
    let (window, key): (Arc<[u8]>, Arc<[u8]>) = (window.into(), key.into());
    names
        .iter()
        .map(|cell| CellAddress { cell: cell.clone(), window: window.clone(), key: key.clone() })
        .collect()
}
