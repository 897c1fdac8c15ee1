//! Timestamps read from the elements, with an allowed skew.

use std::{marker::PhantomData, panic::Location};

use crate::{Duration, Element, PCollection, PTransform, Timestamp};

/// Gives each element the timestamp that a closure reads from it; the plain form is
/// [`PCollection::with_timestamps`].
#[derive(Clone, Debug)]
pub struct WithTimestamps<T, F> {
    f: F,
    skew: Duration,
    element: PhantomData<fn(T)>,
}

impl<T: Element, F: Fn(&T) -> Timestamp + Clone + Send + 'static> WithTimestamps<T, F> {
    /// Timestamps by `f`, none before the one that the element has.
    pub fn of(f: F) -> WithTimestamps<T, F> {
        WithTimestamps { f, skew: Duration::ZERO, element: PhantomData }
    }

    /// How far before the one that it has the new timestamp may lie; such an element may be late.
    #[must_use]
    pub fn allowed_skew(mut self, skew: Duration) -> WithTimestamps<T, F> {
        self.skew = skew;
        self
    }
}

impl<T: Element, F: Fn(&T) -> Timestamp + Clone + Send + 'static> PTransform<PCollection<T>>
    for WithTimestamps<T, F>
{
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        input.with_timestamps_at("Assign", Location::caller(), self.f, self.skew)
    }
}
