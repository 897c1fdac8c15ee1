//! What joins a keyed DoFn's kernel to the engine, bundle by bundle.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::StateAccess;
use crate::{DoFnError, Result, coder::CoderSpec};

/// Timers of a family as the engine sends and takes them: one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerBytes {
    /// The family's name, see [`PortableKeyed::timers`](super::PortableKeyed::timers).
    pub family: String,
    /// The timers, by the family's coder.
    pub timers: Vec<u8>,
}

/// What joins the kernel of a keyed DoFn to its engine. One kernel has one link, and works on one bundle at a time:
/// [`begin`](KeyedLink::begin), timers that [`fire`](KeyedLink::fire) until the kernel's input is over, and when the
/// stage is done, timers that were set, by [`end`](KeyedLink::end).
pub struct KeyedLink {
    pub(super) key: CoderSpec,
    pub(super) window: CoderSpec,
    pub(super) families: BTreeMap<String, CoderSpec>,
    bundle: Mutex<Bundle>,
}

#[derive(Default)]
struct Bundle {
    state: Option<Arc<dyn StateAccess>>,
    fired: Vec<TimerBytes>,
    set: Vec<TimerBytes>,
}

impl KeyedLink {
    /// A link to an engine that has keys and windows by these coders, and timers by that of their family.
    pub fn new(
        key: CoderSpec,
        window: CoderSpec,
        families: impl IntoIterator<Item = (String, CoderSpec)>,
    ) -> Arc<KeyedLink> {
        let families = families.into_iter().collect();
        Arc::new(KeyedLink { key, window, families, bundle: Mutex::default() })
    }

    fn bundle(&self) -> MutexGuard<'_, Bundle> {
        self.bundle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bundle begins, whose state is this. What is left of one that failed is forgotten.
    pub fn begin(&self, state: Arc<dyn StateAccess>) {
        *self.bundle() = Bundle { state: Some(state), ..Bundle::default() };
    }

    /// The engine fires timers. They are called when all elements of the bundle are done.
    pub fn fire(&self, timers: TimerBytes) {
        self.bundle().fired.push(timers);
    }

    /// The bundle is over: the timers that it set and cleared.
    pub fn end(&self) -> Vec<TimerBytes> {
        std::mem::take(&mut *self.bundle()).set
    }

    pub(super) fn state(&self) -> Result<Arc<dyn StateAccess>> {
        self.bundle().state.clone().ok_or_else(|| DoFnError::msg("its bundle was given no state"))
    }

    pub(super) fn take_fired(&self) -> Vec<TimerBytes> {
        std::mem::take(&mut self.bundle().fired)
    }

    pub(super) fn set(&self, timers: Vec<TimerBytes>) {
        self.bundle().set = timers;
    }
}

impl fmt::Debug for KeyedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keys as {} in windows as {}", self.key, self.window)
    }
}
