//! One transform's kernels without a runner: what the testers of DoFns share.

use std::{any::Any, fmt, panic::Location, sync::Arc};

use super::sides::Sides;
use crate::{
    ClockRef, DoFnError, Element, ManualClock, Phase, PipelineError, Step, Tag, Timestamp,
    batch::{AnyBatch, Batch, ErasedBatch, Meta, Row, WindowSet},
    coder::to_bytes,
    coder_slot::CoderSlot,
    exec::{
        Boundary, BundleCx, BundleDone, BundleInput, Checks, Effects, Finalizer, GroupState, Kernel, RunEnv,
        Slot, StageInstance, TagPortMaker,
    },
    metrics::Metrics,
    window::{PaneInfo, Window},
};

/// An output beside the main one.
#[derive(Clone)]
pub(super) struct TestTag {
    pub(super) name: &'static str,
    pub(super) port: TagPortMaker,
    batch: fn() -> AnyBatch,
    encode: fn(&mut dyn ErasedBatch) -> Vec<Vec<u8>>,
}

impl TestTag {
    pub(super) fn new<T: Element>(tag: Tag<T>) -> TestTag {
        let port = TagPortMaker::new(tag.name(), CoderSlot::<T>::default_of_type());
        TestTag { name: tag.name(), port, batch: || Box::new(Batch::<T>::default()), encode: encoded::<T> }
    }
}

/// The values of a batch of `T`, each encoded by the type's coder.
fn encoded<T: Element>(batch: &mut dyn ErasedBatch) -> Vec<Vec<u8>> {
    let coder = CoderSlot::<T>::default_of_type().get();
    let values = batch.as_any().downcast_mut::<Batch<T>>().map(|b| std::mem::take(&mut b.values));
    // A value without an encoding failed its bundle when it was emitted.
    values.unwrap_or_default().iter().map(|v| to_bytes(&*coder, v).unwrap_or_default()).collect()
}

/// What a transform is given, by whoever tests it.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) step: Step,
    pub(super) options: Arc<dyn Any + Send + Sync>,
    pub(super) clock: ClockRef,
    pub(super) sides: Sides,
    pub(super) tags: Vec<TestTag>,
}

impl Settings {
    pub(super) fn new(site: &'static Location<'static>) -> Settings {
        Settings {
            step: Step::new("Tested", site),
            options: Arc::new(()),
            clock: ManualClock::default().handle(),
            sides: Sides::default(),
            tags: Vec::new(),
        }
    }

    /// The slots of a stage of this kernel alone, whose outputs are the stage's.
    pub(super) fn stage(&self, kernel: Box<dyn Kernel>, input: AnyBatch, main: AnyBatch) -> Vec<Slot> {
        let outputs = std::iter::once(main).chain(self.tags.iter().map(|t| (t.batch)()));
        let mut slots = vec![Slot { step: self.step.clone(), kernel, input, routes: Vec::new() }];
        for (edge, input) in outputs.enumerate() {
            slots[0].routes.push(vec![edge + 1]);
            let kernel = Box::new(Boundary::new(edge));
            slots.push(Slot { step: self.step.clone(), kernel, input, routes: Vec::new() });
        }
        slots
    }

    pub(super) fn bundle(&self) -> BundleCx {
        let env = RunEnv {
            options: self.options.clone(),
            clock: self.clock.clone(),
            parallelism: 1,
            atomic: true,
            checks: Checks { recode: true },
        };
        let mut cx = BundleCx::new(Arc::new(env), Effects::default());
        cx.views = self.sides.snapshot();
        cx
    }
}

/// Where an element is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) timestamp: Timestamp,
    pub(super) window: Window,
    pub(super) pane: PaneInfo,
}

impl Default for Place {
    /// Where `create` puts elements.
    fn default() -> Place {
        Place { timestamp: Timestamp::MIN, window: Window::Global, pane: PaneInfo::NO_FIRING }
    }
}

impl Place {
    /// A batch of elements that are all here, but each at its own time if it has one.
    pub(super) fn batch<T: Element>(
        &self,
        values: impl IntoIterator<Item = (T, Option<Timestamp>)>,
    ) -> Batch<T> {
        let meta = Meta::constant(self.timestamp, WindowSet::One(self.window.clone()), self.pane);
        let mut batch = Batch::default();
        for (value, timestamp) in values {
            batch.push(value, Row { timestamp, ..Row::of(&meta, 0) });
        }
        batch
    }
}

/// A key group's state, where there is one.
type KeyedState = Option<Box<dyn GroupState>>;

/// Runs bundles one after the other and keeps what they did.
#[derive(Default)]
pub(super) struct Harness {
    instance: Option<StageInstance>,
    outputs: Vec<AnyBatch>,
    finalizers: Vec<Finalizer>,
    pub(super) metrics: Metrics,
}

impl Harness {
    /// Runs one bundle. What a bundle that fails has done is thrown away, and its instance torn down; the next bundle
    /// then has a new one, as in a run.
    pub(super) fn run(
        &mut self,
        settings: &Settings,
        make: impl FnOnce() -> Vec<Slot>,
        input: AnyBatch,
        set: impl FnOnce(&mut BundleCx),
    ) -> Result<(Effects, BundleEnd), PipelineError> {
        let mut cx = settings.bundle();
        set(&mut cx);
        self.run_bundle(settings, make, BundleInput::Batches(vec![input]), cx).0
    }

