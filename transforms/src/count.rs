//! How many there are.

use std::{fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform};

use crate::scope::{Globally, NonEmpty, PerKey};

/// Counts elements: in all, of each key, or of each kind.
///
/// ```
/// # use purlin_sdk::{Duration, PCollection, Pipeline, window::FixedWindows};
/// use purlin_transforms::Count;
/// # let p = Pipeline::new();
/// let words = p.create("Words", ["a", "b", "a"].map(str::to_owned));
/// let each: PCollection<(String, u64)> = words.apply("Each", Count::per_element());
/// let all: PCollection<u64> = words.apply("All", Count::globally());
/// let by_length: PCollection<(usize, u64)> =
///     words.key_by("Length", |w: &String| w.len()).apply("ByLength", Count::per_key());
/// let by_minute: PCollection<u64> = words
///     .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
///     .apply("ByMinute", Count::globally().without_defaults());
/// # p.build().unwrap();
/// ```
/// An empty collection in the global window has the count 0. Source: Beam's `Count`.
#[derive(Clone, Copy, Debug)]
pub struct Count<S>(S);

impl Count<Globally> {
    /// One count for all elements of a window.
    pub fn globally() -> Count<Globally> {
        Count(Globally)
    }

    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Count<NonEmpty> {
        Count(NonEmpty)
    }
}

impl Count<PerKey> {
    /// How many values each key has.
    pub fn per_key() -> Count<PerKey> {
        Count(PerKey)
    }
}

impl Count<CountPerElement> {
    /// How often each element occurs.
    pub fn per_element() -> Count<CountPerElement> {
        Count(CountPerElement)
    }
}

/// The elements are the keys, see [`Count::per_element`].
#[derive(Clone, Copy, Debug)]
pub struct CountPerElement;

impl<T: Element> PTransform<PCollection<T>> for Count<Globally> {
    type Out = PCollection<u64>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<u64> {
        self.0.combine(input, CountFn::new())
    }
}

impl<T: Element> PTransform<PCollection<T>> for Count<NonEmpty> {
    type Out = PCollection<u64>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<u64> {
        self.0.combine(input, CountFn::new())
    }
}

impl<K: Key, V: Element> PTransform<PCollection<(K, V)>> for Count<PerKey> {
    type Out = PCollection<(K, u64)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, u64)> {
        self.0.combine(input, CountFn::new())
    }
}

impl<T: Key> PTransform<PCollection<T>> for Count<CountPerElement> {
    type Out = PCollection<(T, u64)>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<(T, u64)> {
        PerKey.combine(input.map("Pair", |x| (x, ())), CountFn::new())
    }
}

/// Counting, as a [`CombineFn`].
pub struct CountFn<T>(PhantomData<fn(T)>);

impl<T> CountFn<T> {
    /// Counts whatever comes in.
    pub fn new() -> CountFn<T> {
        CountFn(PhantomData)
    }
}

impl<T> Default for CountFn<T> {
    fn default() -> CountFn<T> {
        CountFn::new()
    }
}

impl<T> Clone for CountFn<T> {
    fn clone(&self) -> CountFn<T> {
        CountFn::new()
    }
}

impl<T> fmt::Debug for CountFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CountFn")
    }
}

impl<T: Element> CombineFn for CountFn<T> {
    type Input = T;
    type Accumulator = u64;
    type Output = u64;

    fn create(&self) -> u64 {
        0
    }

    #[inline]
    fn add_input(&self, count: &mut u64, _: T) {
        *count += 1;
    }

    #[inline]
    fn merge(&self, count: &mut u64, other: u64) {
        *count += other;
    }

    fn extract(&self, count: u64) -> u64 {
        count
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;

    #[test]
    fn counting_obeys_the_laws() {
        check_combine_fn_laws(&CountFn::new(), &["a"; 9].map(str::to_owned), |a, b| a == b).unwrap();
        check_combine_fn_laws(&CountFn::<i32>::new(), &[], |a, b| a == b).unwrap();
    }
}
