//! About how many different ones there are.

use std::{fmt, hash::Hasher, marker::PhantomData};

use purlin_sdk::{CombineFn, Key, PCollection, PTransform};
use serde::{Deserialize, Serialize};

use crate::{
    scope::{Globally, NonEmpty, PerKey},
    watch::Fingerprint,
};

/// Counts different elements: of a window, or of the values of each key; about, in little memory.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::ApproximateCountDistinct;
/// # let p = Pipeline::new();
/// let visits = p.create("Visits", [("home".to_owned(), 7_u64), ("home".to_owned(), 8), ("help".to_owned(), 7)]);
/// let visitors: PCollection<(String, u64)> = visits.apply("Visitors", ApproximateCountDistinct::per_key());
/// let pages: PCollection<u64> =
///     visits.map("Page", |(page, _)| page).apply("Pages", ApproximateCountDistinct::globally().precision(10));
/// # p.build().unwrap();
/// ```
/// It keeps 2^precision bytes for each key and window, and the standard error is 1.04 / sqrt(2^precision): with the usual
/// precision of 14 these are 16 KiB and 0.8 %. The exact number is
/// that of the elements that [`Distinct`](crate::Distinct) gives.
///
/// Source: Beam's `ApproximateCountDistinct`; the sketch is a HyperLogLog, with the estimator of O. Ertl, "New cardinality
/// estimation algorithms for HyperLogLog sketches" (2017), which has no bias for small numbers.
#[derive(Clone, Copy, Debug)]
pub struct ApproximateCountDistinct<S> {
    scope: S,
    precision: u8,
}

/// As in Beam.
const USUAL: u8 = 14;

impl ApproximateCountDistinct<Globally> {
    /// One number for all elements of a window.
    pub fn globally() -> ApproximateCountDistinct<Globally> {
        ApproximateCountDistinct { scope: Globally, precision: USUAL }
    }

    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> ApproximateCountDistinct<NonEmpty> {
        ApproximateCountDistinct { scope: NonEmpty, precision: self.precision }
    }
}

impl ApproximateCountDistinct<PerKey> {
    /// How many different values each key has.
    pub fn per_key() -> ApproximateCountDistinct<PerKey> {
        ApproximateCountDistinct { scope: PerKey, precision: USUAL }
    }
}

impl<S> ApproximateCountDistinct<S> {
    /// Keeps 2^precision bytes, from 4 to 18; others are a build error.
    #[must_use]
    pub fn precision(mut self, precision: u8) -> ApproximateCountDistinct<S> {
        self.precision = precision;
        self
    }

    /// The CombineFn, or one that will never run.
    #[track_caller]
    fn counting<T: Key, I>(&self, input: &PCollection<I>) -> CountDistinctFn<T> {
        CountDistinctFn::new(self.precision).unwrap_or_else(|what| {
            input.pipeline().build_error(what);
            CountDistinctFn { precision: USUAL, element: PhantomData }
        })
    }
}

impl<T: Key> PTransform<PCollection<T>> for ApproximateCountDistinct<Globally> {
    type Out = PCollection<u64>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<u64> {
        let counting = self.counting(&input);
        self.scope.combine(input, counting)
    }
}

impl<T: Key> PTransform<PCollection<T>> for ApproximateCountDistinct<NonEmpty> {
    type Out = PCollection<u64>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<u64> {
        let counting = self.counting(&input);
        self.scope.combine(input, counting)
    }
}

impl<K: Key, T: Key> PTransform<PCollection<(K, T)>> for ApproximateCountDistinct<PerKey> {
    type Out = PCollection<(K, u64)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, T)>) -> PCollection<(K, u64)> {
        let counting = self.counting(&input);
        self.scope.combine(input, counting)
    }
}

/// Counting different elements, as a [`CombineFn`].
pub struct CountDistinctFn<T> {
    precision: u8,
    element: PhantomData<fn(T)>,
}

impl<T> CountDistinctFn<T> {
    /// With 2^precision bytes.
    ///
    /// # Errors
    /// When the precision is not one of 4 to 18.
    pub fn new(precision: u8) -> Result<CountDistinctFn<T>, String> {
        if (4..=18).contains(&precision) {
            return Ok(CountDistinctFn { precision, element: PhantomData });
        }
        Err(format!(
            "a precision of {precision}, where it is one of 4 to 18: it keeps 2^precision bytes a key"
        ))
    }
}

impl<T> Clone for CountDistinctFn<T> {
    fn clone(&self) -> CountDistinctFn<T> {
        CountDistinctFn { precision: self.precision, element: PhantomData }
    }
}

impl<T> fmt::Debug for CountDistinctFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountDistinctFn(precision {})", self.precision)
    }
}

