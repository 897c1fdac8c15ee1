//! One bundle of a key group: elements, then what time has come for, then windows that expire.

use std::{cell::Cell, collections::HashSet};

use super::{
    kernel::{StatefulRoot, StoreOf},
    queue::Entry,
    slots::Slot,
    timers::Owner,
    waiting::{Turn, Waiting},
};
use crate::{
    KeyedDoFn, Phase, PipelineError, Timestamp,
    batch::{Batch, Meta, Row, WindowSet, Windows},
    dofn::{EmitRules, Emitter, Observed, ProcessContext, StepScope},
    exec::{Downstream, KernelResult},
    keyed_dofn::{Call, TimerContext, TimerRules},
    state::{KeyedState, TimeDomain, TimerEntry},
    window::PaneInfo,
};

/// How often the timers of a key may fire without time going on, or when its window has ended: more is a loop without an
/// end.
const MOST_FIRINGS: u32 = 1_000_000;

/// A bundle at work.
pub(super) struct Bundle<'b, D: KeyedDoFn> {
    pub(super) root: &'b mut StatefulRoot<D>,
    pub(super) store: &'b mut StoreOf<D>,
    pub(super) rules: &'b TimerRules,
    pub(super) watermark: Timestamp,
    /// Elements that were dropped.
    pub(super) dropped: i64,
    /// Elements that came out at the late output.
    pub(super) rescued: i64,
}

