//! Combining: many values of a key to one.

use crate::Element;

/// An associative and commutative way to make one value of many.
///
/// The runner makes accumulators where the data are, and merges them; nothing is promised about which values meet in
/// which accumulator. An accumulator is never shared between windows or keys, and merging changes the first one only.
///
/// ```
/// use purlin_sdk::CombineFn;
/// /// The mean of integers.
/// #[derive(Clone)]
/// struct Mean;
/// impl CombineFn for Mean {
///     type Input = i64;
///     type Accumulator = (i64, u64);
///     type Output = f64;
///     fn create(&self) -> (i64, u64) { (0, 0) }
///     fn add_input(&self, acc: &mut (i64, u64), x: i64) { acc.0 += x; acc.1 += 1; }
///     fn merge(&self, acc: &mut (i64, u64), other: (i64, u64)) { acc.0 += other.0; acc.1 += other.1; }
///     fn extract(&self, (sum, n): (i64, u64)) -> f64 { sum as f64 / n as f64 }
/// }
/// let fold = |xs: &[i64]| {
///     let mut acc = Mean.create();
///     xs.iter().for_each(|x| Mean.add_input(&mut acc, *x));
///     acc
/// };
/// let mut left = fold(&[1, 2]);
/// Mean.merge(&mut left, fold(&[6]));
/// assert_eq!(Mean.extract(left), 3.0);
/// ```
/// Several of one input are one: a tuple of two to four CombineFns gives all their results from one pass over the input.
///
/// ```
/// # use purlin_sdk::{CombineFn, PCollection, Pipeline};
/// # #[derive(Clone)] struct Sum;
/// # impl CombineFn for Sum {
/// #     type Input = i64; type Accumulator = i64; type Output = i64;
/// #     fn create(&self) -> i64 { 0 }
/// #     fn add_input(&self, a: &mut i64, x: i64) { *a += x }
/// #     fn merge(&self, a: &mut i64, b: i64) { *a += b }
/// #     fn extract(&self, a: i64) -> i64 { a }
/// # }
/// # #[derive(Clone)] struct Greatest;
/// # impl CombineFn for Greatest {
/// #     type Input = i64; type Accumulator = i64; type Output = i64;
/// #     fn create(&self) -> i64 { i64::MIN }
/// #     fn add_input(&self, a: &mut i64, x: i64) { *a = x.max(*a) }
/// #     fn merge(&self, a: &mut i64, b: i64) { *a = b.max(*a) }
/// #     fn extract(&self, a: i64) -> i64 { a }
/// # }
/// # let p = Pipeline::new();
/// let both: PCollection<(i64, i64)> = p.create("Amounts", [1_i64, 2]).combine_globally("Both", (Sum, Greatest));
/// # p.build().unwrap();
/// ```
/// Source: Beam's `CombineFn`; its `CombineFns.compose` for the tuples.
pub trait CombineFn: Clone + Send + 'static {
    /// What comes in.
    type Input: Element;
    /// What is kept of it.
    type Accumulator: Element;
    /// What comes out.
    type Output: Element;

    /// The accumulator of nothing.
    fn create(&self) -> Self::Accumulator;

    /// Adds one value.
    fn add_input(&self, accumulator: &mut Self::Accumulator, input: Self::Input);

    /// Adds all that `other` holds.
    fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator);

    /// The result.
    fn extract(&self, accumulator: Self::Accumulator) -> Self::Output;
}

macro_rules! together {
    ($($F:ident $n:tt),+) => {
        impl<In: Element, $($F: CombineFn<Input = In>),+> CombineFn for ($($F,)+) {
            type Input = In;
            type Accumulator = ($($F::Accumulator,)+);
            type Output = ($($F::Output,)+);

            fn create(&self) -> Self::Accumulator {
                ($(self.$n.create(),)+)
            }

            fn add_input(&self, accumulator: &mut Self::Accumulator, input: In) {
                $(self.$n.add_input(&mut accumulator.$n, input.clone());)+
            }

            fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator) {
                $(self.$n.merge(&mut accumulator.$n, other.$n);)+
            }

            fn extract(&self, accumulator: Self::Accumulator) -> Self::Output {
                ($(self.$n.extract(accumulator.$n),)+)
            }
        }
    };
}

together!(A 0, B 1);
together!(A 0, B 1, C 2);
together!(A 0, B 1, C 2, D 3);
