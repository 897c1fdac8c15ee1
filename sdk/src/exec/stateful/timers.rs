//! The timers of all keys of a group, in the order in which they fire.

use std::collections::BTreeMap;

use crate::exec::holds::Holds;
use crate::{
    Timestamp,
    state::{TimeDomain, TimerEntry},
};

/// Whose timer it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    /// The key and window.
    pub(super) slot: usize,
    /// The number of the timer or family among those of the state.
    pub(super) number: usize,
    /// The tag, in a family.
    pub(super) tag: Box<str>,
}

/// A time, and a number for the order of what has the same one.
type Turn = (Timestamp, u64);

/// An index of the timers that are set.
#[derive(Debug, Default)]
pub(super) struct Timers {
    event: BTreeMap<Turn, Owner>,
    processing: BTreeMap<Turn, Owner>,
}

impl Timers {
    fn of(&mut self, time: TimeDomain) -> &mut BTreeMap<Turn, Owner> {
        match time {
            TimeDomain::Event => &mut self.event,
            TimeDomain::Processing => &mut self.processing,
        }
    }

    pub(super) fn add(&mut self, time: TimeDomain, entry: TimerEntry, owner: Owner, holds: &mut Holds) {
        self.of(time).insert((entry.fire, entry.order), owner);
        if let Some(output) = entry.output {
            holds.add(output);
        }
    }

    pub(super) fn remove(&mut self, time: TimeDomain, entry: TimerEntry, holds: &mut Holds) {
        if self.of(time).remove(&(entry.fire, entry.order)).is_some()
            && let Some(output) = entry.output
        {
            holds.remove(output);
        }
    }

    /// When the next timer fires.
    pub(super) fn next(&self, time: TimeDomain) -> Option<Timestamp> {
        let timers = match time {
            TimeDomain::Event => &self.event,
            TimeDomain::Processing => &self.processing,
        };
        timers.keys().next().map(|(fire, _)| *fire)
    }

    /// Whose turn it is next.
    pub(super) fn first(&self, time: TimeDomain) -> Option<Owner> {
        let timers = match time {
            TimeDomain::Event => &self.event,
            TimeDomain::Processing => &self.processing,
        };
        timers.values().next().cloned()
    }

    /// The slots with timers that fire at a watermark and a processing time.
    pub(super) fn due(&self, watermark: Timestamp, now: Timestamp) -> impl Iterator<Item = usize> {
        let event = self.event.iter().take_while(move |((fire, _), _)| *fire < watermark);
        let processing = self.processing.iter().take_while(move |((fire, _), _)| *fire <= now);
        event.chain(processing).map(|(_, owner)| owner.slot)
    }

    pub(super) fn clear(&mut self) {
        self.event.clear();
        self.processing.clear();
    }
}
