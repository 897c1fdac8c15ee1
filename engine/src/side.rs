//! Elements that wait for side inputs.

use std::collections::HashMap;

use purlin_sdk::{
    Duration, Timestamp,
    batch::{AnyBatch, Row},
    exec::{ReadyView, ViewSnapshot, ViewValue},
    metrics::DROPPED_DUE_TO_LATENESS,
    window::Window,
};

use crate::{Engine, StageId, state::Item};

/// Whether an element can be processed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    Waiting,
    /// Its side window is forgotten: it came too late.
    Gone,
}

impl Engine {
    /// The side input's value for `window`; nothing while it may still change.
    fn view_value(&self, view: StageId, window: &Window) -> (Readiness, Option<ViewValue>) {
        let state = &self.stages[view.0];
        if let Some(value) = state.values.get(window) {
            return (Readiness::Ready, Some(value.clone()));
        }
        let Some((factory, strategy)) = &self.plan.stages[view.0].view else {
            return (Readiness::Gone, None);
        };
        let end = window.max_timestamp();
        // Without a value it is known to be empty when no pane can come any more.
        if state.progress.input() <= window.expiry(strategy.allowed_lateness) {
            return (Readiness::Waiting, None);
        }
        let pending = state.windows.contains_key(&(end, window.clone()))
            || state.closing.iter().chain(&state.closed).any(|c| c.window == *window)
            || state.running > 0
            || !state.ready_groups.is_empty();
        if pending {
            (Readiness::Waiting, None)
        } else if window.expiry(self.readers_lateness(view)) < state.values_from {
            (Readiness::Gone, None)
        } else {
            (Readiness::Ready, Some(factory.empty()))
        }
    }

    /// Takes the elements of `item` that can be processed, and notes the side inputs that they need in `snapshot`. The
    /// others wait, or are dropped as late; the item no longer counts as open where it is empty.
    pub(crate) fn take_ready(
        &mut self,
        id: StageId,
        item: Item,
        snapshot: &mut ViewSnapshot,
    ) -> Option<Item> {
        let plan = self.plan.clone();
        let stage = &plan.stages[id.0];
        let mut seen: HashMap<Window, Readiness> = HashMap::new();
        let mut late = 0;
        let held = item.held();
        let Item { mut batch, time, hold, idle, begun, attempts, bytes, key_group } = item;
        // Each of an element's windows waits, and is too late, for itself.
        batch.explode();
        let mut verdicts = Vec::with_capacity(batch.len());
        for i in 0..batch.len() {
            let windows = Row::of(batch.meta(), i).windows();
            let Some(window) = windows.as_slice().first() else {
                verdicts.push(Readiness::Ready);
                continue;
            };
            verdicts.push(match seen.get(window) {
                Some(verdict) => *verdict,
                None => {
                    let verdict = self.ready_in(stage, window, snapshot);
                    seen.insert(window.clone(), verdict);
                    verdict
                }
            });
        }
        if verdicts.iter().all(|v| *v == Readiness::Ready) {
            return Some(Item { batch, time, hold, idle, begun, attempts, bytes, key_group });
        }
        let waiting_or_gone = batch.partition(&mut |_, i| verdicts[i] == Readiness::Ready);
        let rest: Vec<Readiness> = verdicts.iter().filter(|v| **v != Readiness::Ready).copied().collect();
        let mut waiting: AnyBatch = waiting_or_gone;
        let gone = waiting.partition(&mut |_, i| rest[i] == Readiness::Waiting);
        late += gone.len();
        if late > 0 {
            self.metrics.named.committed.count(stage.step.path(), DROPPED_DUE_TO_LATENESS, late as i64);
        }
        let state = &mut self.stages[id.0];
        let mut ready = None;
        if !batch.is_empty() {
            let item = Item { attempts, key_group, ..Item::elements(batch) };
            state.progress.open(item.held());
            self.waiting_bytes += item.bytes;
            ready = Some(item);
        }
        if !waiting.is_empty() {
            let item = Item { attempts, key_group, ..Item::elements(waiting) };
            state.progress.open(item.held());
            self.waiting_bytes += item.bytes;
            state.blocked.push(item);
        }
        state.progress.close(held);
        self.waiting_bytes -= bytes.min(self.waiting_bytes);
        ready
    }

