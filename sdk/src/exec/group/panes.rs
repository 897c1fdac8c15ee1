//! The windows of the keys of one key group, for groupings whose windows merge, fire more than once, or wait for late
//! data.

use std::{
    any::Any,
    collections::{BTreeMap, HashMap},
};

use foldhash::fast::FixedState;

use super::{
    Fold, GroupState, KeyedReport,
    machine::TriggerMachine,
    pane::{Marks, Pane},
};
use crate::{
    Key, Result, Timestamp,
    exec::{
        holds::Holds,
        save::{put, put_len, room, take, take_len},
    },
    window::{Window, WindowingStrategy},
};

/// The windows of one key.
#[derive(Clone)]
pub(super) struct KeyPanes<A> {
    pub(super) panes: Vec<Pane<A>>,
    // Where the windows are, when they are many, as long as none is taken out.
    places: HashMap<Window, usize, FixedState>,
    // The bundle that is at work on it.
    bundle: u64,
}

impl<A> KeyPanes<A> {
    /// The pane of `window`, made if it is not there.
    pub(super) fn open(&mut self, window: &Window) -> &mut Pane<A> {
        /// To look at a few costs less than to hash.
        const FEW: usize = 16;
        let KeyPanes { panes, places, .. } = self;
        let place = if panes.len() <= FEW {
            panes.iter().position(|p| p.window == *window)
        } else {
            if places.is_empty() {
                places.extend(panes.iter().enumerate().map(|(i, p)| (p.window.clone(), i)));
            }
            places.get(window).copied()
        };
        let place = place.unwrap_or_else(|| {
            if !places.is_empty() {
                places.insert(window.clone(), panes.len());
            }
            panes.push(Pane::new(window.clone()));
            panes.len() - 1
        });
        &mut panes[place]
    }

    /// The panes, of which some may be taken out.
    pub(super) fn change(&mut self) -> &mut Vec<Pane<A>> {
        self.places.clear();
        &mut self.panes
    }
}

/// The windows of every key of a key group.
pub(super) struct Panes<K: Key, F: Fold> {
    pub(super) keys: HashMap<K, KeyPanes<F::Acc>, FixedState>,
    // When to look at which keys again, by event time, processing time and synchronized processing time. An entry may
    // name a key that has nothing to do any more.
    due: BTreeMap<Timestamp, Vec<K>>,
    due_clock: BTreeMap<Timestamp, Vec<K>>,
    due_synchronized: BTreeMap<Timestamp, Vec<K>>,
    // Where windows hold the watermark.
    holds: Holds,
    bundle: u64,
    touched: Vec<K>,
    // Keys of this bundle as they were before it.
    before: Vec<(K, Option<KeyPanes<F::Acc>>)>,
}

impl<K: Key, F: Fold> Panes<K, F> {
    pub(super) fn new() -> Panes<K, F> {
        Panes {
            keys: HashMap::with_hasher(FixedState::default()),
            due: BTreeMap::new(),
            due_clock: BTreeMap::new(),
            due_synchronized: BTreeMap::new(),
            holds: Holds::default(),
            bundle: 0,
            touched: Vec::new(),
            before: Vec::new(),
        }
    }

    /// What [`GroupState::save`] wrote.
    pub(super) fn load(input: &mut &[u8]) -> Result<Panes<K, F>> {
        let mut all = Panes::new();
        let len = take_len(input)?;
        all.keys.reserve(room(len, input));
        for _ in 0..len {
            let key: K = take(input)?;
            let len = take_len(input)?;
            let mut panes = Vec::with_capacity(room(len, input));
            for _ in 0..len {
                panes.push(take(input)?);
            }
            all.put_back(key, KeyPanes { panes, places: HashMap::default(), bundle: 0 });
        }
        Ok(all)
    }

    /// Puts the windows of a key in place that are not counted yet.
    fn put_back(&mut self, key: K, panes: KeyPanes<F::Acc>) {
        for pane in &panes.panes {
            pane.held.iter().for_each(|at| self.holds.add(*at));
            for (map, at) in [
                (&mut self.due, pane.due),
                (&mut self.due_clock, pane.due_clock),
                (&mut self.due_synchronized, pane.due_synchronized),
            ] {
                if at < Timestamp::MAX {
                    map.entry(at).or_default().push(key.clone());
                }
            }
        }
        self.keys.insert(key, panes);
    }

    /// Opens the global window of `key` without data.
    pub(super) fn open(&mut self, key: K, strategy: &WindowingStrategy, machine: &TriggerMachine) {
        let mut pane = Pane::new(Window::Global);
        pane.trigger = Some(machine.start());
        let panes = KeyPanes { panes: vec![pane], places: HashMap::default(), bundle: 0 };
        self.keys.insert(key.clone(), panes);
        self.put_down(&key, strategy, machine, Timestamp::MIN, Timestamp::MIN);
    }

    pub(super) fn begin(&mut self) {
        self.bundle += 1;
    }

