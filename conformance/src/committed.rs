//! Collecting what a run committed.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Element, Emitter, PCollection, ProcessContext, Result, Timestamp,
    window::{PaneInfo, Window},
};

/// An element with everything that goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<T> {
    /// The element.
    pub value: T,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// The window that it is in.
    pub window: Window,
    /// The firing that it came from.
    pub pane: PaneInfo,
}

/// What reached the end of a pipeline, bundle by bundle: elements of a bundle that failed are not among it, those of
/// one that was tried again are there once. Clones are handles to one list.
///
/// It goes in by bundle finalizers, so a runner that forgets those collects nothing.
pub struct Committed<T>(Arc<List<T>>);

struct List<T> {
    /// How many bundles came to their end.
    bundles: AtomicU64,
    /// What is committed, each with the number of its bundle.
    seen: Mutex<Vec<(u64, Seen<T>)>>,
}

impl<T: Element> Committed<T> {
    /// An empty list.
    pub fn new() -> Committed<T> {
        Committed(Arc::new(List { bundles: AtomicU64::new(0), seen: Mutex::default() }))
    }

    /// Collects what is in `pc`.
    #[track_caller]
    pub fn collect(&self, name: &str, pc: &PCollection<T>) {
        pc.par_do(name, Collect { bundle: Vec::new(), into: self.clone() });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Seen<T>)>> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is so far, in the order in which the bundles came to their ends: their finalizers may run in another.
    pub fn seen(&self) -> Vec<Seen<T>> {
        let mut seen = self.lock();
        seen.sort_by_key(|(bundle, _)| *bundle);
        seen.iter().map(|(_, seen)| seen.clone()).collect()
    }

    /// The elements alone, in the same order.
    pub fn values(&self) -> Vec<T> {
        self.seen().into_iter().map(|s| s.value).collect()
    }

    /// The elements alone, sorted.
    pub fn sorted(&self) -> Vec<T>
    where
        T: Ord,
    {
        let mut values = self.values();
        values.sort();
        values
    }

    /// How many there are so far.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Element> Default for Committed<T> {
    fn default() -> Committed<T> {
        Committed::new()
    }
}

impl<T> Clone for Committed<T> {
    fn clone(&self) -> Committed<T> {
        Committed(self.0.clone())
    }
}

impl<T> fmt::Debug for Committed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} committed", self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).len())
    }
}

struct Collect<T> {
    bundle: Vec<Seen<T>>,
    into: Committed<T>,
}

impl<T> Clone for Collect<T> {
    fn clone(&self) -> Collect<T> {
        Collect { bundle: Vec::new(), into: self.into.clone() }
    }
}

impl<T: Element> DoFn for Collect<T> {
    type Input = T;
    type Output = ();

    fn process(&mut self, value: T, cx: &ProcessContext<'_>, _: &mut Emitter<'_, ()>) -> Result {
        let (timestamp, window, pane) = (cx.timestamp(), cx.window(), cx.pane());
        self.bundle.push(Seen { value, timestamp, window, pane });
        Ok(())
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, ()>) -> Result {
        let bundle = std::mem::take(&mut self.bundle);
        if !bundle.is_empty() {
            let into = self.into.clone();
            let n = into.0.bundles.fetch_add(1, Ordering::SeqCst);
            cx.finalize(move || {
                into.lock().extend(bundle.into_iter().map(|seen| (n, seen)));
                Ok(())
            });
        }
        Ok(())
    }
}
