//! Windows that merge as data arrive, such as sessions.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::{Fold, KeyedReport, KeyedState};
use crate::{
    Key, Phase, PipelineError, Step, Timestamp,
    batch::{Batch, ErasedBatch, Meta, Row, WindowSet},
    coder_slot::CoderSlot,
    exec::{BundleInput, Downstream, Kernel, KernelResult, Port},
    metrics::DROPPED_DUE_TO_LATENESS,
    window::{PaneInfo, TimestampCombiner, Window, WindowingStrategy},
};

/// One live window of a key.
#[derive(Clone)]
struct Live<A> {
    window: Window,
    acc: A,
    // The timestamp that its pane will have, which also holds the watermark.
    time: Timestamp,
}

/// The live windows of every key of a key group.
pub(super) struct MergingState<K, F: Fold> {
    keys: HashMap<K, Vec<Live<F::Acc>>>,
    // When windows end; may name a key whose window has grown since.
    ends: BTreeMap<Timestamp, Vec<K>>,
    // Timestamps that hold the watermark, with how many windows do so at each.
    holds: BTreeMap<Timestamp, usize>,
}

impl<K: Key, F: Fold> MergingState<K, F> {
    pub(super) fn new() -> MergingState<K, F> {
        MergingState { keys: HashMap::new(), ends: BTreeMap::new(), holds: BTreeMap::new() }
    }

    fn hold(&mut self, at: Timestamp) {
        *self.holds.entry(at).or_insert(0) += 1;
    }

    fn release(&mut self, at: Timestamp) {
        if let Some(n) = self.holds.get_mut(&at) {
            *n -= 1;
            if *n == 0 {
                self.holds.remove(&at);
            }
        }
    }
}

impl<K: Key, F: Fold> KeyedState for MergingState<K, F> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn copy(&self) -> Box<dyn KeyedState> {
        Box::new(MergingState::<K, F> {
            keys: self.keys.clone(),
            ends: self.ends.clone(),
            holds: self.holds.clone(),
        })
    }

    fn report(&self) -> KeyedReport {
        KeyedReport {
            // No further than the end of the global window: past it a watermark closes that window downstream.
            hold: self.holds.keys().next().map_or(Timestamp::MAX, |t| (*t).min(Timestamp::GLOBAL_WINDOW_MAX)),
            due: self.ends.keys().next().copied().unwrap_or(Timestamp::MAX),
        }
    }
}

/// Takes a key group's elements, merges its windows, emits those that the watermark has passed.
pub(super) struct MergingRoot<K: Key, F: Fold> {
    step: Step,
    fold: F,
    strategy: Arc<WindowingStrategy>,
    out: Port<(K, F::Output)>,
}

impl<K: Key, F: Fold> MergingRoot<K, F> {
    pub(super) fn new(
        step: &Step,
        fold: F,
        strategy: Arc<WindowingStrategy>,
        coder: &CoderSlot<(K, F::Output)>,
    ) -> MergingRoot<K, F> {
        MergingRoot { step: step.clone(), fold, strategy, out: Port::new(0, step, coder) }
    }

    /// Adds elements, each in a window of its own or in one that is there already.
    fn add(
        &self,
        state: &mut MergingState<K, F>,
        batch: &mut Batch<(K, F::Input)>,
        watermark: Timestamp,
        touched: &mut Vec<K>,
    ) -> i64 {
        let Batch { values, meta } = batch;
        let mut late = 0;
        for (i, (key, value)) in values.drain(..).enumerate() {
            let row = Row::of(meta, i);
            for window in row.windows().as_slice() {
                if window.is_expired(self.strategy.allowed_lateness, watermark) {
                    late += 1;
                    continue;
                }
                let time = self.strategy.timestamp_combiner.assign(window, row.time());
                self.add_one(state, &key, value.clone(), window, time);
                touched.push(key.clone());
            }
        }
        late
    }

    fn add_one(
        &self,
        state: &mut MergingState<K, F>,
        key: &K,
        value: F::Input,
        window: &Window,
        time: Timestamp,
    ) {
        let live = state.keys.entry(key.clone()).or_default();
        if let Some(same) = live.iter_mut().find(|l| l.window == *window) {
            self.fold.add(&mut same.acc, value);
            let (old, new) = (same.time, self.strategy.timestamp_combiner.combine(same.time, time));
            same.time = new;
            state.release(old);
            state.hold(new);
            return;
        }
        let mut acc = self.fold.create();
        self.fold.add(&mut acc, value);
        live.push(Live { window: window.clone(), acc, time });
        state.ends.entry(window.max_timestamp()).or_default().push(key.clone());
        state.hold(time);
    }

