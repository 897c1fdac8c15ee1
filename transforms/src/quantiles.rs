//! Elements at regular places in an order.

use std::{cmp::Ordering, fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform, Pipeline};

use crate::{
    order::{By, ByKey, Natural, Order},
    scope::{Globally, NonEmpty, PerKey},
};

mod summary;

pub use summary::Summary;

/// `n` elements that cut what there is into `n - 1` parts of about the same size: the least, the greatest, and those at
/// regular places between them, least first. With `n` of 3 the one in the middle is the median, with 101 they are
/// percentiles.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::{ApproximateQuantiles, float_order};
/// # let p = Pipeline::new();
/// let latencies = p.create("Latencies", [("login".to_owned(), 12), ("login".to_owned(), 7), ("search".to_owned(), 90)]);
/// let quartiles: PCollection<(String, Vec<i32>)> = latencies.apply("Quartiles", ApproximateQuantiles::per_key(5));
/// let by_time: PCollection<Vec<(String, i32)>> =
///     latencies.apply("ByTime", ApproximateQuantiles::globally(3).by_key(|(_, ms): &(String, i32)| *ms));
/// let heat: PCollection<Vec<f64>> =
///     p.create("Heat", [21.5, f64::NAN]).apply("Median", ApproximateQuantiles::globally(3).by(float_order));
/// # p.build().unwrap();
/// ```
/// - Of fewer than 512 elements they are exact: in sorted order, counted from 0, of `N` elements the `i`-th quantile is at `(i * N - 1) / (n - 1)`, rounded down, as in Beam. Where there are fewer elements
///   than quantiles, some are given more than once.
/// - Of more, least and greatest are exact and the others may come from another place in the order, off by no more than
///   `1 / n` of all elements, or by what [`with_epsilon`](ApproximateQuantiles::with_epsilon) says, as long as there are
///   no more than 10^12. They are off by far less as a rule. Chance has no part in it: elements that are combined in the
///   same way give the same result.
/// - Memory is bounded: some thousand elements for each key and worker for the usual `n`, however many come.
/// - Of an empty collection in the global window it is the empty list. NaN: see [`float_order`](crate::float_order).
/// - Fewer than two quantiles are a build error.
///
/// Source: Beam's `ApproximateQuantiles`.
#[derive(Clone, Copy, Debug)]
pub struct ApproximateQuantiles<S, O = Natural> {
    scope: S,
    n: usize,
    epsilon: Option<f64>,
    order: O,
}

impl ApproximateQuantiles<Globally> {
    /// `n` quantiles of all elements of a window, as one list.
    pub fn globally(n: usize) -> ApproximateQuantiles<Globally> {
        ApproximateQuantiles { scope: Globally, n, epsilon: None, order: Natural }
    }
}

impl<O> ApproximateQuantiles<Globally, O> {
    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> ApproximateQuantiles<NonEmpty, O> {
        let ApproximateQuantiles { n, epsilon, order, .. } = self;
        ApproximateQuantiles { scope: NonEmpty, n, epsilon, order }
    }
}

impl ApproximateQuantiles<PerKey> {
    /// `n` quantiles of the values of each key, as one list.
    pub fn per_key(n: usize) -> ApproximateQuantiles<PerKey> {
        ApproximateQuantiles { scope: PerKey, n, epsilon: None, order: Natural }
    }
}

impl<S> ApproximateQuantiles<S> {
    /// Compares by `compare`, which must be a total order: see [`By`].
    #[must_use]
    pub fn by<T, F>(self, compare: F) -> ApproximateQuantiles<S, By<F>>
    where
        F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
    {
        let ApproximateQuantiles { scope, n, epsilon, .. } = self;
        ApproximateQuantiles { scope, n, epsilon, order: By(compare) }
    }

    /// Compares by what `part` reads from the elements.
    #[must_use]
    pub fn by_key<T, P: Ord, F>(self, part: F) -> ApproximateQuantiles<S, ByKey<F>>
    where
        F: Fn(&T) -> P + Clone + Send + 'static,
    {
        let ApproximateQuantiles { scope, n, epsilon, .. } = self;
        ApproximateQuantiles { scope, n, epsilon, order: ByKey(part) }
    }
}

