//! What the timers of a bundle must obey.

use std::cell::Cell;

use crate::{Duration, Timestamp, dofn::StepScope, state::TimerScope, window::Window};

/// What is the same for all timers that are set in a bundle.
#[derive(Debug)]
pub(crate) struct TimerRules {
    pub(crate) lateness: Duration,
    pub(crate) skew: Duration,
    /// Processing time: when the bundle began, or that of a timer that fires ahead of its time, since the input is over.
    pub(crate) now: Cell<Timestamp>,
    /// The number of the next timer that is set.
    pub(crate) order: Cell<u64>,
}

impl TimerRules {
    /// The number of what is set, or waits, next.
    pub(crate) fn next(&self) -> u64 {
        let order = self.order.get();
        self.order.set(order + 1);
        order
    }

    /// What a timer must obey that is set for `window`.
    pub(crate) fn scope<'a>(
        &'a self,
        scope: StepScope<'a>,
        window: Window,
        timestamp: Option<Timestamp>,
    ) -> TimerScope<'a> {
        TimerScope {
            path: scope.step.path(),
            expiry: window.expiry(self.lateness),
            window,
            timestamp,
            skew: self.skew,
            watermark: scope.cx.watermark,
            now: self.now.get(),
            order: &self.order,
        }
    }
}
