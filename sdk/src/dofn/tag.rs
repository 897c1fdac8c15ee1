//! Names of further outputs.

use std::{fmt, marker::PhantomData};

/// Names an output beside the main one, and the type of its elements.
///
/// ```
/// use purlin_sdk::Tag;
/// const BAD: Tag<String> = Tag::new("bad");
/// ```
pub struct Tag<T> {
    name: &'static str,
    element: PhantomData<fn() -> T>,
}

impl<T> Tag<T> {
    /// The tag `name` for elements of type `T`.
    pub const fn new(name: &'static str) -> Tag<T> {
        Tag { name, element: PhantomData }
    }

    /// The tag's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T> Clone for Tag<T> {
    fn clone(&self) -> Tag<T> {
        *self
    }
}

impl<T> Copy for Tag<T> {}

impl<T> fmt::Debug for Tag<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tag `{}`", self.name)
    }
}
