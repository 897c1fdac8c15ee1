//! A cut whose larger parts are encoded without the engine's lock.
//!
//! Shards and key groups at rest are *lent* to it, as they are to bundles, and given back one by one when they are encoded.
//! Meanwhile bundles that gather get new shards, windows that close wait, and what comes for a key group waits in front
//! of it.

use purlin_sdk::{
    Phase, PipelineError, Step,
    exec::{GroupState, Shard},
};

use super::{Segment, SegmentName, SegmentPart, Snapshot};
use crate::{BundleId, Engine, StageId};

/// A cut that is being encoded. When all is, it is a [`Snapshot`].
#[derive(Debug)]
pub struct Cut {
    segments: Vec<Segment>,
    /// What is still to be encoded, and which segment it is.
    open: Vec<(usize, Lent)>,
}

/// Something that was lent to a [`Cut`], to be given back by [`Engine::give_back`].
pub struct Lent {
    what: What,
    step: Step,
}

enum What {
    /// A shard of a stage for one of its feeds, under a number as bundles have.
    Shard {
        producer: StageId,
        feed: usize,
        id: BundleId,
        shard: Box<dyn Shard>,
    },
    KeyGroup {
        stage: StageId,
        n: usize,
        state: Box<dyn GroupState>,
    },
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.what {
            What::Shard { .. } => write!(f, "a shard of {}", self.step),
            What::KeyGroup { n, .. } => write!(f, "key group {n} of {}", self.step),
        }
    }
}

impl Cut {
    pub(super) fn new() -> Cut {
        Cut { segments: Vec::new(), open: Vec::new() }
    }

    pub(super) fn add(&mut self, stage: &str, part: SegmentPart, bytes: Vec<u8>) {
        self.segments.push(Segment { name: SegmentName { stage: stage.into(), part }, bytes });
    }

    fn lend(&mut self, stage: &str, part: SegmentPart, lent: Lent) {
        let name = SegmentName { stage: stage.into(), part };
        self.open.push((self.segments.len(), lent));
        self.segments.push(Segment { name, bytes: Vec::new() });
    }

    /// Encodes one more part, without the engine's lock, and gives what was lent for it, to be given back. Nothing when
    /// all is encoded.
    ///
    /// # Errors
    /// When something does not encode. Then the run has failed: not all that was lent is given back.
    pub fn encode_next(&mut self) -> Result<Option<Lent>, PipelineError> {
        let Some((i, lent)) = self.open.pop() else { return Ok(None) };
        let bytes = &mut self.segments[i].bytes;
        let saved = match &lent.what {
            What::Shard { shard, .. } => shard.save(bytes),
            What::KeyGroup { state, .. } => state.save(bytes),
        };
        match saved {
            Ok(()) => Ok(Some(lent)),
            Err(e) => Err(PipelineError::user(lent.step, Phase::Checkpoint, e)),
        }
    }

    /// The snapshot, once [`encode_next`](Cut::encode_next) has nothing left to do.
    ///
    /// # Errors
    /// When there is something left.
    pub fn finish(self) -> Result<Snapshot, PipelineError> {
        if self.open.is_empty() {
            Ok(Snapshot::from_segments(self.segments))
        } else {
            Err(PipelineError::runner("a snapshot is not encoded to its end"))
        }
    }
}

impl Engine {
    /// The pipeline as it is between the last commit and the next, with all but its large parts encoded. Bundles at work
    /// count as not started. There is one cut at a time: the next can be begun when all that was lent is given back.
    ///
    /// # Errors
    /// When a bundle is at work of which it is not known what it began with, see [`can_snapshot`](Engine::can_snapshot);
    /// when something does not encode.
    pub fn begin_snapshot(&mut self) -> Result<Cut, PipelineError> {
        if !self.can_snapshot() {
            return Err(PipelineError::runner(
                "a snapshot was asked for while bundles are at work, or after the run has failed",
            ));
        }
        let mut cut = Cut::new();
        self.save_header(&mut cut)?;
        for i in 0..self.stages.len() {
            self.save_stage(StageId(i), &mut cut)
                .map_err(|e| PipelineError::user(self.plan.stages[i].step.clone(), Phase::Checkpoint, e))?;
        }
        self.cut_is_made();
        Ok(cut)
    }

