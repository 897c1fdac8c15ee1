//! One DoFn without a pipeline.

use std::{fmt, panic::Location, sync::Arc};

use super::harness::{Harness, Place, Settings, TestTag, rows};
use crate::{
    DoFn, Element, Failed, ManualClock, PipelineError, Tag, Timestamp, View,
    batch::Batch,
    coder_slot::CoderSlot,
    exec::{KernelFactory, KernelSpec, ParDoFactory, Proto, Slot},
    metrics::{DistributionValue, GaugeValue},
    window::{PaneInfo, Window},
};

/// Runs one DoFn as a runner does, by the same kernels: `setup` before the first bundle, bundles, `teardown` when it is
/// dropped; every output goes through its coder.
///
/// ```
/// use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, Tag, testing::DoFnTester};
/// const BAD: Tag<String> = Tag::new("bad");
///
/// #[derive(Clone)]
/// struct Parse;
/// impl DoFn for Parse {
///     type Input = String;
///     type Output = i64;
///     fn process(&mut self, line: String, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
///         match line.parse() {
///             Ok(n) => out.emit(n),
///             Err(_) => out.emit_to(BAD, line),
///         }
///         Ok(())
///     }
/// }
///
/// let mut parse = DoFnTester::of(Parse).tag(BAD);
/// parse.process("7".to_owned())?.process("seven".to_owned())?;
/// assert_eq!(parse.main(), [7]);
/// assert_eq!(parse.tagged(BAD), ["seven"]);
/// # Ok::<(), purlin_sdk::PipelineError>(())
/// ```
/// What the DoFn is given (`side`, `tag`, `options`, `clock`) is said once, at the beginning; where elements are (`at`,
/// `window`, `pane`, `watermark`) holds for the calls of `process` that follow. Source: Beam's `DoFnTester`.
pub struct DoFnTester<D: DoFn> {
    dofn: D,
    settings: Settings,
    dead_letters: Option<Tag<Failed<D::Input>>>,
    place: Place,
    watermark: Option<Timestamp>,
    harness: Harness,
}

impl<D: DoFn> DoFnTester<D> {
    /// A tester of `dofn`, which is cloned for each instance. Elements are at the beginning of time in the global
    /// window, and the clock stands at the epoch.
    #[track_caller]
    pub fn of(dofn: D) -> DoFnTester<D> {
        DoFnTester {
            dofn,
            settings: Settings::new(Location::caller()),
            dead_letters: None,
            place: Place::default(),
            watermark: None,
            harness: Harness::default(),
        }
    }

