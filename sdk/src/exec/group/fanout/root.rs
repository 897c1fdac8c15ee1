//! The start of a stage that combines in parts.

use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry},
    sync::Arc,
};

use foldhash::fast::FixedState;

use super::{super::merging::merges, Partial};
use crate::{
    Key, Phase, PipelineError, Step, Timestamp,
    batch::{AnyBatch, Batch, ErasedBatch, Meta, Row, WindowSet},
    coder_slot::CoderSlot,
    exec::{BundleInput, Downstream, Fold, Kernel, KernelResult, Port},
    metrics::DROPPED_DUE_TO_LATENESS,
    window::{PaneInfo, Window, WindowingStrategy},
};

/// What a bundle has of one key and window.
struct Part<A> {
    acc: A,
    elements: u64,
    time: Timestamp,
    /// Nothing in it is ahead of the watermark.
    is_late: bool,
}

type Parts<K, A> = HashMap<K, BTreeMap<Window, Part<A>>, FixedState>;

/// Combines the elements of a bundle per key and window.
pub(super) struct FanoutRoot<K: Key, F: Fold> {
    step: Step,
    fold: F,
    strategy: Arc<WindowingStrategy>,
    out: Port<(K, Partial<F::Acc>)>,
}

impl<K: Key, F: Fold> FanoutRoot<K, F> {
    pub(super) fn new(
        step: &Step,
        fold: F,
        strategy: Arc<WindowingStrategy>,
        coder: &CoderSlot<(K, Partial<F::Acc>)>,
    ) -> FanoutRoot<K, F> {
        FanoutRoot { step: step.clone(), fold, strategy, out: Port::new(0, step, coder) }
    }

    /// Adds elements and returns how many came for windows that are expired: they must not join others that are not.
    fn add(
        &self,
        parts: &mut Parts<K, F::Acc>,
        batch: &mut Batch<(K, F::Input)>,
        watermark: Timestamp,
    ) -> i64 {
        let mut dropped = 0;
        let Batch { values, meta } = batch;
        for (i, (key, value)) in values.drain(..).enumerate() {
            let row = Row::of(meta, i);
            let set = row.windows();
            let windows = set.as_slice();
            let mut rest = Some((key, value));
            for (n, window) in windows.iter().enumerate() {
                let pair = if n + 1 == windows.len() { rest.take() } else { rest.clone() };
                let Some((key, value)) = pair else { break };
                if window.is_expired(self.strategy.allowed_lateness, watermark) {
                    dropped += 1;
                    continue;
                }
                let time = row.time();
                let assigned =
                    self.strategy.timestamp_combiner.assign(&*self.strategy.window_fn, window, time);
                let is_late = assigned < watermark;
                let part = match parts.entry(key).or_default().entry(window.clone()) {
                    Entry::Occupied(part) => {
                        let part = part.into_mut();
                        (part.time, part.is_late) = self.time_of((part.time, part.is_late), (time, is_late));
                        part
                    }
                    Entry::Vacant(place) => {
                        place.insert(Part { acc: self.fold.create(), elements: 0, time, is_late })
                    }
                };
                self.fold.add(&mut part.acc, value);
                part.elements += 1;
            }
        }
        dropped
    }

    /// The timestamp of two together. One behind the watermark has no say beside one that is not.
    fn time_of(&self, a: (Timestamp, bool), b: (Timestamp, bool)) -> (Timestamp, bool) {
        match (a.1, b.1) {
            (true, false) => b,
            (false, true) => a,
            _ => (self.strategy.timestamp_combiner.combine(a.0, b.0), a.1),
        }
    }

    /// Merges the windows of one key as the window function says. What comes of it are no sessions yet: the grouping
    /// behind merges them with those of other bundles.
    fn merge(&self, parts: &mut BTreeMap<Window, Part<F::Acc>>) -> KernelResult {
        if parts.len() < 2 {
            return Ok(());
        }
        // `merge` is given windows in the order of their ends, which is theirs.
        let windows: Vec<Window> = parts.keys().cloned().collect();
        let merges = merges(&self.step, &*self.strategy.window_fn, &windows)?;
        for merged in merges {
            let mut of = merged.sources.iter().filter_map(|window| parts.remove(window));
            let Some(mut all) = of.next() else { continue };
            for part in of {
                self.fold.merge(&mut all.acc, part.acc);
                all.elements += part.elements;
                (all.time, all.is_late) = self.time_of((all.time, all.is_late), (part.time, part.is_late));
            }
            parts.insert(merged.result, all);
        }
        Ok(())
    }

    fn run_group(&mut self, batches: Vec<AnyBatch>, down: &mut Downstream<'_>) -> KernelResult {
        let cx = down.cx();
        let watermark = cx.watermark.unwrap_or(Timestamp::MIN);
        let mut parts = Parts::default();
        let mut dropped = 0;
        cx.phase(Phase::AddInput);
        for mut batch in batches {
            if let Some(batch) = batch.as_any().downcast_mut() {
                dropped += self.add(&mut parts, batch, watermark);
            }
        }
        if dropped > 0 {
            cx.metrics().counter(&self.step, DROPPED_DUE_TO_LATENESS).inc(dropped);
        }
        for (key, mut parts) in parts {
            down.cx().phase(Phase::MergeAccumulators);
            if self.strategy.needs_merging() {
                self.merge(&mut parts)?;
            }
            for (window, Part { acc, elements, time, .. }) in parts {
                let meta = Meta::constant(time, WindowSet::One(window), PaneInfo::NO_FIRING);
                self.out.batch.push((key.clone(), Partial { acc, elements }), Row::of(&meta, 0));
                self.out.flush_full(down)?;
            }
        }
        self.out.flush(down)
    }
}

impl<K: Key, F: Fold> Kernel for FanoutRoot<K, F> {
    fn run(&mut self, _input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        Err(PipelineError::runner(format!("{} was given elements outside a key group", self.step)))
    }

    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        match input {
            BundleInput::KeyGroup { batches } => self.run_group(batches, down),
            _ => {
                let what = format!("{} was given something else than a key group", self.step);
                Err(PipelineError::runner(what))
            }
        }
    }
}
