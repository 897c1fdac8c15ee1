//! Windows with options.

use std::{panic::Location, sync::Arc};

use crate::{
    Duration, Element, PCollection, PTransform,
    exec::WindowIntoFactory,
    graph::Op,
    window::{TimestampCombiner, WindowFn, WindowingStrategy},
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
}

impl WindowInto {
    /// The windows of `window_fn`.
    pub fn of(window_fn: impl WindowFn) -> WindowInto {
        WindowInto { window_fn: Some(Arc::new(window_fn)), ..WindowInto::same() }
    }

    /// The windows that the elements are in; only the options change.
    pub fn same() -> WindowInto {
        WindowInto { window_fn: None, timestamp_combiner: None, allowed_lateness: None }
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
            merged: self.window_fn.is_none() && before.merged,
        };
        if let Err(reason) = after.window_fn.validate() {
            pipeline.error(&step, reason);
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
