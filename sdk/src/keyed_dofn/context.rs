//! What a timer callback may ask.

use std::{cell::Cell, fmt, ops::Deref};

use super::TimerRules;
use crate::{
    BundleContext, DoFnError, Result, Timestamp, View,
    dofn::StepScope,
    state::{TimeDomain, TimerEntry, TimerScope, sealed::Sealed},
    window::Window,
};

/// In `on_timer` and `on_window_expiration`. It has all of [`BundleContext`] too.
pub struct TimerContext<'a> {
    bundle: BundleContext<'a>,
    scope: StepScope<'a>,
    rules: &'a TimerRules,
    window: &'a Window,
    call: Call<'a>,
}

/// What is being called.
#[derive(Clone, Copy)]
pub(crate) enum Call<'a> {
    Timer(TimeDomain, TimerEntry),
    /// The window expires. The default method says so that there is nothing to call.
    Expiration {
        not_there: &'a Cell<bool>,
    },
}

impl<'a> TimerContext<'a> {
    pub(crate) fn new(
        scope: StepScope<'a>,
        rules: &'a TimerRules,
        window: &'a Window,
        call: Call<'a>,
    ) -> TimerContext<'a> {
        TimerContext { bundle: BundleContext::new(scope), scope, rules, window, call }
    }

    /// The timer's **output timestamp**, which what is emitted has, unless it is said otherwise. For a timer without
    /// one, [`Timestamp::MAX`]. In `on_window_expiration`, the last timestamp of the window.
    pub fn timestamp(&self) -> Timestamp {
        match self.call {
            Call::Timer(_, entry) => entry.output.unwrap_or(Timestamp::MAX),
            Call::Expiration { .. } => self.window.result_timestamp(),
        }
    }

    /// The time that the timer was set to. In `on_window_expiration`, that of the window's expiry.
    pub fn fire_timestamp(&self) -> Timestamp {
        match self.call {
            Call::Timer(_, entry) => entry.fire,
            Call::Expiration { .. } => self.window.expiry(self.rules.lateness),
        }
    }

    /// Processing time, by the run's clock. When the input is over, processing-time timers that are pending fire without
    /// waiting for it: it is then the time that the timer was set to.
    pub fn now(&self) -> Timestamp {
        self.bundle.now().max(self.rules.now.get())
    }

    /// Whose time the timer goes by. In `on_window_expiration`, event time.
    pub fn time_domain(&self) -> TimeDomain {
        match self.call {
            Call::Timer(time, _) => time,
            Call::Expiration { .. } => TimeDomain::Event,
        }
    }

    /// The window that the timer was set in.
    pub fn window(&self) -> Window {
        self.window.clone()
    }

    /// The side input, for the window. The transform must have been given it, by `KeyedParDo::side`.
    ///
    /// # Errors
    /// When it was not given, when a singleton has no value and no default or several values, when the view's window
    /// function has no window there.
    pub fn side<V: Clone + Send + Sync + 'static>(&self, view: &View<V>) -> Result<V> {
        self.scope.side(view, self.window)
    }

    /// Called by the methods that a DoFn has when it does not write its own.
    pub(super) fn there_is_no_method(&self) {
        if let Call::Expiration { not_there } = self.call {
            not_there.set(true);
        }
    }
}

impl Sealed for TimerContext<'_> {
    fn timer_scope(&self) -> Result<TimerScope<'_>> {
        match self.call {
            Call::Timer(_, entry) => Ok(self.rules.scope(self.scope, self.window(), entry.output)),
            Call::Expiration { .. } => Err(DoFnError::msg(format!(
                "`{}` sets a timer in `on_window_expiration`: {} has expired, and its state is about to be removed",
                self.path(),
                self.window
            ))),
        }
    }
}

impl<'a> Deref for TimerContext<'a> {
    type Target = BundleContext<'a>;
    fn deref(&self) -> &BundleContext<'a> {
        &self.bundle
    }
}

impl fmt::Debug for TimerContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timer at {} in {} in {}", self.fire_timestamp(), self.window, self.path())
    }
}
