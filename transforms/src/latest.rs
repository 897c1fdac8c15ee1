//! The latest element.

use std::{fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform, Timestamp};

use crate::scope::{Globally, NonEmpty, PerKey};

/// The element with the greatest event timestamp.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline, Timestamp};
/// use purlin_transforms::Latest;
/// # let p = Pipeline::new();
/// let at = Timestamp::from_secs;
/// let prices = p.create_timestamped("Prices", [(("tea".to_owned(), 3), at(1)), (("tea".to_owned(), 4), at(2))]);
/// let now: PCollection<(String, i32)> = prices.apply("Now", Latest::per_key());
/// let last: PCollection<Option<(String, i32)>> = prices.apply("Last", Latest::globally());
/// # p.build().unwrap();
/// ```
/// Of several elements with that timestamp an arbitrary one is taken. Of an empty collection in the global window the
/// latest element is `None`; `without_defaults` gives no element, and so needs no `Option`. What comes out is at the end
/// of its window, like everything that is combined.
///
/// Source: Beam's `Latest`.
#[derive(Clone, Copy, Debug)]
pub struct Latest<S>(S);

impl Latest<Globally> {
    /// The latest element of a window, if there is any.
    pub fn globally() -> Latest<Globally> {
        Latest(Globally)
    }

    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> Latest<NonEmpty> {
        Latest(NonEmpty)
    }
}

impl Latest<PerKey> {
    /// The latest value of each key.
    pub fn per_key() -> Latest<PerKey> {
        Latest(PerKey)
    }
}

#[track_caller]
fn timed<T: Element>(input: &PCollection<T>) -> PCollection<(Timestamp, T)> {
    input.map_cx("Time", |x, cx| Ok((cx.timestamp(), x)))
}

impl<T: Element> PTransform<PCollection<T>> for Latest<Globally> {
    type Out = PCollection<Option<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Option<T>> {
        self.0.combine(timed(&input), LatestFn::new())
    }
}

impl<T: Element> PTransform<PCollection<T>> for Latest<NonEmpty> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        self.0.combine(timed(&input), LatestFn::new()).flat_map("Unwrap", |latest| latest)
    }
}

impl<K: Key, V: Element> PTransform<PCollection<(K, V)>> for Latest<PerKey> {
    type Out = PCollection<(K, V)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, V)> {
        let timed = input.map_cx("Time", |(key, x), cx| Ok((key, (cx.timestamp(), x))));
        let latest = self.0.combine(timed, LatestFn::new());
        latest.flat_map("Unwrap", |(key, latest)| latest.map(|x| (key, x)))
    }
}

/// The latest of timestamped values, as a [`CombineFn`]; `None` of nothing.
pub struct LatestFn<T>(PhantomData<fn(T) -> T>);

impl<T> LatestFn<T> {
    /// The latest of what comes in.
    pub fn new() -> LatestFn<T> {
        LatestFn(PhantomData)
    }
}

impl<T> Default for LatestFn<T> {
    fn default() -> LatestFn<T> {
        LatestFn::new()
    }
}

impl<T> Clone for LatestFn<T> {
    fn clone(&self) -> LatestFn<T> {
        LatestFn::new()
    }
}

impl<T> fmt::Debug for LatestFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LatestFn")
    }
}

impl<T: Element> CombineFn for LatestFn<T> {
    type Input = (Timestamp, T);
    type Accumulator = Option<(Timestamp, T)>;
    type Output = Option<T>;

    fn create(&self) -> Option<(Timestamp, T)> {
        None
    }

    #[inline]
    fn add_input(&self, latest: &mut Option<(Timestamp, T)>, x: (Timestamp, T)) {
        if latest.as_ref().is_none_or(|(at, _)| x.0 > *at) {
            *latest = Some(x);
        }
    }

    #[inline]
    fn merge(&self, latest: &mut Option<(Timestamp, T)>, other: Option<(Timestamp, T)>) {
        if let Some(x) = other {
            self.add_input(latest, x);
        }
    }

    fn extract(&self, latest: Option<(Timestamp, T)>) -> Option<T> {
        latest.map(|(_, x)| x)
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;

    #[test]
    fn the_latest_obeys_the_laws() {
        let at = Timestamp::from_secs;
        let xs = [(at(3), 30), (Timestamp::MIN, 0), (at(9), 90), (at(4), 40)];
        check_combine_fn_laws(&LatestFn::new(), &xs, |a, b| a == b).unwrap();
        check_combine_fn_laws(&LatestFn::<i32>::new(), &[], |a, b| a == b).unwrap();
    }

    #[test]
    fn an_element_at_the_beginning_of_time_is_an_element() {
        let mut acc = None;
        LatestFn::new().add_input(&mut acc, (Timestamp::MIN, 1));
        assert_eq!(LatestFn::new().extract(acc), Some(1));
    }
}
