//! Some elements by chance.

use std::cmp::Ordering;

use purlin_sdk::{Element, Key, PCollection, PTransform};

use crate::{
    order::By,
    scope::{Globally, NonEmpty, PerKey},
    top::TopFn,
};

mod combine;

pub use combine::SampleFn;

/// Some elements of each window: any, or a fair choice.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::Sample;
/// # let p = Pipeline::new();
/// let numbers = p.create("Numbers", 0..1000);
/// let some: PCollection<i32> = numbers.apply("Some", Sample::any(5));
/// let fair: PCollection<Vec<i32>> = numbers.apply("Fair", Sample::fixed_size_globally(5));
/// let by_digit: PCollection<(i32, Vec<i32>)> =
///     numbers.key_by("Digit", |n: &i32| n % 10).apply("ByDigit", Sample::fixed_size_per_key(5));
/// # p.build().unwrap();
/// ```
/// The `fixed_size` forms choose uniformly and without replacement: every subset of `n` is equally likely, however the
/// elements are spread over workers and in whatever order the workers' parts meet. Elements that are equal are still
/// several. How chance comes about, and when it comes about again in the same way, is told at [`SampleFn`]. Of an empty
/// collection in the global window the sample is the empty list.
///
/// Source: Beam's `Sample`.
#[derive(Clone, Copy, Debug)]
pub struct Sample<S> {
    scope: S,
    n: usize,
    seed: u64,
}

impl Sample<SampleAny> {
    /// Up to `n` elements, whichever are at hand: cheap, and not fair.
    pub fn any(n: usize) -> Sample<SampleAny> {
        Sample { scope: SampleAny, n, seed: 0 }
    }
}

/// Whichever elements are at hand, see [`Sample::any`].
#[derive(Clone, Copy, Debug)]
pub struct SampleAny;

impl Sample<Globally> {
    /// A fair choice of `n` elements, as one list; all of them where there are fewer.
    pub fn fixed_size_globally(n: usize) -> Sample<Globally> {
        Sample { scope: Globally, n, seed: 0 }
    }

    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Sample<NonEmpty> {
        Sample { scope: NonEmpty, n: self.n, seed: self.seed }
    }
}

impl Sample<PerKey> {
    /// A fair choice of `n` values of each key, as one list; all of them where there are fewer.
    pub fn fixed_size_per_key(n: usize) -> Sample<PerKey> {
        Sample { scope: PerKey, n, seed: 0 }
    }
}

macro_rules! seeded {
    ($($Scope:ty),+) => {$(
        impl Sample<$Scope> {
            /// Begins chance elsewhere than at 0: see [`SampleFn`].
            #[must_use]
            pub fn seed(self, seed: u64) -> Self {
                Sample { seed, ..self }
            }
        }
    )+};
}

seeded!(Globally, NonEmpty, PerKey);

impl<T: Element> PTransform<PCollection<T>> for Sample<SampleAny> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        // None is better than another, so those that come first stay.
        let any = TopFn::largest_by(self.n, By(|_: &T, _: &T| Ordering::Equal));
        NonEmpty.combine(input, any).flat_map("Elements", |some| some)
    }
}

impl<T: Element> PTransform<PCollection<T>> for Sample<Globally> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        self.scope.combine(input, SampleFn::new(self.n).seed(self.seed))
    }
}

impl<T: Element> PTransform<PCollection<T>> for Sample<NonEmpty> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        self.scope.combine(input, SampleFn::new(self.n).seed(self.seed))
    }
}

impl<K: Key, V: Element> PTransform<PCollection<(K, V)>> for Sample<PerKey> {
    type Out = PCollection<(K, Vec<V>)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, Vec<V>)> {
        self.scope.combine(input, SampleFn::new(self.n).seed(self.seed))
    }
}
