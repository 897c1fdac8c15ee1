//! Timers that an engine fires, and windows that expire by one.

use std::collections::{BTreeSet, HashSet};

use super::{
    calls::{Calls, SlotOf},
    kernel::{Family, KeyedRoot},
    slot::{Slot, TimerName},
};
use crate::{
    KeyedDoFn, Phase, PipelineError, Timestamp,
    coder::TimerFiring,
    exec::{Downstream, KernelResult},
    keyed_dofn::TimerRules,
    state::{KeyedState, TimeDomain, TimerEntry},
    window::PaneInfo,
};

/// How often the timers of a bundle may fire: more is a loop without an end.
const MOST_FIRINGS: u32 = 1_000_000;

/// A timer that is due: event time before processing time, then by time, then by the order in which they were set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    processing: bool,
    fire: Timestamp,
    order: u64,
    slot: usize,
    name: TimerName,
}

impl<K, S: KeyedState> Slot<K, S> {
    /// Whether it needs a timer for its window's end that the engine does not have.
    pub(super) fn waits_for_expiry<D: KeyedDoFn>(&mut self, families: &[Family<K>]) -> bool {
        if self.expiry || self.expired {
            return false;
        }
        let mut pending = self.engine.keys().filter_map(|(number, _)| families.get(*number));
        (D::ON_WINDOW_EXPIRATION && self.had_element)
            || pending.any(|family| family.time == TimeDomain::Processing)
    }

    /// Whether a timer that the engine fires is known to nobody, since nothing is left of the state. Prism fires
    /// processing-time timers that are cleared, without the pane that they were set with: that is none of these.
    fn is_lost(&mut self, name: &TimerName, firing: TimerFiring) -> bool {
        firing.pane == PaneInfo::NO_FIRING
            && !self.had_timers()
            && !self.entries().iter().any(|(of, ..)| of == name)
    }

    /// The engine fires a timer, and has it no more. Says how far time has come for certain: nothing when it is another
    /// timer, that is, one that was moved since.
    ///
    /// A processing-time timer need not come with its own time: Prism gives it that which it holds.
    fn fired(&mut self, name: &TimerName, time: TimeDomain, at: Timestamp) -> Option<Timestamp> {
        let had = *self.engine.get(name)?;
        if time == TimeDomain::Event && had.fire > at {
            return None;
        }
        self.engine.remove(name);
        let is = self.entries().into_iter().find(|(of, ..)| of == name).map(|(_, _, entry)| entry);
        match time {
            TimeDomain::Event => Some(at),
            TimeDomain::Processing => (is == Some(had)).then_some(had.fire),
        }
    }

    /// A timer fires now and is no longer set.
    fn take_timer(&mut self, (number, tag): &TimerName) -> Option<(TimeDomain, TimerEntry)> {
        let cell = self.state.timer(*number)?;
        Some((cell.time_domain(), cell.fire(tag)?))
    }
}

/// The timers of a bundle.
struct Firing<'b, D: KeyedDoFn> {
    calls: Calls<'b, D>,
    slots: &'b mut [SlotOf<D>],
    /// How far event time and processing time have come for certain: the engine fired a timer of that time.
    come: [Timestamp; 2],
    due: BTreeSet<Turn>,
    left: u32,
}

impl<D: KeyedDoFn> KeyedRoot<D> {
    /// Calls timers that fire, then ends the windows whose time has come.
    pub(super) fn times(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let fired = self.fired().map_err(|e| self.failed(Phase::Timer, e))?;
        if fired.is_empty() {
            return Ok(());
        }
        let expiry = self.layout.expiry.then(|| self.families.len() - 1);
        let mut come = [Timestamp::MIN; 2];
        let mut touched = BTreeSet::new();
        let mut ends = BTreeSet::new();
        for (n, number, tag, firing) in fired {
            let time = self.families[number].time;
            let slot = &mut self.slots[n];
            let name = (number, tag);
            if Some(number) == expiry {
                slot.expiry = false;
                ends.insert((firing.fire_timestamp, n));
                come[time as usize] = come[time as usize].max(firing.fire_timestamp);
            } else if slot.is_lost(&name, firing) {
                let what = format!(
                    "the engine fires its timer `{:?}` of {} at {}, and has removed the state of that window before, as \
                     Prism does at the window's end however much lateness is allowed. Set timers no later than the window \
                     ends, or allow no lateness",
                    D::State::name_timer(name.0, &name.1),
                    slot.window,
                    firing.fire_timestamp
                );
                return Err(PipelineError::contract(self.step.clone(), Phase::Timer, what));
            } else if let Some(come_to) = slot.fired(&name, time, firing.fire_timestamp) {
                come[time as usize] = come[time as usize].max(come_to);
            }
            touched.insert(n);
        }
        let rules = self.rules(down.cx().now.max(come[TimeDomain::Processing as usize]));
        let mut slots = std::mem::take(&mut self.slots);
        let mut firing = Firing {
            calls: Calls { root: self, rules: &rules },
            slots: &mut slots,
            come,
            due: BTreeSet::new(),
            left: MOST_FIRINGS,
        };
        let done = firing.all(touched, ends, down);
        self.slots = slots;
        self.order = rules.order.get();
        done
    }
}

