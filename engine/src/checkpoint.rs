//! Checkpoints: a cut of the pipeline between two commits, without stopping it.
//!
//! A cut holds everything that lies between two commits. Bundles at work count as not started, so what they began with
//! must be known. It is not, as a rule: copying every bundle's input, shard and state would cost more than checkpoints
//! are worth. So a cut is *asked for* first: bundles that start from then on keep a copy of what they begin with (a
//! grouping's shard is a new, empty one), and the cut is made when the last bundle is done that started before. Nothing
//! stops meanwhile, and an element that takes long delays one checkpoint and not the pipeline; the ones after it find
//! its bundle copied.
//!
//! What is large is encoded without the engine's lock: see [`Cut`].
//!
//! What must not happen before it can no more be undone waits for the checkpoint to be on disk: finalizers, and the
//! elements of DoFns that require stable input.

mod cut;
mod directory;
mod header;
mod manifest;
mod options;
mod restore;
mod save;
mod snapshot;

use std::collections::BTreeSet;

use purlin_sdk::{
    BuildError, BuildErrors, Phase, PipelineError,
    exec::{Finalizer, GroupState},
};

pub use cut::{Cut, Lent};
pub use directory::{CheckpointDir, Found};
pub use options::{CheckpointOptions, Checkpoints};
pub use snapshot::{Segment, SegmentName, SegmentPart, Snapshot};

use crate::{
    Engine, Plan, StageId,
    plan::{Root, Stage},
};

/// Where the engine is with its next checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Cutting {
    /// Whether one is asked for.
    pub(crate) is_requested: bool,
    /// Empty shards that bundles were given since.
    pub(crate) fresh_shards: usize,
    /// Stages that wait for the cut because there are too many of those.
    pub(crate) held: BTreeSet<StageId>,
    /// Finalizers of bundles that are in no cut yet.
    finalizers: Vec<Finalizer>,
    /// Those of bundles in a cut that is not on disk yet.
    in_cut: Vec<Finalizer>,
    /// The graph as it is kept in each checkpoint.
    graph: Option<header::SavedGraph>,
}

impl Cutting {
    /// Finalizers that are never called: of a run that is over.
    pub(crate) fn take_finalizers(&mut self) -> Vec<Finalizer> {
        let mut all = std::mem::take(&mut self.finalizers);
        all.append(&mut self.in_cut);
        all
    }

    /// Keeps finalizers for when a checkpoint has what they are for; where there are none, gives them back.
    pub(crate) fn keep_finalizers(&mut self, mut all: Vec<Finalizer>, checkpoints: bool) -> Vec<Finalizer> {
        if checkpoints {
            self.finalizers.append(&mut all);
        }
        all
    }
}

/// How many empty shards there may be for each bundle that runs at once. Each is merged with the others when windows
/// close, so an element that takes very long would otherwise make ever more of them.
const FRESH_SHARDS: usize = 16;

impl Engine {
    /// Asks for a cut, which can be made when [`can_snapshot`](Engine::can_snapshot) says so.
    pub fn request_snapshot(&mut self) {
        if std::mem::replace(&mut self.cutting.is_requested, true) {
            return;
        }
        for bundle in self.in_flight.values().filter(|b| !b.is_copied) {
            if matches!(self.plan.stages[bundle.stage.0].root, Root::Splittable) {
                bundle.control.request_checkpoint();
            }
        }
    }

    /// Whether a cut was asked for that is not made yet.
    pub fn is_snapshot_requested(&self) -> bool {
        self.cutting.is_requested
    }

    /// Whether everything is known that a cut has: no bundle is at work, or those that are were copied.
    pub fn can_snapshot(&self) -> bool {
        // What another thread splits off a bundle that is committed is not known yet.
        self.failure.is_none()
            && !self.cancelled
            && self.lingering.is_empty()
            && self.lent == 0
            && self.in_flight.values().all(|b| b.is_copied)
    }

    /// Whether all state can be kept in a snapshot.
    ///
    /// # Errors
    /// Everything that cannot, why, and what to do.
    pub fn check_savable(&self) -> Result<(), BuildErrors> {
        self.plan.check_savable()
    }

    /// Whether nothing goes on before there is a checkpoint.
    pub fn waits_for_checkpoint(&self) -> bool {
        self.is_quiet()
            && !self.is_failing()
            && (!self.cutting.held.is_empty() || self.stages.iter().any(|s| s.waits_for_checkpoint()))
            && self.ready.is_empty()
    }

    /// Whether the run failed or was cancelled.
    pub fn is_failing(&self) -> bool {
        self.failure.is_some() || self.cancelled
    }

    /// The latest cut is on disk: lets go on what waited for that, and returns what to call, without the engine's lock.
    pub fn snapshot_is_durable(&mut self) -> Vec<Finalizer> {
        for (i, state) in self.stages.iter_mut().enumerate() {
            // Of a run that failed meanwhile nothing goes on, but what is on disk is so for good.
            if !state.in_cut.is_empty() && self.failure.is_none() && !self.cancelled {
                state.queue.extend(state.in_cut.drain(..));
                self.ready.insert(StageId(i));
            }
        }
        std::mem::take(&mut self.cutting.in_cut)
    }

    /// The cut is made.
    fn cut_is_made(&mut self) {
        let Cutting { is_requested, fresh_shards, held, finalizers, in_cut, .. } = &mut self.cutting;
        (*is_requested, *fresh_shards) = (false, 0);
        self.ready.append(held);
        in_cut.append(finalizers);
        for state in &mut self.stages {
            state.in_cut.append(&mut state.unstable);
        }
    }

    /// Whether a stage gathers, and so many bundles were given an empty shard that the cut must be made first.
    pub(crate) fn must_wait_for_cut(&self, id: StageId) -> bool {
        self.cutting.is_requested
            && self.cutting.fresh_shards >= FRESH_SHARDS * self.config.parallelism
            && !self.plan.stages[id.0].feeds.is_empty()
    }

    /// A key group's state as bytes.
    pub(crate) fn state_before(&mut self, id: StageId, keyed: &dyn GroupState) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match keyed.save(&mut bytes) {
            Ok(()) => Some(bytes),
            Err(e) => {
                let step = self.plan.stages[id.0].step.clone();
                self.fail(PipelineError::user(step, Phase::Checkpoint, e));
                None
            }
        }
    }
}

impl Plan {
    /// Whether all state can be kept in a checkpoint.
    ///
    /// # Errors
    /// Everything that cannot, why, and what to do.
    pub(crate) fn check_savable(&self) -> Result<(), BuildErrors> {
        let checked = |stage: &Stage| {
            match (&stage.root, &stage.view) {
                (Root::Group(factory) | Root::KeyGroups(factory), None) => factory.check_savable(),
                (_, Some((factory, _))) => factory.check_savable(),
                _ => Ok(()),
            }
            .map_err(|e| BuildError::new(stage.step.clone(), e.to_string()))
        };
        BuildErrors::check(self.stages.iter().filter_map(|stage| checked(stage).err()).collect())
    }
}
