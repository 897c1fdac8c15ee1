//! Watermarks of random stages under random commits, against what follows from all open work at once.
//!
//! Numbers only: no element, no kernel. What is tested is [`Progress`] and [`propagate`] as the engine uses them.

use std::collections::BTreeSet;

use fastrand::Rng;
use purlin_sdk::{CombinedWatermark, Timestamp};

use super::{Held, Network, Progress, Rule, propagate};
use crate::StageId;

/// Work that waits or is in flight; it may be committed at any time, before or after any other.
#[derive(Clone, Copy, Debug)]
struct Work {
    stage: usize,
    /// Bounds the stage's input watermark; nothing for a window of a grouping, whose elements are read already.
    time: Option<Timestamp>,
    hold: Timestamp,
    /// When it is a window: its last instant, which the input watermark must pass before it is ready.
    end: Option<Timestamp>,
}

struct Model {
    seed: u64,
    rng: Rng,
    /// For each stage: what it reads; all have lower numbers.
    reads: Vec<BTreeSet<usize>>,
    groups: Vec<bool>,
    progress: Vec<Progress>,
    work: Vec<Work>,
    /// How much work may still be made, so that it comes to an end.
    budget: usize,
    input_moves: usize,
}

impl Network for Model {
    fn upstream(&self, stage: StageId) -> CombinedWatermark {
        let mut combined = CombinedWatermark::default();
        self.reads[stage.0].iter().for_each(|u| self.progress[*u].add_to(&mut combined));
        combined
    }

    fn rule(&self, stage: StageId) -> Rule {
        if self.reads[stage.0].is_empty() { Rule::Sources } else { Rule::Passes { busy: false } }
    }

    fn output_moved(&mut self, stage: StageId, to: &mut BTreeSet<StageId>) {
        to.extend(self.readers(stage.0).into_iter().map(StageId));
    }

    fn progress(&mut self, stage: StageId) -> &mut Progress {
        &mut self.progress[stage.0]
    }

    fn input_moved(&mut self, _: StageId) {
        self.input_moves += 1;
    }
}

impl Model {
    fn new(seed: u64) -> Model {
        let mut rng = Rng::with_seed(seed);
        let stages = rng.usize(1..14);
        let mut reads = Vec::new();
        for stage in 0..stages {
            // A stage that reads nothing is a source.
            let most = rng.usize(..4).min(stage);
            reads.push((0..most).map(|_| rng.usize(..stage)).collect::<BTreeSet<usize>>());
        }
        let groups = reads.iter().map(|r| !r.is_empty() && rng.u8(..3) == 0).collect();
        let progress = (0..stages).map(|_| Progress::new()).collect();
        let budget = rng.usize(0..150);
        let mut model =
            Model { seed, rng, reads, groups, progress, work: Vec::new(), budget, input_moves: 0 };
        for stage in (0..stages).filter(|s| model.reads[*s].is_empty()).collect::<Vec<_>>() {
            for _ in 0..model.rng.usize(0..4) {
                // A restriction: it was there before time, and holds at its estimator's watermark.
                let hold = model.later(Timestamp::MIN);
                model.add(Work { stage, time: Some(Timestamp::MIN), hold, end: None });
            }
        }
        propagate(&mut model, (0..stages).map(StageId).collect());
        model
    }

    fn readers(&self, stage: usize) -> Vec<usize> {
        (0..self.reads.len()).filter(|s| self.reads[*s].contains(&stage)).collect()
    }

    /// A time at or after `least`.
    fn later(&mut self, least: Timestamp) -> Timestamp {
        let drawn = match self.rng.u8(..12) {
            0 => Timestamp::MAX,
            1 => Timestamp::GLOBAL_WINDOW_MAX,
            2 => Timestamp::MIN,
            _ => Timestamp::from_secs(self.rng.i64(0..40)),
        };
        drawn.max(least)
    }

    fn add(&mut self, work: Work) {
        let progress = &mut self.progress[work.stage];
        match work.time {
            Some(time) => progress.open(Held::at(time, work.hold)),
            None => progress.holds.add(work.hold),
        }
        self.work.push(work);
    }

    fn remove(&mut self, work: Work) {
        let progress = &mut self.progress[work.stage];
        match work.time {
            Some(time) => progress.close(Held::at(time, work.hold)),
            None => progress.holds.remove(work.hold),
        }
    }

