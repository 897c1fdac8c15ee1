//! What user code may ask while it runs.

use std::{any::type_name, fmt, ops::Deref, sync::Arc};

use crate::{
    DoFnError, Result, Step, Timestamp,
    batch::{Row, WindowSet},
    exec::{BundleCx, Finalizer},
    keyed_dofn::TimerRules,
    metrics::{BoundedTrie, Counter, Distribution, Gauge, StringSet},
    state::{TimerScope, sealed::Sealed},
    view::View,
    window::{PaneInfo, ValueKind, Window},
};

/// A transform in a bundle.
#[derive(Clone, Copy)]
pub(crate) struct StepScope<'a> {
    pub(crate) cx: &'a BundleCx,
    pub(crate) step: &'a Step,
    /// Paths of the side inputs that the transform was given.
    pub(crate) views: &'a [Arc<str>],
}

impl StepScope<'_> {
    /// The side input, for `window`.
    pub(crate) fn side<V: Clone + Send + Sync + 'static>(
        &self,
        view: &View<V>,
        window: &Window,
    ) -> Result<V> {
        let StepScope { cx, step, views } = self;
        if !views.iter().any(|path| path == view.path()) {
            return Err(DoFnError::msg(format!(
                "`{}` reads the side input `{}` and was not given it: add `.side(&view)` where it is applied, to a `ParDo` \
                 that is applied by `par_do_with`, or to what the transform is otherwise made by; `map_cx` and its like have \
                 none",
                step.path(),
                view.path()
            )));
        }
        cx.last_sides.get(&cx.views, view, window)
    }
}

/// In `setup` and `teardown`: outside any bundle.
pub struct SetupContext<'a> {
    scope: StepScope<'a>,
}

impl<'a> SetupContext<'a> {
    pub(crate) fn new(scope: StepScope<'a>) -> SetupContext<'a> {
        SetupContext { scope }
    }

    /// The pipeline's own options.
    ///
    /// # Errors
    /// When the pipeline was built with options of another type.
    pub fn options<O: 'static>(&self) -> Result<&'a O> {
        options(self.scope)
    }

    /// The transform's full path.
    pub fn path(&self) -> &'a str {
        self.scope.step.path()
    }
}

impl fmt::Debug for SetupContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setup of {}", self.scope.step)
    }
}

/// In `start_bundle` and `finish_bundle`, and what is the same for every element of a bundle.
pub struct BundleContext<'a> {
    scope: StepScope<'a>,
}

impl<'a> BundleContext<'a> {
    pub(crate) fn new(scope: StepScope<'a>) -> BundleContext<'a> {
        BundleContext { scope }
    }

    /// The pipeline's own options.
    ///
    /// # Errors
    /// When the pipeline was built with options of another type.
    pub fn options<O: 'static>(&self) -> Result<&'a O> {
        options(self.scope)
    }

    /// The transform's full path.
    pub fn path(&self) -> &'a str {
        self.scope.step.path()
    }

