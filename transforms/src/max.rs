//! The greatest element.

use std::{cmp::Ordering, fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform};

use crate::{
    order::{By, ByKey, Natural, Order},
    scope::{Globally, NonEmpty, PerKey},
};

/// The greatest element, by its own order or another.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::{Max, float_order};
/// # let p = Pipeline::new();
/// let scores = p.create("Scores", [("amy".to_owned(), 3), ("bob".to_owned(), 4), ("amy".to_owned(), 5)]);
/// let each: PCollection<(String, i32)> = scores.apply("Each", Max::per_key());
/// let best: PCollection<Option<(String, i32)>> =
///     scores.apply("Best", Max::globally().by_key(|(_, n): &(String, i32)| *n));
/// let heat: PCollection<f64> = p
///     .create("Heat", [21.5, f64::NAN])
///     .apply("Hottest", Max::globally().by(float_order).without_defaults());
/// # p.build().unwrap();
/// ```
/// Of an empty collection in the global window the greatest element is `None`; `without_defaults` gives no element, and
/// so needs no `Option`. (Beam's Java SDK gives the least integer, which may be mistaken for data.) Of several elements
/// that are the greatest by the order in use, an arbitrary one is taken. NaN: see [`float_order`](crate::float_order).
///
/// Source: Beam's `Max`.
#[derive(Clone, Copy, Debug)]
pub struct Max<S, O = Natural> {
    scope: S,
    order: O,
}

impl Max<Globally> {
    /// The greatest element of a window, if there is any.
    pub fn globally() -> Max<Globally> {
        Max { scope: Globally, order: Natural }
    }
}

impl<O> Max<Globally, O> {
    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Max<NonEmpty, O> {
        Max { scope: NonEmpty, order: self.order }
    }
}

impl Max<PerKey> {
    /// The greatest value of each key.
    pub fn per_key() -> Max<PerKey> {
        Max { scope: PerKey, order: Natural }
    }
}

impl<S> Max<S> {
    /// Compares by `compare`, which must be a total order: see [`By`].
    #[must_use]
    pub fn by<T, F>(self, compare: F) -> Max<S, By<F>>
    where
        F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
    {
        Max { scope: self.scope, order: By(compare) }
    }

    /// Compares by what `part` reads from the elements.
    #[must_use]
    pub fn by_key<T, P: Ord, F>(self, part: F) -> Max<S, ByKey<F>>
    where
        F: Fn(&T) -> P + Clone + Send + 'static,
    {
        Max { scope: self.scope, order: ByKey(part) }
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for Max<Globally, O> {
    type Out = PCollection<Option<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Option<T>> {
        self.scope.combine(input, MaxFn::ordered(self.order))
    }
}

impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for Max<NonEmpty, O> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        self.scope.combine(input, MaxFn::ordered(self.order)).flat_map("Unwrap", |max| max)
    }
}

impl<K: Key, V: Element, O: Order<V>> PTransform<PCollection<(K, V)>> for Max<PerKey, O> {
    type Out = PCollection<(K, V)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, V)> {
        let combined = self.scope.combine(input, MaxFn::ordered(self.order));
        combined.flat_map("Unwrap", |(key, max)| max.map(|max| (key, max)))
    }
}

/// The greatest, as a [`CombineFn`]; `None` of nothing.
///
/// ```
/// use purlin_transforms::{ByKey, MaxFn};
/// let longest = MaxFn::ordered(ByKey(|s: &String| s.len()));
/// # fn of_strings(_: impl purlin_sdk::CombineFn<Input = String, Output = Option<String>>) {}
/// # of_strings(longest);
/// ```
pub struct MaxFn<T, O = Natural> {
    order: O,
    element: PhantomData<fn(T) -> T>,
}

impl<T: Ord> MaxFn<T> {
    /// The greatest by the elements' own order.
    pub fn new() -> MaxFn<T> {
        MaxFn::ordered(Natural)
    }
}

impl<T: Ord> Default for MaxFn<T> {
    fn default() -> MaxFn<T> {
        MaxFn::new()
    }
}

impl<T, O> MaxFn<T, O> {
    /// The greatest by `order`.
    pub fn ordered(order: O) -> MaxFn<T, O> {
        MaxFn { order, element: PhantomData }
    }
}

impl<T, O: Clone> Clone for MaxFn<T, O> {
    fn clone(&self) -> MaxFn<T, O> {
        MaxFn::ordered(self.order.clone())
    }
}

impl<T, O> fmt::Debug for MaxFn<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaxFn")
    }
}

impl<T: Element, O: Order<T>> CombineFn for MaxFn<T, O> {
    type Input = T;
    type Accumulator = Option<T>;
    type Output = Option<T>;

    fn create(&self) -> Option<T> {
        None
    }

    #[inline]
    fn add_input(&self, max: &mut Option<T>, x: T) {
        if max.as_ref().is_none_or(|max| self.order.compare(&x, max) == Ordering::Greater) {
            *max = Some(x);
        }
    }

    #[inline]
    fn merge(&self, max: &mut Option<T>, other: Option<T>) {
        if let Some(x) = other {
            self.add_input(max, x);
        }
    }

    fn extract(&self, max: Option<T>) -> Option<T> {
        max
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;
    use crate::float_order;

    fn max<T: Element, O: Order<T>>(combine: &MaxFn<T, O>, xs: &[T]) -> Option<T> {
        let mut acc = combine.create();
        xs.iter().for_each(|x| combine.add_input(&mut acc, x.clone()));
        combine.extract(acc)
    }

    #[test]
    fn the_greatest_obeys_the_laws() {
        for xs in [&[][..], &[-3], &[3, 9, -2, 9, 4]] {
            check_combine_fn_laws(&MaxFn::new(), xs, |a, b| a == b).unwrap();
            assert_eq!(max(&MaxFn::new(), xs), xs.iter().max().copied());
        }
    }

    #[test]
    fn of_equals_any_is_taken() {
        let words = ["be", "or", "a"].map(str::to_owned);
        let longest = MaxFn::ordered(ByKey(|s: &String| s.len()));
        let length = |s: &Option<String>| s.as_ref().map(String::len);
        check_combine_fn_laws(&longest, &words, |a, b| length(a) == length(b)).unwrap();
        assert_eq!(length(&max(&longest, &words)), Some(2));
    }

    #[test]
    fn b146_nan_is_the_greatest_in_every_order() {
        let by = MaxFn::ordered(By(float_order::<f64>));
        check_combine_fn_laws(&by, &[1.0, f64::NAN, 3.0], |a, b| a.map(f64::to_bits) == b.map(f64::to_bits))
            .unwrap();
        assert!(max(&by, &[1.0, f64::NAN, 3.0]).is_some_and(f64::is_nan));
    }
}
