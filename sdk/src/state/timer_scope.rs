//! Where a timer is set: what its time may be.

use std::cell::Cell;

use crate::{Duration, Timestamp, window::Window};

/// Where timers can be set: [`ProcessContext`](crate::ProcessContext) in `process`,
/// [`TimerContext`](crate::TimerContext) in `on_timer`.
pub trait KeyedContext: sealed::Sealed {}

impl<C: sealed::Sealed> KeyedContext for C {}

pub(crate) mod sealed {
    use super::TimerScope;
    use crate::Result;

    /// Nobody else implements it.
    pub trait Sealed {
        #[doc(hidden)]
        fn timer_scope(&self) -> Result<TimerScope<'_>>;
    }
}

/// The call that sets a timer.
#[derive(Debug)]
pub struct TimerScope<'a> {
    /// The transform.
    pub(crate) path: &'a str,
    pub(crate) window: Window,
    /// When the window expires.
    pub(crate) expiry: Timestamp,
    /// The timestamp of the element, or the output timestamp of the timer that fires, if it has one.
    pub(crate) timestamp: Option<Timestamp>,
    /// How far before it an output timestamp may lie.
    pub(crate) skew: Duration,
    pub(crate) watermark: Option<Timestamp>,
    pub(crate) now: Timestamp,
    /// The number of the next timer that is set.
    pub(crate) order: &'a Cell<u64>,
}
