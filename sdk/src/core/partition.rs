//! One collection as several.

use std::{marker::PhantomData, panic::Location, sync::Arc};

use crate::{
    Element, PCollection, PTransform,
    exec::{PartitionFactory, Proto},
    graph::Op,
};

/// Splits a collection into `n`, by the number that a closure gives each element.
///
/// ```
/// # use purlin_sdk::{Partition, Pipeline};
/// # let p = Pipeline::new();
/// let parts = p.create("Numbers", 0..10).apply("ByParity", Partition::of(2, |n: &i32| (*n % 2) as usize));
/// assert_eq!(parts.len(), 2);
/// ```
/// A number of `n` or more fails the bundle.
#[derive(Clone, Debug)]
pub struct Partition<T, F> {
    n: usize,
    f: F,
    element: PhantomData<fn(T)>,
}

impl<T: Element, F: Fn(&T) -> usize + Clone + Send + 'static> Partition<T, F> {
    /// `n` collections, chosen by `f`.
    pub fn of(n: usize, f: F) -> Partition<T, F> {
        Partition { n, f, element: PhantomData }
    }
}

impl<T: Element, F: Fn(&T) -> usize + Clone + Send + 'static> PTransform<PCollection<T>> for Partition<T, F> {
    type Out = Vec<PCollection<T>>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> Vec<PCollection<T>> {
        let pipeline = input.pipeline();
        let step = pipeline.name("Choose", Location::caller());
        if self.n == 0 {
            pipeline.error(&step, "a partition needs at least one part");
        }
        let coders: Vec<_> = (0..self.n).map(|_| input.coder_slot().copied()).collect();
        let factory = PartitionFactory { f: Proto::new(self.f), coders: coders.clone() };
        let node = pipeline.add(step, vec![input.id()], Op::Element(Arc::new(factory)));
        coders
            .into_iter()
            .map(|coder| pipeline.output_with(node, input.windowing(), input.is_bounded(), coder))
            .collect()
    }
}
