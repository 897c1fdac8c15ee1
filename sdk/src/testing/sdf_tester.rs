//! One splittable DoFn without a pipeline.

mod laws;

use std::{collections::VecDeque, fmt, panic::Location, sync::Arc};

use super::harness::{BundleEnd, Harness, Place, Settings, TestTag, rows};
use crate::{
    Duration, Element, ManualClock, PipelineError, Tag, Timestamp, View,
    batch::Batch,
    coder_slot::CoderSlot,
    exec::{KernelSpec, Proto, Residual, SdfElement, SdfFactory, SdfLimits, SdfOp},
    sdf::{RestrictionOf, SplittableDoFn, WatermarkStateOf},
    window::{PaneInfo, Window},
};

type Item<D> = SdfElement<<D as SplittableDoFn>::Input, RestrictionOf<D>, WatermarkStateOf<D>>;

/// Runs one splittable DoFn on one element as a runner does, by the same kernels, and stops, splits and resumes it where
/// the test says so.
///
/// The element's initial restriction is split into *parts*. Each call that works takes the first part that is left;
/// what it gives back is the first again. Restrictions and estimator states go through their coders.
///
/// ```
/// use purlin_sdk::{Emitter, ProcessContext, Result, Timestamp, sdf::*, testing::SdfTester};
/// # /// The numbers from zero up to the element, each a second later than the one before.
/// # #[derive(Clone)]
/// # struct CountUp;
/// # impl SplittableDoFn for CountUp {
/// #     type Input = i64;
/// #     type Output = i64;
/// #     type Tracker = OffsetRangeTracker;
/// #     type Estimator = Monotonic;
/// #     fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> { Ok(OffsetRange::new(0, *n)) }
/// #     fn new_tracker(&self, _: &i64, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
/// #         Ok(OffsetRangeTracker::new(r))
/// #     }
/// #     fn initial_watermark_state(&self, _: &i64, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<Timestamp> {
/// #         Ok(cx.timestamp())
/// #     }
/// #     fn new_watermark_estimator(
/// #         &self, state: Timestamp, _: &i64, _: &OffsetRange, _: &SdfContext<'_>,
/// #     ) -> Result<Monotonic> {
/// #         Ok(Monotonic::new(state))
/// #     }
/// #     fn process(
/// #         &mut self, _: &i64, claims: &Claims<'_, Self>, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>,
/// #     ) -> Result<Continuation> {
/// #         let mut i = claims.restriction().start;
/// #         while claims.try_claim(i) {
/// #             out.emit_at(i, Timestamp::from_secs(i));
/// #             i += 1;
/// #         }
/// #         Ok(Continuation::Stop)
/// #     }
/// # }
/// // `CountUp` emits the numbers from zero up to the element, each at as many seconds.
/// let mut count = SdfTester::of(CountUp).element(10);
/// count.claim_up_to(3)?;
/// assert_eq!(count.output(), [0, 1, 2]);
/// assert_eq!(count.watermark(), Timestamp::from_secs(2));
///
/// count.split_at(1, 0.5)?; // one more claim, then the rest is halved, and the first half is done
/// assert_eq!(count.output(), [3, 4, 5]);
/// assert_eq!(count.restrictions(), [OffsetRange::new(6, 10)]);
///
/// count.run_to_end()?;
/// assert_eq!(count.output(), [6, 7, 8, 9]);
/// assert_eq!(count.watermark(), Timestamp::MAX);
///
/// SdfTester::of(CountUp).element(10).check_laws().unwrap();
/// # Ok::<(), purlin_sdk::PipelineError>(())
/// ```
pub struct SdfTester<D: SplittableDoFn> {
    dofn: D,
    settings: Settings,
    clock: ManualClock,
    place: Place,
    element: Option<D::Input>,
    late_allowed: bool,
    draining: bool,
    started: bool,
    parts: VecDeque<Part<D>>,
    pairing: Harness,
    working: Harness,
}

/// Work that is left.
struct Part<D: SplittableDoFn> {
    batch: Batch<Item<D>>,
    delay: Duration,
}

impl<D: SplittableDoFn> Clone for Part<D> {
    fn clone(&self) -> Part<D> {
        Part { batch: self.batch.clone(), delay: self.delay }
    }
}

impl<D: SplittableDoFn> SdfTester<D> {
    /// A tester of `dofn`, which is cloned for each instance. The element is at the beginning of time in the global
    /// window, and the clock stands at the epoch.
    #[track_caller]
    pub fn of(dofn: D) -> SdfTester<D> {
        let clock = ManualClock::default();
        SdfTester {
            dofn,
            settings: Settings { clock: clock.handle(), ..Settings::new(Location::caller()) },
            clock,
            place: Place::default(),
            element: None,
            late_allowed: false,
            draining: false,
            started: false,
            parts: VecDeque::new(),
            pairing: Harness::default(),
            working: Harness::default(),
        }
    }

    /// What to work on.
    #[must_use]
    pub fn element(mut self, element: D::Input) -> SdfTester<D> {
        self.element = Some(element);
        self
    }

