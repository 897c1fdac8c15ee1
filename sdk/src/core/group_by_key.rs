//! All values of a key.

use std::{panic::Location, sync::Arc};

use crate::{
    Element, Grouped, Key, PCollection, PTransform, Step,
    coder_slot::CoderSlot,
    exec::{Fold, GroupOp, ListFold},
    graph::{NodeId, Op},
    pipeline::NewNode,
};

/// Groups by key and window, as [`PCollection::group_by_key`] does, and also gives what came too late.
///
/// ```
/// # use purlin_sdk::{Duration, GroupByKey, Pipeline, WindowInto, window::*};
/// # let p = Pipeline::new();
/// let minutes = FixedWindows::of(Duration::from_minutes(1));
/// let (grouped, late) = p
///     .create("Clicks", [("home".to_owned(), 1)])
///     .window_into("Minutes", WindowInto::of(minutes).allowed_lateness(Duration::from_secs(10)))
///     .apply("Group", GroupByKey::with_late_data());
/// # let _ = (grouped, late);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GroupByKey(());

impl GroupByKey {
    /// The groups, and beside them every element that came for a window when it was expired already, each with its
    /// timestamp and in its window; they are counted as [`LATE_DATA_OUTPUT`](crate::metrics::LATE_DATA_OUTPUT). Without
    /// this they are dropped and counted as [`DROPPED_DUE_TO_LATENESS`](crate::metrics::DROPPED_DUE_TO_LATENESS).
    pub fn with_late_data() -> GroupByKey {
        GroupByKey(())
    }
}

impl<K: Key, V: Element> PTransform<PCollection<(K, V)>> for GroupByKey {
    type Out = (PCollection<(K, Grouped<V>)>, PCollection<(K, V)>);

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> Self::Out {
        let step = input.pipeline().name("Group", Location::caller());
        group_with_late(&input, step, ListFold::default())
    }
}

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
    check(input, &step);
    group_unchecked(input, step, fold, default_key)
}

/// The groups, and what came too late.
type WithLate<K, F> = (PCollection<(K, <F as Fold>::Output)>, PCollection<(K, <F as Fold>::Input)>);

/// Adds a grouping with an output of what came too late.
pub(super) fn group_with_late<K: Key, F: Fold>(
    input: &PCollection<(K, F::Input)>,
    step: Step,
    fold: F,
) -> WithLate<K, F> {
    check(input, &step);
    let late = CoderSlot::default_of_type();
    let (node, grouped) = add(input, step, fold, None, Some(late.clone()));
    let late = input.pipeline().output_with(node, input.windowing(), input.is_bounded(), late);
    (grouped, late)
}

/// Adds a grouping, also one whose end may never come: for assertions, which wait for the end of a run.
pub(crate) fn group_unchecked<K: Key, F: Fold>(
    input: &PCollection<(K, F::Input)>,
    step: Step,
    fold: F,
    default_key: Option<K>,
) -> PCollection<(K, F::Output)> {
    add(input, step, fold, default_key, None).1
}

fn check<T>(input: &PCollection<T>, step: &Step) {
    let windowing = input.windowing();
    if !input.is_bounded() && windowing.window_fn.is_global() && !windowing.trigger.goes_on_without_an_end() {
        input.pipeline().error(
            step,
            format!(
                "it groups an unbounded collection in the global window, whose end never comes, under the trigger {}, \
                 which waits for that end: nothing could ever come out. Three ways out: put the elements into windows \
                 by `window_into` (fixed, sliding, sessions); set a trigger that fires before the end, such as \
                 `Trigger::repeatedly(Trigger::after_count(100))`; or read a bounded input",
                windowing.trigger
            ),
        );
    }
    if let Err(reason) = windowing.check_trigger() {
        input.pipeline().error(step, reason);
    }
}

fn add<K: Key, F: Fold>(
    input: &PCollection<(K, F::Input)>,
    step: Step,
    fold: F,
    default_key: Option<K>,
    late: Option<CoderSlot<(K, F::Input)>>,
) -> (NodeId, PCollection<(K, F::Output)>) {
    let pipeline = input.pipeline();
    let strategy = input.windowing();
    input.coder_slot().compare(|a, b| a.0 == b.0);
    let coder = CoderSlot::default_of_type();
    let payload = pipeline.payload(&step, fold.payload());
    let op = GroupOp::<K, F>::new(fold, strategy.clone(), default_key, coder.clone(), late);
    let op = Op::Group(Arc::new(op));
    let inputs = vec![input.id()];
    let node = pipeline.add_node(NewNode { step, inputs, views: Vec::new(), op, payload });
    (node, pipeline.output_with(node, strategy.after_grouping(), input.is_bounded(), coder))
}
