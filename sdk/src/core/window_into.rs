//! Windows with options.

use std::{panic::Location, sync::Arc};

use crate::{
    Duration, Element, PCollection, PTransform,
    exec::WindowIntoFactory,
    graph::Op,
    window::{
        AccumulationMode, ClosingBehavior, OnTimeBehavior, TimestampCombiner, Trigger, WindowFn,
        WindowingStrategy,
    },
};

/// A window function with what else groupings downstream should do.
///
/// ```
/// # use purlin_sdk::{Duration, Pipeline, WindowInto, window::*};
/// # let p = Pipeline::new();
/// p.create("Clicks", [1]).window_into(
///     "Minutes",
///     WindowInto::of(FixedWindows::of(Duration::from_minutes(1))).timestamp_combiner(TimestampCombiner::Earliest),
/// );
/// ```
#[derive(Clone, Debug)]
pub struct WindowInto {
    window_fn: Option<Arc<dyn WindowFn>>,
    timestamp_combiner: Option<TimestampCombiner>,
    allowed_lateness: Option<Duration>,
    trigger: Option<Trigger>,
    accumulation: Option<AccumulationMode>,
    closing: Option<ClosingBehavior>,
    on_time: Option<OnTimeBehavior>,
    may_lose_data: bool,
}

impl WindowInto {
    /// The windows of `window_fn`.
    pub fn of(window_fn: impl WindowFn) -> WindowInto {
        WindowInto { window_fn: Some(Arc::new(window_fn)), ..WindowInto::same() }
    }

    /// The windows that the elements are in; only the options change.
    pub fn same() -> WindowInto {
        WindowInto {
            window_fn: None,
            timestamp_combiner: None,
            allowed_lateness: None,
            trigger: None,
            accumulation: None,
            closing: None,
            on_time: None,
            may_lose_data: false,
        }
    }

    /// When panes come out. With any other than the default one, [`discarding`](Self::discarding) or
    /// [`accumulating`](Self::accumulating) must be said too.
    #[must_use]
    pub fn trigger(mut self, trigger: Trigger) -> WindowInto {
        self.trigger = Some(trigger);
        self
    }

    /// Each element is in one pane.
    #[must_use]
    pub fn discarding(mut self) -> WindowInto {
        self.accumulation = Some(AccumulationMode::Discarding);
        self
    }

    /// Each pane has all elements of the window so far.
    #[must_use]
    pub fn accumulating(mut self) -> WindowInto {
        self.accumulation = Some(AccumulationMode::Accumulating);
        self
    }

    /// For how long after the watermark passed a window's end its data still count. What was allowed upstream is never
    /// made shorter.
    #[must_use]
    pub fn allowed_lateness(mut self, lateness: Duration) -> WindowInto {
        self.allowed_lateness = Some(lateness);
        self
    }

    /// Whether a window's last pane comes out with nothing new in it.
    #[must_use]
    pub fn closing(mut self, closing: ClosingBehavior) -> WindowInto {
        self.closing = Some(closing);
        self
    }

    /// Whether the pane at a window's end comes out with nothing new in it.
    #[must_use]
    pub fn on_time(mut self, on_time: OnTimeBehavior) -> WindowInto {
        self.on_time = Some(on_time);
        self
    }

    /// Takes a trigger that may end: what comes to a window after that is dropped, and counted. Beam's
    /// `--allow_unsafe_triggers`, for this windowing.
    #[must_use]
    pub fn allow_data_loss(mut self) -> WindowInto {
        self.may_lose_data = true;
        self
    }

    /// What timestamp a grouped result gets.
    #[must_use]
    pub fn timestamp_combiner(mut self, combiner: TimestampCombiner) -> WindowInto {
        self.timestamp_combiner = Some(combiner);
        self
    }

    pub(crate) fn apply_at<T: Element>(
        self,
        input: &PCollection<T>,
        name: &str,
        site: &'static Location<'static>,
    ) -> PCollection<T> {
        let pipeline = input.pipeline();
        let step = pipeline.name(name, site);
        let before = input.windowing();
        let after = WindowingStrategy {
            window_fn: self.window_fn.clone().unwrap_or_else(|| before.window_fn.clone()),
            timestamp_combiner: self.timestamp_combiner.unwrap_or(before.timestamp_combiner),
            // Windowing again never shrinks the lateness that was allowed before.
            allowed_lateness: self.allowed_lateness.unwrap_or_default().max(before.allowed_lateness),
            trigger: self.trigger.clone().unwrap_or_else(|| before.trigger.clone()),
            accumulation: self.accumulation.unwrap_or(before.accumulation),
            closing: self.closing.unwrap_or(before.closing),
            on_time: self.on_time.unwrap_or(before.on_time),
            may_lose_data: self.may_lose_data || (self.trigger.is_none() && before.may_lose_data),
            merged: self.window_fn.is_none() && before.merged,
        };
        for checked in [after.window_fn.validate(), after.trigger.validate(), self.check()] {
            if let Err(reason) = checked {
                pipeline.error(&step, reason);
            }
        }
        let coder = input.coder_slot().copied();
        let op = match self.window_fn {
            Some(window_fn) => Op::Element(Arc::new(WindowIntoFactory { window_fn, coder: coder.clone() })),
            None => Op::Flatten(Arc::new(|| Box::new(crate::batch::Batch::<T>::default()))),
        };
        let node = pipeline.add(step, vec![input.id()], op);
        pipeline.output_with(node, after, input.is_bounded(), coder)
    }
}

impl WindowInto {
    /// What is wrong with the options themselves.
    fn check(&self) -> Result<(), String> {
        if self.allowed_lateness.is_some_and(|d| d < Duration::ZERO) {
            return Err("the allowed lateness is negative; the least is zero".into());
        }
        match &self.trigger {
            Some(trigger) if !trigger.is_plain() && self.accumulation.is_none() => Err(format!(
                "with the trigger {trigger} a window may have several panes, so say what each contains: \
                 `.discarding()` for what is new, `.accumulating()` for all so far"
            )),
            _ => Ok(()),
        }
    }
}

impl<W: WindowFn> From<W> for WindowInto {
    fn from(window_fn: W) -> WindowInto {
        WindowInto::of(window_fn)
    }
}

impl<T: Element> PTransform<PCollection<T>> for WindowInto {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        self.apply_at(&input, "Assign", Location::caller())
    }
}
