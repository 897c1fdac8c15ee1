//! Elements that wait for side inputs.

use purlin_sdk::{
    Duration, Phase, Timestamp,
    batch::{Row, WindowSet},
    exec::{ByWindow, ReadyView, ViewSnapshot, ViewValue, side_window},
    metrics::DROPPED_DUE_TO_LATENESS,
    window::Window,
};

use crate::{
    Engine, StageId,
    plan::Root,
    state::{Item, SideWindow},
};

/// Whether an element can be processed.
#[derive(Clone, PartialEq, Eq)]
enum Readiness {
    Ready,
    /// For this.
    Waiting(SideWindow),
    /// Its side window is forgotten: it came too late.
    Gone,
}

/// The same of an element of a batch; what waits, by the number of what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Ready,
    Gone,
    Waiting(usize),
}

impl Engine {
    /// The side input's value for `window`; nothing while it may still change.
    fn view_value(&self, view: StageId, window: &Window) -> (Readiness, Option<ViewValue>) {
        let state = &self.stages[view.0];
        let end = window.max_timestamp();
        let key = (end, window.clone());
        if let Some(value) = state.values.get(&key) {
            return (Readiness::Ready, Some(value.clone()));
        }
        let Some((factory, strategy)) = &self.plan.stages[view.0].view else {
            return (Readiness::Gone, None);
        };
        let expiry = window.expiry(strategy.allowed_lateness);
        // Without a value it is known to be empty when no pane can come any more.
        let pending = state.progress.input() <= expiry
            || state.windows.contains_key(&key)
            || state.building.contains(window)
            || self.may_build_any(view);
        if pending {
            (Readiness::Waiting((view, expiry, key.1)), None)
        } else if window.expiry(self.readers_lateness(view)) < state.values_from {
            (Readiness::Gone, None)
        } else {
            (Readiness::Ready, Some(factory.empty()))
        }
    }

