//! The greatest and the least element: the same but for the direction.

use std::{cmp::Ordering, fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform};

use crate::{
    order::{By, ByKey, Natural, Order},
    scope::{Globally, NonEmpty, PerKey},
};

/// Makes the transform `$Name` and its CombineFn `$Fn`: of two elements the one that compares as `$better` stays, which
/// is called the `$word` one.
macro_rules! extremum {
    ($(#[$doc:meta])* $Name:ident, $(#[$fn_doc:meta])* $Fn:ident, $better:ident, $word:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Name<S, O = Natural> {
            scope: S,
            order: O,
        }

        impl $Name<Globally> {
            #[doc = concat!("The ", $word, " element of a window, if there is any.")]
            pub fn globally() -> $Name<Globally> {
                $Name { scope: Globally, order: Natural }
            }
        }

        impl<O> $Name<Globally, O> {
            /// Gives nothing for a window without elements. Needed in any but the global window.
            #[must_use]
            pub fn without_defaults(self) -> $Name<NonEmpty, O> {
                $Name { scope: NonEmpty, order: self.order }
            }
        }

        impl $Name<PerKey> {
            #[doc = concat!("The ", $word, " value of each key.")]
            pub fn per_key() -> $Name<PerKey> {
                $Name { scope: PerKey, order: Natural }
            }
        }

        impl<S> $Name<S> {
            /// Compares by `compare`, which must be a total order: see [`By`].
            #[must_use]
            pub fn by<T, F>(self, compare: F) -> $Name<S, By<F>>
            where
                F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
            {
                $Name { scope: self.scope, order: By(compare) }
            }

            /// Compares by what `part` reads from the elements.
            #[must_use]
            pub fn by_key<T, P: Ord, F>(self, part: F) -> $Name<S, ByKey<F>>
            where
                F: Fn(&T) -> P + Clone + Send + 'static,
            {
                $Name { scope: self.scope, order: ByKey(part) }
            }
        }

        impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for $Name<Globally, O> {
            type Out = PCollection<Option<T>>;

            #[track_caller]
            fn expand(self, input: PCollection<T>) -> PCollection<Option<T>> {
                self.scope.combine(input, $Fn::ordered(self.order))
            }
        }

        impl<T: Element, O: Order<T>> PTransform<PCollection<T>> for $Name<NonEmpty, O> {
            type Out = PCollection<T>;

            #[track_caller]
            fn expand(self, input: PCollection<T>) -> PCollection<T> {
                self.scope.combine(input, $Fn::ordered(self.order)).flat_map("Unwrap", |best| best)
            }
        }

        impl<K: Key, V: Element, O: Order<V>> PTransform<PCollection<(K, V)>> for $Name<PerKey, O> {
            type Out = PCollection<(K, V)>;

            #[track_caller]
            fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, V)> {
                let combined = self.scope.combine(input, $Fn::ordered(self.order));
                combined.flat_map("Unwrap", |(key, best)| best.map(|best| (key, best)))
            }
        }

        $(#[$fn_doc])*
        pub struct $Fn<T, O = Natural> {
            order: O,
            element: PhantomData<fn(T) -> T>,
        }

        impl<T: Ord> $Fn<T> {
            #[doc = concat!("The ", $word, " by the elements' own order.")]
            pub fn new() -> $Fn<T> {
                $Fn::ordered(Natural)
            }
        }

        impl<T: Ord> Default for $Fn<T> {
            fn default() -> $Fn<T> {
                $Fn::new()
            }
        }

        impl<T, O> $Fn<T, O> {
            #[doc = concat!("The ", $word, " by `order`.")]
            pub fn ordered(order: O) -> $Fn<T, O> {
                $Fn { order, element: PhantomData }
            }
        }

        impl<T, O: Clone> Clone for $Fn<T, O> {
            fn clone(&self) -> $Fn<T, O> {
                $Fn::ordered(self.order.clone())
            }
        }

        impl<T, O> fmt::Debug for $Fn<T, O> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($Fn))
            }
        }

        impl<T: Element, O: Order<T>> CombineFn for $Fn<T, O> {
            type Input = T;
            type Accumulator = Option<T>;
            type Output = Option<T>;

            fn create(&self) -> Option<T> {
                None
            }

            #[inline]
            fn add_input(&self, best: &mut Option<T>, x: T) {
                if best.as_ref().is_none_or(|best| self.order.compare(&x, best) == Ordering::$better) {
                    *best = Some(x);
                }
            }

            #[inline]
            fn merge(&self, best: &mut Option<T>, other: Option<T>) {
                if let Some(x) = other {
                    self.add_input(best, x);
                }
            }

            fn extract(&self, best: Option<T>) -> Option<T> {
                best
            }
        }
    };
}

