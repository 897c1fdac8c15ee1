//! Several collections as one.

use std::{panic::Location, sync::Arc};

use crate::{
    Element, PCollection, Pipeline, batch::Batch, coder_slot::CoderSlot, graph::Op, window::WindowingStrategy,
};

impl Pipeline {
    /// The elements of all of `inputs`: of none, of one, of the same one several times.
    ///
    /// All must be in the same windows; what follows has the first one's strategy.
    ///
    /// ```
    /// # use purlin_sdk::Pipeline;
    /// # let p = Pipeline::new();
    /// # let (a, b) = (p.create("A", [1, 2]), p.create("B", [3]));
    /// let all = p.flatten("All", [a, b]);
    /// let none = p.flatten::<i32>("None", []);
    /// ```
    #[track_caller]
    pub fn flatten<T: Element>(
        &self,
        name: &str,
        inputs: impl IntoIterator<Item = PCollection<T>>,
    ) -> PCollection<T> {
        flatten_at(self, name, Location::caller(), inputs.into_iter().collect())
    }
}

pub(crate) fn flatten_at<T: Element>(
    pipeline: &Pipeline,
    name: &str,
    site: &'static Location<'static>,
    inputs: Vec<PCollection<T>>,
) -> PCollection<T> {
    let step = pipeline.name(name, site);
    if inputs.iter().any(|pc| !pc.pipeline().is(pipeline)) {
        pipeline
            .error(&step, "it flattens collections of another pipeline; build all of it from one `Pipeline`");
    }
    let strategy = inputs.first().map_or_else(WindowingStrategy::global, PCollection::windowing);
    for (other, pc) in inputs.iter().map(|pc| (pc.windowing(), pc)).skip(1) {
        if !strategy.same_windows(&other) {
            pipeline.error(
                &step,
                format!(
                    "it flattens collections in different windows: {:?} is in {strategy}, {pc:?} in {other}; put them \
                     into the same windows first, by `window_into`",
                    inputs[0]
                ),
            );
            break;
        }
    }
    let bounded = inputs.iter().all(PCollection::is_bounded);
    let coder = CoderSlot::copied_from(inputs.iter().map(PCollection::coder_slot));
    let op = Op::Flatten(Arc::new(|| Box::new(Batch::<T>::default())));
    let node = pipeline.add(step, inputs.iter().map(PCollection::id).collect(), op);
    pipeline.output_with(node, strategy, bounded, coder)
}
