//! Why the run does not go on.

use purlin_sdk::{Hold, Holder, StageReport, StallReport, Timestamp, exec::AssignedBy};

use crate::{
    Engine, StageId,
    plan::{Root, Stage},
    state::{Item, StageState, held_at},
};

impl Engine {
    /// What holds the watermark of each stage that is not done.
    pub fn stall_report(&self) -> StallReport {
        let plan = self.plan.clone();
        let waited_for = self.waited_for();
        let open = plan.stages.iter().zip(&self.stages).enumerate();
        let open = open.filter(|(_, (_, state))| state.progress.output() < Timestamp::MAX);
        let stages = open.map(|(i, (stage, state))| StageReport {
            path: stage.step.path().to_owned(),
            site: stage.step.site().to_string(),
            input: state.progress.input(),
            output: state.progress.output(),
            since: state.moved_at,
            idle: state.progress.is_idle(),
            waited_for: waited_for[i],
            idle_restrictions: idle_restrictions(stage, state),
            holds: self.holds_of(StageId(i)),
        });
        StallReport { now: Some(self.now), stages: stages.collect() }
    }

    /// For each stage, whether anything waits for its output watermark: not where what is behind it assigns another one.
    fn waited_for(&self) -> Vec<bool> {
        let stages = &self.plan.stages;
        let mut waited_for = vec![true; stages.len()];
        // What a stage feeds has a higher number.
        for (i, stage) in stages.iter().enumerate().rev() {
            let mut downstream = stage.downstream().peekable();
            if downstream.peek().is_some() {
                waited_for[i] = downstream.any(|to| stages[to.0].assigns.is_none() && waited_for[to.0]);
            }
        }
        waited_for
    }

    /// What holds the output watermark of a stage where it is; more than that would be true of what comes later only.
    fn holds_of(&self, id: StageId) -> Vec<Hold> {
        let (stage, state) = (&self.plan.stages[id.0], &self.stages[id.0]);
        if let Some(control) = &stage.assigns {
            return vec![Hold {
                at: state.progress.output(),
                by: assigned_by(state, control.is_some(), self.now),
            }];
        }
        let mut holds = Vec::new();
        let mut hold = |at: Option<Timestamp>, by: Holder| {
            holds.extend(at.map(|at| Hold { at, by }));
        };
        for upstream in &stage.upstream {
            let at = self.stages[upstream.0].progress.output();
            let path = self.plan.stages[upstream.0].step.path().to_owned();
            let waited_for = at < Timestamp::MAX && !self.stages[upstream.0].progress.is_idle();
            hold(waited_for.then_some(at), Holder::Upstream { path });
        }
        let running = self.in_flight.values().filter(|bundle| bundle.stage == id);
        let running = running.chain(self.lingering.values().filter(|bundle| bundle.stage == id));
        let least = running.clone().map(|bundle| bundle.hold).min();
        hold(least.filter(|at| *at < Timestamp::MAX), Holder::Bundles { running: running.count() });
        let waiting = state.key_groups.iter().flat_map(|group| &group.waiting);
        let pending = || state.queue.iter().chain(state.parked.values()).chain(waiting.clone());
        let unstable = || state.unstable.iter().chain(&state.in_cut);
        let waiting_for_checkpoint = unstable().map(|item| item.batch.len()).sum();
        let by = Holder::Checkpoint { waiting: waiting_for_checkpoint };
        hold(unstable().map(|item| item.hold).min(), by);
        if matches!(stage.root, Root::Splittable) {
            let awake = || pending().filter(|item| !item.idle);
            let resumes = state.parked.keys().next().map(|(at, _)| *at).filter(|_| state.queue.is_empty());
            let aligned = self.ahead.contains(&id);
            let ahead_of = self.waits_in_line_for(id).filter(|_| aligned);
            let ahead_of = ahead_of.map(|to| self.plan.stages[to.0].step.path().to_owned());
            let by = Holder::Restrictions { pending: awake().count(), resumes, aligned, ahead_of };
            hold(awake().map(|item| item.hold).min(), by);
        } else {
            let count = pending().map(|item| item.batch.len()).sum();
            let by = if self.cutting.held.contains(&id) {
                Holder::Checkpoint { waiting: count }
            } else {
                Holder::Elements { pending: count }
            };
            hold(pending().map(|item| item.hold).min(), by);
        }
        let views =
            stage.views.iter().map(|(path, view)| (path.to_string(), self.stages[view.0].progress.input()));
        let blocked = || state.blocked.values().flatten();
        let by = Holder::SideInputs {
            waiting: blocked().map(|item| item.batch.len()).sum(),
            views: views.collect(),
        };
        hold(blocked().map(|item: &Item| item.hold).min(), by);
        let keys = state.key_groups.iter().map(|group| group.report.hold).min();
        let keys = keys.filter(|at| *at < Timestamp::MAX);
        let holding = state.key_groups.iter().filter(|group| Some(group.report.hold) == keys).count();
        hold(keys, Holder::Keys { key_groups: holding });
        hold(
            first_window(state),
            Holder::Windows {
                open: state.windows.len() + state.closing.len() + state.closed.len(),
                first_end: state.windows.keys().next().map_or(Timestamp::MAX, |(end, _)| *end),
            },
        );
        let told = matches!(stage.root, Root::Live(_) | Root::TestStream(_));
        hold(told.then(|| state.progress.output()), Holder::Scripted);
        holds.sort_by_key(|hold| hold.at);
        holds
    }
}

/// What holds the watermark of a stage that assigns one.
fn assigned_by(state: &StageState, controlled: bool, now: Timestamp) -> Holder {
    let proposed = held_at(state.assigned.watermark);
    if controlled && (state.in_force < proposed || state.progress.input() == Timestamp::MAX) {
        return Holder::Controlled { proposed };
    }
    let group = state.key_groups.first();
    let pending: usize = group.map_or(0, |group| group.waiting.iter().map(|item| item.batch.len()).sum());
    let by = group.and_then(|group| group.state.as_ref()).map(|keyed| keyed.assigned_by(now));
    match by {
        // A bundle has it.
        None => Holder::Bundles { running: state.running },
        Some(_) if pending > 0 => Holder::Elements { pending },
        Some(None) => Holder::Scripted,
        Some(Some(AssignedBy { strategy, partitions, idle, silent, warm_up })) => {
            Holder::Assigned { strategy, partitions, idle, silent, warm_up }
        }
    }
}

/// How many restrictions nobody waits for.
fn idle_restrictions(stage: &Stage, state: &StageState) -> usize {
    if !matches!(stage.root, Root::Splittable) {
        return 0;
    }
    state.queue.iter().chain(state.parked.values()).filter(|item| item.idle).count()
}

/// Where a grouping's windows hold its output watermark.
fn first_window(state: &StageState) -> Option<Timestamp> {
    let open = state.windows.values().copied();
    let closing = state.closing.iter().chain(&state.closed).map(|closing| closing.hold);
    open.chain(closing).min()
}
