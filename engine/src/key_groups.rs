//! Key groups: who is ready, and when the others will be.

use purlin_sdk::{Timestamp, exec::GroupState};

use crate::{Engine, StageId, plan::Root, state::Reached};

impl Engine {
    /// What the key groups of stage `id` wait for, as far as it has come.
    pub(crate) fn reached(&self, id: StageId) -> Reached {
        Reached {
            watermark: self.stages[id.0].progress.input(),
            now: self.now,
            synchronized: self.synchronized(id),
        }
    }

    /// Up to which processing time, this one excluded, the groupings upstream of stage `id` have done what was due.
    fn synchronized(&self, id: StageId) -> Timestamp {
        let upstream = self.plan.stages[id.0].keyed_upstream.iter();
        upstream.map(|u| self.stages[u.0].clocks.min()).min().unwrap_or(Timestamp::MAX)
    }

    /// Takes a key group's state back.
    pub(crate) fn return_key_group(&mut self, id: StageId, n: usize, keyed: Box<dyn GroupState>) {
        let reached = self.reached(id);
        let state = &mut self.stages[id.0];
        if let Some(assigned) = keyed.assigned() {
            state.assigned = assigned;
        }
        let group = &mut state.key_groups[n];
        let before = std::mem::replace(&mut group.report, keyed.report());
        let after = group.report;
        group.state = Some(keyed);
        group.attempts = 0;
        state.progress.holds.add(after.hold);
        state.progress.holds.remove(before.hold);
        state.due_groups.remove(&(before.due, n));
        if after.due < Timestamp::MAX {
            state.due_groups.insert((after.due, n));
        }
        if before.due_clock < Timestamp::MAX {
            state.clocks.remove(before.due_clock);
        }
        if after.due_clock < Timestamp::MAX {
            state.clocks.add(after.due_clock);
        }
        if state.key_groups[n].is_ready(reached) {
            state.ready_groups.insert(n);
            self.ready.insert(id);
        } else if after.due_clock < Timestamp::MAX {
            self.clock_wakes.insert((after.due_clock, id, n));
        }
        if before.due_clock != after.due_clock {
            self.wake_synchronized(id);
        }
    }

    /// Makes key groups ready that the watermark has come to.
    pub(crate) fn wake_key_groups(&mut self, id: StageId) {
        let state = &mut self.stages[id.0];
        let watermark = state.progress.input();
        let due = state.due_groups.iter().take_while(|(due, _)| *due < watermark);
        let due: Vec<usize> = due.map(|(_, n)| *n).filter(|n| state.key_groups[*n].state.is_some()).collect();
        if !due.is_empty() {
            state.ready_groups.extend(due);
            self.ready.insert(id);
        }
    }

    /// Makes key groups ready that waited for what stage `done` did in processing time.
    fn wake_synchronized(&mut self, done: StageId) {
        let plan = self.plan.clone();
        for (i, stage) in plan.stages.iter().enumerate() {
            if !stage.keyed_upstream.contains(&done) || !matches!(stage.root, Root::KeyGroups(_)) {
                continue;
            }
            let reached = self.reached(StageId(i));
            let state = &mut self.stages[i];
            let ready = (0..state.key_groups.len()).filter(|n| state.key_groups[*n].is_ready(reached));
            let ready: Vec<usize> = ready.collect();
            if !ready.is_empty() {
                state.ready_groups.extend(ready);
                self.ready.insert(StageId(i));
            }
        }
    }
}
