//! What a DoFn holds and must not clone.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{DoFnError, Result};

/// A connection, a client, a buffer: something that each instance of a DoFn makes for itself in `setup`.
///
/// It clones empty and serialises as nothing, so a DoFn that holds one can still be cloned and sent.
///
/// ```
/// use purlin_sdk::PerWorker;
/// let mut client: PerWorker<String> = PerWorker::empty();
/// assert!(client.get().is_err());
/// client.fill("connected".to_owned());
/// assert_eq!(client.get().unwrap(), "connected");
/// assert!(client.clone().get().is_err());
/// ```
pub struct PerWorker<T>(Option<T>);

impl<T> PerWorker<T> {
    /// Nothing yet.
    pub const fn empty() -> PerWorker<T> {
        PerWorker(None)
    }

    /// Puts the value in; called in `setup`.
    pub fn fill(&mut self, value: T) {
        self.0 = Some(value);
    }

    /// Takes the value out; called in `teardown`.
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }

    /// The value.
    ///
    /// # Errors
    /// When it was not filled.
    pub fn get(&mut self) -> Result<&mut T> {
        self.0.as_mut().ok_or_else(|| {
            DoFnError::msg(format!(
                "a `PerWorker<{}>` is empty: fill it in `setup`, which runs once on each instance",
                std::any::type_name::<T>()
            ))
        })
    }
}

impl<T> Default for PerWorker<T> {
    fn default() -> PerWorker<T> {
        PerWorker::empty()
    }
}

impl<T> Clone for PerWorker<T> {
    fn clone(&self) -> PerWorker<T> {
        PerWorker::empty()
    }
}

impl<T> Deref for PerWorker<T> {
    type Target = Option<T>;
    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<T> DerefMut for PerWorker<T> {
    fn deref_mut(&mut self) -> &mut Option<T> {
        &mut self.0
    }
}

impl<T> fmt::Debug for PerWorker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "PerWorker(filled)" } else { "PerWorker(empty)" })
    }
}

impl<T> Serialize for PerWorker<T> {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.serialize_unit()
    }
}

impl<'de, T> Deserialize<'de> for PerWorker<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<PerWorker<T>, D::Error> {
        <()>::deserialize(d).map(|()| PerWorker::empty())
    }
}