impl<D: KeyedDoFn> Firing<'_, D> {
    fn all(
        &mut self,
        touched: BTreeSet<usize>,
        ends: BTreeSet<(Timestamp, usize)>,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        touched.into_iter().for_each(|n| self.list(n));
        self.fire_due(down)?;
        for (_, n) in ends {
            let now = self.rules().now.get();
            self.last_timers(n, down)?;
            self.rules().now.set(now);
            self.calls.expiration(&mut self.slots[n], down)?;
            self.slots[n].expired = true;
        }
        Ok(())
    }

    fn rules(&self) -> &TimerRules {
        self.calls.rules
    }

    /// Lists the timers of a slot that are due.
    fn list(&mut self, n: usize) {
        for (name, time, entry) in self.slots[n].entries() {
            if entry.fire <= self.come[time as usize] {
                self.due.insert(Turn {
                    processing: time == TimeDomain::Processing,
                    fire: entry.fire,
                    order: entry.order,
                    slot: n,
                    name,
                });
            }
        }
    }

    fn fire_due(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        while let Some(turn) = self.due.pop_first() {
            // A callback may have moved or cleared it since it was listed; what it was moved to is listed too.
            let is_set = |(name, _, entry): &(TimerName, TimeDomain, TimerEntry)| {
                *name == turn.name && entry.fire == turn.fire && entry.order == turn.order
            };
            if self.slots[turn.slot].entries().iter().any(is_set) {
                self.fire(turn.slot, &turn.name, down)?;
                self.list(turn.slot);
            }
        }
        Ok(())
    }

    fn fire(&mut self, n: usize, name: &TimerName, down: &mut Downstream<'_>) -> KernelResult {
        if down.cx().control.is_cancelled() {
            return Err(PipelineError::cancelled());
        }
        let slot = &mut self.slots[n];
        let Some((time, entry)) = slot.take_timer(name) else { return Ok(()) };
        if self.left == 0 {
            let what = format!(
                "the timers of one bundle fired {MOST_FIRINGS} times, the last one of a key in {} at {} (`{:?}`): they \
                 set each other without an end. Set them only while there is something left to do",
                slot.window,
                entry.fire,
                D::State::name_timer(name.0, &name.1),
            );
            let step = self.calls.root.step.clone();
            return Err(PipelineError::contract(step, Phase::Timer, what));
        }
        self.left -= 1;
        self.calls.timer(slot, (name.0, &name.1), (time, entry), down)
    }

    /// Fires processing-time timers that are pending when a window ends, in order, with the event-time timers that they
    /// set: as if the clock moved on to each. What then sets itself again fires once, unless the window ends with all time.
    fn last_timers(&mut self, n: usize, down: &mut Downstream<'_>) -> KernelResult {
        let ends_with_input =
            self.slots[n].window.expiry(self.rules().lateness) >= Timestamp::GLOBAL_WINDOW_MAX;
        let mut fired = HashSet::new();
        loop {
            let next = self.slots[n]
                .entries()
                .into_iter()
                .filter(|(name, time, _)| *time == TimeDomain::Processing && !fired.contains(name))
                .min_by_key(|(_, _, entry)| (entry.fire, entry.order));
            let Some((name, _, entry)) = next else { return Ok(()) };
            // Never back, when one was set to a time that is over.
            self.rules().now.set(entry.fire.max(self.rules().now.get()));
            self.fire(n, &name, down)?;
            if !ends_with_input {
                fired.insert(name);
            }
            self.list(n);
            self.fire_due(down)?;
        }
    }
}