    /// The element's timestamp.
    #[must_use]
    pub fn at(mut self, timestamp: Timestamp) -> SdfTester<D> {
        self.place.timestamp = timestamp;
        self
    }

    /// The element's window.
    #[must_use]
    pub fn window(mut self, window: impl Into<Window>) -> SdfTester<D> {
        self.place.window = window.into();
        self
    }

    /// The pane that the element came from.
    #[must_use]
    pub fn pane(mut self, pane: PaneInfo) -> SdfTester<D> {
        self.place.pane = pane;
        self
    }

    /// Gives `process` a side input, with the same value for every window.
    #[must_use]
    pub fn side<V: Clone + Send + Sync + 'static>(self, view: &View<V>, value: V) -> SdfTester<D> {
        self.side_in(Window::Global, view, value)
    }

    /// Gives `process` a side input with a value for one window: for elements whose window ends in it.
    #[must_use]
    pub fn side_in<V: Clone + Send + Sync + 'static>(
        mut self,
        window: impl Into<Window>,
        view: &View<V>,
        value: V,
    ) -> SdfTester<D> {
        self.settings.sides.set(view, window.into(), value);
        self
    }

    /// Declares a further output.
    #[must_use]
    pub fn tag<T: Element>(mut self, tag: Tag<T>) -> SdfTester<D> {
        self.settings.tags.push(TestTag::new(tag));
        self
    }

    /// Gives it the pipeline's options.
    #[must_use]
    pub fn options<O: Send + Sync + 'static>(mut self, options: O) -> SdfTester<D> {
        self.settings.options = Arc::new(options);
        self
    }

    /// Gives it processing time. [`run_to_end`](Self::run_to_end) moves the clock.
    #[must_use]
    pub fn clock(mut self, clock: &ManualClock) -> SdfTester<D> {
        self.clock = clock.clone();
        self.settings.clock = clock.handle();
        self
    }

    /// Says that outputs may lie behind the watermark, so that [`check_laws`](Self::check_laws) does not look for such.
    #[must_use]
    pub fn allow_late(mut self) -> SdfTester<D> {
        self.late_allowed = true;
        self
    }

    /// Pairs the element with its parts. Calls that work do so by themselves.
    ///
    /// # Errors
    /// What failed in `initial_restriction`, `split`, `size` or `initial_watermark_state`, or that there is no element.
    pub fn start(&mut self) -> Result<&mut SdfTester<D>, PipelineError> {
        if self.started {
            return Ok(self);
        }
        let Some(element) = self.element.clone() else {
            return Err(PipelineError::runner("there is no element to work on: give one by `.element(x)`"));
        };
        let SdfTester { dofn, settings, place, pairing, .. } = self;
        let make = || {
            let op = op(dofn.clone(), settings);
            let kernel = op.pair(&KernelSpec { step: settings.step.clone() });
            Settings { tags: Vec::new(), ..settings.clone() }.stage(kernel, op.input(), op.items())
        };
        pairing.run(settings, make, Box::new(place.batch([(element, None)])), |_| {})?;
        let mut all = pairing.take::<Item<D>>(0);
        while !all.is_empty() {
            let rest = split_off(&mut all, 1);
            self.parts.push_back(Part { batch: std::mem::replace(&mut all, rest), delay: Duration::ZERO });
        }
        self.started = true;
        Ok(self)
    }

    /// Works on the first part that is left until `claims` positions are claimed, and then has the rest given back, as
    /// a runner does that wants to save it. The first claim is always let through, so 0 counts as 1.
    ///
    /// # Errors
    /// What failed the bundle; the part is left as it was. Or that no part is left.
    pub fn claim_up_to(&mut self, claims: u64) -> Result<&mut SdfTester<D>, PipelineError> {
        self.split_at(claims, 0.0)
    }

    /// Works on the first part that is left; once `claims` positions are claimed, the rest is split at `fraction`, while
    /// it runs: what is below it is done, and what is above is the first part that is left.
    ///
    /// # Errors
    /// What failed the bundle; the part is left as it was. Or that no part is left.
    pub fn split_at(&mut self, claims: u64, fraction: f64) -> Result<&mut SdfTester<D>, PipelineError> {
        self.work(Some((claims, fraction)))?;
        Ok(self)
    }

    /// Works on the first part that is left, until it is done or `process` returns `Resume`. The clock stays where it
    /// is, however long the part asked to wait.
    ///
    /// # Errors
    /// What failed the bundle; the part is left as it was. Or that no part is left.
    pub fn resume(&mut self) -> Result<&mut SdfTester<D>, PipelineError> {
        self.work(None)?;
        Ok(self)
    }

    /// Works on all that is left; where a part asks to wait, the clock is moved on by as much.
    ///
    /// # Errors
    /// What failed a bundle, or that there is no end after 10,000 of them.
    pub fn run_to_end(&mut self) -> Result<&mut SdfTester<D>, PipelineError> {
        const MOST: usize = 10_000;
        self.start()?;
        for _ in 0..MOST {
            let Some(part) = self.parts.front() else { return Ok(self) };
            self.clock.advance(part.delay);
            self.work(None)?;
        }
        Err(PipelineError::runner(format!(
            "it has not come to its end after {MOST} bundles; work without an end is brought to one by `.drain()`"
        )))
    }

    /// From now on the pipeline is being drained: parts are truncated before they are worked on.
    pub fn drain(&mut self) -> &mut SdfTester<D> {
        self.draining = true;
        self
    }

    fn work(&mut self, split: Option<(u64, f64)>) -> Result<BundleEnd, PipelineError> {
        self.start()?;
        let Some(part) = self.parts.pop_front() else {
            return Err(PipelineError::runner("no part of the work is left"));
        };
        let SdfTester { dofn, settings, working, draining, .. } = self;
        let make = || {
            let op = op(dofn.clone(), settings);
            let kernel = op.process(&KernelSpec { step: settings.step.clone() });
            settings.stage(kernel, op.items(), Box::new(Batch::<D::Output>::default()))
        };
        let done = working.run(settings, make, Box::new(part.batch.clone()), |cx| {
            cx.draining = *draining;
            cx.limits = SdfLimits { split, ..SdfLimits::default() };
        });
        let (effects, end) = match done {
            Ok(done) => done,
            Err(e) => {
                self.parts.push_front(part);
                return Err(e);
            }
        };
        // Of two the second is the rest of the primary, which comes first.
        for Residual { mut batch, delay, .. } in effects.residuals {
            if let Some(batch) = batch.as_any().downcast_mut::<Batch<Item<D>>>() {
                self.parts.push_front(Part { batch: std::mem::take(batch), delay });
            }
        }
        Ok(end)
    }

    /// Where the parts that are left hold the output watermark: [`Timestamp::MAX`] when none is left.
    pub fn watermark(&self) -> Timestamp {
        if !self.started {
            return self.place.timestamp;
        }
        let holds = self.parts.iter().flat_map(|p| &p.batch.values).map(|item| item.watermark);
        holds.min().unwrap_or(Timestamp::MAX)
    }

    /// The restrictions that are left, the next one first.
    pub fn restrictions(&self) -> Vec<RestrictionOf<D>> {
        self.parts.iter().flat_map(|p| &p.batch.values).map(|item| item.restriction.clone()).collect()
    }

    /// How long the next part asked to wait before it is resumed.
    pub fn delay(&self) -> Option<Duration> {
        self.parts.front().map(|p| p.delay)
    }

    /// Takes what came out of the main output.
    pub fn output(&mut self) -> Vec<D::Output> {
        self.working.take(0).values
    }

    /// Takes what came out of the main output, with timestamps.
    pub fn output_with_times(&mut self) -> Vec<(D::Output, Timestamp)> {
        rows(self.working.take(0)).map(|(value, at, _)| (value, at)).collect()
    }

    /// Takes what came out of a further output.
    ///
    /// # Panics
    /// When the output was not declared by [`tag`](Self::tag).
    #[track_caller]
    pub fn tagged<T: Element>(&mut self, tag: Tag<T>) -> Vec<T> {
        self.working.take_tagged(&self.settings, tag).values
    }

    /// What the counter `name` shows after all bundles that did not fail.
    pub fn counter(&self, name: &str) -> i64 {
        self.working.metrics.counter(self.settings.step.path(), name)
    }

    /// Runs the callbacks that `process` asked for by `cx.finalize`, see
    /// [`DoFnTester::finalize`](super::DoFnTester::finalize).
    ///
    /// # Errors
    /// The first that fails; those after it are gone.
    pub fn finalize(&mut self) -> Result<usize, PipelineError> {
        self.working.finalize(&self.settings)
    }

    /// Tears the instance down, if there is one; the next bundle has a new one.
    ///
    /// # Errors
    /// What failed in `teardown`.
    pub fn teardown(&mut self) -> Result<(), PipelineError> {
        self.working.teardown(&self.settings)
    }
}

fn op<D: SplittableDoFn>(dofn: D, settings: &Settings) -> SdfOp<D> {
    SdfOp {
        input: CoderSlot::default_of_type(),
        alignment: None,
        dofn: Proto::new(dofn),
        views: settings.sides.paths(),
        coder: CoderSlot::default_of_type(),
        items: CoderSlot::default_of_type(),
        tags: settings.tags.iter().map(|t| t.port.clone()).collect(),
    }
}

/// Keeps the first `at` elements and returns the rest.
fn split_off<T>(batch: &mut Batch<T>, at: usize) -> Batch<T> {
    Batch { values: batch.values.split_off(at), meta: batch.meta.split_off(at) }
}

impl<D: SplittableDoFn> Drop for SdfTester<D> {
    fn drop(&mut self) {
        // An error here has nowhere to go: who wants to see it calls `teardown`.
        let _ = self.pairing.teardown(&self.settings);
        let _ = self.teardown();
    }
}

impl<D: SplittableDoFn> fmt::Debug for SdfTester<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tester of {}, {} parts left", std::any::type_name::<D>(), self.parts.len())
    }
}
