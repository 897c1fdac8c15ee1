//! A stage of one kernel, without an engine.

use std::{panic::Location, sync::Arc};

use crate::{
    Element, ManualClock, PipelineError, Step, Timestamp,
    batch::{AnyBatch, Batch, Meta, Row, WindowSet},
    exec::{
        Boundary, BundleCx, BundleInput, Checks, Effects, GroupFactory, Kernel, KernelSpec, PortableGroup,
        PortablePart, RunEnv, Slot, StageInstance,
    },
    graph::{Graph, Op},
    window::{PaneInfo, Window},
};

/// An element with its timestamp and window.
pub(super) type At<T> = (T, Timestamp, Window);

pub(super) fn secs(n: i64) -> Timestamp {
    Timestamp::from_secs(n)
}

pub(super) fn spec() -> KernelSpec {
    KernelSpec { step: Step::new("Tested", Location::caller()) }
}

/// The grouping at `path`.
pub(super) fn group_at(graph: &Graph, path: &str) -> Arc<dyn GroupFactory> {
    let node = graph.nodes.iter().find(|n| n.step.path() == path).expect("there is such a transform");
    let Op::Group(factory) = &node.op else { panic!("{node:?} is no grouping") };
    factory.clone()
}

pub(super) fn portable_at(graph: &Graph, path: &str) -> PortableGroup {
    group_at(graph, path).portable().unwrap()
}

pub(super) fn batch<T: Element>(elements: impl IntoIterator<Item = At<T>>) -> Batch<T> {
    let mut batch = Batch::default();
    for (value, time, window) in elements {
        let meta = Meta::constant(time, WindowSet::One(window), PaneInfo::NO_FIRING);
        batch.push(value, Row::of(&meta, 0));
    }
    batch
}

pub(super) fn elements<T: Element>(batches: Vec<AnyBatch>) -> Vec<At<T>> {
    let mut all = Vec::new();
    for mut batch in batches {
        let Batch { values, meta } =
            std::mem::take(batch.as_any().downcast_mut::<Batch<T>>().expect("a batch of the output's type"));
        for (i, value) in values.into_iter().enumerate() {
            let row = Row::of(&meta, i);
            let windows = row.windows();
            all.extend(windows.as_slice().iter().map(|w| (value.clone(), row.time(), w.clone())));
        }
    }
    all
}

/// One kernel, run bundle by bundle.
pub(super) struct Stage(StageInstance);

impl Stage {
    pub(super) fn of<O: Element>(kernel: Box<dyn Kernel>, input: AnyBatch) -> Stage {
        let step = spec().step;
        let output = Box::new(Batch::<O>::default());
        Stage(StageInstance::new(vec![
            Slot { step: step.clone(), kernel, input, routes: vec![vec![1]] },
            Slot { step, kernel: Box::new(Boundary::new(0)), input: output, routes: Vec::new() },
        ]))
    }

    pub(super) fn bundle<O: Element>(&mut self, batches: Vec<AnyBatch>) -> Result<Vec<At<O>>, PipelineError> {
        let env = RunEnv {
            options: Arc::new(()),
            clock: ManualClock::default().handle(),
            parallelism: 1,
            atomic: false,
            checks: Checks::default(),
        };
        let cx = BundleCx::new(Arc::new(env), Effects::default());
        self.0.run(BundleInput::Batches(batches), &cx)?;
        let done = cx.into_done();
        Ok(elements(done.effects.outputs.into_iter().map(|(_, batch)| batch).collect()))
    }
}

/// One bundle through `part`, with bytes on either side of it.
pub(super) fn run_part<I: Element, O: Element>(
    part: &PortablePart,
    input: impl IntoIterator<Item = At<I>>,
) -> Vec<At<O>> {
    let mut bytes = Vec::new();
    part.input.codec.save(&mut batch(input), &mut bytes).unwrap();
    let input = part.input.codec.load(&mut &bytes[..]).unwrap();
    let output = Stage::of::<O>(part.factory.kernel(&spec()), part.factory.input()).bundle::<O>(vec![input]);
    bytes.clear();
    part.output.codec.save(&mut batch(output.unwrap()), &mut bytes).unwrap();
    elements(vec![part.output.codec.load(&mut &bytes[..]).unwrap()])
}
