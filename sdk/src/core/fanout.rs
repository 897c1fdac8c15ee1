//! Combining in parts.

use std::sync::Arc;

use crate::{
    Key, PCollection, Step,
    coder_slot::CoderSlot,
    exec::{FanoutOp, Fold, Partial},
    graph::Op,
    pipeline::NewNode,
};

/// Combines the values of each key in `parts` parts, bundle by bundle.
pub(super) fn precombined<K: Key, F: Fold>(
    input: &PCollection<(K, F::Input)>,
    step: Step,
    fold: F,
    parts: usize,
) -> PCollection<(K, Partial<F::Acc>)> {
    let pipeline = input.pipeline();
    if parts == 0 {
        pipeline.error(
            &step,
            "its fan-out is 0: values combined in no parts would be gone. Leave the fan-out away, or give the number of \
             parts, 2 or more",
        );
    }
    let strategy = input.windowing();
    input.coder_slot().compare(|a, b| a.0 == b.0);
    let coder = CoderSlot::default_of_type();
    let payload = pipeline.payload(&step, fold.payload());
    let op = Op::Group(Arc::new(FanoutOp::<K, F>::new(fold, strategy.clone(), parts, coder.clone())));
    let node = pipeline.add_node(NewNode { step, inputs: vec![input.id()], views: Vec::new(), op, payload });
    pipeline.output_with(node, strategy, input.is_bounded(), coder)
}
