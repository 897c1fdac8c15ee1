//! All elements in a vector.

use std::marker::PhantomData;

use purlin_sdk::{CombineFn, Element};

/// Gathers elements, in any order.
pub(super) struct Collect<T>(PhantomData<fn(T)>);

impl<T> Collect<T> {
    pub(super) fn new() -> Collect<T> {
        Collect(PhantomData)
    }
}

impl<T> Clone for Collect<T> {
    fn clone(&self) -> Self {
        Collect(PhantomData)
    }
}

impl<T: Element> CombineFn for Collect<T> {
    type Input = T;
    type Accumulator = Vec<T>;
    type Output = Vec<T>;

    fn create(&self) -> Vec<T> {
        Vec::new()
    }

    fn add_input(&self, all: &mut Vec<T>, x: T) {
        all.push(x);
    }

    fn merge(&self, all: &mut Vec<T>, mut more: Vec<T>) {
        all.append(&mut more);
    }

    fn extract(&self, all: Vec<T>) -> Vec<T> {
        all
    }
}
