//! Claiming positions while the runner may split the rest off.

use std::{
    cell::Cell,
    fmt,
    time::{Duration, Instant},
};

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
    claimed: Cell<u64>,
    pace: Cell<Pace>,
}

/// When to look at the clock, which takes longer than a claim: often while claims are slow, seldom while they are fast.
#[derive(Clone, Copy)]
struct Pace {
    started: Instant,
    last: Instant,
    step: u64,
    /// The number of claims at which to look.
    next: u64,
}

/// Claims between two looks at the clock, at most.
const LOOK_EVERY: u64 = 64;

/// Claims are slow when so much time goes by between two looks.
const SLOW: Duration = Duration::from_micros(100);

impl Pace {
    fn new(now: Instant) -> Pace {
        Pace { started: now, last: now, step: 1, next: 1 }
    }

    /// Takes a look after `claimed` claims.
    fn look(&mut self, claimed: u64, now: Instant) {
        let slow = now.saturating_duration_since(self.last) > SLOW;
        self.step = if slow { 1 } else { (2 * self.step).min(LOOK_EVERY) };
        self.last = now;
        self.next = claimed + self.step;
    }
}

impl<'a, D: SplittableDoFn> Claims<'a, D> {
    pub(crate) fn new(shared: &'a Shared<D>, observed: &'a Observed, cx: &'a BundleCx) -> Claims<'a, D> {
        Claims { shared, observed, cx, claimed: Cell::new(0), pace: Cell::new(Pace::new(Instant::now())) }
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
        if self.cx.limits.max_elements.is_some_and(|max| self.cx.emitted() >= max) {
            return true;
        }
        let mut pace = self.pace.get();
        if claimed < pace.next {
            return false;
        }
        let now = Instant::now();
        pace.look(claimed, now);
        self.pace.set(pace);
        let limits = &self.cx.limits;
        limits.max_time.is_some_and(|max| now.saturating_duration_since(pace.started) >= max)
            || limits.max_claims.is_some_and(|max| claimed >= max)
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
        self.cx.add_claims(self.claimed.get());
    }
}

impl<D: SplittableDoFn> fmt::Debug for Claims<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} positions claimed", self.claimed.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(per_claim: Duration, claims: u64) -> Vec<u64> {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut looks = Vec::new();
        for claimed in 1..=claims {
            if claimed >= pace.next {
                pace.look(claimed, start + per_claim * claimed as u32);
                looks.push(claimed);
            }
        }
        looks
    }

    #[test]
    fn slow_claims_are_looked_at_each() {
        assert_eq!(looks(Duration::from_secs(1), 5), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn fast_claims_are_looked_at_seldom() {
        assert_eq!(looks(Duration::from_nanos(10), 300), [1, 3, 7, 15, 31, 63, 127, 191, 255]);
    }
}
