//! A trigger at work.
//!
//! The trigger's tree is laid out as an array; what a window keeps of it is a bit a node (is it done?) and a number for
//! each node that counts or waits. Nothing here knows of keys, values or clocks.

use serde::{Deserialize, Serialize};

use crate::{
    Duration, Timestamp,
    window::{Trigger, TriggerNode},
};

/// A trigger, ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct TriggerMachine {
    nodes: Vec<Node>,
    values: usize,
    watches_watermark: bool,
    is_synchronized: bool,
}

#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    children: Vec<usize>,
    // One past the last node below this one.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Default,
    /// Done once the end of the window was seen.
    EndOfWindow,
    /// Its first child says whether the window's end was fired for.
    Watermark {
        early: bool,
        late: bool,
    },
    Count {
        n: u64,
        value: usize,
    },
    /// `value` is when it fires, or NEVER.
    ProcessingTime {
        delay: Duration,
        align_to: Option<Duration>,
        value: usize,
    },
    /// `value` is when the pane's first element came, or NEVER.
    Synchronized {
        value: usize,
    },
    Repeatedly,
    Each,
    All,
    Any,
    OrFinally,
    Never,
    Always,
}

const NEVER: i64 = i64::MAX;

/// What a window remembers of its trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TriggerState {
    done: u64,
    values: Box<[i64]>,
}

/// What a trigger is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) watermark: Timestamp,
    /// Processing time.
    pub(super) now: Timestamp,
    /// Groupings upstream have fired all that was due before this.
    pub(super) synchronized: Timestamp,
    /// The window's last timestamp.
    pub(super) end: Timestamp,
}

impl Moment {
    fn end_passed(&self) -> bool {
        self.end < self.watermark
    }
}

impl TriggerMachine {
    pub(super) fn new(trigger: &Trigger) -> TriggerMachine {
        let mut machine = TriggerMachine {
            nodes: Vec::new(),
            values: 0,
            watches_watermark: trigger.0.watches_watermark(),
            is_synchronized: trigger.0.is_synchronized(),
        };
        machine.add(&trigger.0);
        machine
    }

    /// Whether the window's end means something to it.
    pub(super) fn watches_watermark(&self) -> bool {
        self.watches_watermark
    }

    /// Whether it waits for groupings upstream.
    pub(super) fn is_synchronized(&self) -> bool {
        self.is_synchronized
    }

    fn push(&mut self, kind: Kind) -> usize {
        self.nodes.push(Node { kind, children: Vec::new(), end: self.nodes.len() + 1 });
        self.nodes.len() - 1
    }

    fn value(&mut self) -> usize {
        self.values += 1;
        self.values - 1
    }

    fn add(&mut self, node: &TriggerNode) -> usize {
        let kind = match node {
            TriggerNode::Default => Kind::Default,
            TriggerNode::AfterWatermark { early, late } => {
                Kind::Watermark { early: early.is_some(), late: late.is_some() }
            }
            TriggerNode::AfterCount(n) => Kind::Count { n: *n, value: self.value() },
            TriggerNode::AfterProcessingTime { delay, align_to } => {
                Kind::ProcessingTime { delay: *delay, align_to: *align_to, value: self.value() }
            }
            TriggerNode::AfterSynchronizedProcessingTime => Kind::Synchronized { value: self.value() },
            TriggerNode::Repeatedly(_) => Kind::Repeatedly,
            TriggerNode::AfterEach(_) => Kind::Each,
            TriggerNode::AfterAll(_) => Kind::All,
            TriggerNode::AfterAny(_) => Kind::Any,
            TriggerNode::OrFinally(..) => Kind::OrFinally,
            TriggerNode::Never => Kind::Never,
            TriggerNode::Always => Kind::Always,
        };
        let at = self.push(kind);
        if matches!(kind, Kind::Watermark { .. }) {
            let phase = self.push(Kind::EndOfWindow);
            self.nodes[at].children.push(phase);
        }
        for child in node.children() {
            let child = self.add(child);
            self.nodes[at].children.push(child);
        }
        self.nodes[at].end = self.nodes.len();
        at
    }

    /// The state of a window that has no data yet.
    pub(super) fn start(&self) -> TriggerState {
        let mut state = TriggerState { done: 0, values: vec![0; self.values].into() };
        self.reset(0, &mut state);
        state
    }

