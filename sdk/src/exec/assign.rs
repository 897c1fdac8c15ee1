//! Watermarks assigned in mid-pipeline.
//!
//! The elements of the collection go to a single key group, whose state is the strategy's generators: so it is in one
//! bundle at a time, goes along with it, is put back to where it was when the bundle fails, and is kept in checkpoints.
//! After each bundle the engine takes the watermark from it.

use std::{any::Any, sync::Arc};

use super::{
    AnyTable, BatchCodec, BundleCx, BundleInput, Downstream, GroupFactory, GroupState, Kernel, KernelResult,
    KernelSpec, KeyedBatch, KeyedReport, Port, Shard,
    save::{put, take},
};
use crate::{
    ClockRef, DoFnError, Duration, Element, PipelineError, Result, Step, Timestamp,
    batch::{AnyBatch, Batch, Column, ErasedBatch},
    coder_slot::CoderSlot,
    watermark::{Alignment, Assigner, Standing, WarmUp, WatermarkControl, WatermarkStrategy},
};

/// What a transform that assigns a watermark says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The watermark.
    pub watermark: Timestamp,
    /// Whether nobody should wait for it.
    pub idle: bool,
}

/// Where the watermark that a transform assigns comes from, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedBy {
    /// The strategy.
    pub strategy: String,
    /// How many partitions there are.
    pub partitions: usize,
    /// How many of them nobody waits for.
    pub idle: usize,
    /// How many of the others have no watermark yet.
    pub silent: usize,
    /// How many elements the one that holds the watermark has seen, and how many it needs before it has a watermark to
    /// speak of, where it needs more.
    pub warm_up: Option<(u64, u64)>,
}

/// Makes everything that the engine needs of a transform that assigns a watermark.
pub trait AssignFactory: Send + Sync {
    /// Its state and its kernels: those of a grouping with one key group, whose state has
    /// [a watermark](GroupState::assigned).
    fn group(&self) -> Arc<dyn GroupFactory>;
    /// The start of what follows.
    fn output(&self) -> AnyBatch;
    /// The sources that it keeps together with others.
    fn alignment(&self) -> Option<Alignment>;
    /// What decides on the watermark in its place.
    fn control(&self) -> Option<Arc<dyn WatermarkControl>>;
}

/// Assigns the watermark of a strategy.
pub(crate) struct AssignOp<T> {
    pub(crate) strategy: WatermarkStrategy<T>,
    pub(crate) coder: CoderSlot<T>,
}

impl<T: Element> AssignFactory for AssignOp<T> {
    fn group(&self) -> Arc<dyn GroupFactory> {
        Arc::new(AssignOp { strategy: self.strategy.clone(), coder: self.coder.clone() })
    }

    fn output(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }

    fn alignment(&self) -> Option<Alignment> {
        self.strategy.alignment().cloned()
    }

    fn control(&self) -> Option<Arc<dyn WatermarkControl>> {
        self.strategy.control().cloned()
    }
}

impl<T: Element> GroupFactory for AssignOp<T> {
    fn input(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }

    fn collector(&self, _: &KernelSpec, group: usize) -> Box<dyn Kernel> {
        Box::new(ToOne { group })
    }

    fn root(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let out = Port::new(0, &spec.step, &self.coder);
        Box::new(AssignKernel { step: spec.step.clone(), strategy: self.strategy.clone(), out })
    }

    fn shard(&self) -> Option<Box<dyn Shard>> {
        None
    }

    fn keyed_state(&self, _: usize, _: usize) -> Option<Box<dyn GroupState>> {
        Some(Box::new(self.state()))
    }

    fn key_groups(&self, _: usize) -> usize {
        1
    }

    fn codec(&self) -> Arc<dyn BatchCodec> {
        Arc::new(self.coder.clone())
    }

    fn check_savable(&self) -> Result {
        self.strategy.assigner().check()
    }

    fn load_shard(&self, _: &mut &[u8]) -> Result<Box<dyn Shard>> {
        Err(no_shards())
    }

    fn load_table(&self, _: &mut &[u8]) -> Result<Box<dyn AnyTable>> {
        Err(no_shards())
    }

    fn load_keyed_state(&self, input: &mut &[u8]) -> Result<Box<dyn GroupState>> {
        let mut state = self.state();
        let (started, ticked, news, watermark, idle, saved_at) = take(input)?;
        let assigned = Assigned { watermark, idle };
        // It is looked at at once, so that it knows for how long it stood still.
        state.now = Now { started, ticked, news, assigned, due: Timestamp::MIN };
        state.saved_at = saved_at;
        state.assigner.load(input)?;
        Ok(Box::new(state))
    }

    fn fires_when_empty(&self) -> bool {
        false
    }
}

fn no_shards() -> DoFnError {
    DoFnError::msg("a transform that assigns a watermark gathers in no shards")
}

/// The end of a stage before it.
struct ToOne {
    group: usize,
}

impl Kernel for ToOne {
    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let batch = input.take();
        down.cx().effects().keyed.push(KeyedBatch { group: self.group, key_group: 0, batch });
        Ok(())
    }
}

impl<T: Element> AssignOp<T> {
    fn state(&self) -> AssignState<T> {
        AssignState {
            strategy: self.strategy.name().into(),
            every: self.strategy.every(),
            assigner: self.strategy.assigner(),
            now: Now {
                started: false,
                ticked: Timestamp::MIN,
                news: false,
                assigned: Assigned { watermark: Timestamp::MIN, idle: false },
                // To take note of when it began.
                due: Timestamp::MIN,
            },
            before: None,
            clock: None,
            saved_at: None,
        }
    }
}

