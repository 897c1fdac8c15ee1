//! Why the run does not go on.

use purlin_sdk::{Hold, Holder, StageReport, StallReport, Timestamp};

use crate::{
    Engine, StageId,
    plan::Root,
    state::{Item, StageState},
};

impl Engine {
    /// What holds the watermark of each stage that is not done.
    pub fn stall_report(&self) -> StallReport {
        let plan = self.plan.clone();
        let open = plan.stages.iter().zip(&self.stages).enumerate();
        let open = open.filter(|(_, (_, state))| state.progress.output() < Timestamp::MAX);
        let stages = open.map(|(i, (stage, state))| StageReport {
            path: stage.step.path().to_owned(),
            site: stage.step.site().to_string(),
            input: state.progress.input(),
            output: state.progress.output(),
            since: state.moved_at,
            idle: state.progress.is_idle(),
            holds: self.holds_of(StageId(i)),
        });
        StallReport { now: Some(self.now), stages: stages.collect() }
    }

    /// What holds the output watermark of a stage where it is; more than that would be true of what comes later only.
    fn holds_of(&self, id: StageId) -> Vec<Hold> {
        let (stage, state) = (&self.plan.stages[id.0], &self.stages[id.0]);
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
        if matches!(stage.root, Root::Splittable) {
            let awake = || pending().filter(|item| !item.idle);
            let resumes = state.parked.keys().next().map(|(at, _)| *at).filter(|_| state.queue.is_empty());
            let by =
                Holder::Restrictions { pending: awake().count(), resumes, aligned: self.ahead.contains(&id) };
            hold(awake().map(|item| item.hold).min(), by);
        } else {
            let by = Holder::Elements { pending: pending().map(|item| item.batch.len()).sum() };
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

/// Where a grouping's windows hold its output watermark.
fn first_window(state: &StageState) -> Option<Timestamp> {
    let open = state.windows.values().copied();
    let closing = state.closing.iter().chain(&state.closed).map(|closing| closing.hold);
    open.chain(closing).min()
}
