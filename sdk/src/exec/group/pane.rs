//! One window of one key: what it has gathered since its last pane, and which panes it had.

use serde::{Deserialize, Serialize};

use super::machine::{TriggerMachine, TriggerState};
use crate::{
    Timestamp,
    window::{ClosingBehavior, PaneInfo, PaneTiming, TimestampCombiner, Window, WindowingStrategy},
};

/// A window of a key.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Pane<A> {
    pub(super) window: Window,
    /// Nothing once it went out in a pane that is not accumulated, or when the window is closed.
    pub(super) acc: Option<A>,
    /// Elements since the last pane.
    pub(super) fresh: u64,
    /// Elements that the trigger was not told of yet.
    pub(super) arrived: u64,
    /// The timestamp of the next pane as far as elements that were not late give it one.
    pub(super) time: Option<Timestamp>,
    /// Nothing while the window is made of new elements only.
    pub(super) trigger: Option<TriggerState>,
    panes: i64,
    on_time_panes: i64,
    /// The trigger has ended; what comes is dropped.
    pub(super) closed: bool,
    // Where it holds the watermark, as it was counted.
    pub(super) held: Option<Timestamp>,
    // When it is looked at again, as it was put down.
    pub(super) due: Timestamp,
    pub(super) due_clock: Timestamp,
    pub(super) due_synchronized: Timestamp,
}

/// The watermarks of a bundle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) input: Timestamp,
    pub(super) now: Timestamp,
    pub(super) synchronized: Timestamp,
}

impl<A> Pane<A> {
    pub(super) fn new(window: Window) -> Pane<A> {
        Pane {
            window,
            acc: None,
            fresh: 0,
            arrived: 0,
            time: None,
            trigger: None,
            panes: 0,
            on_time_panes: 0,
            closed: false,
            held: None,
            due: Timestamp::MAX,
            due_clock: Timestamp::MAX,
            due_synchronized: Timestamp::MAX,
        }
    }

    /// Takes in the timestamp that a new element gives the pane. One behind the watermark is too late to have a say.
    pub(super) fn note_time(&mut self, time: Timestamp, combiner: TimestampCombiner, marks: &Marks) {
        if time >= marks.input {
            self.time = Some(self.time.map_or(time, |t| combiner.combine(t, time)));
        }
    }

    /// Whether a pane came out of it.
    pub(super) fn has_fired(&self) -> bool {
        self.panes > 0
    }

    /// What the next pane is called. On time is the first one that the window's end brings about; what late data bring
    /// about afterwards is late, also when the end brought nothing.
    pub(super) fn next_pane(&self, marks: &Marks, is_last: bool, at_expiry: bool) -> PaneInfo {
        let end = self.window.max_timestamp();
        // It does not depend on what other keys hold, which is a matter of chance: the end was seen when the window was
        // looked at after it, or began after it. At expiry what counts is whether anything in it was on time.
        let late = if at_expiry { self.time.is_none() && self.fresh > 0 } else { end < self.due };
        let timing = if self.on_time_panes > 0 || (end < marks.input && late) {
            PaneTiming::Late
        } else if marks.input <= end {
            PaneTiming::Early
        } else {
            PaneTiming::OnTime
        };
        let on_time_index = if timing == PaneTiming::Early { -1 } else { self.on_time_panes };
        PaneInfo { is_first: self.panes == 0, is_last, timing, index: self.panes, on_time_index }
    }

    /// Counts a pane that came out.
    pub(super) fn count(&mut self, pane: PaneInfo) {
        self.panes += 1;
        if pane.timing != PaneTiming::Early {
            self.on_time_panes += 1;
        }
    }

    /// Takes the numbering of the same window's panes so far.
    pub(super) fn continue_from(&mut self, other: &Pane<A>) {
        self.panes = other.panes;
        self.on_time_panes = other.on_time_panes;
    }

    /// Where it holds the output watermark: so that what it will still emit is not late where it goes.
    pub(super) fn hold(
        &self,
        strategy: &WindowingStrategy,
        machine: &TriggerMachine,
        input: Timestamp,
    ) -> Option<Timestamp> {
        if self.closed {
            return None;
        }
        let end = self.window.result_timestamp();
        let expiry = self.window.expiry(strategy.allowed_lateness).min(Timestamp::GLOBAL_WINDOW_MAX);
        let closing = (strategy.closing == ClosingBehavior::FireAlways).then_some(expiry);
        let will_fire_on_time = input <= self.window.max_timestamp() && machine.watches_watermark();
        let fresh = (self.fresh > 0).then(|| self.time.unwrap_or(expiry));
        [fresh, will_fire_on_time.then_some(end), closing].into_iter().flatten().min()
    }
}