impl<S, O> ApproximateQuantiles<S, O> {
    /// By how much of all elements the place of a quantile may be off: at 0.01, one in a hundred. Memory grows as this
    /// gets smaller: up to `32 / epsilon` elements for each time that the number of elements doubles beyond that. What is
    /// not between 0 and 1 is a build error.
    #[must_use]
    pub fn with_epsilon(mut self, epsilon: f64) -> ApproximateQuantiles<S, O> {
        self.epsilon = Some(epsilon);
        self
    }

    #[track_caller]
    fn into_parts<T>(self, pipeline: &Pipeline) -> (S, ApproximateQuantilesFn<T, O>) {
        if self.n < 2 {
            pipeline.build_error(format!(
                "it is to give {} quantiles; the least and the greatest element make two already",
                self.n
            ));
        }
        let mut combine = ApproximateQuantilesFn::ordered(self.n, self.order);
        if let Some(epsilon) = self.epsilon {
            if !(epsilon > 0.0 && epsilon < 1.0) {
                pipeline.build_error(format!(
                    "its quantiles are to be off by no more than {epsilon} of all elements; say something between 0 and 1, \
                     such as 0.01"
                ));
            }
            combine = combine.epsilon(epsilon);
        }
        (self.scope, combine)
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for ApproximateQuantiles<Globally, O> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        let (scope, combine) = self.into_parts(input.pipeline());
        scope.combine(input, combine)
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for ApproximateQuantiles<NonEmpty, O> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        let (scope, combine) = self.into_parts(input.pipeline());
        scope.combine(input, combine)
    }
}

impl<K: Key, V: Element, O: Order<V>> PTransform<PCollection<(K, V)>> for ApproximateQuantiles<PerKey, O> {
    type Out = PCollection<(K, Vec<V>)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, Vec<V>)> {
        let (scope, combine) = self.into_parts(input.pipeline());
        scope.combine(input, combine)
    }
}

/// Quantiles, as a [`CombineFn`]; the empty list of nothing. See [`ApproximateQuantiles`].
pub struct ApproximateQuantilesFn<T, O = Natural> {
    n: usize,
    size: usize,
    order: O,
    element: PhantomData<fn(T) -> T>,
}

impl<T: Ord> ApproximateQuantilesFn<T> {
    /// `n` quantiles by the elements' own order.
    pub fn new(n: usize) -> ApproximateQuantilesFn<T> {
        ApproximateQuantilesFn::ordered(n, Natural)
    }
}

impl<T, O> ApproximateQuantilesFn<T, O> {
    /// `n` quantiles by `order`. There are two at least.
    pub fn ordered(n: usize, order: O) -> ApproximateQuantilesFn<T, O> {
        let n = n.max(2);
        ApproximateQuantilesFn { n, size: summary::size_for(1.0 / n as f64), order, element: PhantomData }
    }

    /// Lets places be off by no more than this part of all elements.
    #[must_use]
    pub fn epsilon(mut self, epsilon: f64) -> ApproximateQuantilesFn<T, O> {
        self.size = summary::size_for(epsilon);
        self
    }
}

impl<T, O: Clone> Clone for ApproximateQuantilesFn<T, O> {
    fn clone(&self) -> ApproximateQuantilesFn<T, O> {
        ApproximateQuantilesFn { order: self.order.clone(), element: PhantomData, ..*self }
    }
}

impl<T, O> fmt::Debug for ApproximateQuantilesFn<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApproximateQuantilesFn").field("n", &self.n).finish_non_exhaustive()
    }
}

impl<T: Element, O: Order<T>> CombineFn for ApproximateQuantilesFn<T, O> {
    type Input = T;
    type Accumulator = Summary<T>;
    type Output = Vec<T>;

    fn create(&self) -> Summary<T> {
        Summary::default()
    }

    #[inline]
    fn add_input(&self, summary: &mut Summary<T>, x: T) {
        summary.add(x, self.size, |a, b| self.order.compare(a, b));
    }

    fn merge(&self, summary: &mut Summary<T>, other: Summary<T>) {
        summary.merge(other, self.size, |a, b| self.order.compare(a, b));
    }

