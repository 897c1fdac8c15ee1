//! The handle by which user code reads a side input.

use std::{fmt, marker::PhantomData, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A side input that reads as a `V`: made by the `view_as_...` methods of a collection, given to a transform by
/// `ParDo::side`, read by `cx.side(&view)`.
///
/// A view is known by its path in the pipeline, so that a DoFn that holds one can be sent to another process.
pub struct View<V> {
    path: Arc<str>,
    value: PhantomData<fn() -> V>,
}

impl<V> View<V> {
    pub(crate) fn new(path: Arc<str>) -> View<V> {
        View { path, value: PhantomData }
    }

    /// The path of the transform that makes it.
    pub fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// The same side input, without what it reads as: for a composite transform that keeps those it is given, and hands
    /// them on to the transforms that it is made of.
    pub fn untyped(&self) -> View<()> {
        View::new(self.path.clone())
    }
}

impl<V> Clone for View<V> {
    fn clone(&self) -> View<V> {
        View::new(self.path.clone())
    }
}

impl<V> fmt::Debug for View<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view `{}`", self.path)
    }
}

impl<V> Serialize for View<V> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.path.serialize(s)
    }
}

impl<'de, V> Deserialize<'de> for View<V> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<View<V>, D::Error> {
        Arc::<str>::deserialize(d).map(View::new)
    }
}
