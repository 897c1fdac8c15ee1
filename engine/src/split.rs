//! Splitting a splittable DoFn while it runs, for a worker that has nothing to do.

use std::{collections::BTreeSet, sync::Arc};

use purlin_sdk::{
    Phase,
    exec::{BundleControl, BundleInput, SplitOutcome},
};

use crate::{BundleId, Engine, plan::Root, state::Item};

/// A running bundle that may be split.
#[derive(Debug)]
pub struct SplitCandidate {
    id: BundleId,
    control: Arc<BundleControl>,
}

impl SplitCandidate {
    /// The bundle's number.
    pub fn id(&self) -> BundleId {
        self.id
    }

    /// How long it has been running, by the wall clock.
    pub fn age(&self) -> std::time::Duration {
        self.control.age()
    }

    /// How much work remains in it.
    pub fn remaining(&self) -> f64 {
        self.control.split_point().map_or(0.0, |p| p.remaining())
    }

    /// Splits half of what remains off. Called without the engine's lock; what it gives goes to
    /// [`Engine::end_split`], whatever it is.
    ///
    /// # Errors
    /// When the user's tracker panics.
    pub fn split(&self) -> Result<Option<SplitOutcome>, purlin_sdk::PipelineError> {
        match self.control.split_point() {
            Some(point) => point.try_split(0.5),
            None => Ok(None),
        }
    }
}

impl Engine {
    /// Bundles that may be split. Each holds its watermark, even when it ends, until [`Engine::end_split`] is called
    /// for it.
    pub fn begin_splits(&mut self) -> Vec<SplitCandidate> {
        let plan = &self.plan;
        self.in_flight
            .iter_mut()
            .filter(|(_, b)| matches!(plan.stages[b.stage.0].root, Root::Splittable))
            .map(|(id, b)| {
                b.splitting += 1;
                SplitCandidate { id: *id, control: b.control.clone() }
            })
            .collect()
    }

    /// Takes what a candidate was split into; `None` when it was not.
    pub fn end_split(&mut self, id: BundleId, outcome: Option<SplitOutcome>) {
        self.guarded(|engine| engine.take_split(id, outcome));
    }

    fn take_split(&mut self, id: BundleId, outcome: Option<SplitOutcome>) {
        let bundle = match self.in_flight.get_mut(&id) {
            Some(bundle) => Some(bundle),
            None => self.lingering.get_mut(&id),
        };
        let Some(bundle) = bundle else { return };
        bundle.splitting -= 1;
        let stage = bundle.stage;
        self.at.set(Some((stage, Phase::Coder)));
        if let Some(SplitOutcome { primary, residual, hold }) = outcome {
            // Should the bundle fail, only what it kept is tried again.
            if bundle.backup.is_some() {
                bundle.backup = Some(BundleInput::Batches(vec![primary]));
            }
            let item = Item::residual(residual, hold);
            self.waiting_bytes += item.bytes;
            self.stages[stage.0].push(item);
            self.ready.insert(stage);
        }
        if self.lingering.get(&id).is_some_and(|b| b.splitting == 0)
            && let Some(bundle) = self.lingering.remove(&id)
        {
            self.release(&bundle);
            self.propagate(BTreeSet::from([stage]));
        }
    }
}
