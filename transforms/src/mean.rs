//! Means.

use std::{fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Key, PCollection, PTransform};

use crate::{
    number::Number,
    scope::{Globally, NonEmpty, PerKey},
};

/// The arithmetic mean of numbers, as an `f64`.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::Mean;
/// # let p = Pipeline::new();
/// let grades = p.create("Grades", [("amy".to_owned(), 1), ("bob".to_owned(), 3), ("amy".to_owned(), 2)]);
/// let each: PCollection<(String, f64)> = grades.apply("Each", Mean::per_key());
/// let all: PCollection<f64> = grades.map("Grade", |(_, n)| n).apply("All", Mean::globally());
/// # p.build().unwrap();
/// ```
/// The mean of integers is exact up to one rounding at the end. An empty collection in the global window has the mean
/// NaN. Source: Beam's `Mean`.
#[derive(Clone, Copy, Debug)]
pub struct Mean<S>(S);

impl Mean<Globally> {
    /// The mean of all elements of a window.
    pub fn globally() -> Mean<Globally> {
        Mean(Globally)
    }

    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Mean<NonEmpty> {
        Mean(NonEmpty)
    }
}

impl Mean<PerKey> {
    /// The mean of the values of each key.
    pub fn per_key() -> Mean<PerKey> {
        Mean(PerKey)
    }
}

impl<T: Number> PTransform<PCollection<T>> for Mean<Globally> {
    type Out = PCollection<f64>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<f64> {
        self.0.combine(input, MeanFn::new())
    }
}

impl<T: Number> PTransform<PCollection<T>> for Mean<NonEmpty> {
    type Out = PCollection<f64>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<f64> {
        self.0.combine(input, MeanFn::new())
    }
}

impl<K: Key, V: Number> PTransform<PCollection<(K, V)>> for Mean<PerKey> {
    type Out = PCollection<(K, f64)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, f64)> {
        self.0.combine(input, MeanFn::new())
    }
}

/// The mean, as a [`CombineFn`]. The accumulator is the sum and the count; the mean of nothing is NaN.
pub struct MeanFn<T>(PhantomData<fn(T)>);

impl<T> MeanFn<T> {
    /// Averages what comes in.
    pub fn new() -> MeanFn<T> {
        MeanFn(PhantomData)
    }
}

impl<T> Default for MeanFn<T> {
    fn default() -> MeanFn<T> {
        MeanFn::new()
    }
}

impl<T> Clone for MeanFn<T> {
    fn clone(&self) -> MeanFn<T> {
        MeanFn::new()
    }
}

impl<T> fmt::Debug for MeanFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MeanFn")
    }
}

impl<T: Number> CombineFn for MeanFn<T> {
    type Input = T;
    type Accumulator = (T::Wide, u64);
    type Output = f64;

    fn create(&self) -> (T::Wide, u64) {
        (T::Wide::default(), 0)
    }

    #[inline]
    fn add_input(&self, (sum, count): &mut (T::Wide, u64), x: T) {
        x.add(sum);
        *count += 1;
    }

    #[inline]
    fn merge(&self, (sum, count): &mut (T::Wide, u64), other: (T::Wide, u64)) {
        T::merge(sum, other.0);
        *count += other.1;
    }

    fn extract(&self, (sum, count): (T::Wide, u64)) -> f64 {
        if count == 0 { f64::NAN } else { T::to_f64(sum) / count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;

    #[test]
    fn means_obey_the_laws() {
        check_combine_fn_laws(&MeanFn::new(), &[i64::MAX, 2, i64::MIN, 40], |a, b| a == b).unwrap();
        check_combine_fn_laws(&MeanFn::new(), &[0.1, 2.5, -7.0], |a, b| (a - b).abs() < 1e-12).unwrap();
    }

    #[test]
    fn the_mean_of_nothing_is_nan() {
        check_combine_fn_laws(&MeanFn::<i32>::new(), &[], |a, b| a.is_nan() && b.is_nan()).unwrap();
    }
}