    /// The windows of `key`, which this bundle is going to change.
    pub(super) fn touch(&mut self, key: &K, atomic: bool) -> &mut KeyPanes<F::Acc> {
        let bundle = self.bundle;
        let known = self.keys.get(key).map(|panes| panes.bundle);
        if known != Some(bundle) {
            self.touched.push(key.clone());
            if atomic {
                self.before.push((key.clone(), self.keys.get(key).cloned()));
            }
        }
        let Panes { keys, holds, .. } = self;
        let panes = keys.entry(key.clone()).or_insert_with(|| KeyPanes {
            panes: Vec::new(),
            places: HashMap::default(),
            bundle,
        });
        if known != Some(bundle) {
            // While the bundle runs the engine goes by the last report; what holds afterwards is counted at its end.
            panes.panes.iter_mut().filter_map(|p| p.held.take()).for_each(|at| holds.remove(at));
        }
        panes.bundle = bundle;
        panes
    }

    /// Touches every key whose time has come.
    pub(super) fn touch_due(&mut self, marks: &Marks, atomic: bool) {
        let mut keys = Vec::new();
        take_while(&mut self.due, &mut keys, |t| t < marks.input);
        take_while(&mut self.due_clock, &mut keys, |t| t <= marks.now);
        take_while(&mut self.due_synchronized, &mut keys, |t| t < marks.synchronized);
        for key in keys {
            if self.keys.contains_key(&key) {
                self.touch(&key, atomic);
            }
        }
    }

    /// The keys that this bundle touched so far.
    pub(super) fn take_touched(&mut self) -> Vec<K> {
        std::mem::take(&mut self.touched)
    }

    /// Brings holds and times of `key` up to date, and forgets it when it has no windows.
    pub(super) fn put_down(
        &mut self,
        key: &K,
        strategy: &WindowingStrategy,
        machine: &TriggerMachine,
        input: Timestamp,
        now: Timestamp,
    ) {
        let Panes { keys, due, due_clock, due_synchronized, holds, .. } = self;
        let Some(KeyPanes { panes, .. }) = keys.get_mut(key) else { return };
        for pane in panes.iter_mut() {
            pane.held = pane.hold(strategy, machine, input);
            pane.held.iter().for_each(|at| holds.add(*at));
            let end = pane.window.max_timestamp();
            let on_time = input <= end && machine.watches_watermark() && !pane.closed;
            let at = if on_time { end } else { pane.window.expiry(strategy.allowed_lateness) };
            remember(due, &mut pane.due, at, key);
            let (clock, synchronized) = match &pane.trigger {
                Some(trigger) if !pane.closed => machine.wakes(trigger, now),
                _ => (Timestamp::MAX, Timestamp::MAX),
            };
            remember(due_clock, &mut pane.due_clock, clock, key);
            remember(due_synchronized, &mut pane.due_synchronized, synchronized, key);
        }
        if panes.is_empty() {
            keys.remove(key);
        }
    }
}

impl<K: Key, F: Fold> GroupState for Panes<K, F> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn report(&self) -> KeyedReport {
        let first = |map: &BTreeMap<Timestamp, Vec<K>>| map.keys().next().copied().unwrap_or(Timestamp::MAX);
        KeyedReport {
            hold: self.holds.first(),
            due: first(&self.due),
            due_clock: first(&self.due_clock),
            due_synchronized: first(&self.due_synchronized),
            ..KeyedReport::IDLE
        }
    }

    fn undo(&mut self) {
        self.touched.clear();
        for (key, before) in std::mem::take(&mut self.before).into_iter().rev() {
            // What the bundle has counted by now, if it came that far.
            if let Some(now) = self.keys.remove(&key) {
                now.panes.iter().filter_map(|p| p.held).for_each(|at| self.holds.remove(at));
            }
            if let Some(panes) = before {
                self.put_back(key, panes);
            }
        }
    }

    fn keep(&mut self) {
        self.before.clear();
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put_len(self.keys.len(), out)?;
        for (key, panes) in &self.keys {
            put(key, out)?;
            put_len(panes.panes.len(), out)?;
            panes.panes.iter().try_for_each(|pane| put(pane, out))?;
        }
        Ok(())
    }
}

/// Notes that `key` is to be looked at when time reaches `at`, unless that was noted before.
fn remember<K: Clone>(map: &mut BTreeMap<Timestamp, Vec<K>>, noted: &mut Timestamp, at: Timestamp, key: &K) {
    if *noted != at {
        *noted = at;
        if at < Timestamp::MAX {
            map.entry(at).or_default().push(key.clone());
        }
    }
}

fn take_while<K>(
    map: &mut BTreeMap<Timestamp, Vec<K>>,
    into: &mut Vec<K>,
    is_due: impl Fn(Timestamp) -> bool,
) {
    while let Some(entry) = map.first_entry().filter(|e| is_due(*e.key())) {
        into.extend(entry.remove());
    }
}