    /// Runs one bundle of a key group, whose state is there again afterwards: as it was before, when the bundle fails.
    pub(super) fn run_keyed(
        &mut self,
        settings: &Settings,
        make: impl FnOnce() -> Vec<Slot>,
        input: AnyBatch,
        state: &mut KeyedState,
        set: impl FnOnce(&mut BundleCx),
    ) -> Result<(), PipelineError> {
        let mut cx = settings.bundle();
        set(&mut cx);
        *cx.keyed() = state.take();
        let input = BundleInput::KeyGroup { batches: vec![input] };
        let (result, keyed) = self.run_bundle(settings, make, input, cx);
        *state = keyed;
        if let Some(state) = state {
            if result.is_ok() { state.keep() } else { state.undo() }
        }
        result.map(drop)
    }

    fn run_bundle(
        &mut self,
        settings: &Settings,
        make: impl FnOnce() -> Vec<Slot>,
        input: BundleInput,
        cx: BundleCx,
    ) -> (Result<(Effects, BundleEnd), PipelineError>, KeyedState) {
        let mut instance = self.instance.take().unwrap_or_else(|| StageInstance::new(make()));
        if let Err(e) = instance.run(input, &cx) {
            // The first error is the one that counts.
            let _ = instance.teardown(&cx);
            return (Err(e), cx.into_done().keyed);
        }
        self.instance = Some(instance);
        let end = BundleEnd { claims: cx.claims() };
        let BundleDone { mut effects, metrics, keyed, .. } = cx.into_done();
        metrics.add_to(&mut self.metrics);
        self.finalizers.append(&mut effects.finalizers);
        for (edge, batch) in std::mem::take(&mut effects.outputs) {
            self.keep(settings, edge, batch);
        }
        (Ok((effects, end)), keyed)
    }

    fn keep(&mut self, settings: &Settings, edge: usize, mut batch: AnyBatch) {
        while self.outputs.len() <= edge {
            // The type of the main output is that of the first batch; those of others are known.
            let empty =
                self.outputs.len().checked_sub(1).and_then(|i| settings.tags.get(i)).map(|t| (t.batch)());
            self.outputs.push(empty.unwrap_or_else(|| Box::new(Batch::<()>::default())));
        }
        if !self.outputs[edge].append(&mut *batch) {
            self.outputs[edge] = batch;
        }
    }

    /// Takes what came out on an edge.
    pub(super) fn take<T: Element>(&mut self, edge: usize) -> Batch<T> {
        let batch = self.outputs.get_mut(edge).and_then(|b| b.as_any().downcast_mut::<Batch<T>>());
        batch.map(std::mem::take).unwrap_or_default()
    }

    /// Takes what came out on the edge of a tag.
    ///
    /// # Panics
    /// When the tag was not declared, or for elements of another type.
    #[track_caller]
    pub(super) fn take_tagged<T: Element>(&mut self, settings: &Settings, tag: Tag<T>) -> Batch<T> {
        let declared = settings.tags.iter().position(|t| t.name == tag.name());
        let Some(i) = declared else {
            panic!("the output `{}` was not declared: add `.tag(..)` to the tester", tag.name());
        };
        let same_type = (settings.tags[i].batch)().as_any().is::<Batch<T>>();
        assert!(same_type, "the output `{}` was declared with another element type", tag.name());
        self.take(i + 1)
    }

    /// Takes what came out on the edge of each tag, encoded, in an order that does not depend on that of arrival.
    pub(super) fn take_tags_encoded(&mut self, settings: &Settings) -> Vec<Vec<Vec<u8>>> {
        let all = settings.tags.iter().enumerate().map(|(i, tag)| {
            let mut values = self.outputs.get_mut(i + 1).map_or_else(Vec::new, |b| (tag.encode)(&mut **b));
            values.sort();
            values
        });
        all.collect()
    }

    /// Runs the callbacks that bundles left, in their order, and says how many ran.
    pub(super) fn finalize(&mut self, settings: &Settings) -> Result<usize, PipelineError> {
        let mut ran = 0;
        for finalizer in std::mem::take(&mut self.finalizers) {
            if finalizer.expiry < settings.clock.now() {
                continue;
            }
            ran += 1;
            let failed = |e: DoFnError| PipelineError::user(settings.step.clone(), Phase::Finalize, e);
            (finalizer.callback)().map_err(failed)?;
        }
        Ok(ran)
    }

    /// Tears the instance down, if there is one.
    pub(super) fn teardown(&mut self, settings: &Settings) -> Result<(), PipelineError> {
        self.instance.take().map_or(Ok(()), |i| i.teardown(&settings.bundle()))
    }
}

/// What is known of a bundle beside its effects.
#[derive(Clone, Copy, Debug)]
pub(super) struct BundleEnd {
    /// How many positions were claimed.
    pub(super) claims: u64,
}

/// The elements of a batch with their timestamps and windows.
pub(super) fn rows<T>(batch: Batch<T>) -> impl Iterator<Item = (T, Timestamp, Window)> {
    let Batch { values, meta } = batch;
    values.into_iter().enumerate().flat_map(move |(i, value)| {
        let row = Row::of(&meta, i);
        let time = row.time();
        // Elements that a DoFn emits are in one window.
        row.windows().as_slice().first().cloned().map(|window| (value, time, window))
    })
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made at {}", self.step.site())
    }
}