    /// An element at `time` for `stage`.
    fn deliver(&mut self, stage: usize, time: Timestamp) {
        let input = self.progress[stage].input();
        assert!(time >= input, "seed {}: an element at {time} is late, at stage {stage}: {input}", self.seed);
        let work = if self.groups[stage] {
            // The element goes into a window, whose result comes out at a time within it.
            let end = self.later(time).min(Timestamp::GLOBAL_WINDOW_MAX).max(time);
            Work { stage, time: None, hold: if self.rng.bool() { time } else { end }, end: Some(end) }
        } else {
            Work { stage, time: Some(time), hold: time, end: None }
        };
        self.add(work);
    }

    fn is_ready(&self, work: &Work) -> bool {
        let input = self.progress[work.stage].input();
        // At the end of time every window closes.
        work.end.is_none_or(|end| end < input || input == Timestamp::MAX)
    }

    /// Commits one piece of work that is ready; whether there was one.
    fn step(&mut self) -> bool {
        let ready: Vec<usize> = (0..self.work.len()).filter(|i| self.is_ready(&self.work[*i])).collect();
        if ready.is_empty() {
            return false;
        }
        let work = self.work.swap_remove(ready[self.rng.usize(..ready.len())]);
        let mut touched = BTreeSet::from([StageId(work.stage)]);
        // As the engine does: what the work made is added first, and what it was is removed last.
        for reader in self.readers(work.stage) {
            for _ in 0..self.rng.usize(0..3) {
                if self.budget > 0 {
                    self.budget -= 1;
                    let time = self.later(work.hold);
                    self.deliver(reader, time);
                    touched.insert(StageId(reader));
                }
            }
        }
        if self.budget > 0 && work.time.is_some() && self.rng.u8(..3) == 0 {
            // The rest of a restriction, or a bundle that is tried again and holds where it did.
            self.budget -= 1;
            let hold = if self.rng.bool() { work.hold } else { self.later(work.hold) };
            self.add(Work { hold, ..work });
        }
        self.remove(work);
        propagate(self, touched);
        true
    }

    /// All stages whose work can still reach `stage`, itself among them.
    fn reach(&self, stage: usize) -> BTreeSet<usize> {
        let mut reach = BTreeSet::from([stage]);
        let mut new = vec![stage];
        while let Some(stage) = new.pop() {
            new.extend(self.reads[stage].iter().filter(|u| reach.insert(**u)));
        }
        reach
    }

    /// The watermarks that follow from the work that is open now, whatever was before.
    fn expected(&self, stage: usize) -> (Timestamp, Timestamp) {
        let reach = self.reach(stage);
        let holds = |own: bool| {
            let of = self.work.iter().filter(|w| reach.contains(&w.stage) && (own || w.stage != stage));
            of.map(|w| w.hold).min().unwrap_or(Timestamp::MAX)
        };
        let times = self.work.iter().filter(|w| w.stage == stage).filter_map(|w| w.time);
        (holds(false).min(times.min().unwrap_or(Timestamp::MAX)), holds(true))
    }

    fn watermarks(&self) -> Vec<(Timestamp, Timestamp)> {
        self.progress.iter().map(|p| (p.input(), p.output())).collect()
    }
}

#[test]
fn watermarks_are_what_open_work_allows_in_any_order_of_commits() {
    let mut steps = 0;
    let mut moves = 0;
    for seed in 0..2000 {
        let mut model = Model::new(seed);
        let mut before = model.watermarks();
        loop {
            let now = model.watermarks();
            for (stage, (now, before)) in now.iter().zip(&before).enumerate() {
                assert!(now.0 >= before.0 && now.1 >= before.1, "seed {seed}: stage {stage} goes back");
                // No later would lose data; no earlier would keep windows open that could close.
                assert_eq!(*now, model.expected(stage), "seed {seed}, stage {stage}, open: {:?}", model.work);
            }
            before = now;
            if !model.step() {
                break;
            }
            steps += 1;
        }
        assert!(model.work.is_empty(), "seed {seed}: it is stuck with {:?}", model.work);
        let end = (Timestamp::MAX, Timestamp::MAX);
        assert!(before.iter().all(|w| *w == end), "seed {seed}: it ends at {before:?}");
        moves += model.input_moves;
    }
    assert!(steps > 10_000 && moves > 10_000, "{steps} steps and {moves} moves prove little");
}