struct AssignState<T> {
    strategy: Arc<str>,
    every: Duration,
    assigner: Box<dyn Assigner<T>>,
    now: Now,
    /// As it was before the bundle, where bundles may be tried again.
    before: Option<Now>,
    /// The run's, once there was a bundle.
    clock: Option<ClockRef>,
    /// When it was saved, of one that has not gone on since.
    saved_at: Option<Timestamp>,
}

/// Where it is.
#[derive(Clone, Copy)]
struct Now {
    started: bool,
    /// When the interval began.
    ticked: Timestamp,
    /// Whether there is a reason to think that the next tick will say something new.
    news: bool,
    assigned: Assigned,
    /// When it wants to be looked at next.
    due: Timestamp,
}

impl<T> AssignState<T> {
    /// A bundle begins.
    fn begin(&mut self, cx: &BundleCx) {
        let clock = &cx.env.clock;
        let now = clock.now();
        if let Some(saved_at) = self.saved_at.take()
            && self.now.started
        {
            self.assigner.resume(now, now - saved_at);
        }
        if !self.now.started {
            self.now.started = true;
            self.now.ticked = now;
            self.assigner.start(now);
            // A generator that goes by something else than elements begins to speak at the first tick.
            self.now.news = true;
        }
        if self.clock.is_none() {
            self.clock = Some(clock.clone());
        }
        if cx.env.atomic {
            self.before = Some(self.now);
            self.assigner.begin();
        }
    }

    /// After the elements of a bundle, or when it was due.
    fn settle(&mut self, now: Timestamp) {
        let before = self.now.assigned.watermark;
        let tick = now - self.now.ticked >= self.every;
        if tick {
            self.now.ticked = now;
            self.assigner.on_periodic_emit();
        }
        let (watermark, idle) = self.assigner.status(now);
        let watermark = watermark.max(before);
        self.now.assigned = Assigned { watermark, idle };
        if tick {
            // What moves without elements moves on; what does not waits for the next one.
            self.now.news = watermark > before && self.every > Duration::ZERO;
        }
        let next_tick = self.now.news.then_some(self.now.ticked + self.every);
        let due = next_tick.into_iter().chain(self.assigner.idle_at(now)).min();
        self.now.due = due.unwrap_or(Timestamp::MAX).max(now + Duration::from_millis(1));
    }
}

impl<T: Element> GroupState for AssignState<T> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn report(&self) -> KeyedReport {
        KeyedReport { due_clock: self.now.due, ..KeyedReport::IDLE }
    }

    fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.now = before;
            self.assigner.undo();
        }
    }

    fn keep(&mut self) {
        self.before = None;
        self.assigner.keep();
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        let Now { started, ticked, news, assigned: Assigned { watermark, idle }, .. } = self.now;
        // One that has not gone on since it was loaded still stands where it stood.
        let saved_at = self.saved_at.or_else(|| self.clock.as_ref().map(|clock| clock.now()));
        put(&(started, ticked, news, watermark, idle, saved_at), out)?;
        self.assigner.save(out)
    }

    fn assigned(&self) -> Option<Assigned> {
        Some(self.now.assigned)
    }

    fn assigned_by(&self, now: Timestamp) -> Option<AssignedBy> {
        let Standing { partitions, idle, silent, warm_up } = self.assigner.standing(now);
        let warm_up = warm_up.map(|WarmUp { seen, needs }| (seen, needs));
        Some(AssignedBy { strategy: self.strategy.to_string(), partitions, idle, silent, warm_up })
    }
}

/// The stage's only kernel: it shows elements to the generators, and gives them their timestamps.
struct AssignKernel<T> {
    step: Step,
    strategy: WatermarkStrategy<T>,
    out: Port<T>,
}

impl<T: Element> Kernel for AssignKernel<T> {
    fn run(&mut self, _: &mut dyn ErasedBatch, _: &mut Downstream<'_>) -> KernelResult {
        Err(PipelineError::runner(format!("{} was given elements outside its key group", self.step)))
    }

    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        let cx: &BundleCx = down.cx();
        let mut keyed = cx.keyed();
        let state = keyed.as_mut().and_then(|s| s.as_any().downcast_mut::<AssignState<T>>());
        let (BundleInput::KeyGroup { batches }, Some(state)) = (input, state) else {
            let what = format!("{} was given something else than its key group", self.step);
            return Err(PipelineError::runner(what));
        };
        state.begin(cx);
        let timestamps = self.strategy.timestamps();
        for mut batch in batches {
            let Some(batch) = batch.as_any().downcast_mut::<Batch<T>>() else { continue };
            let now = cx.env.clock.now();
            if let Some(timestamp_of) = &timestamps {
                let times = batch.values.iter().map(|value| timestamp_of(value)).collect();
                batch.meta.set_times(batch.values.len(), Column::Each(times));
            }
            for (i, value) in batch.values.iter().enumerate() {
                state.assigner.on_event(value, batch.meta.times.get(i), now);
            }
            state.now.news |= !batch.values.is_empty();
            std::mem::swap(&mut self.out.batch, batch);
            self.out.flush(down)?;
        }
        state.settle(cx.env.clock.now());
        Ok(())
    }
}