    /// Gives it a side input, with the same value for every window. The view is made by a pipeline that need not run; a
    /// list, map or multimap is made from a `Vec` or `HashMap` by `.into()`.
    #[must_use]
    pub fn side<V: Clone + Send + Sync + 'static>(self, view: &View<V>, value: V) -> DoFnTester<D> {
        self.side_in(Window::Global, view, value)
    }

    /// Gives it a side input with a value for one window: for elements whose window ends in it.
    #[must_use]
    pub fn side_in<V: Clone + Send + Sync + 'static>(
        mut self,
        window: impl Into<Window>,
        view: &View<V>,
        value: V,
    ) -> DoFnTester<D> {
        self.settings.sides.set(view, window.into(), value);
        self
    }

    /// Declares a further output.
    #[must_use]
    pub fn tag<T: Element>(mut self, tag: Tag<T>) -> DoFnTester<D> {
        self.settings.tags.push(TestTag::new(tag));
        self
    }

    /// Declares an output for elements that `process` refuses, see [`ParDo::dead_letters`](crate::ParDo::dead_letters).
    #[must_use]
    pub fn dead_letters(mut self, tag: Tag<Failed<D::Input>>) -> DoFnTester<D> {
        self.dead_letters = Some(tag);
        self.tag(tag)
    }

    /// Gives it the pipeline's options.
    #[must_use]
    pub fn options<O: Send + Sync + 'static>(mut self, options: O) -> DoFnTester<D> {
        self.settings.options = Arc::new(options);
        self
    }

    /// Gives it processing time.
    #[must_use]
    pub fn clock(mut self, clock: &ManualClock) -> DoFnTester<D> {
        self.settings.clock = clock.handle();
        self
    }

    /// The timestamp of the elements that follow.
    pub fn at(&mut self, timestamp: Timestamp) -> &mut DoFnTester<D> {
        self.place.timestamp = timestamp;
        self
    }

    /// The window of the elements that follow.
    pub fn window(&mut self, window: impl Into<Window>) -> &mut DoFnTester<D> {
        self.place.window = window.into();
        self
    }

    /// The pane of the elements that follow.
    pub fn pane(&mut self, pane: PaneInfo) -> &mut DoFnTester<D> {
        self.place.pane = pane;
        self
    }

    /// The watermark before the bundles that follow.
    pub fn watermark(&mut self, watermark: Timestamp) -> &mut DoFnTester<D> {
        self.watermark = Some(watermark);
        self
    }

    /// Processes one element, in a bundle of its own.
    ///
    /// # Errors
    /// What failed the bundle. What it emitted is thrown away, the instance is torn down, and the next bundle has a new
    /// one.
    pub fn process(&mut self, element: D::Input) -> Result<&mut DoFnTester<D>, PipelineError> {
        self.process_bundle([element])
    }

    /// Processes elements in one bundle; with none the bundle starts and finishes all the same.
    ///
    /// # Errors
    /// What failed the bundle, see [`process`](Self::process).
    pub fn process_bundle(
        &mut self,
        elements: impl IntoIterator<Item = D::Input>,
    ) -> Result<&mut DoFnTester<D>, PipelineError> {
        let batch = self.place.batch(elements.into_iter().map(|e| (e, None)));
        self.run(batch)
    }

    /// Processes elements, each at its own time, in one bundle.
    ///
    /// # Errors
    /// What failed the bundle, see [`process`](Self::process).
    pub fn process_bundle_at(
        &mut self,
        elements: impl IntoIterator<Item = (D::Input, Timestamp)>,
    ) -> Result<&mut DoFnTester<D>, PipelineError> {
        let batch = self.place.batch(elements.into_iter().map(|(e, at)| (e, Some(at))));
        self.run(batch)
    }

    fn run(&mut self, batch: Batch<D::Input>) -> Result<&mut DoFnTester<D>, PipelineError> {
        let DoFnTester { dofn, settings, dead_letters, watermark, harness, .. } = self;
        let make = || stage(dofn.clone(), settings, *dead_letters);
        harness.run(settings, make, Box::new(batch), |cx| cx.watermark = *watermark)?;
        Ok(self)
    }

    /// Takes what came out of the main output.
    pub fn main(&mut self) -> Vec<D::Output> {
        self.harness.take(0).values
    }

    /// Takes what came out of the main output, with timestamps.
    pub fn main_with_times(&mut self) -> Vec<(D::Output, Timestamp)> {
        rows(self.harness.take(0)).map(|(value, at, _)| (value, at)).collect()
    }

    /// Takes what came out of the main output, with timestamps and windows.
    pub fn main_with_windows(&mut self) -> Vec<(D::Output, Timestamp, Window)> {
        rows(self.harness.take(0)).collect()
    }

    /// Takes what came out of a further output.
    ///
    /// # Panics
    /// When the output was not declared by [`tag`](Self::tag).
    #[track_caller]
    pub fn tagged<T: Element>(&mut self, tag: Tag<T>) -> Vec<T> {
        self.harness.take_tagged(&self.settings, tag).values
    }

    /// Takes what came out of a further output, with timestamps.
    ///
    /// # Panics
    /// When the output was not declared by [`tag`](Self::tag).
    #[track_caller]
    pub fn tagged_with_times<T: Element>(&mut self, tag: Tag<T>) -> Vec<(T, Timestamp)> {
        rows(self.harness.take_tagged(&self.settings, tag)).map(|(value, at, _)| (value, at)).collect()
    }

    /// What the counter `name` shows after all bundles that did not fail.
    pub fn counter(&self, name: &str) -> i64 {
        self.harness.metrics.counter(self.settings.step.path(), name)
    }

    /// What the distribution `name` shows after all bundles that did not fail.
    pub fn distribution(&self, name: &str) -> Option<DistributionValue> {
        self.harness.metrics.distribution(self.settings.step.path(), name)
    }

    /// What the gauge `name` shows after all bundles that did not fail.
    pub fn gauge(&self, name: &str) -> Option<GaugeValue> {
        self.harness.metrics.gauge(self.settings.step.path(), name)
    }

    /// Runs the callbacks that `process` asked for by `cx.finalize`, in bundles that did not fail and not yet, unless
    /// they are past their expiry; says how many there were.
    ///
    /// # Errors
    /// The first that fails; those after it are gone.
    pub fn finalize(&mut self) -> Result<usize, PipelineError> {
        self.harness.finalize(&self.settings)
    }

    /// Tears the instance down, if there is one; the next bundle has a new one.
    ///
    /// # Errors
    /// What failed in `teardown`.
    pub fn teardown(&mut self) -> Result<(), PipelineError> {
        self.harness.teardown(&self.settings)
    }
}

fn stage<D: DoFn>(dofn: D, settings: &Settings, dead_letters: Option<Tag<Failed<D::Input>>>) -> Vec<Slot> {
    let factory = ParDoFactory {
        dofn: Proto::new(dofn),
        views: settings.sides.paths(),
        coder: CoderSlot::default_of_type(),
        tags: settings.tags.iter().map(|t| t.port.clone()).collect(),
        dead_letters,
    };
    let kernel = factory.kernel(&KernelSpec { step: settings.step.clone() });
    settings.stage(kernel, factory.input(), Box::new(Batch::<D::Output>::default()))
}

impl<D: DoFn> Drop for DoFnTester<D> {
    fn drop(&mut self) {
        // An error here has nowhere to go: who wants to see it calls `teardown`.
        let _ = self.teardown();
    }
}

impl<D: DoFn> fmt::Debug for DoFnTester<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tester of {}", std::any::type_name::<D>())
    }
}
