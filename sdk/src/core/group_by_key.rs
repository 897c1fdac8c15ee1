//! All values of a key.

use std::{panic::Location, sync::Arc};

use crate::{
    Element, Grouped, Key, PCollection, Step,
    coder_slot::CoderSlot,
    exec::{Fold, GroupOp, ListFold},
    graph::Op,
    pipeline::NewNode,
    window::WindowingStrategy,
};

pub(crate) fn group_by_key_at<K: Key, V: Element>(
    input: &PCollection<(K, V)>,
    name: &str,
    site: &'static Location<'static>,
) -> PCollection<(K, Grouped<V>)> {
    let step = input.pipeline().name(name, site);
    group(input, step, ListFold::default(), None)
}

/// Adds a grouping; `default_key` is the key of a global combine that has a value for nothing.
pub(super) fn group<K: Key, F: Fold>(
    input: &PCollection<(K, F::Input)>,
    step: Step,
    fold: F,
    default_key: Option<K>,
) -> PCollection<(K, F::Output)> {
    if !input.is_bounded() && input.windowing().window_fn.is_global() {
        input.pipeline().error(
            &step,
            "it groups an unbounded collection in the global window, whose end never comes, so nothing could ever come \
             out. Three ways out: put the elements into windows by `window_into` (fixed, sliding, sessions); set a \
             trigger that fires before the end; or read a bounded input",
        );
    }
    group_unchecked(input, step, fold, default_key)
}

/// Adds a grouping, also one whose end may never come: for assertions, which wait for the end of a run.
pub(crate) fn group_unchecked<K: Key, F: Fold>(
    input: &PCollection<(K, F::Input)>,
    step: Step,
    fold: F,
    default_key: Option<K>,
) -> PCollection<(K, F::Output)> {
    let pipeline = input.pipeline();
    let strategy = input.windowing();
    let coder = CoderSlot::default_of_type();
    let payload = pipeline.payload(&step, fold.payload());
    let op = GroupOp::<K, F>::new(fold, strategy.clone(), default_key, coder.clone());
    let op = Op::Group(Arc::new(op));
    let inputs = vec![input.id()];
    let node = pipeline.add_node(NewNode { step, inputs, views: Vec::new(), op, payload });
    // What came out of a grouping is in merged windows: the next grouping takes them as they are.
    let merged = strategy.merged || strategy.window_fn.is_merging();
    pipeline.output_with(node, WindowingStrategy { merged, ..strategy }, input.is_bounded(), coder)
}