    /// Whether the trigger has ended: the window is closed.
    pub(super) fn is_finished(&self, state: &TriggerState) -> bool {
        state.is_done(0)
    }

    /// Notes that `n` elements came.
    pub(super) fn on_elements(&self, state: &mut TriggerState, n: u64, now: Timestamp) {
        self.elements(0, state, n, now);
    }

    /// Whether a pane should come out.
    pub(super) fn should_fire(&self, state: &TriggerState, at: &Moment) -> bool {
        !state.is_done(0) && self.fires(0, state, at)
    }

    /// Notes that a pane came out.
    pub(super) fn on_fire(&self, state: &mut TriggerState, at: &Moment) {
        self.fire(0, state, at);
    }

    /// The state of the window that these became.
    pub(super) fn merge(&self, parts: &[&TriggerState], at: &Moment) -> TriggerState {
        let mut merged = self.start();
        self.merge_node(0, parts, &mut merged, at);
        merged
    }

    /// The processing time after `now` at which to ask again, and that which groupings upstream must have reached.
    pub(super) fn wakes(&self, state: &TriggerState, now: Timestamp) -> (Timestamp, Timestamp) {
        let (mut clock, mut synchronized) = (Timestamp::MAX, Timestamp::MAX);
        for (i, node) in self.nodes.iter().enumerate() {
            match node.kind {
                Kind::ProcessingTime { value, .. } if !state.is_done(i) && state.values[value] != NEVER => {
                    let at = Timestamp::saturating_from_millis(state.values[value]);
                    if at > now {
                        clock = clock.min(at);
                    }
                }
                Kind::Synchronized { value } if !state.is_done(i) && state.values[value] != NEVER => {
                    synchronized = synchronized.min(Timestamp::saturating_from_millis(state.values[value]));
                }
                _ => {}
            }
        }
        (clock, synchronized)
    }

    fn early(&self, i: usize) -> Option<usize> {
        match self.nodes[i].kind {
            Kind::Watermark { early: true, .. } => self.nodes[i].children.get(1).copied(),
            _ => None,
        }
    }

    fn late(&self, i: usize) -> Option<usize> {
        match self.nodes[i].kind {
            Kind::Watermark { late: true, .. } => self.nodes[i].children.last().copied(),
            _ => None,
        }
    }

    /// The first child that is not done.
    fn active(&self, i: usize, state: &TriggerState) -> Option<usize> {
        self.nodes[i].children.iter().copied().find(|c| !state.is_done(*c))
    }

    fn elements(&self, i: usize, state: &mut TriggerState, n: u64, now: Timestamp) {
        if state.is_done(i) {
            return;
        }
        match self.nodes[i].kind {
            Kind::Count { value, .. } => {
                state.values[value] =
                    state.values[value].saturating_add(i64::try_from(n).unwrap_or(i64::MAX));
            }
            Kind::ProcessingTime { delay, align_to, value } => {
                state.values[value] = state.values[value].min(aligned(now + delay, align_to).as_millis());
            }
            Kind::Synchronized { value } => state.values[value] = state.values[value].min(now.as_millis()),
            Kind::Watermark { .. } => {
                let phase = self.nodes[i].children[0];
                let child = if state.is_done(phase) { self.late(i) } else { self.early(i) };
                if let Some(child) = child {
                    self.elements(child, state, n, now);
                }
            }
            Kind::Each => {
                if let Some(child) = self.active(i, state) {
                    self.elements(child, state, n, now);
                }
            }
            Kind::Repeatedly | Kind::All | Kind::Any | Kind::OrFinally => {
                self.nodes[i].children.iter().for_each(|c| self.elements(*c, state, n, now));
            }
            Kind::Default | Kind::EndOfWindow | Kind::Never | Kind::Always => {}
        }
    }