impl<D: KeyedDoFn> Bundle<'_, D> {
    /// Processes elements, or lets them wait for their turn.
    pub(super) fn elements(
        &mut self,
        batch: &mut Batch<(D::Key, D::Value)>,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        batch.explode();
        let Batch { values, meta } = batch;
        if values.is_empty() {
            return Ok(());
        }
        let Bundle { root, store, rules, watermark, dropped, rescued } = self;
        let (watermark, lateness) = (*watermark, rules.lateness);
        let StatefulRoot { step, dofn, views, out, tags, late: late_tag, time_sorted } = &mut **root;
        down.cx().phase(Phase::Process);
        let scope = StepScope { cx: down.cx(), step, views };
        let first = Row::of(meta, 0);
        let mut pcx = ProcessContext::keyed(scope, first, rules);
        let emit = EmitRules { step, skew: rules.skew, phase: Phase::Process };
        let mut emitter = Emitter::new(out, tags, down.reborrow(), first, emit);
        let constant = match &meta.windows {
            Windows::Const(set) => Some(set),
            _ => None,
        };
        // Then no key needs a place where its state would be.
        let stateless = D::State::NOTHING && !D::ON_WINDOW_EXPIRATION && !*time_sorted;
        for (i, (key, value)) in values.drain(..).enumerate() {
            if scope.cx.control.is_cancelled() {
                return Err(PipelineError::cancelled());
            }
            let row = Row::of(meta, i);
            let found;
            let windows = match constant {
                Some(set) => set,
                None => {
                    found = row.windows();
                    &found
                }
            };
            let Some(window) = windows.as_slice().first() else { continue };
            let missed = || *time_sorted && Turn::of(row.time(), window, lateness, 0).due < watermark;
            if window.is_expired(lateness, watermark) || missed() {
                match late_tag {
                    Some(tag) => {
                        emitter.turn_to(row);
                        emitter.emit_to(*tag, (key, value));
                        emitter.end_row()?;
                        *rescued += 1;
                    }
                    None => *dropped += 1,
                }
                continue;
            }
            if stateless {
                pcx.set_row(row);
                emitter.turn_to(row);
                dofn.process(&key, value, &mut D::State::initial(), &pcx, &mut emitter)
                    .map_err(|e| PipelineError::user(step.clone(), Phase::Process, e))?;
                emitter.end_row()?;
                continue;
            }
            let n = store.open(key, window);
            if *time_sorted {
                let turn = Turn::of(row.time(), window, lateness, rules.next());
                store.enqueue(turn, Waiting { slot: n, value, firing: row.firing() });
                continue;
            }
            let Some(Slot { key, state, .. }) = store.slots.get_mut(n) else { continue };
            pcx.set_row(row);
            emitter.turn_to(row);
            dofn.process(key, value, state, &pcx, &mut emitter)
                .map_err(|e| PipelineError::user(step.clone(), Phase::Process, e))?;
            emitter.end_row()?;
            store.sync(n);
        }
        Ok(())
    }

    /// Does what time has come for: timers, and elements that waited, in the order of time. Elements come before timers
    /// of the same time, event time before processing time.
    pub(super) fn times(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        loop {
            if down.cx().control.is_cancelled() {
                return Err(PipelineError::cancelled());
            }
            let event = self.next_event_timer();
            let turn = self.store.next_turn().filter(|(due, _)| *due < self.watermark);
            if turn.is_some_and(|turn| event.is_none_or(|event| turn <= event)) {
                self.waiting_element(down)?;
            } else if event.is_some() {
                self.fire_now(TimeDomain::Event, down)?;
            } else if self.next_processing_timer().is_some() {
                self.fire_now(TimeDomain::Processing, down)?;
            } else {
                return Ok(());
            }
        }
    }

    fn next_event_timer(&mut self) -> Option<(Timestamp, Timestamp)> {
        let watermark = self.watermark;
        self.store.next_timer(TimeDomain::Event, |due| due < watermark)
    }

    fn next_processing_timer(&mut self) -> Option<(Timestamp, Timestamp)> {
        let now = self.rules.now.get();
        self.store.next_timer(TimeDomain::Processing, |due| due <= now)
    }

    fn waiting_element(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let Bundle { root, store, rules, .. } = self;
        let Some((timestamp, Waiting { slot: n, value, firing })) = store.dequeue() else { return Ok(()) };
        let Some(Slot { key, window, state, .. }) = store.slots.get_mut(n) else { return Ok(()) };
        let StatefulRoot { step, dofn, views, out, tags, .. } = &mut **root;
        down.cx().phase(Phase::Process);
        let meta = Meta::constant(timestamp, WindowSet::One(window.clone()), firing);
        let row = Row::of(&meta, 0);
        let scope = StepScope { cx: down.cx(), step, views };
        let pcx = ProcessContext::keyed(scope, row, rules);
        let emit = EmitRules { step, skew: rules.skew, phase: Phase::Process };
        let mut emitter = Emitter::new(out, tags, down.reborrow(), row, emit);
        dofn.process(key, value, state, &pcx, &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), Phase::Process, e))?;
        emitter.end_row()?;
        store.sync(n);
        Ok(())
    }

    /// Fires what is next, and removes the slot if that leaves it empty: it is at hand now.
    fn fire_now(&mut self, time: TimeDomain, down: &mut Downstream<'_>) -> KernelResult {
        let Some(Entry { owner, .. }) = self.store.timers.pop(time) else { return Ok(()) };
        self.fire(&owner, down)?;
        self.store.remove_empty(owner.slot);
        Ok(())
    }

    /// Fires what [`KeyStore::next_timer`](super::store::KeyStore::next_timer) gave.
    fn fire_first(&mut self, time: TimeDomain, down: &mut Downstream<'_>) -> KernelResult {
        match self.store.timers.pop(time) {
            Some(Entry { owner, .. }) => self.fire(&owner, down).map(drop),
            None => Ok(()),
        }
    }

    /// Fires a timer, and says whether that changed timers of its key.
    fn fire(&mut self, owner: &Owner, down: &mut Downstream<'_>) -> Result<bool, PipelineError> {
        let Some((time, entry)) = self.store.fire(owner) else {
            return Err(PipelineError::runner(format!("{} lost a timer that is due", self.root.step)));
        };
        self.note_firing(owner, time, entry)?;
        let Bundle { root, store, rules, .. } = self;
        let name = D::State::name_timer(owner.number, &owner.tag);
        let (Some(Slot { key, window, state, .. }), Some(name)) = (store.slots.get_mut(owner.slot), name)
        else {
            return Ok(false);
        };
        let StatefulRoot { step, dofn, views, out, tags, .. } = &mut **root;
        down.cx().phase(Phase::Timer);
        let at = entry.output.unwrap_or(Timestamp::MAX);
        let meta = Meta::constant(at, WindowSet::One(window.clone()), PaneInfo::NO_FIRING);
        let row = Row::of(&meta, 0);
        let scope = StepScope { cx: down.cx(), step, views };
        let tcx = TimerContext::new(scope, rules, window, Call::Timer(time, entry));
        let emit = EmitRules { step, skew: rules.skew, phase: Phase::Timer };
        let noted = Observed::default();
        let mut emitter = Emitter::new(out, tags, down.reborrow(), row, emit);
        if entry.output.is_none() {
            emitter = emitter.noting(&noted);
        }
        dofn.on_timer(name.clone(), key, state, &tcx, &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), Phase::Timer, e))?;
        emitter.end_row()?;
        drop(emitter);
        let mut emitted = false;
        noted.drain(|_| emitted = true);
        if emitted {
            let what = format!(
                "cannot output with timestamp: the timer `{name:?}` was set `without_output_timestamp`, so nothing holds \
                 the watermark for what it emits; set it with an output timestamp"
            );
            return Err(PipelineError::contract(step.clone(), Phase::Timer, what));
        }
        Ok(store.sync(owner.slot))
    }

    /// Refuses timers that are set again and again without an end.
    fn note_firing(&mut self, owner: &Owner, time: TimeDomain, entry: TimerEntry) -> KernelResult {
        let Some(slot) = self.store.slots.get_mut(owner.slot) else { return Ok(()) };
        // Most fire once, which need not be noted.
        if !std::mem::replace(&mut slot.fired, true) {
            return Ok(());
        }
        let fired = self.store.firings.entry(owner.slot).or_default();
        let latest = &mut fired.latest[time as usize];
        // When the input is over there is always time left, so a timer that only goes on would go on for ever.
        if entry.fire > *latest && self.watermark < Timestamp::MAX {
            fired.idle = 0;
        } else {
            fired.idle += 1;
        }
        *latest = entry.fire.max(*latest);
        if fired.idle <= MOST_FIRINGS {
            return Ok(());
        }
        let why = if self.watermark < Timestamp::MAX {
            "at times that are over"
        } else {
            "when the input was over, and with it all time"
        };
        Err(self.endless(owner, entry.fire, why))
    }

    fn endless(&self, owner: &Owner, at: Timestamp, why: &str) -> PipelineError {
        let window = self.store.slots.get(owner.slot).map(|slot| slot.window.to_string()).unwrap_or_default();
        let name = D::State::name_timer(owner.number, &owner.tag);
        let what = format!(
            "the timers of one key in {window} fired {MOST_FIRINGS} times {why}, the last one at {at} (`{}`): they set each \
             other without an end. Set them only while there is something left to do",
            name.map_or_else(String::new, |name| format!("{name:?}")),
        );
        PipelineError::contract(self.root.step.clone(), Phase::Timer, what)
    }

    /// Ends windows that have expired.
    pub(super) fn expire(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        while let Some(n) = self.store.expired(self.watermark) {
            if down.cx().control.is_cancelled() {
                return Err(PipelineError::cancelled());
            }
            self.last_timers(n, down)?;
            self.window_expiration(n, down)?;
            self.store.remove(n);
        }
        Ok(())
    }

    /// Fires processing-time timers that are pending still, in order, with the event-time timers that they set.
    ///
    /// Nobody waits for the clock any more: it is as if it moved on to each of them. What then sets itself again would go
    /// on in a window that is gone, so each fires once; only where a window ends with the input, and with it all time,
    /// they go on until none is set. That is asked of the window and not of the watermark: whether the input is over
    /// already when a window ends is a matter of how bundles fall.
    fn last_timers(&mut self, n: usize, down: &mut Downstream<'_>) -> KernelResult {
        let now = self.rules.now.get();
        let done = self.each_of_the_last_timers(n, down);
        self.rules.now.set(now);
        done
    }

    fn each_of_the_last_timers(&mut self, n: usize, down: &mut Downstream<'_>) -> KernelResult {
        let lateness = self.rules.lateness;
        let ends_with_input = self
            .store
            .slots
            .get(n)
            .is_some_and(|slot| slot.window.expiry(lateness) >= Timestamp::GLOBAL_WINDOW_MAX);
        let mut fired = HashSet::new();
        // What was set before the end fires in any case.
        let mut left = self.store.pending(n).len() + MOST_FIRINGS as usize;
        loop {
            let mut pending = self.store.pending(n);
            pending.retain(|(_, owner)| !fired.contains(owner));
            if pending.is_empty() {
                return Ok(());
            }
            for (at, owner) in pending {
                if down.cx().control.is_cancelled() {
                    return Err(PipelineError::cancelled());
                }
                if left == 0 {
                    return Err(self.endless(&owner, at, "after it had ended"));
                }
                left -= 1;
                // Never back, when one was set to a time that is over.
                self.rules.now.set(at.max(self.rules.now.get()));
                let changed = self.fire_with_what_it_sets(&owner, down)?;
                if !ends_with_input {
                    fired.insert(owner);
                }
                if changed {
                    break;
                }
            }
        }
    }

    fn fire_with_what_it_sets(
        &mut self,
        owner: &Owner,
        down: &mut Downstream<'_>,
    ) -> Result<bool, PipelineError> {
        let mut changed = self.fire(owner, down)?;
        while self.next_event_timer().is_some() {
            self.fire_first(TimeDomain::Event, down)?;
            changed = true;
        }
        Ok(changed)
    }

    fn window_expiration(&mut self, n: usize, down: &mut Downstream<'_>) -> KernelResult {
        let Bundle { root, store, rules, .. } = self;
        store.touch(n);
        let Some(Slot { key, window, state, .. }) = store.slots.get_mut(n) else { return Ok(()) };
        let StatefulRoot { step, dofn, views, out, tags, .. } = &mut **root;
        let phase = Phase::WindowExpiration;
        down.cx().phase(phase);
        let set = WindowSet::One(window.clone());
        let meta = Meta::constant(window.result_timestamp(), set, PaneInfo::NO_FIRING);
        let row = Row::of(&meta, 0);
        let scope = StepScope { cx: down.cx(), step, views };
        let not_there = Cell::new(false);
        let tcx = TimerContext::new(scope, rules, window, Call::Expiration { not_there: &not_there });
        let noted = Observed::default();
        let emit = EmitRules { step, skew: rules.skew, phase };
        let mut emitter = Emitter::new(out, tags, down.reborrow(), row, emit).noting(&noted);
        dofn.on_window_expiration(key, state, &tcx, &mut emitter)
            .map_err(|e| PipelineError::user(step.clone(), phase, e))?;
        emitter.end_row()?;
        drop(emitter);
        let mut latest = Timestamp::MIN;
        noted.drain(|at| latest = latest.max(at));
        if latest > window.max_timestamp() {
            let what = format!(
                "cannot output with timestamp {latest}, after the end of {window}, which has expired"
            );
            return Err(PipelineError::contract(step.clone(), phase, what));
        }
        if !not_there.get() && !D::ON_WINDOW_EXPIRATION {
            let what = "it has an `on_window_expiration` and does not say so, so nothing holds the watermark for what \
                        that emits: add `const ON_WINDOW_EXPIRATION: bool = true;` to the `impl KeyedDoFn`";
            return Err(PipelineError::contract(step.clone(), phase, what));
        }
        store.sync(n);
        Ok(())
    }
}
