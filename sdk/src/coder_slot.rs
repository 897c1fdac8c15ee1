//! The coder of a collection, which may still be replaced while the pipeline is built.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::{
    Element,
    coder::{Coder, CoderError, CoderRef, CoderSpec, Context, default_coder},
};

/// Whether a value that came back from its coder is still the one that it was, in a part that this can compare.
pub(crate) type Same<T> = Arc<dyn Fn(&T, &T) -> bool + Send + Sync>;

/// Shared by a collection and the transform that makes its elements.
pub(crate) struct CoderSlot<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    /// The slots of the collections whose elements this one has; its coder was copied from the first. Weak, so that a
    /// long pipeline is not dropped by a deep recursion: builder and transforms hold the slots.
    sources: Vec<Weak<Shared<T>>>,
}

struct State<T> {
    coder: Result<CoderRef<T>, CoderError>,
    same: Option<Same<T>>,
}

impl<T> Clone for CoderSlot<T> {
    fn clone(&self) -> CoderSlot<T> {
        CoderSlot(Arc::clone(&self.0))
    }
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<T: Element> CoderSlot<T> {
    /// The type's default coder, if it has one.
    pub(crate) fn default_of_type() -> CoderSlot<T> {
        CoderSlot::new(default_coder(), Vec::new())
    }

    /// A slot of its own, with the coder that this one has now: for a collection that is derived from another.
    pub(crate) fn copied(&self) -> CoderSlot<T> {
        CoderSlot::copied_from([self])
    }

    /// A slot of its own, with the coder that the first of `sources` has now, for a collection of all their elements.
    pub(crate) fn copied_from<'a>(sources: impl IntoIterator<Item = &'a CoderSlot<T>>) -> CoderSlot<T> {
        let sources: Vec<_> = sources.into_iter().collect();
        let coder = sources.first().map_or_else(|| default_coder(), |first| first.0.state().coder.clone());
        CoderSlot::new(coder, sources.into_iter().map(|source| Arc::downgrade(&source.0)).collect())
    }

    fn new(coder: Result<CoderRef<T>, CoderError>, sources: Vec<Weak<Shared<T>>>) -> CoderSlot<T> {
        let state = Mutex::new(State { coder, same: None });
        CoderSlot(Arc::new(Shared { state, sources }))
    }

    pub(crate) fn set(&self, coder: CoderRef<T>) {
        self.0.state().coder = Ok(coder);
    }

    /// The coder; where there is none, one that refuses every element.
    pub(crate) fn get(&self) -> CoderRef<T> {
        match &self.0.state().coder {
            Ok(coder) => coder.clone(),
            Err(e) => Arc::new(Refused(e.clone())),
        }
    }

    /// What the coder writes. For a type without a coder also which slot it begins at: those that were copied from it
    /// fail for the same reason.
    pub(crate) fn spec(&self) -> Result<CoderSpec, (usize, CoderError)> {
        let error = match &self.0.state().coder {
            Ok(coder) => return Ok(coder.spec()),
            Err(e) => e.clone(),
        };
        let mut first = Arc::clone(&self.0);
        while let Some(source) = first.sources.first().and_then(Weak::upgrade) {
            if source.state().coder.is_ok() {
                break;
            }
            first = source;
        }
        Err((first.id(), error))
    }

    /// Has runners that check coders compare values with what comes back, here and where these elements come from.
    pub(crate) fn compare(&self, same: impl Fn(&T, &T) -> bool + Send + Sync + 'static) {
        let same: Same<T> = Arc::new(same);
        let mut slots = vec![Arc::clone(&self.0)];
        while let Some(slot) = slots.pop() {
            // One that compares already has told its sources.
            if slot.state().same.is_none() {
                slot.state().same = Some(same.clone());
                slots.extend(slot.sources.iter().filter_map(Weak::upgrade));
            }
        }
    }

    /// What [`compare`](Self::compare) set.
    pub(crate) fn same(&self) -> Option<Same<T>> {
        self.0.state().same.clone()
    }
}

#[derive(Debug)]
struct Refused(CoderError);

impl<T: Element> Coder<T> for Refused {
    fn encode(&self, _value: &T, _context: Context, _out: &mut Vec<u8>) -> Result<(), CoderError> {
        Err(self.0.clone())
    }

    fn decode(&self, _input: &mut &[u8], _context: Context) -> Result<T, CoderError> {
        Err(self.0.clone())
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::Bytes
    }
}

impl<T> fmt::Debug for CoderSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CoderSlot")
    }
}