    fn fires(&self, i: usize, state: &TriggerState, at: &Moment) -> bool {
        let Node { kind, children, .. } = &self.nodes[i];
        match *kind {
            Kind::Default | Kind::EndOfWindow => at.end_passed(),
            Kind::Watermark { .. } if state.is_done(children[0]) => {
                self.late(i).is_some_and(|late| self.fires(late, state, at))
            }
            Kind::Watermark { .. } => {
                at.end_passed() || self.early(i).is_some_and(|early| self.fires(early, state, at))
            }
            Kind::Count { n, value } => u64::try_from(state.values[value]).is_ok_and(|count| count >= n),
            Kind::ProcessingTime { value, .. } => state.values[value] <= at.now.as_millis(),
            Kind::Synchronized { value } => {
                state.values[value] != NEVER && state.values[value] < at.synchronized.as_millis()
            }
            Kind::Repeatedly => self.fires(children[0], state, at),
            Kind::Each => self.active(i, state).is_some_and(|c| self.fires(c, state, at)),
            Kind::All => children.iter().all(|c| state.is_done(*c) || self.fires(*c, state, at)),
            Kind::Any | Kind::OrFinally => {
                children.iter().any(|c| !state.is_done(*c) && self.fires(*c, state, at))
            }
            Kind::Never => false,
            Kind::Always => true,
        }
    }

    fn fire(&self, i: usize, state: &mut TriggerState, at: &Moment) {
        let Node { kind, children, .. } = &self.nodes[i];
        match *kind {
            Kind::Default | Kind::Never | Kind::Always => {}
            Kind::EndOfWindow
            | Kind::Count { .. }
            | Kind::ProcessingTime { .. }
            | Kind::Synchronized { .. } => {
                self.reset(i, state);
                state.set_done(i, true);
            }
            Kind::Watermark { late, .. } => {
                let phase = children[0];
                if !state.is_done(phase) && at.end_passed() {
                    state.set_done(phase, true);
                    state.set_done(i, !late);
                } else {
                    // Panes before and after the window's end repeat.
                    let child = if state.is_done(phase) { self.late(i) } else { self.early(i) };
                    if let Some(child) = child {
                        self.fire_and_repeat(child, state, at);
                    }
                }
            }
            Kind::Repeatedly => self.fire_and_repeat(children[0], state, at),
            Kind::Each => {
                if let Some(child) = self.active(i, state) {
                    self.fire(child, state, at);
                }
                let done = self.active(i, state).is_none();
                state.set_done(i, done);
            }
            Kind::All => {
                for child in children {
                    if !state.is_done(*child) {
                        self.fire(*child, state, at);
                    }
                }
                let done = children.iter().all(|c| state.is_done(*c));
                state.set_done(i, done);
            }
            Kind::Any | Kind::OrFinally => {
                let firing: Vec<usize> = children
                    .iter()
                    .copied()
                    .filter(|c| !state.is_done(*c) && self.fires(*c, state, at))
                    .collect();
                for child in children {
                    if firing.contains(child) {
                        self.fire(*child, state, at);
                    }
                }
                let done = children.iter().any(|c| state.is_done(*c));
                state.set_done(i, done);
            }
        }
    }

    fn fire_and_repeat(&self, child: usize, state: &mut TriggerState, at: &Moment) {
        self.fire(child, state, at);
        if state.is_done(child) {
            self.reset(child, state);
        }
    }

    /// Puts a node and all below it back to the start.
    fn reset(&self, i: usize, state: &mut TriggerState) {
        for at in i..self.nodes[i].end {
            state.set_done(at, false);
            match self.nodes[at].kind {
                Kind::Count { value, .. } => state.values[value] = 0,
                Kind::ProcessingTime { value, .. } | Kind::Synchronized { value } => {
                    state.values[value] = NEVER;
                }
                _ => {}
            }
        }
    }

