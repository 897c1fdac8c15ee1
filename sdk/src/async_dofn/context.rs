//! What an element under way may ask and emit.

use std::{
    any::{Any, type_name},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    DoFnError, Element, Emitter, Result, Step, Tag, Timestamp, View,
    batch::Firing,
    exec::ViewSnapshot,
    window::{PaneInfo, ValueKind, Window},
};

/// Everything about an element beside its value, and where to put what comes of it. It belongs to the element's future
/// and can be cloned and sent.
pub struct AsyncContext<O>(Arc<Inner<O>>);

struct Inner<O> {
    step: Step,
    timestamp: Timestamp,
    window: Window,
    firing: Firing,
    views: Arc<ViewSnapshot>,
    given: Arc<[Arc<str>]>,
    options: Arc<dyn Any + Send + Sync>,
    emitted: Emitted<O>,
}

/// What an element under way has emitted.
pub(crate) type Emitted<O> = Arc<Mutex<Vec<Emission<O>>>>;

/// Emits something of a type that only it knows.
pub(crate) type Emit<O> = Box<dyn FnOnce(&mut Emitter<'_, O>) + Send>;

/// Something emitted, to be done over when the element is done.
pub(crate) enum Emission<O> {
    Main(O, Option<Timestamp>),
    Tagged(Emit<O>),
    Count(&'static str, i64),
}

impl<O> Clone for AsyncContext<O> {
    fn clone(&self) -> AsyncContext<O> {
        AsyncContext(self.0.clone())
    }
}

/// What is the same for all elements of a batch.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) step: Step,
    pub(crate) views: Arc<ViewSnapshot>,
    pub(crate) given: Arc<[Arc<str>]>,
    pub(crate) options: Arc<dyn Any + Send + Sync>,
}

impl<O: Element> AsyncContext<O> {
    pub(crate) fn new(
        around: &Surroundings,
        timestamp: Timestamp,
        window: Window,
        firing: Firing,
        emitted: Emitted<O>,
    ) -> AsyncContext<O> {
        let Surroundings { step, views, given, options } = around.clone();
        AsyncContext(Arc::new(Inner { step, timestamp, window, firing, views, given, options, emitted }))
    }

    fn push(&self, emission: Emission<O>) {
        locked(&self.0.emitted).push(emission);
    }

    /// Emits `value` with the input's timestamp.
    pub fn emit(&self, value: O) {
        self.push(Emission::Main(value, None));
    }

    /// Emits `value` with a timestamp of its own, which must not lie before the input's by more than the allowed skew.
    /// One that does fails the bundle.
    pub fn emit_at(&self, value: O, timestamp: Timestamp) {
        self.push(Emission::Main(value, Some(timestamp)));
    }

    /// Emits `value` on the output `tag`, which the transform must have declared by `AsyncParDo::tag`. An undeclared one
    /// fails the bundle.
    pub fn emit_to<T: Element>(&self, tag: Tag<T>, value: T) {
        self.push(Emission::Tagged(Box::new(move |out| out.emit_to(tag, value))));
    }

    /// Adds `n` to a counter of the transform.
    pub fn count(&self, name: &'static str, n: i64) {
        self.push(Emission::Count(name, n));
    }

    /// The element's timestamp.
    pub fn timestamp(&self) -> Timestamp {
        self.0.timestamp
    }

    /// The window that the element is processed in.
    pub fn window(&self) -> Window {
        self.0.window.clone()
    }

    /// The firing that the element came from.
    pub fn pane(&self) -> PaneInfo {
        self.0.firing.pane
    }

    /// What the element does to the result that a reader keeps, see
    /// [`ProcessContext::value_kind`](crate::ProcessContext::value_kind).
    pub fn value_kind(&self) -> ValueKind {
        self.0.firing.kind
    }

    /// The transform's full path.
    pub fn path(&self) -> &str {
        self.0.step.path()
    }

    /// The pipeline's own options.
    ///
    /// # Errors
    /// When the pipeline was built with options of another type.
    pub fn options<X: 'static>(&self) -> Result<&X> {
        self.0.options.downcast_ref().ok_or_else(|| {
            DoFnError::msg(format!(
                "`{}` asks for options of type `{}`, but the pipeline was built with others",
                self.path(),
                type_name::<X>()
            ))
        })
    }

    /// The side input, for the element's window. The transform must have been given it, by `AsyncParDo::side`.
    ///
    /// # Errors
    /// When it was not given, when a singleton has no value and no default or several values, when the view's window
    /// function has no window there.
    pub fn side<V: Clone + Send + Sync + 'static>(&self, view: &View<V>) -> Result<V> {
        if !self.0.given.iter().any(|path| path == view.path()) {
            return Err(DoFnError::msg(format!(
                "`{}` reads the side input `{}` and was not given it: add `.side(&view)` to the `AsyncParDo` that is \
                 applied",
                self.path(),
                view.path()
            )));
        }
        self.0.views.get(view, &self.0.window)
    }
}

/// Takes what an element has emitted.
pub(crate) fn take<O>(emitted: &Emitted<O>) -> Vec<Emission<O>> {
    std::mem::take(&mut locked(emitted))
}

fn locked<O>(emitted: &Emitted<O>) -> MutexGuard<'_, Vec<Emission<O>>> {
    emitted.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<O> fmt::Debug for AsyncContext<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { step, timestamp, window, .. } = &*self.0;
        write!(f, "element at {timestamp} in {window} in {}", step.path())
    }
}