    /// Whether the view is at work, and nobody knows on which windows.
    fn may_build_any(&self, view: StageId) -> bool {
        let state = &self.stages[view.0];
        matches!(self.plan.stages[view.0].root, Root::KeyGroups(_))
            && (state.running > 0 || !state.ready_groups.is_empty() || !state.resting_groups.is_empty())
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
        let mut seen: ByWindow<Verdict> = ByWindow::default();
        let mut last: Option<(Window, Verdict)> = None;
        let mut waits_for: Vec<SideWindow> = Vec::new();
        // Most batches are in one window, and what it looks at is there.
        if let Some(window) = item.batch.meta().only_window()
            && self.ready_in(stage, window, snapshot) == Readiness::Ready
        {
            return Some(item);
        }
        let held = item.held();
        let Item { mut batch, time, hold, idle, begun, attempts, bytes, key_group } = item;
        // Each of an element's windows waits, and is too late, for itself.
        batch.explode();
        let mut verdicts = Vec::with_capacity(batch.len());
        for i in 0..batch.len() {
            if let Some((_, verdict)) = last.as_ref().filter(|(window, _)| batch.meta().is_also_in(i, window))
            {
                verdicts.push(*verdict);
                continue;
            }
            let WindowSet::One(window) = Row::of(batch.meta(), i).windows() else {
                verdicts.push(Verdict::Ready);
                continue;
            };
            let verdict = match seen.get(&window) {
                Some(verdict) => *verdict,
                None => {
                    let verdict = match self.ready_in(stage, &window, snapshot) {
                        Readiness::Ready => Verdict::Ready,
                        Readiness::Gone => Verdict::Gone,
                        Readiness::Waiting(for_this) => {
                            waits_for.push(for_this);
                            Verdict::Waiting(waits_for.len() - 1)
                        }
                    };
                    seen.insert(window.clone(), verdict);
                    verdict
                }
            };
            verdicts.push(verdict);
            last = Some((window, verdict));
        }
        if verdicts.iter().all(|v| *v == Verdict::Ready) {
            return Some(Item { batch, time, hold, idle, begun, attempts, bytes, key_group });
        }
        // In parts, in the order of the verdicts; what has the same one stays in its own order.
        let mut order: Vec<usize> = (0..verdicts.len()).collect();
        order.sort_by_key(|i| verdicts[*i]);
        batch.permute(&order);
        let mut parts = Vec::new();
        let mut len = order.len();
        for end in (0..len).rev() {
            let verdict = verdicts[order[end]];
            if end == 0 || verdicts[order[end - 1]] != verdict {
                let part = if end == 0 { None } else { Some(batch.split_off(end)) };
                parts.push((verdict, len - end, part));
                len = end;
            }
        }
        let mut first = Some(batch);
        let mut ready = None;
        for (verdict, len, part) in parts {
            let Some(part) = part.or_else(|| first.take()) else { continue };
            if verdict == Verdict::Gone {
                let dropped = &mut self.metrics.named.committed;
                dropped.count(stage.step.path(), DROPPED_DUE_TO_LATENESS, len as i64);
                continue;
            }
            let item = Item { attempts, key_group, ..Item::elements(part) };
            let state = &mut self.stages[id.0];
            state.progress.open(item.held());
            self.waiting_bytes += item.bytes;
            match verdict {
                Verdict::Waiting(n) => state.blocked.entry(waits_for[n].clone()).or_default().push(item),
                _ => ready = Some(item),
            }
        }
        self.stages[id.0].progress.close(held);
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
                .or_insert_with(|| (strategy.window_fn.clone(), ByWindow::default()));
            // A window function that has no window there says so when the side input is read.
            let before = self.enter(*view, Phase::Window);
            let side = side_window(&*strategy.window_fn, window);
            self.at.set(before);
            let Ok(side) = side else { continue };
            if values.contains_key(&side) {
                continue;
            }
            match self.view_value(*view, &side) {
                (Readiness::Ready, Some(value)) => {
                    values.insert(side, value);
                }
                (Readiness::Gone, _) if all == Readiness::Ready => all = Readiness::Gone,
                (Readiness::Gone | Readiness::Ready, _) => {}
                (waiting @ Readiness::Waiting(_), _) => all = waiting,
            }
        }
        all
    }

    /// The watermark of the view `id` has come further: windows without data are known to be empty.
    pub(crate) fn view_moved(&mut self, id: StageId) {
        if self.may_build_any(id) {
            return;
        }
        let state = &mut self.stages[id.0];
        let watermark = state.progress.input();
        let from = std::mem::replace(&mut state.looked_up_to, watermark);
        self.look_again(id, from, watermark);
    }

    /// The view `id` has been at work, and has built `windows`.
    pub(crate) fn view_built(&mut self, id: StageId, windows: Vec<Window>) {
        let Some((_, strategy)) = &self.plan.stages[id.0].view else { return };
        let lateness = strategy.allowed_lateness;
        for reader in self.readers(id) {
            for window in &windows {
                let key = (id, window.expiry(lateness), window.clone());
                self.unblock(reader, &key);
            }
        }
        // Now that it is at rest, all that it has not built by its watermark is empty.
        if matches!(self.plan.stages[id.0].root, Root::KeyGroups(_)) && !self.may_build_any(id) {
            let watermark = self.stages[id.0].progress.input();
            self.stages[id.0].looked_up_to = watermark;
            self.look_again(id, Timestamp::MIN, watermark);
        }
    }

    /// Lets what waits for windows of the view `id` that expire at `from` or later, and before the watermark, be looked at
    /// again, unless such a window is being built: then it is when that is done.
    fn look_again(&mut self, id: StageId, from: Timestamp, watermark: Timestamp) {
        for reader in self.readers(id) {
            // The global window is the first of all.
            let start = (id, from, Window::Global);
            let blocked = self.stages[reader.0].blocked.range(start..);
            let passed = blocked.take_while(|((view, expiry, _), _)| *view == id && *expiry < watermark);
            let settled = passed
                .map(|(key, _)| key)
                .filter(|(_, _, window)| !matches!(self.view_value(id, window).0, Readiness::Waiting(_)));
            for key in settled.cloned().collect::<Vec<_>>() {
                self.unblock(reader, &key);
            }
        }
    }

    fn readers(&self, view: StageId) -> Vec<StageId> {
        let stages = self.plan.stages.iter().enumerate();
        let readers = stages.filter(|(_, s)| s.views.iter().any(|(_, v)| *v == view));
        readers.map(|(i, _)| StageId(i)).collect()
    }

    /// Makes ready what waits at stage `reader` for a window of a side input.
    fn unblock(&mut self, reader: StageId, key: &SideWindow) {
        let state = &mut self.stages[reader.0];
        let Some(items) = state.blocked.remove(key) else { return };
        for item in items {
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
        self.ready.insert(reader);
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
                while let Some(entry) = state.values.first_entry() {
                    if entry.key().1.expiry(lateness) >= from {
                        break;
                    }
                    entry.remove();
                }
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
