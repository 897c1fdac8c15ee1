//! Watermarks: how far event time has come at each stage.
//!
//! Every open item (pending or in flight) has a *timestamp*, which bounds the stage's input watermark, and a *hold*,
//! which bounds its output watermark. An element holds at its timestamp, a residual at its estimator's watermark, a
//! group at the timestamp that it will come out with.
//!
//! ```text
//! input  = max(input,  min(upstream outputs, timestamps of open items))
//! output = max(output, min(upstream outputs, holds))
//! ```
//!
//! A stage that assigns a watermark has the one that its generators say, and the end of time when its input ends.
//!
//! What is *idle* is left out of a minimum; where all are idle it is the greatest one ([`CombinedWatermark`]). A
//! stage's output is idle when its inputs are and it has nothing to do.
//!
//! A watermark moves only when something is committed or the clock is advanced, and never back. What a bundle made is
//! added before what it took is removed, so no watermark ever sees a gap.

#[cfg(test)]
mod model;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use purlin_sdk::{CombinedWatermark, Timestamp};

use crate::StageId;

/// How often each time is there.
#[derive(Debug, Default)]
pub(crate) struct Times(BTreeMap<Timestamp, usize>);

impl Times {
    pub(crate) fn add(&mut self, at: Timestamp) {
        *self.0.entry(at).or_insert(0) += 1;
    }

    pub(crate) fn remove(&mut self, at: Timestamp) {
        match self.0.get_mut(&at) {
            Some(n) if *n > 1 => *n -= 1,
            Some(_) => {
                self.0.remove(&at);
            }
            None => debug_assert!(false, "{at} is released and was never held"),
        }
    }

    /// The earliest; the end of time when there is none.
    pub(crate) fn min(&self) -> Timestamp {
        self.0.keys().next().copied().unwrap_or(Timestamp::MAX)
    }

    /// The earliest after `at`.
    pub(crate) fn min_after(&self, at: Timestamp) -> Option<Timestamp> {
        self.0.range((Bound::Excluded(at), Bound::Unbounded)).next().map(|(time, _)| *time)
    }

    fn latest(&self) -> Option<Timestamp> {
        self.0.keys().next_back().copied()
    }
}

/// What an open item does to the watermarks of its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Where it holds the input watermark.
    pub(crate) time: Timestamp,
    /// Where it holds the output watermark.
    pub(crate) hold: Timestamp,
    /// Whether nobody waits for it.
    pub(crate) idle: bool,
}

impl Held {
    pub(crate) fn at(time: Timestamp, hold: Timestamp) -> Held {
        Held { time, hold, idle: false }
    }
}

/// The watermarks of a stage.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Timestamps of open items.
    pub(crate) open: Times,
    /// What holds the output watermark.
    pub(crate) holds: Times,
    /// Where open items are that nobody waits for.
    idle_holds: Times,
    input: Timestamp,
    output: Timestamp,
    idle: bool,
}

/// What a stage's output watermark follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// What it reads and what it holds, all of which come after another. It is never idle while it is `busy`.
    Passes {
        /// Whether there is something to do, also without new input.
        busy: bool,
    },
    /// What it reads and what it holds, each of them by itself: a source's restrictions, some of which may be idle.
    Sources,
    /// It is assigned, and hangs on nothing else.
    Assigned {
        /// What it is.
        watermark: Timestamp,
        /// Whether nobody should wait for it.
        idle: bool,
        /// Whether it comes to the end of time when the input does.
        ends: bool,
    },
}