extremum! {
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
    /// Of an empty collection in the global window the greatest element is `None`; `without_defaults` gives no
    /// element, and so needs no `Option`. (Beam's Java SDK gives the least integer, which may be mistaken for
    /// data.) Of several elements that are the greatest by the order in use, an arbitrary one is taken. NaN: see
    /// [`float_order`](crate::float_order).
    ///
    /// Source: Beam's `Max`.
    Max,
    /// The greatest, as a [`CombineFn`]; `None` of nothing.
    ///
    /// ```
    /// use purlin_transforms::{ByKey, MaxFn};
    /// let longest = MaxFn::ordered(ByKey(|s: &String| s.len()));
    /// # fn of_strings(_: impl purlin_sdk::CombineFn<Input = String, Output = Option<String>>) {}
    /// # of_strings(longest);
    /// ```
    MaxFn,
    Greater,
    "greatest"
}

extremum! {
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
    /// Of an empty collection in the global window the least element is `None`; `without_defaults` gives no
    /// element, and so needs no `Option`. (Beam's Java SDK gives the greatest integer, which may be mistaken for
    /// data.) Of several elements that are the least by the order in use, an arbitrary one is taken. NaN: see
    /// [`float_order`](crate::float_order).
    ///
    /// Source: Beam's `Min`.
    Min,
    /// The least, as a [`CombineFn`]; `None` of nothing.
    ///
    /// ```
    /// use purlin_transforms::{ByKey, MinFn};
    /// let shortest = MinFn::ordered(ByKey(|s: &String| s.len()));
    /// # fn of_strings(_: impl purlin_sdk::CombineFn<Input = String, Output = Option<String>>) {}
    /// # of_strings(shortest);
    /// ```
    MinFn,
    Less,
    "least"
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;
    use crate::float_order;

    fn best<C: CombineFn>(combine: &C, xs: &[C::Input]) -> C::Output {
        let mut acc = combine.create();
        xs.iter().for_each(|x| combine.add_input(&mut acc, x.clone()));
        combine.extract(acc)
    }

    #[test]
    fn the_extremes_obey_the_laws() {
        for xs in [&[][..], &[-3], &[3, 9, -2, 9, 4]] {
            check_combine_fn_laws(&MaxFn::new(), xs, |a, b| a == b).unwrap();
            check_combine_fn_laws(&MinFn::new(), xs, |a, b| a == b).unwrap();
            assert_eq!(best(&MaxFn::new(), xs), xs.iter().max().copied());
            assert_eq!(best(&MinFn::new(), xs), xs.iter().min().copied());
        }
    }

    #[test]
    fn of_equals_any_is_taken() {
        let length = |s: &Option<String>| s.as_ref().map(String::len);
        let words = ["be", "or", "a"].map(str::to_owned);
        let longest = MaxFn::ordered(ByKey(|s: &String| s.len()));
        check_combine_fn_laws(&longest, &words, |a, b| length(a) == length(b)).unwrap();
        assert_eq!(length(&best(&longest, &words)), Some(2));
        let words = ["to", "a", "b"].map(str::to_owned);
        let shortest = MinFn::ordered(ByKey(|s: &String| s.len()));
        check_combine_fn_laws(&shortest, &words, |a, b| length(a) == length(b)).unwrap();
        assert_eq!(length(&best(&shortest, &words)), Some(1));
    }

    #[test]
    fn b146_nan_is_the_greatest_in_every_order() {
        let by = MaxFn::ordered(By(float_order::<f64>));
        check_combine_fn_laws(&by, &[1.0, f64::NAN, 3.0], |a, b| a.map(f64::to_bits) == b.map(f64::to_bits))
            .unwrap();
        assert!(best(&by, &[1.0, f64::NAN, 3.0]).is_some_and(f64::is_nan));
    }

    #[test]
    fn b146_nan_is_the_least_only_where_there_is_no_number() {
        let by = MinFn::ordered(By(float_order::<f64>));
        check_combine_fn_laws(&by, &[1.0, f64::NAN, 3.0], |a, b| a.map(f64::to_bits) == b.map(f64::to_bits))
            .unwrap();
        assert_eq!(best(&by, &[f64::NAN, 1.0, -f64::NAN, 3.0]), Some(1.0));
        assert!(best(&by, &[f64::NAN]).is_some_and(f64::is_nan));
    }
}
