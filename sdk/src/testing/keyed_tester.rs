//! One keyed DoFn without a pipeline.

use std::{fmt, panic::Location, sync::Arc};

use super::harness::{Harness, Place, Settings, TestTag, rows};
use crate::{
    Clock, Duration, Element, KeyedDoFn, ManualClock, PipelineError, Tag, Timestamp, View,
    batch::Batch,
    coder_slot::CoderSlot,
    exec::{GroupFactory, GroupState, KernelSpec, KeyStore, KeyedReport, Proto, Slot, StatefulOp},
    window::{PaneInfo, Window},
};

/// Runs one [`KeyedDoFn`] as a runner does, by the same kernel: elements, the watermark and processing time come as they
/// are told to, timers fire when they are due, state is removed when its window expires, and every output goes through
/// its coder.
///
/// ```
/// # use purlin_derive::KeyedState;
/// use purlin_sdk::{state::{Bag, Timer}, testing::KeyedTester, *};
///
/// #[derive(KeyedState)]
/// # #[keyed_state(crate = "purlin_sdk")]
/// struct Cart {
///     items: Bag<String>,
///     #[timer(event)]
///     expiry: Timer,
/// }
///
/// /// Gives a cart up that nothing was put into for an hour.
/// #[derive(Clone)]
/// struct Abandoned;
/// impl KeyedDoFn for Abandoned {
///     type Key = u64;
///     type Value = String;
///     type Output = (u64, Vec<String>);
///     type State = Cart;
///     fn process(
///         &mut self,
///         _: &u64,
///         item: String,
///         cart: &mut Cart,
///         cx: &ProcessContext<'_>,
///         _: &mut Emitter<'_, Self::Output>,
///     ) -> Result {
///         cart.items.add(item);
///         cart.expiry.set(cx, cx.timestamp() + Duration::from_hours(1))
///     }
///     fn on_timer(
///         &mut self,
///         _: CartTimer,
///         user: &u64,
///         cart: &mut Cart,
///         _: &TimerContext<'_>,
///         out: &mut Emitter<'_, Self::Output>,
///     ) -> Result {
///         out.emit((*user, cart.items.take()));
///         Ok(())
///     }
/// }
///
/// let at = Timestamp::from_secs;
/// let mut cart = KeyedTester::of(Abandoned);
/// cart.at(at(0)).process(7, "shoes".to_owned())?;
/// assert_eq!(cart.state(&7).map(|cart| cart.items.len()), Some(1));
/// cart.advance_watermark(at(3600))?; // not yet: it fires when the watermark has passed its time
/// assert_eq!(cart.main(), []);
/// cart.advance_watermark(at(3601))?;
/// assert_eq!(cart.main(), [(7, vec!["shoes".to_owned()])]);
/// assert!(cart.state(&7).is_none()); // nothing is left to be kept
/// # Ok::<(), PipelineError>(())
/// ```
/// What the DoFn is given (`side`, `tag`, `allowed_lateness`, ...) is said once, at the beginning; where elements are
/// (`at`, `window`, `pane`) holds for the calls of `process` that follow. Source: Beam's `DoFnTester` and `TestStream`.
pub struct KeyedTester<D: KeyedDoFn> {
    dofn: D,
    settings: Settings,
    late: Option<Tag<(D::Key, D::Value)>>,
    lateness: Duration,
    time_sorted: bool,
    place: Place,
    watermark: Option<Timestamp>,
    clock: ManualClock,
    state: Option<Box<dyn GroupState>>,
    harness: Harness,
}

impl<D: KeyedDoFn> KeyedTester<D> {
    /// A tester of `dofn`, which is cloned for each instance. Elements are at the beginning of time in the global
    /// window, there is no watermark yet, and the clock stands at the epoch.
    #[track_caller]
    pub fn of(dofn: D) -> KeyedTester<D> {
        let clock = ManualClock::default();
        let mut settings = Settings::new(Location::caller());
        settings.clock = clock.handle();
        KeyedTester {
            dofn,
            settings,
            late: None,
            lateness: Duration::ZERO,
            time_sorted: false,
            place: Place::default(),
            watermark: None,
            clock,
            state: None,
            harness: Harness::default(),
        }
    }