    fn extract(&self, summary: Summary<T>) -> Vec<T> {
        summary.quantiles(self.n, |a, b| self.order.compare(a, b))
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;
    use crate::float_order;

    fn quantiles<T: Element, O: Order<T>>(
        combine: &ApproximateQuantilesFn<T, O>,
        xs: impl IntoIterator<Item = T>,
    ) -> Vec<T> {
        let mut acc = combine.create();
        xs.into_iter().for_each(|x| combine.add_input(&mut acc, x));
        combine.extract(acc)
    }

    #[test]
    fn few_elements_are_exact_and_obey_the_laws() {
        for (n, count, want) in [
            (5, 101, vec![0, 25, 50, 75, 100]),
            (2, 7, vec![0, 6]),
            (3, 2, vec![0, 0, 1]),
            (5, 1, vec![0; 5]),
            (4, 0, vec![]),
        ] {
            let xs: Vec<i64> = (0..count).collect();
            check_combine_fn_laws(&ApproximateQuantilesFn::new(n), &xs, |a, b| *a == want && *b == want)
                .unwrap();
        }
        let reversed = ApproximateQuantilesFn::ordered(3, By(|a: &i64, b: &i64| b.cmp(a)));
        assert_eq!(quantiles(&reversed, 0..101), [100, 50, 0]);
        assert_eq!(quantiles(&ApproximateQuantilesFn::new(3), 0..511), [0, 255, 510]);
    }

    #[test]
    fn b146_nan_has_a_place_in_every_order() {
        let bits = |xs: &Vec<f64>| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let combine = ApproximateQuantilesFn::ordered(3, By(float_order::<f64>));
        let xs = [1.0, f64::NAN, 3.0];
        check_combine_fn_laws(&combine, &xs, |a, b| bits(a) == bits(b)).unwrap();
        assert_eq!(bits(&quantiles(&combine, xs)), bits(&vec![1.0, 3.0, f64::NAN]));
    }

    /// The numbers below `n` in an order that looks random.
    fn shuffled(n: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..n).collect();
        fastrand::Rng::with_seed(n).shuffle(&mut all);
        all
    }

    /// How far the places of quantiles are off, at most, as a part of all elements `0..n`.
    fn worst(got: &[u64], n: u64) -> f64 {
        let last = got.len() as u64 - 1;
        let off = |(i, x): (usize, &u64)| {
            let want = ((i as u64 * n).saturating_sub(1)) / last;
            x.abs_diff(want) as f64 / n as f64
        };
        got.iter().enumerate().map(off).fold(0.0, f64::max)
    }

    #[test]
    fn many_elements_are_off_by_no_more_than_was_said_however_they_come() {
        const N: u64 = 200_000;
        let orders: [Vec<u64>; 4] = [
            (0..N).collect(),
            (0..N).rev().collect(),
            shuffled(N),
            (0..N / 2).flat_map(|i| [i, N - 1 - i]).collect(),
        ];
        for epsilon in [0.5, 0.05, 0.005] {
            let combine = ApproximateQuantilesFn::<u64>::new(11).epsilon(epsilon);
            for order in &orders {
                let got = quantiles(&combine, order.iter().copied());
                assert_eq!((got[0], got[10]), (0, N - 1));
                assert!(got.is_sorted() && worst(&got, N) <= epsilon, "{epsilon}: {got:?}");
            }
        }
    }

    #[test]
    fn parts_of_all_sizes_are_merged_within_the_same_error() {
        const N: u64 = 100_000;
        let combine = ApproximateQuantilesFn::<u64>::new(11).epsilon(0.02);
        let all = shuffled(N);
        for parts in [2, 7, 100, 5_000] {
            let mut total = combine.create();
            for (i, part) in all.chunks(N as usize / parts).enumerate() {
                let mut acc = combine.create();
                part.iter().for_each(|x| combine.add_input(&mut acc, *x));
                if i % 2 == 0 {
                    std::mem::swap(&mut acc, &mut total);
                }
                combine.merge(&mut total, acc);
            }
            let got = combine.extract(total);
            assert_eq!((got[0], got[10]), (0, N - 1));
            assert!(worst(&got, N) <= 0.02, "{parts}: {got:?}");
        }
    }

    #[test]
    fn memory_grows_by_one_level_when_the_number_doubles() {
        let combine = ApproximateQuantilesFn::<u64>::new(5);
        let mut acc = combine.create();
        let mut largest = 0;
        for x in shuffled(1 << 18) {
            combine.add_input(&mut acc, x);
            largest = largest.max(acc.held());
        }
        assert!(largest <= 512 * 11, "{largest}");
    }

    #[test]
    fn the_same_work_gives_the_same_result() {
        let combine = ApproximateQuantilesFn::<u64>::new(50);
        assert_eq!(quantiles(&combine, shuffled(50_000)), quantiles(&combine, shuffled(50_000)));
    }
}
