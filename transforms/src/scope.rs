//! Whether a transform aggregates a whole window or each key, and what it does where there is nothing.

use purlin_sdk::{Combine, CombineFn, Key, PCollection, PTransform};

/// All elements of a window together; where an empty collection has a value.
#[derive(Clone, Copy, Debug)]
pub struct Globally;

/// All elements of a window together; nothing for a window without elements.
#[derive(Clone, Copy, Debug)]
pub struct NonEmpty;

/// The values of each key.
#[derive(Clone, Copy, Debug)]
pub struct PerKey;

impl Globally {
    #[track_caller]
    pub(crate) fn combine<C: CombineFn>(
        self,
        input: PCollection<C::Input>,
        combine: C,
    ) -> PCollection<C::Output> {
        Combine::globally(combine).expand(input)
    }
}

impl NonEmpty {
    #[track_caller]
    pub(crate) fn combine<C: CombineFn>(
        self,
        input: PCollection<C::Input>,
        combine: C,
    ) -> PCollection<C::Output> {
        Combine::globally(combine).without_defaults().expand(input)
    }
}

impl PerKey {
    #[track_caller]
    pub(crate) fn combine<K: Key, C: CombineFn>(
        self,
        input: PCollection<(K, C::Input)>,
        combine: C,
    ) -> PCollection<(K, C::Output)> {
        Combine::per_key(combine).expand(input)
    }
}
