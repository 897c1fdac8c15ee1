//! The start of a stage behind a grouping by key groups: windows that merge, fire more than once, or wait for late data.

use std::{collections::HashMap, sync::Arc};

use super::{
    Fold,
    machine::{Moment, TriggerMachine},
    merging::merges,
    pane::{Marks, Pane},
    panes::Panes,
};
use crate::{
    Key, Phase, PipelineError, Step, Timestamp,
    batch::{Batch, ErasedBatch, Meta, Row, WindowSet},
    coder_slot::CoderSlot,
    exec::{BundleInput, Downstream, Kernel, KernelResult, Port},
    metrics::{DROPPED_DUE_TO_CLOSED_WINDOW, DROPPED_DUE_TO_LATENESS, LATE_DATA_OUTPUT},
    window::{
        AccumulationMode, ClosingBehavior, MergedWindow, OnTimeBehavior, PaneInfo, PaneTiming,
        TimestampCombiner, Window, WindowingStrategy, check_output_time,
    },
};

/// Takes a key group's elements, merges its windows, and emits the panes whose trigger fires.
pub(super) struct PanedRoot<K: Key, F: Fold> {
    step: Step,
    fold: F,
    strategy: Arc<WindowingStrategy>,
    machine: TriggerMachine,
    // The key of a global combine with a default, whose global window fires when nothing came.
    default_key: Option<K>,
    out: Port<(K, F::Output)>,
    late: Option<Port<(K, F::Input)>>,
}

/// Elements that were dropped.
#[derive(Default)]
struct Dropped {
    late: i64,
    closed: i64,
    /// Came out at the late output instead.
    rescued: i64,
}

impl<K: Key, F: Fold> PanedRoot<K, F> {
    pub(super) fn new(
        step: &Step,
        fold: F,
        strategy: Arc<WindowingStrategy>,
        default_key: Option<K>,
        coder: &CoderSlot<(K, F::Output)>,
        late: Option<&CoderSlot<(K, F::Input)>>,
    ) -> PanedRoot<K, F> {
        PanedRoot {
            step: step.clone(),
            fold,
            machine: TriggerMachine::new(&strategy.trigger),
            strategy,
            default_key,
            out: Port::new(0, step, coder),
            late: late.map(|coder| Port::new(1, step, coder)),
        }
    }

    /// Adds elements, each in a window of its own or in one that is there already.
    fn add(
        &mut self,
        state: &mut Panes<K, F>,
        batch: &mut Batch<(K, F::Input)>,
        marks: &Marks,
        dropped: &mut Dropped,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let atomic = down.cx().env.atomic;
        let Batch { values, meta } = batch;
        for (i, (key, value)) in values.drain(..).enumerate() {
            let row = Row::of(meta, i);
            let set = row.windows();
            let windows = set.as_slice();
            let mut rest = Some((key, value));
            for (n, window) in windows.iter().enumerate() {
                let pair = if n + 1 == windows.len() { rest.take() } else { rest.clone() };
                let Some((key, value)) = pair else { break };
                if window.is_expired(self.strategy.allowed_lateness, marks.input) {
                    let weight = self.fold.weight(&value) as i64;
                    let Some(late) = &mut self.late else {
                        dropped.late += weight;
                        continue;
                    };
                    dropped.rescued += weight;
                    late.batch.push((key, value), Row { window: Some(window), ..row });
                    late.flush_full(down)?;
                    down.cx().phase(Phase::AddInput);
                    continue;
                }
                let pane = state.touch(&key, atomic).open(window);
                self.add_one(pane, value, row.time(), marks, dropped)?;
            }
        }
        Ok(())
    }

    fn add_one(
        &self,
        pane: &mut Pane<F::Acc>,
        value: F::Input,
        timestamp: Timestamp,
        marks: &Marks,
        dropped: &mut Dropped,
    ) -> KernelResult {
        let (combiner, window_fn) = (self.strategy.timestamp_combiner, &*self.strategy.window_fn);
        let time = combiner.assign(window_fn, &pane.window, timestamp);
        if combiner == TimestampCombiner::EarliestTransformed {
            check_output_time(window_fn, &pane.window, timestamp, time)
                .map_err(|what| PipelineError::contract(self.step.clone(), Phase::Window, what))?;
        }
        let weight = self.fold.weight(&value);
        if pane.closed {
            dropped.closed += weight as i64;
            return Ok(());
        }
        self.fold.add(pane.acc.get_or_insert_with(|| self.fold.create()), value);
        pane.fresh += weight;
        pane.arrived += weight;
        pane.note_time(time, combiner, marks);
        Ok(())
    }

