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
//! A watermark moves only when something is committed, and never back. What a bundle made is added before what it took
//! is removed, so no watermark ever sees a gap.

#[cfg(test)]
mod model;

use std::collections::{BTreeMap, BTreeSet};

use purlin_sdk::Timestamp;

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
}

/// The watermarks of a stage.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Timestamps of open items.
    pub(crate) open: Times,
    /// What holds the output watermark.
    pub(crate) holds: Times,
    input: Timestamp,
    output: Timestamp,
}

/// Which of the two watermarks moved.
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
            input: Timestamp::MIN,
            output: Timestamp::MIN,
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

    /// Adds an open item.
    pub(crate) fn open(&mut self, timestamp: Timestamp, hold: Timestamp) {
        self.open.add(timestamp);
        self.holds.add(hold);
    }

    /// Removes an open item.
    pub(crate) fn close(&mut self, timestamp: Timestamp, hold: Timestamp) {
        self.open.remove(timestamp);
        self.holds.remove(hold);
    }

    /// Applies the two equations, where the least of the upstream outputs is `upstream`.
    pub(crate) fn update(&mut self, upstream: Timestamp) -> Moved {
        let input = self.input.max(upstream.min(self.open.min()));
        let output = self.output.max(upstream.min(self.holds.min()));
        let moved = Moved { input: input > self.input, output: output > self.output };
        self.input = input;
        self.output = output;
        moved
    }
}

/// Stages whose watermarks hang on each other. What a stage reads has a lower number.
pub(crate) trait Network {
    /// The least output watermark of what `stage` reads.
    fn upstream(&self, stage: StageId) -> Timestamp;
    /// Adds the stages that read `stage`.
    fn add_downstream(&self, stage: StageId, to: &mut BTreeSet<StageId>);
    fn progress(&mut self, stage: StageId) -> &mut Progress;
    /// Does what follows from the input watermark of `stage` having moved.
    fn input_moved(&mut self, stage: StageId);
}

/// Brings watermarks up to date, from `stages` downstream, and does what follows from their moving.
pub(crate) fn propagate(network: &mut impl Network, mut stages: BTreeSet<StageId>) {
    while let Some(id) = stages.pop_first() {
        let upstream = network.upstream(id);
        let moved = network.progress(id).update(upstream);
        if moved.input {
            network.input_moved(id);
        }
        if moved.output {
            network.add_downstream(id, &mut stages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn an_unbounded_source_moves_by_its_holds_not_by_its_element() {
        let mut p = Progress::new();
        p.open(Timestamp::MIN, at(5));
        assert_eq!(p.update(Timestamp::MAX), Moved { input: false, output: true });
        assert_eq!((p.input(), p.output()), (Timestamp::MIN, at(5)));
    }

    #[test]
    fn produced_before_released_leaves_no_gap() {
        let mut p = Progress::new();
        p.open(at(1), at(1));
        p.update(Timestamp::MAX);
        p.open(at(3), at(3));
        p.close(at(1), at(1));
        p.update(Timestamp::MAX);
        assert_eq!(p.output(), at(3));
        p.close(at(3), at(3));
        p.update(Timestamp::MAX);
        assert_eq!((p.input(), p.output()), (Timestamp::MAX, Timestamp::MAX));
    }

    #[test]
    fn never_back() {
        let mut p = Progress::new();
        p.update(at(10));
        p.open(at(4), at(4));
        assert_eq!(p.update(at(20)), Moved::default());
        assert_eq!((p.input(), p.output()), (at(10), at(10)));
    }
}