/// What of a stage's watermarks moved; an output that becomes idle, or is no longer so, moves too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) input: bool,
    pub(crate) output: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress {
            open: Times::default(),
            holds: Times::default(),
            idle_holds: Times::default(),
            input: Timestamp::MIN,
            output: Timestamp::MIN,
            idle: false,
        }
    }

    /// Those of a stage that has come so far.
    pub(crate) fn at(input: Timestamp, output: Timestamp) -> Progress {
        Progress { input, output, ..Progress::new() }
    }

    pub(crate) fn input(&self) -> Timestamp {
        self.input
    }

    pub(crate) fn output(&self) -> Timestamp {
        self.output
    }

    /// Whether nobody downstream should wait for the output.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }

    /// Adds an open item.
    pub(crate) fn open(&mut self, held: Held) {
        self.open.add(held.time);
        self.holds_of(held).add(held.hold);
    }

    /// Removes an open item.
    pub(crate) fn close(&mut self, held: Held) {
        self.open.remove(held.time);
        self.holds_of(held).remove(held.hold);
    }

    fn holds_of(&mut self, held: Held) -> &mut Times {
        if held.idle { &mut self.idle_holds } else { &mut self.holds }
    }

    /// Adds what this stage's output says to what a stage reads. What is over is not waited for, and is not idle.
    pub(crate) fn add_to(&self, combined: &mut CombinedWatermark) {
        if self.output < Timestamp::MAX {
            combined.add(self.output, self.idle);
        }
    }

    /// Applies the equations, where what the stage reads has come to `upstream`.
    pub(crate) fn update(&mut self, upstream: CombinedWatermark, rule: Rule) -> Moved {
        let read = upstream.value().unwrap_or(Timestamp::MAX);
        let input = self.input.max(read.min(self.open.min()));
        let (output, idle) = match rule {
            Rule::Passes { busy } => (read.min(self.holds.min()), upstream.is_idle() && !busy),
            Rule::Sources => {
                let mut combined = upstream;
                if self.holds.min() < Timestamp::MAX {
                    combined.add(self.holds.min(), false);
                }
                if let Some(latest) = self.idle_holds.latest() {
                    combined.add(latest, true);
                }
                (combined.value().unwrap_or(Timestamp::MAX), combined.is_idle())
            }
            Rule::Assigned { ends: true, .. } if input == Timestamp::MAX => (Timestamp::MAX, false),
            Rule::Assigned { watermark, idle, .. } => (watermark, idle),
        };
        let output = self.output.max(output);
        let moved = Moved { input: input > self.input, output: output > self.output || idle != self.idle };
        self.input = input;
        self.output = output;
        self.idle = idle;
        moved
    }
}

/// Stages whose watermarks hang on each other. What a stage reads has a lower number.
pub(crate) trait Network {
    /// What the outputs that `stage` reads have come to.
    fn upstream(&self, stage: StageId) -> CombinedWatermark;
    /// What the output of `stage` follows from now.
    fn rule(&self, stage: StageId) -> Rule;
    /// The output watermark of `stage` moved: adds the stages that read it.
    fn output_moved(&mut self, stage: StageId, to: &mut BTreeSet<StageId>);
    fn progress(&mut self, stage: StageId) -> &mut Progress;
    /// Does what follows from the input watermark of `stage` having moved.
    fn input_moved(&mut self, stage: StageId);
}