/// For each of the parts that elements are spread over, the longest run of zeros that one of them begins with, and one
/// more; nothing at all while there is no element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registers(#[serde(with = "bytes")] Vec<u8>);

/// As bytes and not one by one.
mod bytes {
    use std::fmt;

    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        d.deserialize_bytes(Bytes)
    }
}

impl Registers {
    fn add(&mut self, hash: u64, precision: u8) {
        self.0.resize(1 << precision, 0);
        let part = (hash >> (64 - precision)) as usize;
        // A one at the end bounds the run.
        let rest = (hash << precision) | (1 << (precision - 1));
        let run = rest.leading_zeros() as u8 + 1;
        self.0[part] = self.0[part].max(run);
    }

    fn merge(&mut self, other: Registers) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine = (*mine).max(other));
    }

    fn estimate(&self) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let parts = self.0.len() as f64;
        let longest = 64 - self.0.len().trailing_zeros() as usize + 1;
        let mut with = vec![0_u32; longest + 1];
        self.0.iter().for_each(|run| with[usize::from(*run).min(longest)] += 1);
        let mut z = parts * tau(1.0 - f64::from(with[longest]) / parts);
        for run in (1..longest).rev() {
            z = 0.5 * (z + f64::from(with[run]));
        }
        z += parts * sigma(f64::from(with[0]) / parts);
        (parts * parts / (2.0 * std::f64::consts::LN_2 * z)).round() as u64
    }
}

/// What parts without an element add.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z <= before {
            return z;
        }
    }
}

/// What parts with the longest run there can be take off.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z >= before {
            return z / 3.0;
        }
    }
}

/// What an element says when it is asked to hash itself. The hash of that is the same in all processes of a run.
#[derive(Default)]
struct Said(Vec<u8>);

impl Hasher for Said {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        Fingerprint::of(&self.0).half()
    }
}

impl<T: Key> CombineFn for CountDistinctFn<T> {
    type Input = T;
    type Accumulator = Registers;
    type Output = u64;

    fn create(&self) -> Registers {
        Registers::default()
    }

    fn add_input(&self, registers: &mut Registers, x: T) {
        let mut said = Said::default();
        x.hash(&mut said);
        registers.add(said.finish(), self.precision);
    }

    fn merge(&self, registers: &mut Registers, other: Registers) {
        registers.merge(other);
    }

    fn extract(&self, registers: Registers) -> u64 {
        registers.estimate()
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;

    fn count(precision: u8, different: u64) -> u64 {
        let f = CountDistinctFn::new(precision).unwrap();
        let mut all = f.create();
        (0..different).chain(0..different / 2).for_each(|x| f.add_input(&mut all, x));
        f.extract(all)
    }

    #[test]
    fn it_is_about_right_from_nothing_to_many() {
        for precision in [4, 10, 14] {
            let error = 1.04 / f64::from(1_u32 << precision).sqrt();
            for different in [0, 1, 2, 10, 100, 1000, 3000, 20_000, 50_000, 200_000] {
                let counted = count(precision, different) as f64;
                let off = (counted - different as f64).abs() / (different as f64).max(1.0);
                assert!(off <= 4.0 * error, "{counted} for {different} at precision {precision}");
            }
        }
        assert_eq!((count(14, 0), count(14, 1), count(14, 10)), (0, 1, 10));
    }

    #[test]
    fn it_obeys_the_laws() {
        let words = ["a", "b", "a", "c", "d"].map(str::to_owned);
        check_combine_fn_laws(&CountDistinctFn::new(6).unwrap(), &words, |a, b| a == b).unwrap();
        check_combine_fn_laws(&CountDistinctFn::<i32>::new(14).unwrap(), &[], |a, b| a == b).unwrap();
    }

    #[test]
    fn a_precision_that_cannot_be_is_refused() {
        for precision in [0, 3, 19, 255] {
            assert!(CountDistinctFn::<i64>::new(precision).unwrap_err().contains("4 to 18"));
            let p = purlin_sdk::Pipeline::new();
            let numbers = p.create("Numbers", [1_i64]);
            numbers.apply("Count", ApproximateCountDistinct::globally().precision(precision));
            assert!(p.build().unwrap_err().to_string().contains("4 to 18"));
        }
    }

    #[test]
    fn the_longest_run_fits() {
        let mut registers = Registers::default();
        for precision in [4, 18] {
            registers = Registers::default();
            registers.add(0, precision);
            assert_eq!(registers.0[0], 64 - precision + 1);
            assert_eq!(registers.estimate(), 1);
        }
        registers.merge(Registers::default());
        assert_eq!(registers.estimate(), 1);
    }
}
