//! Sums.

use std::{fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Key, PCollection, PTransform};

use crate::{
    number::Summable,
    scope::{Globally, NonEmpty, PerKey},
};

/// Adds up numbers, or whatever is [`Summable`].
///
/// A sum that does not fit into its type is the type's greatest or least value: it neither wraps nor panics. (Whole
/// numbers without a type are `i32` in Rust; write `1_i64` where sums get large.) [`Summable`] says how floats are added.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::Sum;
/// # let p = Pipeline::new();
/// let amounts = p.create("Amounts", [("amy".to_owned(), 3), ("bob".to_owned(), 4), ("amy".to_owned(), 5)]);
/// let each: PCollection<(String, i32)> = amounts.apply("Each", Sum::per_key());
/// let all: PCollection<i32> = amounts.map("Amount", |(_, n)| n).apply("All", Sum::globally());
/// # p.build().unwrap();
/// ```
/// An empty collection in the global window has the sum 0. Source: Beam's `Sum`.
#[derive(Clone, Copy, Debug)]
pub struct Sum<S>(S);

impl Sum<Globally> {
    /// The sum of all elements of a window.
    pub fn globally() -> Sum<Globally> {
        Sum(Globally)
    }

    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Sum<NonEmpty> {
        Sum(NonEmpty)
    }
}

impl Sum<PerKey> {
    /// The sum of the values of each key.
    pub fn per_key() -> Sum<PerKey> {
        Sum(PerKey)
    }
}

impl<T: Summable> PTransform<PCollection<T>> for Sum<Globally> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        self.0.combine(input, SumFn::new())
    }
}

impl<T: Summable> PTransform<PCollection<T>> for Sum<NonEmpty> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        self.0.combine(input, SumFn::new())
    }
}

impl<K: Key, V: Summable> PTransform<PCollection<(K, V)>> for Sum<PerKey> {
    type Out = PCollection<(K, V)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, V)> {
        self.0.combine(input, SumFn::new())
    }
}

/// Adding up, as a [`CombineFn`].
pub struct SumFn<T>(PhantomData<fn(T) -> T>);

impl<T> SumFn<T> {
    /// Adds up what comes in.
    pub fn new() -> SumFn<T> {
        SumFn(PhantomData)
    }
}

impl<T> Default for SumFn<T> {
    fn default() -> SumFn<T> {
        SumFn::new()
    }
}

impl<T> Clone for SumFn<T> {
    fn clone(&self) -> SumFn<T> {
        SumFn::new()
    }
}

impl<T> fmt::Debug for SumFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SumFn")
    }
}

impl<T: Summable> CombineFn for SumFn<T> {
    type Input = T;
    type Accumulator = T::Wide;
    type Output = T;

    fn create(&self) -> T::Wide {
        T::Wide::default()
    }

    #[inline]
    fn add_input(&self, sum: &mut T::Wide, x: T) {
        x.add(sum);
    }

    #[inline]
    fn merge(&self, sum: &mut T::Wide, other: T::Wide) {
        T::merge(sum, other);
    }

    fn extract(&self, sum: T::Wide) -> T {
        T::narrow(sum)
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;

    #[test]
    fn integers_obey_the_laws_also_near_their_ends() {
        let inputs = [i64::MAX, 1, i64::MIN, -1, i64::MAX, 7];
        check_combine_fn_laws(&SumFn::new(), &inputs, |a, b| a == b).unwrap();
        check_combine_fn_laws(&SumFn::new(), &[250_u8, 3, 9], |a, b| a == b).unwrap();
        check_combine_fn_laws(&SumFn::<i32>::new(), &[], |a, b| a == b).unwrap();
    }

    #[test]
    fn floats_obey_the_laws_but_for_the_last_digits() {
        let inputs = [0.1, 1e9, -0.3, 7.0, -1e9];
        check_combine_fn_laws(&SumFn::new(), &inputs, |a: &f64, b| (a - b).abs() < 1e-6).unwrap();
    }
}
