//! The coder of a collection, which may still be replaced while the pipeline is built.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Element,
    coder::{Coder, CoderError, CoderRef, CoderSpec, Context, default_coder},
};

/// Shared by a collection and the transform that makes its elements.
pub(crate) struct CoderSlot<T>(Arc<Mutex<Result<CoderRef<T>, CoderError>>>);

impl<T> Clone for CoderSlot<T> {
    fn clone(&self) -> CoderSlot<T> {
        CoderSlot(Arc::clone(&self.0))
    }
}

impl<T: Element> CoderSlot<T> {
    /// The type's default coder, if it has one.
    pub(crate) fn default_of_type() -> CoderSlot<T> {
        CoderSlot(Arc::new(Mutex::new(default_coder())))
    }

    /// A slot of its own, with the coder that this one has now: for a collection that is derived from another.
    pub(crate) fn copied(&self) -> CoderSlot<T> {
        let coder = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        CoderSlot(Arc::new(Mutex::new(coder)))
    }

    pub(crate) fn set(&self, coder: CoderRef<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Ok(coder);
    }

    /// The coder; where there is none, one that refuses every element.
    pub(crate) fn get(&self) -> CoderRef<T> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Ok(coder) => coder.clone(),
            Err(e) => Arc::new(Refused(e.clone())),
        }
    }

    /// What the coder writes.
    pub(crate) fn spec(&self) -> Result<CoderSpec, CoderError> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Ok(coder) => Ok(coder.spec()),
            Err(e) => Err(e.clone()),
        }
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