    /// Merges the windows of one key as the window function says.
    fn merge(&self, panes: &mut Vec<Pane<F::Acc>>, marks: &Marks, dropped: &mut Dropped) -> KernelResult {
        if panes.len() < 2 {
            return Ok(());
        }
        panes.sort_by(|a, b| a.window.cmp(&b.window));
        let windows: Vec<Window> = panes.iter().map(|p| p.window.clone()).collect();
        let merges = merges(&self.step, &*self.strategy.window_fn, &windows)?;
        let mut becomes: HashMap<&Window, usize> = HashMap::new();
        for (n, merge) in merges.iter().enumerate() {
            becomes.extend(merge.sources.iter().map(|source| (source, n)));
        }
        let mut parts: Vec<Vec<Pane<F::Acc>>> = merges.iter().map(|_| Vec::new()).collect();
        for pane in std::mem::take(panes) {
            match becomes.get(&pane.window) {
                Some(n) => parts[*n].push(pane),
                None => panes.push(pane),
            }
        }
        for (MergedWindow { result, .. }, parts) in merges.iter().zip(parts) {
            panes.push(self.merged(result.clone(), parts, marks, dropped));
        }
        Ok(())
    }

    /// The window that `parts` become.
    fn merged(
        &self,
        result: Window,
        parts: Vec<Pane<F::Acc>>,
        marks: &Marks,
        dropped: &mut Dropped,
    ) -> Pane<F::Acc> {
        let mut all = Pane::new(result);
        if let Some(same) = parts.iter().find(|p| p.window == all.window && p.trigger.is_some()) {
            all.continue_from(same);
        }
        let states: Vec<_> = parts.iter().filter_map(|p| p.trigger.as_ref()).collect();
        if !states.is_empty() {
            all.trigger = Some(self.machine.merge(&states, &self.moment(&all, marks)));
        }
        all.closed = all.trigger.as_ref().is_some_and(|t| self.machine.is_finished(t));
        let combiner = self.strategy.timestamp_combiner;
        for part in parts {
            if all.closed {
                dropped.closed += part.arrived as i64;
                continue;
            }
            all.acc = match (all.acc.take(), part.acc) {
                (Some(mut acc), Some(more)) => {
                    self.fold.merge(&mut acc, more);
                    Some(acc)
                }
                (acc, more) => acc.or(more),
            };
            all.fresh += part.fresh;
            all.arrived += part.arrived;
            all.time = match (all.time, part.time) {
                (Some(a), Some(b)) => Some(combiner.combine(a, b)),
                (a, b) => a.or(b),
            };
        }
        if combiner == TimestampCombiner::EndOfWindow && all.time.is_some() {
            all.time = Some(all.window.result_timestamp());
        }
        all
    }

    fn moment(&self, pane: &Pane<F::Acc>, marks: &Marks) -> Moment {
        Moment {
            watermark: marks.input,
            now: marks.now,
            synchronized: marks.synchronized,
            end: pane.window.max_timestamp(),
        }
    }

    /// Emits the panes of one key whose time has come, and forgets windows that are over.
    fn fire(
        &mut self,
        key: &K,
        panes: &mut Vec<Pane<F::Acc>>,
        marks: &Marks,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let mut over = Vec::new();
        for (i, pane) in panes.iter_mut().enumerate() {
            let moment = self.moment(pane, marks);
            let mut trigger = pane.trigger.take().unwrap_or_else(|| self.machine.start());
            let arrived = std::mem::take(&mut pane.arrived);
            if arrived > 0 {
                self.machine.on_elements(&mut trigger, arrived, marks.now);
            }
            let expired = pane.window.is_expired(self.strategy.allowed_lateness, marks.input);
            let asked = arrived > 0
                || pane.due < marks.input
                || pane.due_clock <= marks.now
                || pane.due_synchronized < marks.synchronized;
            let mut last = false;
            if !pane.closed && asked && self.machine.should_fire(&trigger, &moment) {
                self.machine.on_fire(&mut trigger, &moment);
                pane.closed = self.machine.is_finished(&trigger);
                last = expired || pane.closed;
                self.emit(key, pane, marks, last, false, down)?;
            }
            if expired {
                if !pane.closed && !last {
                    self.emit(key, pane, marks, true, true, down)?;
                }
                over.push(i);
            }
            pane.trigger = Some(trigger);
        }
        for i in over.into_iter().rev() {
            panes.swap_remove(i);
        }
        Ok(())
    }

