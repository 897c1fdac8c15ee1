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

/// When a timer fires, and before which others: when it is due, its time, and a number for the order of what has the same
/// one. It is due at its time; where elements wait until nothing earlier can come, timers wait with them.
type Turn = (Timestamp, Timestamp, u64);

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

    pub(super) fn add(
        &mut self,
        time: TimeDomain,
        due: Timestamp,
        entry: TimerEntry,
        owner: Owner,
        holds: &mut Holds,
    ) {
        self.of(time).insert((due, entry.fire, entry.order), owner);
        if let Some(output) = entry.output {
            holds.add(output);
        }
    }

    pub(super) fn remove(&mut self, time: TimeDomain, due: Timestamp, entry: TimerEntry, holds: &mut Holds) {
        if self.of(time).remove(&(due, entry.fire, entry.order)).is_some()
            && let Some(output) = entry.output
        {
            holds.remove(output);
        }
    }

    /// When the next timer is due, and its time.
    pub(super) fn next(&self, time: TimeDomain) -> Option<(Timestamp, Timestamp)> {
        let timers = match time {
            TimeDomain::Event => &self.event,
            TimeDomain::Processing => &self.processing,
        };
        timers.keys().next().map(|(due, fire, _)| (*due, *fire))
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
        let event = self.event.iter().take_while(move |((due, ..), _)| *due < watermark);
        let processing = self.processing.iter().take_while(move |((due, ..), _)| *due <= now);
        event.chain(processing).map(|(_, owner)| owner.slot)
    }

    pub(super) fn clear(&mut self) {
        self.event.clear();
        self.processing.clear();
    }
}
