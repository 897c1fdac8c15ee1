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
/// Source: Beam's `CombineFn`.
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
