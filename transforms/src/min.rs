//! The least element.

use std::{cmp::Ordering, fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform};

use crate::{
    order::{By, ByKey, Natural, Order},
    scope::{Globally, NonEmpty, PerKey},
};

/// The least element, by its own order or another.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::{Min, float_order};
/// # let p = Pipeline::new();
/// let scores = p.create("Scores", [("amy".to_owned(), 3), ("bob".to_owned(), 4), ("amy".to_owned(), 5)]);
/// let each: PCollection<(String, i32)> = scores.apply("Each", Min::per_key());
/// let worst: PCollection<Option<(String, i32)>> =
///     scores.apply("Worst", Min::globally().by_key(|(_, n): &(String, i32)| *n));
/// let heat: PCollection<f64> = p
///     .create("Heat", [21.5, f64::NAN])
///     .apply("Coldest", Min::globally().by(float_order).without_defaults());
/// # p.build().unwrap();
/// ```
/// Of an empty collection in the global window the least element is `None`; `without_defaults` gives no element, and so
/// needs no `Option`. (Beam's Java SDK gives the greatest integer, which may be mistaken for data.) Of several elements
/// that are the least by the order in use, an arbitrary one is taken. NaN: see [`float_order`](crate::float_order).
///
/// Source: Beam's `Min`.
#[derive(Clone, Copy, Debug)]
pub struct Min<S, O = Natural> {
    scope: S,
    order: O,
}

impl Min<Globally> {
    /// The least element of a window, if there is any.
    pub fn globally() -> Min<Globally> {
        Min { scope: Globally, order: Natural }
    }
}

impl<O> Min<Globally, O> {
    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Min<NonEmpty, O> {
        Min { scope: NonEmpty, order: self.order }
    }
}

impl Min<PerKey> {
    /// The least value of each key.
    pub fn per_key() -> Min<PerKey> {
        Min { scope: PerKey, order: Natural }
    }
}

impl<S> Min<S> {
    /// Compares by `compare`, which must be a total order: see [`By`].
    #[must_use]
    pub fn by<T, F>(self, compare: F) -> Min<S, By<F>>
    where
        F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
    {
        Min { scope: self.scope, order: By(compare) }
    }

    /// Compares by what `part` reads from the elements.
    #[must_use]
    pub fn by_key<T, P: Ord, F>(self, part: F) -> Min<S, ByKey<F>>
    where
        F: Fn(&T) -> P + Clone + Send + 'static,
    {
        Min { scope: self.scope, order: ByKey(part) }
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for Min<Globally, O> {
    type Out = PCollection<Option<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Option<T>> {
        self.scope.combine(input, MinFn::ordered(self.order))
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for Min<NonEmpty, O> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        self.scope.combine(input, MinFn::ordered(self.order)).flat_map("Unwrap", |min| min)
    }
}

impl<K: Key, V: Element, O: Order<V>> PTransform<PCollection<(K, V)>> for Min<PerKey, O> {
    type Out = PCollection<(K, V)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, V)> {
        let combined = self.scope.combine(input, MinFn::ordered(self.order));
        combined.flat_map("Unwrap", |(key, min)| min.map(|min| (key, min)))
    }
}

/// The least, as a [`CombineFn`]; `None` of nothing.
///
/// ```
/// use purlin_transforms::{ByKey, MinFn};
/// let shortest = MinFn::ordered(ByKey(|s: &String| s.len()));
/// # fn of_strings(_: impl purlin_sdk::CombineFn<Input = String, Output = Option<String>>) {}
/// # of_strings(shortest);
/// ```
pub struct MinFn<T, O = Natural> {
    order: O,
    element: PhantomData<fn(T) -> T>,
}

impl<T: Ord> MinFn<T> {
    /// The least by the elements' own order.
    pub fn new() -> MinFn<T> {
        MinFn::ordered(Natural)
    }
}

impl<T: Ord> Default for MinFn<T> {
    fn default() -> MinFn<T> {
        MinFn::new()
    }
}

impl<T, O> MinFn<T, O> {
    /// The least by `order`.
    pub fn ordered(order: O) -> MinFn<T, O> {
        MinFn { order, element: PhantomData }
    }
}

impl<T, O: Clone> Clone for MinFn<T, O> {
    fn clone(&self) -> MinFn<T, O> {
        MinFn::ordered(self.order.clone())
    }
}

impl<T, O> fmt::Debug for MinFn<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MinFn")
    }
}

impl<T: Element, O: Order<T>> CombineFn for MinFn<T, O> {
    type Input = T;
    type Accumulator = Option<T>;
    type Output = Option<T>;

    fn create(&self) -> Option<T> {
        None
    }

    #[inline]
    fn add_input(&self, min: &mut Option<T>, x: T) {
        if min.as_ref().is_none_or(|min| self.order.compare(&x, min) == Ordering::Less) {
            *min = Some(x);
        }
    }

    #[inline]
    fn merge(&self, min: &mut Option<T>, other: Option<T>) {
        if let Some(x) = other {
            self.add_input(min, x);
        }
    }

    fn extract(&self, min: Option<T>) -> Option<T> {
        min
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;
    use crate::float_order;

    fn min<T: Element, O: Order<T>>(combine: &MinFn<T, O>, xs: &[T]) -> Option<T> {
        let mut acc = combine.create();
        xs.iter().for_each(|x| combine.add_input(&mut acc, x.clone()));
        combine.extract(acc)
    }

    #[test]
    fn the_least_obeys_the_laws() {
        for xs in [&[][..], &[-3], &[3, 9, -2, 9, 4]] {
            check_combine_fn_laws(&MinFn::new(), xs, |a, b| a == b).unwrap();
            assert_eq!(min(&MinFn::new(), xs), xs.iter().min().copied());
        }
    }

    #[test]
    fn of_equals_any_is_taken() {
        let words = ["to", "a", "b"].map(str::to_owned);
        let shortest = MinFn::ordered(ByKey(|s: &String| s.len()));
        let length = |s: &Option<String>| s.as_ref().map(String::len);
        check_combine_fn_laws(&shortest, &words, |a, b| length(a) == length(b)).unwrap();
        assert_eq!(length(&min(&shortest, &words)), Some(1));
    }

    #[test]
    fn b146_nan_is_the_least_only_where_there_is_no_number() {
        let by = MinFn::ordered(By(float_order::<f64>));
        check_combine_fn_laws(&by, &[1.0, f64::NAN, 3.0], |a, b| a.map(f64::to_bits) == b.map(f64::to_bits))
            .unwrap();
        assert_eq!(min(&by, &[f64::NAN, 1.0, -f64::NAN, 3.0]), Some(1.0));
        assert!(min(&by, &[f64::NAN]).is_some_and(f64::is_nan));
    }
}