    /// Merges the windows of one key as the window function says.
    fn merge(&self, state: &mut MergingState<K, F>, key: &K) -> KernelResult {
        let Some(live) = state.keys.get_mut(key).filter(|live| live.len() > 1) else { return Ok(()) };
        live.sort_by(|a, b| a.window.cmp(&b.window));
        let windows: Vec<Window> = live.iter().map(|l| l.window.clone()).collect();
        let merges = self
            .strategy
            .window_fn
            .merge(&windows)
            .map_err(|e| PipelineError::user(self.step.clone(), Phase::Window, e))?;
        let mut seen = BTreeSet::new();
        for merge in merges {
            if let Some(twice) = merge.sources.iter().find(|w| !seen.insert((*w).clone())) {
                return Err(self.broken(format!("{twice} was merged twice")));
            }
            let Some(live) = state.keys.get_mut(key) else { break };
            let (parts, rest): (Vec<_>, Vec<_>) =
                std::mem::take(live).into_iter().partition(|l| merge.sources.contains(&l.window));
            *live = rest;
            if parts.len() != merge.sources.len() {
                return Err(self.broken(format!("{} merges a window that was not there", merge.result)));
            }
            let times: Vec<Timestamp> = parts.iter().map(|p| p.time).collect();
            let mut parts = parts.into_iter();
            let Some(mut all) = parts.next() else { continue };
            for part in parts {
                self.fold.merge(&mut all.acc, part.acc);
                all.time = self.strategy.timestamp_combiner.combine(all.time, part.time);
            }
            if self.strategy.timestamp_combiner == TimestampCombiner::EndOfWindow {
                all.time = merge.result.result_timestamp();
            }
            let time = all.time;
            all.window = merge.result.clone();
            live.push(all);
            times.into_iter().for_each(|t| state.release(t));
            state.hold(time);
            state.ends.entry(merge.result.max_timestamp()).or_default().push(key.clone());
        }
        Ok(())
    }

    /// Emits every window that the watermark has passed.
    fn fire(
        &mut self,
        state: &mut MergingState<K, F>,
        watermark: Timestamp,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        while let Some(entry) = state.ends.first_entry().filter(|e| *e.key() < watermark) {
            for key in entry.remove() {
                let Some(live) = state.keys.get_mut(&key) else { continue };
                let (done, rest): (Vec<_>, Vec<_>) = std::mem::take(live)
                    .into_iter()
                    .partition(|l| l.window.is_expired(crate::Duration::ZERO, watermark));
                *live = rest;
                if live.is_empty() {
                    state.keys.remove(&key);
                }
                for l in done {
                    state.release(l.time);
                    let value = self.fold.extract(l.acc);
                    let meta = Meta::constant(l.time, WindowSet::One(l.window), PaneInfo::ON_TIME_AND_ONLY);
                    self.out.batch.push((key.clone(), value), Row::of(&meta, 0));
                    self.out.flush_full(down)?;
                    down.cx().phase(Phase::ExtractOutput);
                }
            }
        }
        Ok(())
    }

    fn broken(&self, what: String) -> PipelineError {
        let text = format!("{:?} broke the rules of merging: {what}", self.strategy.window_fn);
        PipelineError::contract(self.step.clone(), Phase::Window, text)
    }
}

impl<K: Key, F: Fold> Kernel for MergingRoot<K, F> {
    fn run(&mut self, _input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        Err(PipelineError::runner(format!("{} was given elements outside a key group", self.step)))
    }

    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        let BundleInput::KeyGroup { mut state, batches } = input else {
            return Err(PipelineError::runner(format!(
                "{} was given something else than a key group",
                self.step
            )));
        };
        let cx = down.cx();
        let watermark = cx.watermark.unwrap_or(Timestamp::MIN);
        if let Some(windows) = state.as_any().downcast_mut::<MergingState<K, F>>() {
            let mut touched = Vec::new();
            let mut late = 0;
            cx.phase(Phase::AddInput);
            for mut batch in batches {
                if let Some(batch) = batch.as_any().downcast_mut() {
                    late += self.add(windows, batch, watermark, &mut touched);
                }
            }
            if late > 0 {
                cx.metrics().counter(&self.step, DROPPED_DUE_TO_LATENESS).inc(late);
            }
            cx.phase(Phase::MergeAccumulators);
            let mut merged = std::collections::HashSet::new();
            for key in &touched {
                if merged.insert(key) {
                    self.merge(windows, key)?;
                }
            }
            cx.phase(Phase::ExtractOutput);
            self.fire(windows, watermark, down)?;
        }
        self.out.flush(down)?;
        cx.effects().state = Some(state);
        Ok(())
    }
}
