//! The greatest or least elements.

use std::{cmp::Ordering, fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform};

use crate::{
    order::{By, ByKey, Natural, Order},
    scope::{Globally, NonEmpty, PerKey},
};

mod best;

pub(crate) use best::{best_first, offer};

/// The `n` greatest or least elements as a list, best first; all of them where there are fewer.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::{Top, float_order};
/// # let p = Pipeline::new();
/// let scores = p.create("Scores", [("amy".to_owned(), 3), ("bob".to_owned(), 4), ("amy".to_owned(), 5)]);
/// let each: PCollection<(String, Vec<i32>)> = scores.apply("Each", Top::largest_per_key(2));
/// let best: PCollection<Vec<(String, i32)>> =
///     scores.apply("Best", Top::largest(2).by_key(|(_, n): &(String, i32)| *n));
/// let heat: PCollection<Vec<f64>> =
///     p.create("Heat", [21.5, -3.0]).apply("Coldest", Top::smallest(1).by(float_order));
/// # p.build().unwrap();
/// ```
/// Of an empty collection in the global window it is the empty list. Which of several elements that the order in use
/// holds for equal are taken, and their order in the list, is arbitrary. NaN: see
/// [`float_order`](crate::float_order). Memory is of the order of `n` for each key and worker.
///
/// Source: Beam's `Top`.
#[derive(Clone, Copy, Debug)]
pub struct Top<S, O = Natural> {
    scope: S,
    n: usize,
    order: O,
    smallest: bool,
}

impl Top<Globally> {
    /// The `n` greatest elements of a window, greatest first.
    pub fn largest(n: usize) -> Top<Globally> {
        Top { scope: Globally, n, order: Natural, smallest: false }
    }

    /// The `n` least elements of a window, least first.
    pub fn smallest(n: usize) -> Top<Globally> {
        Top { smallest: true, ..Top::largest(n) }
    }
}

impl<F> Top<Globally, By<F>> {
    /// The `n` greatest elements of a window by `compare`, which must be a total order: see [`By`].
    pub fn of<T>(n: usize, compare: F) -> Top<Globally, By<F>>
    where
        F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
    {
        Top::largest(n).by(compare)
    }
}

impl<O> Top<Globally, O> {
    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Top<NonEmpty, O> {
        Top { scope: NonEmpty, n: self.n, order: self.order, smallest: self.smallest }
    }
}

impl Top<PerKey> {
    /// The `n` greatest values of each key, greatest first.
    pub fn largest_per_key(n: usize) -> Top<PerKey> {
        Top { scope: PerKey, n, order: Natural, smallest: false }
    }

    /// The `n` least values of each key, least first.
    pub fn smallest_per_key(n: usize) -> Top<PerKey> {
        Top { smallest: true, ..Top::largest_per_key(n) }
    }
}

impl<F> Top<PerKey, By<F>> {
    /// The `n` greatest values of each key by `compare`, which must be a total order: see [`By`].
    pub fn per_key<T>(n: usize, compare: F) -> Top<PerKey, By<F>>
    where
        F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
    {
        Top::largest_per_key(n).by(compare)
    }
}

impl<S> Top<S> {
    /// Compares by `compare`, which must be a total order: see [`By`].
    #[must_use]
    pub fn by<T, F>(self, compare: F) -> Top<S, By<F>>
    where
        F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
    {
        Top { scope: self.scope, n: self.n, order: By(compare), smallest: self.smallest }
    }

    /// Compares by what `part` reads from the elements.
    #[must_use]
    pub fn by_key<T, P: Ord, F>(self, part: F) -> Top<S, ByKey<F>>
    where
        F: Fn(&T) -> P + Clone + Send + 'static,
    {
        Top { scope: self.scope, n: self.n, order: ByKey(part), smallest: self.smallest }
    }
}

impl<S, O> Top<S, O> {
    fn into_parts<T>(self) -> (S, TopFn<T, O>) {
        let combine = TopFn { n: self.n, order: self.order, smallest: self.smallest, element: PhantomData };
        (self.scope, combine)
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for Top<Globally, O> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        let (scope, combine) = self.into_parts();
        scope.combine(input, combine)
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for Top<NonEmpty, O> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        let (scope, combine) = self.into_parts();
        scope.combine(input, combine)
    }
}

impl<K: Key, V: Element, O: Order<V>> PTransform<PCollection<(K, V)>> for Top<PerKey, O> {
    type Out = PCollection<(K, Vec<V>)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, Vec<V>)> {
        let (scope, combine) = self.into_parts();
        scope.combine(input, combine)
    }
}