    fn merge_node(&self, i: usize, parts: &[&TriggerState], merged: &mut TriggerState, at: &Moment) {
        let Node { kind, children, .. } = &self.nodes[i];
        let any_done = parts.iter().any(|p| p.is_done(i));
        let all_done = !parts.is_empty() && parts.iter().all(|p| p.is_done(i));
        match *kind {
            Kind::Default | Kind::Never | Kind::Always => {}
            // While one of the windows had not fired for its end, the merged one has still to fire for its own.
            Kind::EndOfWindow => merged.set_done(i, all_done && at.end_passed()),
            Kind::Count { .. } | Kind::ProcessingTime { .. } | Kind::Synchronized { .. } if any_done => {
                merged.set_done(i, true);
            }
            Kind::Count { value, .. } => {
                merged.values[value] =
                    parts.iter().fold(0, |sum: i64, p| sum.saturating_add(p.values[value]));
            }
            Kind::ProcessingTime { value, .. } | Kind::Synchronized { value } => {
                merged.values[value] = parts.iter().map(|p| p.values[value]).min().unwrap_or(NEVER);
            }
            Kind::Watermark { late, .. } => {
                let phase = children[0];
                self.merge_node(phase, parts, merged, at);
                let child = if merged.is_done(phase) { self.late(i) } else { self.early(i) };
                if let Some(child) = child {
                    self.merge_node(child, parts, merged, at);
                }
                merged.set_done(i, merged.is_done(phase) && !late);
            }
            Kind::Repeatedly => self.merge_node(children[0], parts, merged, at),
            Kind::Each => {
                for child in children {
                    self.merge_node(*child, parts, merged, at);
                    if !merged.is_done(*child) {
                        break;
                    }
                }
                let done = children.iter().all(|c| merged.is_done(*c));
                merged.set_done(i, done);
            }
            Kind::All | Kind::Any | Kind::OrFinally => {
                children.iter().for_each(|c| self.merge_node(*c, parts, merged, at));
                let done = match kind {
                    Kind::All => children.iter().all(|c| merged.is_done(*c)),
                    _ => children.iter().any(|c| merged.is_done(*c)),
                };
                merged.set_done(i, done);
            }
        }
    }
}

impl TriggerState {
    fn is_done(&self, i: usize) -> bool {
        self.done >> i & 1 == 1
    }

    fn set_done(&mut self, i: usize, done: bool) {
        self.done = self.done & !(1 << i) | u64::from(done) << i;
    }
}