    /// Gives it a side input, with the same value for every window. The view is made by a pipeline that need not run; a
    /// list, map or multimap is made from a `Vec` or `HashMap` by `.into()`.
    #[must_use]
    pub fn side<V: Clone + Send + Sync + 'static>(self, view: &View<V>, value: V) -> KeyedTester<D> {
        self.side_in(Window::Global, view, value)
    }

    /// Gives it a side input with a value for one window: for elements and timers whose window ends in it.
    #[must_use]
    pub fn side_in<V: Clone + Send + Sync + 'static>(
        mut self,
        window: impl Into<Window>,
        view: &View<V>,
        value: V,
    ) -> KeyedTester<D> {
        self.settings.sides.set(view, window.into(), value);
        self
    }

    /// Declares a further output.
    #[must_use]
    pub fn tag<T: Element>(mut self, tag: Tag<T>) -> KeyedTester<D> {
        self.settings.tags.push(TestTag::new(tag));
        self
    }

    /// Declares an output for elements that come too late, see [`KeyedParDo::late_data`](crate::KeyedParDo::late_data).
    #[must_use]
    pub fn late_data(mut self, tag: Tag<(D::Key, D::Value)>) -> KeyedTester<D> {
        self.late = Some(tag);
        self.tag(tag)
    }

    /// How long after its end a window is kept.
    #[must_use]
    pub fn allowed_lateness(mut self, lateness: Duration) -> KeyedTester<D> {
        self.lateness = lateness;
        self
    }

    /// Elements come in the order of time, see [`KeyedParDo::time_sorted`](crate::KeyedParDo::time_sorted).
    #[must_use]
    pub fn time_sorted(mut self) -> KeyedTester<D> {
        self.time_sorted = true;
        self
    }

    /// Gives it the pipeline's options.
    #[must_use]
    pub fn options<O: Send + Sync + 'static>(mut self, options: O) -> KeyedTester<D> {
        self.settings.options = Arc::new(options);
        self
    }

    /// The timestamp of the elements that follow.
    pub fn at(&mut self, timestamp: Timestamp) -> &mut KeyedTester<D> {
        self.place.timestamp = timestamp;
        self
    }

    /// The window of the elements that follow, and of the state that is looked at.
    pub fn window(&mut self, window: impl Into<Window>) -> &mut KeyedTester<D> {
        self.place.window = window.into();
        self
    }

    /// The pane of the elements that follow.
    pub fn pane(&mut self, pane: PaneInfo) -> &mut KeyedTester<D> {
        self.place.pane = pane;
        self
    }

    /// Processes one element, in a bundle of its own.
    ///
    /// # Errors
    /// What failed the bundle. What it emitted is thrown away, state and timers are as they were before, the instance is
    /// torn down, and the next bundle has a new one.
    pub fn process(&mut self, key: D::Key, value: D::Value) -> Result<&mut KeyedTester<D>, PipelineError> {
        self.process_bundle([(key, value)])
    }

    /// Processes elements in one bundle.
    ///
    /// # Errors
    /// What failed the bundle, see [`process`](Self::process).
    pub fn process_bundle(
        &mut self,
        elements: impl IntoIterator<Item = (D::Key, D::Value)>,
    ) -> Result<&mut KeyedTester<D>, PipelineError> {
        let batch = self.place.batch(elements.into_iter().map(|e| (e, None)));
        self.run(batch)
    }

    /// Processes elements, each at its own time, in one bundle.
    ///
    /// # Errors
    /// What failed the bundle, see [`process`](Self::process).
    pub fn process_bundle_at(
        &mut self,
        elements: impl IntoIterator<Item = ((D::Key, D::Value), Timestamp)>,
    ) -> Result<&mut KeyedTester<D>, PipelineError> {
        let batch = self.place.batch(elements.into_iter().map(|(e, at)| (e, Some(at))));
        self.run(batch)
    }

    /// Moves the input watermark to `watermark`, and fires and expires what is due then, in one bundle.
    ///
    /// # Errors
    /// What failed the bundle; that the watermark cannot go back.
    pub fn advance_watermark(&mut self, watermark: Timestamp) -> Result<&mut KeyedTester<D>, PipelineError> {
        if let Some(before) = self.watermark.filter(|before| *before > watermark) {
            return Err(PipelineError::runner(format!(
                "the watermark cannot go back from {before} to {watermark}"
            )));
        }
        self.watermark = Some(watermark);
        self.work_off()
    }

    /// Moves the input watermark to the end of time, as when the input is over.
    ///
    /// # Errors
    /// What failed the bundle.
    pub fn finish(&mut self) -> Result<&mut KeyedTester<D>, PipelineError> {
        self.advance_watermark(Timestamp::MAX)
    }

    /// Lets processing time pass, and fires what is due then, in one bundle.
    ///
    /// # Errors
    /// What failed the bundle.
    pub fn advance_clock(&mut self, by: Duration) -> Result<&mut KeyedTester<D>, PipelineError> {
        self.clock.advance(by);
        self.work_off()
    }

    fn work_off(&mut self) -> Result<&mut KeyedTester<D>, PipelineError> {
        let KeyedReport { due, due_clock, .. } = self.report();
        if due < self.watermark.unwrap_or(Timestamp::MIN) || due_clock <= self.clock.now() {
            self.run(Batch::default())?;
        }
        Ok(self)
    }

    fn report(&self) -> KeyedReport {
        self.state.as_ref().map_or(KeyedReport::IDLE, |state| state.report())
    }

    fn op(&self) -> StatefulOp<D> {
        StatefulOp {
            dofn: Proto::new(self.dofn.clone()),
            views: self.settings.sides.paths(),
            coder: CoderSlot::default_of_type(),
            tags: self.settings.tags.iter().map(|t| t.port.clone()).collect(),
            late: self.late,
            lateness: self.lateness,
            time_sorted: self.time_sorted,
            declared: serde_json::Value::Null,
        }
    }

    fn run(&mut self, batch: Batch<(D::Key, D::Value)>) -> Result<&mut KeyedTester<D>, PipelineError> {
        let op = self.op();
        let now = self.clock.now();
        let KeyedTester { settings, watermark, state, harness, .. } = self;
        state.get_or_insert_with(|| Box::new(op.store()));
        let make = || stage(&op, settings);
        harness.run_keyed(settings, make, Box::new(batch), state, |cx| {
            cx.watermark = *watermark;
            cx.now = now;
        })?;
        Ok(self)
    }

    /// The state of `key` in the window that was said last; nothing when it has none, or an empty one.
    pub fn state(&mut self, key: &D::Key) -> Option<&D::State> {
        let store = self.state.as_mut()?.as_any().downcast_ref::<KeyStore<D::Key, D::Value, D::State>>()?;
        store.state(key, &self.place.window)
    }

    /// How many keys and windows have state.
    pub fn states(&mut self) -> usize {
        let store = self.state.as_mut().and_then(|state| state.as_any().downcast_ref());
        store.map_or(0, KeyStore::<D::Key, D::Value, D::State>::len)
    }

    /// How far the output watermark may be: the input watermark, unless timers or windows hold it.
    pub fn output_watermark(&self) -> Timestamp {
        self.watermark.unwrap_or(Timestamp::MIN).min(self.report().hold)
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

    /// What the counter `name` shows after all bundles that did not fail.
    pub fn counter(&self, name: &str) -> i64 {
        self.harness.metrics.counter(self.settings.step.path(), name)
    }

    /// Runs the callbacks that were asked for by `cx.finalize`, in bundles that did not fail and not yet, unless they are
    /// past their expiry; says how many there were.
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

fn stage<D: KeyedDoFn>(op: &StatefulOp<D>, settings: &Settings) -> Vec<Slot> {
    let kernel = op.root(&KernelSpec { step: settings.step.clone() });
    settings.stage(kernel, op.input(), Box::new(Batch::<D::Output>::default()))
}

impl<D: KeyedDoFn> Drop for KeyedTester<D> {
    fn drop(&mut self) {
        // An error here has nowhere to go: who wants to see it calls `teardown`.
        let _ = self.teardown();
    }
}

impl<D: KeyedDoFn> fmt::Debug for KeyedTester<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tester of {}", std::any::type_name::<D>())
    }
}