    /// Emits the pane of a window, unless it is an empty one that nobody asked for.
    fn emit(
        &mut self,
        key: &K,
        pane: &mut Pane<F::Acc>,
        marks: &Marks,
        is_last: bool,
        at_expiry: bool,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let info = pane.next_pane(marks, is_last, at_expiry);
        if pane.fresh == 0 && !self.wants_empty(key, pane, info, at_expiry) {
            if is_last {
                pane.acc = None;
            }
            return Ok(());
        }
        let keep = self.strategy.accumulation == AccumulationMode::Accumulating && !is_last;
        let acc = if keep { pane.acc.clone() } else { pane.acc.take() };
        if let Some(kept) = &mut pane.acc {
            self.fold.fired(kept);
        }
        let value = self.fold.extract(acc.unwrap_or_else(|| self.fold.create()));
        let time = pane.time.take().unwrap_or_else(|| pane.window.result_timestamp());
        pane.fresh = 0;
        pane.count(info);
        let meta = Meta::constant(time, WindowSet::One(pane.window.clone()), info);
        self.out.batch.push((key.clone(), value), Row::of(&meta, 0));
        self.out.flush_full(down)?;
        down.cx().phase(Phase::ExtractOutput);
        Ok(())
    }

    fn wants_empty(&self, key: &K, pane: &Pane<F::Acc>, info: PaneInfo, at_expiry: bool) -> bool {
        let default = at_expiry
            && !pane.has_fired()
            && pane.window == Window::Global
            && self.default_key.as_ref() == Some(key);
        // The pane for the window's end is the trigger's to make: one that never looks at the watermark has none.
        let on_time = info.timing == PaneTiming::OnTime
            && self.machine.watches_watermark()
            && self.strategy.on_time == OnTimeBehavior::FireAlways;
        let last = info.is_last && self.strategy.closing == ClosingBehavior::FireAlways;
        default || (on_time && !at_expiry) || last
    }

    fn run_group(
        &mut self,
        state: &mut Panes<K, F>,
        batches: Vec<crate::batch::AnyBatch>,
        down: &mut Downstream<'_>,
    ) -> KernelResult {
        let cx = down.cx();
        let marks = Marks {
            input: cx.watermark.unwrap_or(Timestamp::MIN),
            now: cx.now,
            synchronized: cx.synchronized,
        };
        let mut dropped = Dropped::default();
        state.begin();
        cx.phase(Phase::AddInput);
        for mut batch in batches {
            if let Some(batch) = batch.as_any().downcast_mut() {
                self.add(state, batch, &marks, &mut dropped, down)?;
            }
        }
        state.touch_due(&marks, cx.env.atomic);
        for key in state.take_touched() {
            let Some(keyed) = state.keys.get_mut(&key) else { continue };
            if self.strategy.needs_merging() {
                cx.phase(Phase::MergeAccumulators);
                self.merge(keyed.change(), &marks, &mut dropped)?;
            }
            cx.phase(Phase::ExtractOutput);
            self.fire(&key, keyed.change(), &marks, down)?;
            state.put_down(&key, &self.strategy, &self.machine, marks.input, marks.now);
        }
        for (n, name) in [
            (dropped.late, DROPPED_DUE_TO_LATENESS),
            (dropped.closed, DROPPED_DUE_TO_CLOSED_WINDOW),
            (dropped.rescued, LATE_DATA_OUTPUT),
        ] {
            if n > 0 {
                cx.metrics().counter(&self.step, name).inc(n);
            }
        }
        Ok(())
    }
}

impl<K: Key, F: Fold> Kernel for PanedRoot<K, F> {
    fn run(&mut self, _input: &mut dyn ErasedBatch, _down: &mut Downstream<'_>) -> KernelResult {
        Err(PipelineError::runner(format!("{} was given elements outside a key group", self.step)))
    }

    fn run_root(&mut self, input: BundleInput, down: &mut Downstream<'_>) -> KernelResult {
        let cx = down.cx();
        let mut keyed = cx.keyed();
        let state = keyed.as_mut().and_then(|s| s.as_any().downcast_mut::<Panes<K, F>>());
        let (BundleInput::KeyGroup { batches }, Some(state)) = (input, state) else {
            let what = format!("{} was given something else than a key group", self.step);
            return Err(PipelineError::runner(what));
        };
        self.run_group(state, batches, down)?;
        if let Some(late) = &mut self.late {
            late.flush(down)?;
        }
        self.out.flush(down)
    }
}