/// The next multiple of `period` since the epoch at or after `at`.
fn aligned(at: Timestamp, period: Option<Duration>) -> Timestamp {
    let Some(period) = period.filter(|p| *p > Duration::ZERO) else { return at };
    let past = at.as_millis().rem_euclid(period.as_millis());
    if past == 0 { at } else { at + Duration::from_millis(period.as_millis() - past) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: i64) -> Timestamp {
        Timestamp::saturating_from_millis(t)
    }

    /// A window [0, 10) with a trigger; gives the moments at which it fires.
    struct Bench {
        machine: TriggerMachine,
        state: TriggerState,
        at: Moment,
    }

    impl Bench {
        fn of(trigger: Trigger) -> Bench {
            trigger.validate().unwrap();
            let machine = TriggerMachine::new(&trigger);
            let state = machine.start();
            let at =
                Moment { watermark: Timestamp::MIN, now: ms(0), synchronized: Timestamp::MAX, end: ms(9) };
            Bench { machine, state, at }
        }

        fn fired(&mut self) -> bool {
            let fires = self.machine.should_fire(&self.state, &self.at);
            if fires {
                self.machine.on_fire(&mut self.state, &self.at);
            }
            fires
        }

        fn add(&mut self, n: u64) -> bool {
            self.machine.on_elements(&mut self.state, n, self.at.now);
            self.fired()
        }

        fn watermark(&mut self, t: i64) -> bool {
            self.at.watermark = ms(t);
            self.fired()
        }

        fn clock(&mut self, t: i64) -> bool {
            self.at.now = ms(t);
            self.fired()
        }

        fn finished(&self) -> bool {
            self.machine.is_finished(&self.state)
        }
    }

    #[test]
    fn a_count_is_reached_or_overshot_once() {
        let mut t = Bench::of(Trigger::after_count(3));
        assert!(!t.add(2) && t.add(5) && t.finished() && !t.add(3));
        let mut t = Bench::of(Trigger::repeatedly(Trigger::after_count(2)));
        assert!(!t.add(1) && t.add(1) && !t.add(1) && t.add(4) && !t.finished());
    }

    #[test]
    fn the_end_of_the_window_with_early_and_late_panes() {
        let trigger = Trigger::after_watermark().early(Trigger::after_count(2)).late(Trigger::after_count(3));
        let mut t = Bench::of(trigger);
        assert!(!t.add(1) && t.add(1) && t.add(2));
        assert!(!t.watermark(9), "the watermark is not past the end yet");
        assert!(t.watermark(10) && !t.watermark(11));
        assert!(!t.add(2) && t.add(1) && !t.add(2) && t.add(1) && !t.finished());
    }

    #[test]
    fn without_late_panes_the_end_is_the_end() {
        let mut t = Bench::of(Trigger::after_watermark().early(Trigger::after_count(1)));
        assert!(t.add(1) && t.watermark(10) && t.finished());
    }

    #[test]
    fn processing_time_counts_from_the_first_element() {
        let delay = Trigger::after_processing_time().delay(Duration::from_millis(5));
        let mut t = Bench::of(Trigger::repeatedly(delay.clone()));
        assert!(!t.clock(3) && !t.add(1) && !t.clock(6));
        assert!(!t.add(1), "a later element does not put it off");
        assert_eq!(t.machine.wakes(&t.state, t.at.now).0, ms(8));
        assert!(t.clock(8) && !t.clock(100));
        assert!(!t.add(1) && t.clock(105));
        let mut t = Bench::of(delay.align_to(Duration::from_millis(60)));
        assert!(!t.add(1) && !t.clock(59) && t.clock(60) && t.finished());
    }

    #[test]
    fn each_in_turn() {
        let trigger = Trigger::after_each([
            Trigger::after_count(2),
            Trigger::after_watermark(),
            Trigger::repeatedly(Trigger::after_count(1)),
        ]);
        let mut t = Bench::of(trigger);
        assert!(t.add(2) && !t.add(5) && t.watermark(10) && t.add(1) && t.add(1) && !t.finished());
    }

    #[test]
    fn all_any_and_or_finally() {
        let count = Trigger::after_count;
        let mut t = Bench::of(Trigger::after_all([count(2), Trigger::after_watermark()]));
        assert!(!t.add(3) && t.watermark(10) && t.finished());
        let mut t = Bench::of(Trigger::after_any([count(3), Trigger::after_watermark()]));
        assert!(!t.add(2) && t.watermark(10) && t.finished());
        let mut t = Bench::of(Trigger::repeatedly(count(1)).or_finally(count(3)));
        assert!(t.add(1) && t.add(1) && !t.finished());
        assert!(t.add(1) && t.finished(), "the count of `or_finally` goes on while the other one fires");
        let mut t = Bench::of(Trigger::always().or_finally(count(2)));
        assert!(t.add(1) && t.add(1) && t.finished());
    }

    #[test]
    fn merging_takes_the_earliest_time_and_adds_counts() {
        let at = |now| Moment {
            watermark: Timestamp::MIN,
            now: ms(now),
            synchronized: Timestamp::MAX,
            end: ms(30),
        };
        let machine = TriggerMachine::new(&Trigger::after_count(3));
        let (mut a, mut b) = (machine.start(), machine.start());
        machine.on_elements(&mut a, 1, ms(0));
        machine.on_elements(&mut b, 2, ms(0));
        assert!(machine.should_fire(&machine.merge(&[&a, &b], &at(0)), &at(0)));
        let delay = Trigger::after_processing_time().delay(Duration::from_millis(10));
        let machine = TriggerMachine::new(&delay);
        let (mut a, mut b) = (machine.start(), machine.start());
        machine.on_elements(&mut a, 1, ms(0));
        machine.on_elements(&mut b, 2, ms(7));
        let merged = machine.merge(&[&a, &b], &at(8));
        assert!(!machine.should_fire(&merged, &at(9)) && machine.should_fire(&merged, &at(10)));
    }

    #[test]
    fn a_merged_window_fires_for_its_own_end() {
        let machine = TriggerMachine::new(
            &Trigger::after_watermark().late(Trigger::repeatedly(Trigger::after_count(1))),
        );
        let at = |watermark, end| Moment {
            watermark: ms(watermark),
            now: ms(0),
            synchronized: Timestamp::MAX,
            end: ms(end),
        };
        let mut fired = machine.start();
        machine.on_fire(&mut fired, &at(10, 9));
        let fresh = machine.start();
        let merged = machine.merge(&[&fired, &fresh], &at(12, 20));
        assert!(!machine.should_fire(&merged, &at(12, 20)) && machine.should_fire(&merged, &at(21, 20)));
        let mut still_late = machine.merge(&[&fired], &at(12, 9));
        assert!(!machine.should_fire(&still_late, &at(12, 9)), "it had fired for its end");
        machine.on_elements(&mut still_late, 1, ms(0));
        assert!(machine.should_fire(&still_late, &at(12, 9)));
    }
}