    /// [`begin_snapshot`](Engine::begin_snapshot), and all of it encoded at once.
    ///
    /// # Errors
    /// As [`begin_snapshot`](Engine::begin_snapshot).
    pub fn snapshot(&mut self) -> Result<Snapshot, PipelineError> {
        // Encoding is the user's code.
        let done = self.guarded(Engine::snapshot_at_once);
        done.unwrap_or_else(|| Err(self.failure().cloned().unwrap_or_else(PipelineError::cancelled)))
    }

    fn snapshot_at_once(&mut self) -> Result<Snapshot, PipelineError> {
        let mut cut = self.begin_snapshot()?;
        while let Some(lent) = cut.encode_next()? {
            self.give_back(lent);
        }
        cut.finish()
    }

    /// Lends the shards at rest of stage `id`.
    pub(super) fn lend_shards(&mut self, id: StageId, cut: &mut Cut) {
        let plan = self.plan.clone();
        for (n, feed) in plan.stages[id.0].feeds.iter().enumerate() {
            for shard in std::mem::take(&mut self.stages[id.0].shards[n]) {
                if shard.is_empty() {
                    self.stages[id.0].shards[n].push(shard);
                    continue;
                }
                let bundle = BundleId(self.next_bundle);
                self.next_bundle += 1;
                self.lent_shards.insert(bundle, feed.to);
                self.lent += 1;
                let what = What::Shard { producer: id, feed: n, id: bundle, shard };
                let to = &plan.stages[feed.to.0];
                cut.lend(&to.name, SegmentPart::Shard, Lent { what, step: to.step.clone() });
            }
        }
    }

    /// Lends a key group at rest.
    pub(super) fn lend_key_group(
        &mut self,
        stage: StageId,
        n: usize,
        state: Box<dyn GroupState>,
        cut: &mut Cut,
    ) {
        let of = &mut self.stages[stage.0];
        of.ready_groups.remove(&n);
        of.running += 1;
        self.clock_wakes.remove(&(of.key_groups[n].report.due_clock, stage, n));
        self.lent += 1;
        let of = &self.plan.stages[stage.0];
        let what = What::KeyGroup { stage, n, state };
        cut.lend(&of.name, SegmentPart::KeyGroup(n as u32), Lent { what, step: of.step.clone() });
    }

    /// Takes back what was lent to a cut.
    pub fn give_back(&mut self, lent: Lent) {
        self.lent -= 1;
        match lent.what {
            What::Shard { producer, feed, id, shard } => {
                let mut shard = [shard];
                if let Some(grouping) = self.lent_shards.remove(&id) {
                    self.settle_closing(grouping, id, &mut shard);
                }
                self.stages[producer.0].shards[feed].extend(shard);
            }
            What::KeyGroup { stage, n, state } => {
                let reached = self.reached(stage);
                let of = &mut self.stages[stage.0];
                of.running -= 1;
                let group = &mut of.key_groups[n];
                group.state = Some(state);
                // One whose bundle failed is owed a bundle.
                if group.attempts > 0 || group.is_ready(reached) {
                    of.ready_groups.insert(n);
                    self.ready.insert(stage);
                } else if group.report.due_clock < purlin_sdk::Timestamp::MAX {
                    self.clock_wakes.insert((group.report.due_clock, stage, n));
                }
                // Elements may wait for a side input only because this was not there to say that nothing comes.
                if self.plan.stages[stage.0].view.is_some() {
                    self.view_built(stage, Vec::new());
                }
            }
        }
    }
}