/// Brings watermarks up to date, from `stages` downstream, and does what follows from their moving.
pub(crate) fn propagate(network: &mut impl Network, mut stages: BTreeSet<StageId>) {
    while let Some(id) = stages.pop_first() {
        let upstream = network.upstream(id);
        let rule = network.rule(id);
        let mut moved = network.progress(id).update(upstream, rule);
        if moved.input {
            network.input_moved(id);
            // It may have something to do now.
            let rule = network.rule(id);
            moved.output |= network.progress(id).update(upstream, rule).output;
        }
        if moved.output {
            network.output_moved(id, &mut stages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Rule = Rule::Passes { busy: false };

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn held(time: Timestamp) -> Held {
        Held::at(time, time)
    }

    /// What is read, each with whether it is idle.
    fn read(outputs: &[(i64, bool)]) -> CombinedWatermark {
        let mut combined = CombinedWatermark::default();
        outputs.iter().for_each(|(secs, idle)| combined.add(at(*secs), *idle));
        combined
    }

    #[test]
    fn an_unbounded_source_moves_by_its_holds_not_by_its_element() {
        let mut p = Progress::new();
        p.open(Held::at(Timestamp::MIN, at(5)));
        assert_eq!(p.update(read(&[]), Rule::Sources), Moved { input: false, output: true });
        assert_eq!((p.input(), p.output()), (Timestamp::MIN, at(5)));
    }

    #[test]
    fn produced_before_released_leaves_no_gap() {
        let mut p = Progress::new();
        p.open(held(at(1)));
        p.update(read(&[]), QUIET);
        p.open(held(at(3)));
        p.close(held(at(1)));
        p.update(read(&[]), QUIET);
        assert_eq!(p.output(), at(3));
        p.close(held(at(3)));
        p.update(read(&[]), QUIET);
        assert_eq!((p.input(), p.output()), (Timestamp::MAX, Timestamp::MAX));
    }

    #[test]
    fn never_back() {
        let mut p = Progress::new();
        p.update(read(&[(10, false)]), QUIET);
        p.open(held(at(4)));
        assert_eq!(p.update(read(&[(20, false)]), QUIET), Moved::default());
        assert_eq!((p.input(), p.output()), (at(10), at(10)));
    }

    #[test]
    fn idle_parts_of_a_source_are_left_out() {
        let mut p = Progress::new();
        let idle = Held { idle: true, ..Held::at(Timestamp::MIN, at(5)) };
        p.open(idle);
        p.open(Held::at(Timestamp::MIN, at(7)));
        p.update(read(&[]), Rule::Sources);
        assert_eq!((p.output(), p.is_idle()), (at(7), false));
        // The other one too, at an earlier time: nothing moves back, and the greatest counts.
        p.open(Held { idle: true, ..Held::at(Timestamp::MIN, at(8)) });
        p.close(Held::at(Timestamp::MIN, at(7)));
        p.update(read(&[]), Rule::Sources);
        assert_eq!((p.output(), p.is_idle()), (at(8), true));
        // Awake it holds again, and what has come is not taken back.
        p.open(Held::at(Timestamp::MIN, at(6)));
        p.close(idle);
        assert!(p.update(read(&[]), Rule::Sources).output);
        assert_eq!((p.output(), p.is_idle()), (at(8), false));
    }

    #[test]
    fn a_stage_is_idle_when_its_inputs_are_and_it_has_nothing_to_do() {
        let mut p = Progress::new();
        assert_eq!(
            p.update(read(&[(5, true)]), Rule::Passes { busy: true }),
            Moved { input: true, output: true }
        );
        assert!(!p.is_idle());
        assert_eq!(p.update(read(&[(5, true)]), QUIET), Moved { input: false, output: true });
        assert!(p.is_idle());
        // A window that is open does not make it busy, but the output does not pass it.
        p.holds.add(at(9));
        p.update(read(&[(20, true)]), QUIET);
        assert_eq!((p.input(), p.output(), p.is_idle()), (at(20), at(9), true));
    }

    #[test]
    fn an_assigned_watermark_hangs_on_nothing_but_the_end() {
        let rule = |secs, ends| Rule::Assigned { watermark: at(secs), idle: false, ends };
        let mut p = Progress::new();
        p.open(held(at(1)));
        p.update(read(&[(3, false)]), rule(50, true));
        assert_eq!((p.input(), p.output()), (at(1), at(50)));
        p.update(read(&[(3, false)]), rule(40, true));
        assert_eq!(p.output(), at(50));
        p.close(held(at(1)));
        p.update(read(&[]), rule(60, false));
        assert_eq!((p.input(), p.output()), (Timestamp::MAX, at(60)));
        p.update(read(&[]), rule(60, true));
        assert_eq!(p.output(), Timestamp::MAX);
    }

    #[test]
    fn what_is_over_is_not_idle() {
        let mut over = Progress::new();
        over.update(read(&[]), QUIET);
        assert_eq!((over.output(), over.is_idle()), (Timestamp::MAX, false));
        let mut combined = read(&[(50, true)]);
        over.add_to(&mut combined);
        assert_eq!(combined, read(&[(50, true)]));
    }
}
