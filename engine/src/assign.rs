//! Watermarks that are assigned in mid-pipeline.

use std::collections::BTreeSet;

use purlin_sdk::{Timestamp, watermark::ControlPoint};

use crate::{Engine, StageId, progress::Rule, state::held_at};

impl Engine {
    /// What the output watermark of a stage follows from that assigns one.
    pub(crate) fn assigned(&self, id: StageId) -> Rule {
        let state = &self.stages[id.0];
        // What waits here is still to come downstream.
        let idle = state.assigned.idle && state.is_idle();
        let controlled = matches!(self.plan.stages[id.0].assigns, Some(Some(_)));
        let watermark = if controlled { state.in_force } else { held_at(state.assigned.watermark) };
        Rule::Assigned { watermark, idle, ends: !controlled }
    }

    /// Asks what decides on the watermark of stage `id`, if anything.
    pub(crate) fn ask_control(&mut self, id: StageId, point: ControlPoint) {
        let plan = self.plan.clone();
        let Some(Some(control)) = &plan.stages[id.0].assigns else { return };
        let state = &mut self.stages[id.0];
        let proposed = match state.progress.input() {
            Timestamp::MAX => Timestamp::MAX,
            _ => held_at(state.assigned.watermark),
        };
        state.in_force = state.in_force.max(control.in_force(proposed, point));
    }

    /// Asks all that decide on watermarks; whether one of these moved.
    pub(crate) fn ask_controls(&mut self, point: ControlPoint) -> bool {
        if self.controlled.is_empty() {
            return false;
        }
        let mut moved = BTreeSet::new();
        for id in self.controlled.clone() {
            let before = self.stages[id.0].in_force;
            self.ask_control(id, point);
            if self.stages[id.0].in_force > before {
                moved.insert(id);
            }
        }
        let any = !moved.is_empty();
        self.propagate(moved);
        any
    }
}
