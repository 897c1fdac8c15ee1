//! All elements as one list.

use std::{fmt, marker::PhantomData};

use purlin_sdk::{CombineFn, Element, Key, PCollection, PTransform};

use crate::scope::{Globally, NonEmpty, PerKey};

/// All elements of a window as one list, in any order. It must fit into memory.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::ToList;
/// # let p = Pipeline::new();
/// let list: PCollection<Vec<i32>> = p.create("Numbers", [1, 2, 3]).apply("List", ToList::globally());
/// # p.build().unwrap();
/// ```
/// Of an empty collection in the global window it is the empty list. To look at all of a collection while working on
/// another there are side inputs: [`view_as_list`](PCollection::view_as_list). Source: Beam's `ToList` (Python).
#[derive(Clone, Copy, Debug)]
pub struct ToList<S>(S);

impl ToList<Globally> {
    /// One list for all elements of a window.
    pub fn globally() -> ToList<Globally> {
        ToList(Globally)
    }

    /// Gives nothing for a window without elements. Needed in any but the global window.
    #[must_use]
    pub fn without_defaults(self) -> ToList<NonEmpty> {
        ToList(NonEmpty)
    }
}

impl ToList<PerKey> {
    /// One list for each key.
    pub fn per_key() -> ToList<PerKey> {
        ToList(PerKey)
    }
}

impl<T: Element> PTransform<PCollection<T>> for ToList<Globally> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        self.0.combine(input, ToListFn::new())
    }
}

impl<T: Element> PTransform<PCollection<T>> for ToList<NonEmpty> {
    type Out = PCollection<Vec<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<Vec<T>> {
        self.0.combine(input, ToListFn::new())
    }
}

impl<K: Key, V: Element> PTransform<PCollection<(K, V)>> for ToList<PerKey> {
    type Out = PCollection<(K, Vec<V>)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, Vec<V>)> {
        self.0.combine(input, ToListFn::new())
    }
}

/// Gathering, as a [`CombineFn`].
pub struct ToListFn<T>(PhantomData<fn(T) -> T>);

impl<T> ToListFn<T> {
    /// Gathers what comes in.
    pub fn new() -> ToListFn<T> {
        ToListFn(PhantomData)
    }
}

impl<T> Default for ToListFn<T> {
    fn default() -> ToListFn<T> {
        ToListFn::new()
    }
}

impl<T> Clone for ToListFn<T> {
    fn clone(&self) -> ToListFn<T> {
        ToListFn::new()
    }
}

impl<T> fmt::Debug for ToListFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToListFn")
    }
}

impl<T: Element> CombineFn for ToListFn<T> {
    type Input = T;
    type Accumulator = Vec<T>;
    type Output = Vec<T>;

    fn create(&self) -> Vec<T> {
        Vec::new()
    }

    #[inline]
    fn add_input(&self, list: &mut Vec<T>, x: T) {
        list.push(x);
    }

    fn merge(&self, list: &mut Vec<T>, mut other: Vec<T>) {
        // The shorter is moved: a list that is merged from many short ones is not copied for each.
        if list.len() < other.len() {
            std::mem::swap(list, &mut other);
        }
        list.append(&mut other);
    }

    fn extract(&self, list: Vec<T>) -> Vec<T> {
        list
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::check_combine_fn_laws;

    use super::*;

    fn sorted(list: &[i32]) -> Vec<i32> {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    }

    #[test]
    fn lists_obey_the_laws_but_for_their_order() {
        for xs in [&[][..], &[3, 1, 3, 2, 9, 9]] {
            check_combine_fn_laws(&ToListFn::new(), xs, |a, b| sorted(a) == sorted(b)).unwrap();
        }
    }
}