    /// A number that only grows, such as how many lines were bad. Added to the run's result when the bundle commits.
    pub fn counter(&self, name: &'static str) -> Counter<'a> {
        self.scope.cx.metrics().counter(self.scope.step, name)
    }

    /// Sum, count, least and greatest of what is recorded.
    pub fn distribution(&self, name: &'static str) -> Distribution<'a> {
        self.scope.cx.metrics().distribution(self.scope.step, name)
    }

    /// The latest of the values that are set.
    pub fn gauge(&self, name: &'static str) -> Gauge<'a> {
        self.scope.cx.metrics().gauge(self.scope.step, name, self.scope.cx.env.clock.now())
    }

    /// Strings that are worth knowing, each once, such as the topics that were read.
    pub fn string_set(&self, name: &'static str) -> StringSet<'a> {
        self.scope.cx.metrics().string_set(self.scope.step, name)
    }

    /// Paths that are worth knowing, such as the files that were read; where there are too many, where most are.
    pub fn bounded_trie(&self, name: &'static str) -> BoundedTrie<'a> {
        self.scope.cx.metrics().bounded_trie(self.scope.step, name)
    }

    /// The watermark of this transform's input before this bundle; nothing before there was one.
    pub fn current_watermark(&self) -> Option<Timestamp> {
        self.scope.cx.current_watermark()
    }

    /// Processing time, by the run's clock.
    pub fn now(&self) -> Timestamp {
        self.scope.cx.env.clock.now()
    }

    /// Runs `callback` once this bundle is durably committed: acknowledge a message, rename a file. It runs at most
    /// once, and never for a bundle that failed. Its own failure is logged and loses no data.
    pub fn finalize(&self, callback: impl FnOnce() -> Result + Send + 'static) {
        self.finalize_before(Timestamp::MAX, callback);
    }

    /// Like [`finalize`](Self::finalize), but not after `expiry` in processing time.
    pub fn finalize_before(&self, expiry: Timestamp, callback: impl FnOnce() -> Result + Send + 'static) {
        let finalizer = Finalizer { step: self.scope.step.clone(), expiry, callback: Box::new(callback) };
        self.scope.cx.effects().finalizers.push(finalizer);
    }
}

impl fmt::Debug for BundleContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bundle of {}", self.scope.step)
    }
}

/// In `process`: everything about the element beside its value. It has all of [`BundleContext`] too.
pub struct ProcessContext<'a> {
    bundle: BundleContext<'a>,
    row: Row<'a>,
    // In a keyed DoFn: what its timers must obey.
    timers: Option<&'a TimerRules>,
}

impl<'a> ProcessContext<'a> {
    pub(crate) fn new(scope: StepScope<'a>, row: Row<'a>) -> ProcessContext<'a> {
        ProcessContext { bundle: BundleContext { scope }, row, timers: None }
    }

    /// The context of an element of a keyed DoFn.
    pub(crate) fn keyed(scope: StepScope<'a>, row: Row<'a>, timers: &'a TimerRules) -> ProcessContext<'a> {
        ProcessContext { bundle: BundleContext { scope }, row, timers: Some(timers) }
    }

    pub(crate) fn set_row(&mut self, row: Row<'a>) {
        self.row = row;
    }

    /// The element's timestamp.
    #[inline]
    pub fn timestamp(&self) -> Timestamp {
        self.row.time()
    }

    /// The window that the element is processed in.
    pub fn window(&self) -> Window {
        match self.row.windows() {
            WindowSet::One(w) => w,
            // Elements are taken apart by window before user code sees them.
            WindowSet::Many(ws) => ws.first().cloned().unwrap_or(Window::Global),
        }
    }

    /// The firing that the element came from.
    pub fn pane(&self) -> PaneInfo {
        self.row.pane()
    }

    /// What the element does to the result that a reader keeps: [`ValueKind::Insert`] unless a DoFn upstream said
    /// otherwise by [`Emitter::emit_with_kind`](crate::Emitter::emit_with_kind). What is emitted here has it too.
    pub fn value_kind(&self) -> ValueKind {
        self.row.kind()
    }

    /// The side input, for the element's window. The transform must have been given it, by `ParDo::side`.
    ///
    /// # Errors
    /// When it was not given, when a singleton has no value and no default or several values, when the view's window
    /// function has no window there.
    pub fn side<V: Clone + Send + Sync + 'static>(&self, view: &View<V>) -> Result<V> {
        let window = self.row.window.cloned().unwrap_or_else(|| self.window());
        self.bundle.scope.side(view, &window)
    }
}

impl Sealed for ProcessContext<'_> {
    fn timer_scope(&self) -> Result<TimerScope<'_>> {
        match self.timers {
            Some(rules) => Ok(rules.scope(self.bundle.scope, self.window(), Some(self.timestamp()))),
            None => Err(DoFnError::msg(format!(
                "`{}` sets a timer and is no keyed DoFn: apply it by `par_do_keyed`",
                self.path()
            ))),
        }
    }
}

impl<'a> Deref for ProcessContext<'a> {
    type Target = BundleContext<'a>;
    fn deref(&self) -> &BundleContext<'a> {
        &self.bundle
    }
}

impl fmt::Debug for ProcessContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element at {} in {} in {}", self.timestamp(), self.window(), self.path())
    }
}

fn options<'a, O: 'static>(scope: StepScope<'a>) -> Result<&'a O> {
    scope.cx.env.options.downcast_ref().ok_or_else(|| {
        DoFnError::msg(format!(
            "`{}` asks for options of type `{}`, but the pipeline was built with others",
            scope.step.path(),
            type_name::<O>()
        ))
    })
}