/// The `n` greatest or least, as a [`CombineFn`].
pub struct TopFn<T, O = Natural> {
    n: usize,
    order: O,
    smallest: bool,
    element: PhantomData<fn(T) -> T>,
}

impl<T: Ord> TopFn<T> {
    /// The `n` greatest by the elements' own order, greatest first.
    pub fn largest(n: usize) -> TopFn<T> {
        TopFn::largest_by(n, Natural)
    }

    /// The `n` least by the elements' own order, least first.
    pub fn smallest(n: usize) -> TopFn<T> {
        TopFn::smallest_by(n, Natural)
    }
}

impl<T, O: Order<T>> TopFn<T, O> {
    /// The `n` greatest by `order`, greatest first.
    pub fn largest_by(n: usize, order: O) -> TopFn<T, O> {
        TopFn { n, order, smallest: false, element: PhantomData }
    }

    /// The `n` least by `order`, least first.
    pub fn smallest_by(n: usize, order: O) -> TopFn<T, O> {
        TopFn { smallest: true, ..TopFn::largest_by(n, order) }
    }

    /// Better comes first.
    #[inline]
    fn compare(&self, a: &T, b: &T) -> Ordering {
        if self.smallest { self.order.compare(a, b) } else { self.order.compare(b, a) }
    }
}

impl<T, O: Clone> Clone for TopFn<T, O> {
    fn clone(&self) -> TopFn<T, O> {
        TopFn { n: self.n, order: self.order.clone(), smallest: self.smallest, element: PhantomData }
    }
}

impl<T, O> fmt::Debug for TopFn<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopFn").field("n", &self.n).field("smallest", &self.smallest).finish_non_exhaustive()
    }
}

impl<T: Element, O: Order<T>> CombineFn for TopFn<T, O> {
    type Input = T;
    type Accumulator = Vec<T>;
    type Output = Vec<T>;

    fn create(&self) -> Vec<T> {
        Vec::new()
    }

    #[inline]
    fn add_input(&self, kept: &mut Vec<T>, x: T) {
        offer(kept, self.n, x, |a, b| self.compare(a, b));
    }

    fn merge(&self, kept: &mut Vec<T>, other: Vec<T>) {
        for x in other {
            self.add_input(kept, x);
        }
    }

    fn extract(&self, kept: Vec<T>) -> Vec<T> {
        best_first(kept, self.n, |a, b| self.compare(a, b))
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;
    use crate::float_order;

    fn top<T: Element, O: Order<T>>(combine: &TopFn<T, O>, xs: &[T]) -> Vec<T> {
        let mut acc = combine.create();
        xs.iter().for_each(|x| combine.add_input(&mut acc, x.clone()));
        combine.extract(acc)
    }

    #[test]
    fn tops_obey_the_laws() {
        let xs = [5, -1, 9, 9, 3, 0, 7, 2];
        for n in [0, 1, 2, 3, 8, 9, usize::MAX] {
            check_combine_fn_laws(&TopFn::largest(n), &xs, |a, b| a == b).unwrap();
            check_combine_fn_laws(&TopFn::smallest(n), &xs, |a, b| a == b).unwrap();
            let mut sorted = xs;
            sorted.sort_unstable();
            assert_eq!(top(&TopFn::smallest(n), &xs), sorted[..n.min(8)]);
            sorted.reverse();
            assert_eq!(top(&TopFn::largest(n), &xs), sorted[..n.min(8)]);
        }
        check_combine_fn_laws(&TopFn::<i32>::largest(3), &[], |a, b| a == b).unwrap();
    }

    #[test]
    fn b146_nan_has_a_place_in_every_order() {
        let bits = |xs: &Vec<f64>| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let xs = [1.0, f64::NAN, 3.0, -0.0, 0.0];
        let largest = TopFn::largest_by(2, By(float_order::<f64>));
        check_combine_fn_laws(&largest, &xs, |a, b| bits(a) == bits(b)).unwrap();
        assert_eq!(bits(&top(&largest, &xs)), bits(&vec![f64::NAN, 3.0]));
        let smallest = TopFn::smallest_by(2, By(float_order::<f64>));
        check_combine_fn_laws(&smallest, &xs, |a, b| bits(a) == bits(b)).unwrap();
        assert_eq!(bits(&top(&smallest, &xs)), bits(&vec![-0.0, 0.0]));
    }
}
