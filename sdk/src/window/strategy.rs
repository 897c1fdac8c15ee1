//! How a collection is windowed.

use std::{fmt, sync::Arc};

use super::{
    AccumulationMode, ClosingBehavior, GlobalWindows, OnTimeBehavior, TimestampCombiner, Trigger, WindowFn,
};
use crate::Duration;

/// How a collection is windowed: the window function, and what groupings downstream of it do.
#[derive(Clone)]
pub struct WindowingStrategy {
    /// What put the elements into their windows.
    pub window_fn: Arc<dyn WindowFn>,
    /// The timestamp of grouped results.
    pub timestamp_combiner: TimestampCombiner,
    /// How long after the watermark passed a window's end its data still count.
    pub allowed_lateness: Duration,
    /// When panes come out.
    pub trigger: Trigger,
    /// What a pane contains beside what is new.
    pub accumulation: AccumulationMode,
    /// Whether the last pane comes out with nothing new in it.
    pub closing: ClosingBehavior,
    /// Whether the pane at the window's end comes out with nothing new in it.
    pub on_time: OnTimeBehavior,
    /// Whether a trigger may end and so close windows that data may still come for.
    pub may_lose_data: bool,
    /// Whether merging windows were already merged by a grouping; then they stay as they are.
    pub merged: bool,
}

impl WindowingStrategy {
    /// The global window: what every pipeline starts with.
    pub fn global() -> WindowingStrategy {
        WindowingStrategy {
            window_fn: Arc::new(GlobalWindows),
            timestamp_combiner: TimestampCombiner::default(),
            allowed_lateness: Duration::ZERO,
            trigger: Trigger::default(),
            accumulation: AccumulationMode::default(),
            closing: ClosingBehavior::default(),
            on_time: OnTimeBehavior::default(),
            may_lose_data: false,
            merged: false,
        }
    }

    /// Whether a grouping must merge windows.
    pub fn needs_merging(&self) -> bool {
        self.window_fn.is_merging() && !self.merged
    }

    /// Whether each window comes out once, when the watermark passes its end, and is gone: then its data need not be
    /// kept by key.
    pub fn is_plain(&self) -> bool {
        self.trigger.is_plain()
            && self.allowed_lateness == Duration::ZERO
            && self.timestamp_combiner != TimestampCombiner::EarliestTransformed
            && !self.needs_merging()
    }

    /// Whether a window of a key may come out more than once: its trigger fires again and again, or late data may come.
    pub fn may_have_several_panes(&self) -> bool {
        match self.trigger.0 {
            super::TriggerNode::Never => false,
            _ if self.trigger.is_plain() => {
                self.allowed_lateness > Duration::ZERO && !self.window_fn.is_global()
            }
            _ => true,
        }
    }

    /// How a collection is windowed that a grouping of this one makes.
    #[must_use]
    pub fn after_grouping(&self) -> WindowingStrategy {
        WindowingStrategy {
            merged: self.merged || self.window_fn.is_merging(),
            trigger: self.trigger.continuation(),
            ..self.clone()
        }
    }

    /// What makes a grouping of this windowing lose data, in words for a build error.
    ///
    /// # Errors
    /// When its trigger may end while data may still come.
    pub fn check_trigger(&self) -> Result<(), String> {
        // At lateness zero nothing can come after the window's end, where such a trigger ends.
        let ends_with_window = matches!(self.trigger.0, super::TriggerNode::AfterWatermark { .. })
            && self.allowed_lateness == Duration::ZERO;
        if self.may_lose_data || ends_with_window || !self.trigger.may_finish() {
            return Ok(());
        }
        Err(format!(
            "its trigger, {}, may end, which closes the window: everything that comes later would be dropped. Three ways \
             out: repeat it by `Trigger::repeatedly`; use `Trigger::after_watermark()` with `.late(..)`; or, where the \
             rest is not wanted, say so by `WindowInto::allow_data_loss()`",
            self.trigger
        ))
    }

    /// Whether the two put elements into the same windows.
    pub fn same_windows(&self, other: &WindowingStrategy) -> bool {
        self.window_fn.spec() == other.window_fn.spec()
    }
}

impl fmt::Display for WindowingStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.window_fn.spec())
    }
}

impl fmt::Debug for WindowingStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({:?}, lateness {}, trigger {}, {:?}, closing {:?}, on time {:?})",
            self.window_fn.spec(),
            self.timestamp_combiner,
            self.allowed_lateness,
            self.trigger,
            self.accumulation,
            self.closing,
            self.on_time
        )
    }
}
