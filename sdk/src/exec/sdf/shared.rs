//! A restriction that is being worked on, where another thread can split it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::op::ItemOf;
use crate::{
    Duration, Phase, PipelineError, Step, Timestamp,
    batch::{Batch, Meta, Row},
    exec::{Residual, SplitOutcome, SplitPoint},
    sdf::{
        Progress, RestrictionOf, RestrictionTracker, SplittableDoFn, WatermarkEstimator, WatermarkStateOf,
    },
};

/// The tracker and the estimator, under one lock.
pub(crate) struct Running<D: SplittableDoFn> {
    pub(crate) tracker: D::Tracker,
    pub(crate) estimator: D::Estimator,
    /// Whether a position was claimed.
    pub(crate) claimed: bool,
    /// Parts that were split off by the bundle itself.
    pub(super) residuals: Vec<Residual>,
    /// Whether the rest was given back already.
    pub(super) checkpointed: bool,
    /// Whether the work is over, so that there is nothing left to split.
    pub(super) over: bool,
    /// The watermark that was last reported: what is reported next is not lower.
    pub(super) reported: Timestamp,
    /// The watermark that the estimator last said; it may lie below what was reported from the start, for the element.
    pub(super) estimated: Timestamp,
    /// The watermarks between which the estimator went back.
    pub(super) went_back: Option<(Timestamp, Timestamp)>,
}

/// One restriction that is being worked on.
pub(crate) struct Shared<D: SplittableDoFn> {
    pub(super) step: Step,
    pub(super) element: D::Input,
    pub(super) state: WatermarkStateOf<D>,
    pub(super) truncated: bool,
    /// Timestamp, window and pane of the element.
    pub(super) meta: Meta,
    pub(super) running: Mutex<Running<D>>,
}

impl<D: SplittableDoFn> Shared<D> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Running<D>> {
        // A panic in a tracker fails the bundle, and nothing of it is used again.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the rest back to the runner.
    pub(crate) fn checkpoint(&self, running: &mut Running<D>) {
        if !running.checkpointed {
            running.checkpointed = self.split_off(running, 0.0);
        }
    }

    /// Splits the rest off at `fraction`; whether there was one.
    pub(crate) fn split_off(&self, running: &mut Running<D>, fraction: f64) -> bool {
        // Read before the split: a stale, lower watermark is safe.
        let hold = self.report(running);
        let (state, estimated) = (running.estimator.state(), running.estimated);
        let before = running.tracker.progress().remaining;
        match running.tracker.try_split(fraction) {
            Some(rest) => {
                let size = given_away(before, &running.tracker);
                let batch = Box::new(self.item(rest, state, size, hold, estimated));
                running.residuals.push(Residual { batch, hold, delay: Duration::ZERO, idle: false });
                true
            }
            None => false,
        }
    }

    /// The watermark to report, never below the one before.
    pub(super) fn report(&self, running: &mut Running<D>) -> Timestamp {
        let watermark = running.estimator.current_watermark();
        if watermark < running.estimated {
            running.went_back.get_or_insert((running.estimated, watermark));
        }
        running.estimated = watermark;
        running.reported = running.reported.max(watermark);
        running.reported
    }

    pub(super) fn item(
        &self,
        restriction: RestrictionOf<D>,
        state: WatermarkStateOf<D>,
        size: f64,
        watermark: Timestamp,
        estimated: Timestamp,
    ) -> Batch<ItemOf<D>> {
        let item = ItemOf::<D> {
            element: self.element.clone(),
            restriction,
            state,
            size,
            watermark,
            estimated,
            truncated: self.truncated,
        };
        let mut batch = Batch::default();
        batch.push(item, Row::of(&self.meta, 0));
        batch
    }

    fn split_for(&self, fraction: f64) -> Option<SplitOutcome> {
        let mut running = self.lock();
        // Before the first claim a split could give everything away, again and again.
        if running.over || running.checkpointed || !running.claimed {
            return None;
        }
        let hold = self.report(&mut running);
        let (state, estimated) = (running.estimator.state(), running.estimated);
        let before = running.tracker.progress().remaining;
        let rest = running.tracker.try_split(fraction)?;
        // Tried again, the primary begins with the state that it began with.
        let kept = running.tracker.restriction();
        let left = running.tracker.progress();
        let size = Progress::new(0.0, left.completed + left.remaining).remaining;
        let primary = self.item(kept, self.state.clone(), size, running.reported, Timestamp::MIN);
        let size = given_away(before, &running.tracker);
        let residual = self.item(rest, state, size, hold, estimated);
        Some(SplitOutcome { primary: Box::new(primary), residual: Box::new(residual), hold })
    }
}

/// The size of what a split took off a tracker that had `before` remaining.
fn given_away(before: f64, tracker: &impl RestrictionTracker) -> f64 {
    Progress::new(0.0, before - tracker.progress().remaining).remaining
}

impl<D: SplittableDoFn> SplitPoint for Shared<D> {
    fn try_split(&self, fraction: f64) -> Result<Option<SplitOutcome>, PipelineError> {
        catch_unwind(AssertUnwindSafe(|| self.split_for(fraction)))
            .map_err(|p| PipelineError::panic(Some(self.step.clone()), Some(Phase::Split), &*p))
    }

    fn progress(&self) -> Progress {
        let measure = || {
            let running = self.lock();
            let Progress { completed, remaining } = running.tracker.progress();
            Progress::new(completed, if running.over { 0.0 } else { remaining })
        };
        catch_unwind(AssertUnwindSafe(measure)).unwrap_or_default()
    }
}