    /// Notes in `snapshot` the side inputs of a stage for what happens in `windows` without an element: timers. They
    /// were ready when the timers were set.
    pub(crate) fn look_at_sides(&self, id: StageId, windows: Vec<Window>, snapshot: &mut ViewSnapshot) {
        for window in windows {
            self.ready_in(&self.plan.stages[id.0], &window, snapshot);
        }
    }

    /// Whether all side inputs of a stage are ready for a main element in `window`; those that are go into `snapshot`.
    fn ready_in(
        &self,
        stage: &crate::plan::Stage,
        window: &Window,
        snapshot: &mut ViewSnapshot,
    ) -> Readiness {
        let mut all = Readiness::Ready;
        for (path, view) in &stage.views {
            let Some((_, strategy)) = &self.plan.stages[view.0].view else { continue };
            let (_, values): &mut ReadyView = snapshot
                .views
                .entry(path.clone())
                .or_insert_with(|| (strategy.window_fn.clone(), HashMap::new()));
            // A window function that has no window there says so when the side input is read.
            let Ok(side) = strategy.window_fn.side_window(window.max_timestamp()) else { continue };
            if values.contains_key(&side) {
                continue;
            }
            match self.view_value(*view, &side) {
                (Readiness::Ready, Some(value)) => {
                    values.insert(side, value);
                }
                (Readiness::Gone, _) if all == Readiness::Ready => all = Readiness::Gone,
                (Readiness::Gone | Readiness::Ready, _) => {}
                (Readiness::Waiting, _) => all = Readiness::Waiting,
            }
        }
        all
    }

    /// Lets everything be looked at again that waits for the view `id`.
    pub(crate) fn view_moved(&mut self, id: StageId) {
        let plan = self.plan.clone();
        for (i, stage) in plan.stages.iter().enumerate() {
            if stage.views.iter().any(|(_, view)| *view == id) && !self.stages[i].blocked.is_empty() {
                let state = &mut self.stages[i];
                for item in std::mem::take(&mut state.blocked) {
                    match item.key_group {
                        None => state.queue.push_back(item),
                        Some(n) => {
                            let group = &mut state.key_groups[n];
                            group.waiting.push(item);
                            if group.state.is_some() {
                                state.ready_groups.insert(n);
                            }
                        }
                    }
                }
                self.ready.insert(StageId(i));
            }
        }
    }

    /// For how long after a window's end elements may still come that look at the view `id` there.
    pub(crate) fn readers_lateness(&self, id: StageId) -> Duration {
        let readers = self.plan.stages.iter().filter(|s| s.views.iter().any(|(_, view)| *view == id));
        readers.map(|s| s.lateness).max().unwrap_or(Duration::ZERO)
    }

    /// Forgets values of the views of stage `id` that no reader can ask for any more.
    pub(crate) fn forget_views(&mut self, id: StageId) {
        let plan = self.plan.clone();
        for (_, view) in &plan.stages[id.0].views {
            let readers =
                plan.stages.iter().enumerate().filter(|(_, s)| s.views.iter().any(|(_, v)| v == view));
            let from = readers.map(|(i, _)| self.reads_from(StageId(i))).min().unwrap_or(Timestamp::MIN);
            let lateness = self.readers_lateness(*view);
            let state = &mut self.stages[view.0];
            if from > state.values_from {
                state.values_from = from;
                state.values.retain(|window, _| window.expiry(lateness) >= from);
            }
        }
    }

    /// Stage `id` may look at side inputs for windows that expire here or later: those of its elements, also in bundles
    /// that run and began before the watermark came to where it is, and those that its key groups keep something for.
    fn reads_from(&self, id: StageId) -> Timestamp {
        let state = &self.stages[id.0];
        let running =
            self.in_flight.values().filter(|bundle| bundle.stage == id).map(|bundle| bundle.watermark);
        let kept = state.key_groups.iter().map(|group| group.report.sides);
        running.chain(kept).min().unwrap_or(Timestamp::MAX).min(state.progress.input())
    }
}
