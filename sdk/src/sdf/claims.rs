//! Claiming positions while the runner may split the rest off.

use std::{cell::Cell, fmt, time::Instant};

use super::{EstimatorKind, ManualWatermark, PositionOf, RestrictionOf, SplittableDoFn, WatermarkEstimator};
use crate::{
    DoFnError, Result, Timestamp,
    dofn::Observed,
    exec::{BundleCx, Running, Shared},
};

/// What `process` has of its restriction. The tracker and the estimator sit behind one lock, since another thread may
/// split the restriction at any time between two claims.
pub struct Claims<'a, D: SplittableDoFn> {
    shared: &'a Shared<D>,
    observed: &'a Observed,
    cx: &'a BundleCx,
    started: Instant,
    claimed: Cell<u64>,
}

/// Claims between two looks at the clock.
const LOOK_EVERY: u64 = 64;

impl<'a, D: SplittableDoFn> Claims<'a, D> {
    pub(crate) fn new(shared: &'a Shared<D>, observed: &'a Observed, cx: &'a BundleCx) -> Claims<'a, D> {
        Claims { shared, observed, cx, started: Instant::now(), claimed: Cell::new(0) }
    }

    /// Asks for `position`. True: it is yours, emit what belongs to it. False: it belongs to somebody else, or lies
    /// past the end; emit nothing more and return.
    #[inline]
    pub fn try_claim(&self, position: PositionOf<D>) -> bool {
        use super::RestrictionTracker;
        let mut running = self.shared.lock();
        self.observe(&mut running);
        let claimed = self.claimed.get();
        // Before the first claim nothing is given back: work that is always given back untouched never gets done.
        if claimed > 0 && self.wants_back(claimed) {
            self.shared.checkpoint(&mut running);
        }
        if let Some((after, fraction)) = self.cx.limits.split
            && claimed == after.max(1)
        {
            self.shared.split_off(&mut running, fraction);
        }
        let granted = running.tracker.try_claim(position);
        if granted {
            running.claimed = true;
            self.claimed.set(claimed + 1);
        }
        granted
    }

    #[inline]
    fn wants_back(&self, claimed: u64) -> bool {
        if self.cx.control.checkpoint_requested() || self.cx.control.is_cancelled() {
            return true;
        }
        let limits = &self.cx.limits;
        if limits.max_elements.is_some_and(|max| self.cx.emitted() >= max) {
            return true;
        }
        claimed.is_multiple_of(LOOK_EVERY) && limits.max_time.is_some_and(|max| self.started.elapsed() >= max)
    }

    fn observe(&self, running: &mut Running<D>) {
        if <<D::Estimator as WatermarkEstimator>::Kind as EstimatorKind<D::Estimator>>::OBSERVES {
            self.observed.drain(|ts| {
                <<D::Estimator as WatermarkEstimator>::Kind as EstimatorKind<D::Estimator>>::observe(
                    &mut running.estimator,
                    ts,
                );
            });
        }
    }

    /// What the restriction is now; the runner may make it smaller at any time.
    pub fn restriction(&self) -> RestrictionOf<D> {
        use super::RestrictionTracker;
        self.shared.lock().tracker.restriction()
    }

    /// The estimator's watermark.
    pub fn watermark(&self) -> Timestamp {
        let mut running = self.shared.lock();
        self.observe(&mut running);
        running.estimator.current_watermark()
    }

    /// Says that everything still to come has a timestamp of `watermark` or later. Only estimators that are
    /// [`ManualWatermark`] have this.
    ///
    /// # Errors
    /// When it would go back; the error names both values.
    pub fn set_watermark(&self, watermark: Timestamp) -> Result
    where
        D::Estimator: ManualWatermark,
    {
        self.shared.lock().estimator.set_watermark(watermark).map_err(DoFnError::from)
    }

    /// Gives the estimator to `f`, for an estimator of the user's own with further methods.
    pub fn with_estimator<R>(&self, f: impl FnOnce(&mut D::Estimator) -> R) -> R {
        f(&mut self.shared.lock().estimator)
    }

    pub(crate) fn settle(&self) {
        self.observe(&mut self.shared.lock());
    }
}

impl<D: SplittableDoFn> fmt::Debug for Claims<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} positions claimed", self.claimed.get())
    }
}
