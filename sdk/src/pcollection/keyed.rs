//! Collections of pairs.

use std::panic::Location;

use super::PCollection;
use crate::{CombineFn, Element, Grouped, Key, core};

impl<T: Element> PCollection<T> {
    /// Pairs each element with the key that `f` gives it.
    #[track_caller]
    pub fn key_by<K: Key, F>(&self, name: &str, f: F) -> PCollection<(K, T)>
    where
        F: Fn(&T) -> K + Clone + Send + 'static,
    {
        self.map(name, move |x| (f(&x), x))
    }

    /// Combines all elements to one per window. In the global window an empty collection gives the combination of
    /// nothing; in other windows this is a build error that names the way out. See [`Combine`](crate::Combine).
    #[track_caller]
    pub fn combine_globally<C: CombineFn<Input = T>>(
        &self,
        name: &str,
        combine: C,
    ) -> PCollection<C::Output> {
        let input = self.clone();
        self.pipeline()
            .composite_at(name, Location::caller(), || core::combine_globally(&input, combine, true))
    }
}

// That `K` is a key is asked by each method and not here: only then does the compiler say what a key needs.
impl<K: Element, V: Element> PCollection<(K, V)> {
    /// Replaces each value; keys stay.
    #[track_caller]
    pub fn map_values<W: Element, F>(&self, name: &str, f: F) -> PCollection<(K, W)>
    where
        F: Fn(V) -> W + Clone + Send + 'static,
    {
        self.map(name, move |(k, v)| (k, f(v)))
    }

    /// All values of each key, per window.
    #[track_caller]
    pub fn group_by_key(&self, name: &str) -> PCollection<(K, Grouped<V>)>
    where
        K: Key,
    {
        core::group_by_key_at(self, name, Location::caller())
    }

    /// Combines the values of each key, per window.
    #[track_caller]
    pub fn combine_per_key<C: CombineFn<Input = V>>(
        &self,
        name: &str,
        combine: C,
    ) -> PCollection<(K, C::Output)>
    where
        K: Key,
    {
        core::combine_per_key_at(self, name, Location::caller(), combine)
    }
}
