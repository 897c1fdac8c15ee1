//! The default coders, each made once.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{CoderError, CoderRef, SerdeCoder};
use crate::Element;

type Entry = Arc<dyn Any + Send + Sync>;

fn made() -> &'static Mutex<HashMap<TypeId, Entry>> {
    static MADE: OnceLock<Mutex<HashMap<TypeId, Entry>>> = OnceLock::new();
    MADE.get_or_init(Mutex::default)
}

/// The coder of `T` where no other is given: a [`SerdeCoder`], made at the first call for a type and shared from then.
///
/// ```
/// use std::sync::Arc;
/// use purlin_sdk::coder::default_coder;
/// assert!(Arc::ptr_eq(&default_coder::<Vec<i64>>()?, &default_coder::<Vec<i64>>()?));
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// # Errors
/// As [`trace`](super::trace()).
pub fn default_coder<T: Element>() -> Result<CoderRef<T>, CoderError> {
    type Made<T> = Result<CoderRef<T>, CoderError>;
    let key = TypeId::of::<T>();
    let known = made().lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    if let Some(known) = known.as_ref().and_then(|entry| entry.downcast_ref::<Made<T>>()) {
        return known.clone();
    }
    // Not under the lock: a type's Deserialize is someone else's code. Two threads may both trace, to the same end.
    let coder: Made<T> = SerdeCoder::<T>::of().map(|coder| Arc::new(coder) as CoderRef<T>);
    made().lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(coder.clone()));
    coder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_traced_once() {
        let first = default_coder::<(String, u16)>().unwrap();
        assert!(Arc::ptr_eq(&first, &default_coder::<(String, u16)>().unwrap()));
        assert_eq!(
            default_coder::<serde_json::Value>().unwrap_err(),
            default_coder::<serde_json::Value>().unwrap_err()
        );
    }
}
