//! The timers of all keys of a group.

use super::queue::{Entry, Queue};
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

/// An index of the timers that are set.
///
/// What is set anew, or is gone, stays in its queue until its turn comes, or until there is more of that than of anything
/// else: see [`settle`](Timers::settle).
#[derive(Debug)]
pub(super) struct Timers {
    lanes: [Lane; 3],
    /// Whether a timer is due at its own time.
    at_own_time: bool,
    hold: Timestamp,
    due: [Timestamp; 2],
}

#[derive(Debug, Default)]
struct Lane {
    queue: Queue,
    /// How many of the queue are set.
    set: usize,
}

/// Event-time timers that hold the watermark at the time at which they are due: the first one holds it for all of them.
/// These are most.
const SELF_HELD: usize = 0;
/// The others.
const EVENT: usize = 1;
const PROCESSING: usize = 2;

/// So many that are not set are not looked for.
const FEW: usize = 1_024;

impl Timers {
    /// Timers that are due `at_own_time`, or later.
    pub(super) fn new(at_own_time: bool) -> Timers {
        Timers { lanes: Default::default(), at_own_time, hold: Timestamp::MAX, due: [Timestamp::MAX; 2] }
    }

    fn lane(&self, time: TimeDomain, entry: TimerEntry) -> usize {
        match time {
            TimeDomain::Event if self.at_own_time && entry.output == Some(entry.fire) => SELF_HELD,
            TimeDomain::Event => EVENT,
            TimeDomain::Processing => PROCESSING,
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
        let n = self.lane(time, entry);
        let lane = &mut self.lanes[n];
        lane.set += 1;
        lane.queue.push(Entry { turn: (due, entry.fire, entry.order), owner });
        if let Some(output) = entry.output.filter(|_| n != SELF_HELD) {
            holds.add(output);
        }
    }

    /// One that was added is set no more.
    pub(super) fn remove(&mut self, time: TimeDomain, entry: TimerEntry, holds: &mut Holds) {
        let n = self.lane(time, entry);
        self.lanes[n].set = self.lanes[n].set.saturating_sub(1);
        if let Some(output) = entry.output.filter(|_| n != SELF_HELD) {
            holds.remove(output);
        }
    }

    /// The lane with what is next, whether it is set or not.
    fn next_lane(&mut self, time: TimeDomain) -> usize {
        if time == TimeDomain::Processing {
            return PROCESSING;
        }
        let [held, others, _] = &mut self.lanes;
        match (held.queue.first(), others.queue.first()) {
            (Some(held), Some(other)) if other < held => EVENT,
            (None, Some(_)) => EVENT,
            _ => SELF_HELD,
        }
    }

    /// What is next, whether it is set or not.
    pub(super) fn first(&mut self, time: TimeDomain) -> Option<&Entry> {
        let n = self.next_lane(time);
        self.lanes[n].queue.first()
    }

    /// Takes what is next out of the queue.
    pub(super) fn pop(&mut self, time: TimeDomain) -> Option<Entry> {
        let n = self.next_lane(time);
        self.lanes[n].queue.pop()
    }

    /// Forgets what is not set by what `is_set` says, where that is next or too much, and notes what is next.
    pub(super) fn settle(&mut self, mut is_set: impl FnMut(&Entry) -> bool) {
        for lane in &mut self.lanes {
            if lane.queue.len() > FEW + 2 * lane.set {
                lane.queue.retain(&mut is_set);
            }
            while lane.queue.first().is_some_and(|first| !is_set(first)) {
                lane.queue.pop();
            }
        }
        let mut first = |time| self.first(time).map_or(Timestamp::MAX, |first| first.turn.0);
        self.due = [first(TimeDomain::Event), first(TimeDomain::Processing)];
        // None is held past the end of the global window: past it a watermark closes that window downstream.
        let held = self.lanes[SELF_HELD].queue.first();
        self.hold = held.map_or(Timestamp::MAX, |first| first.turn.0.min(Timestamp::GLOBAL_WINDOW_MAX));
    }

    /// When the next timer is due; never when there is none. As of when they were last settled.
    pub(super) fn next(&self, time: TimeDomain) -> Timestamp {
        self.due[time as usize]
    }

    /// Where those hold the watermark that hold it at their own time. As of when they were last settled.
    pub(super) fn hold(&self) -> Timestamp {
        self.hold
    }

    /// The slots with timers that fire at a watermark and a processing time; those of some that are set no more among
    /// them.
    pub(super) fn due(&self, watermark: Timestamp, now: Timestamp) -> impl Iterator<Item = usize> {
        let [held, others, processing] = &self.lanes;
        let event = held.queue.until(watermark).chain(others.queue.until(watermark));
        let passed = event.filter(move |entry| entry.turn.0 < watermark);
        passed.chain(processing.queue.until(now)).map(|entry| entry.owner.slot)
    }

    pub(super) fn clear(&mut self) {
        *self = Timers::new(self.at_own_time);
    }
}
