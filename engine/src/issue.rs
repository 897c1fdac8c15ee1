//! Handing out bundles.

use std::sync::Arc;

use purlin_sdk::{
    ManualClock, Phase, PipelineError, Timestamp,
    batch::{AnyBatch, BATCH_SIZE},
    exec::{BundleCx, BundleInput, Effects, GroupState, SdfLimits, Shard, ViewSnapshot},
    watermark::ControlPoint,
};

use crate::{
    BundleId, Engine, Next, StageId, Task,
    engine::InFlight,
    plan::Root,
    progress::Held,
    state::{Closing, Item, held_at},
    test_stream::{Happened, Mark},
};

/// What a bundle will start from, with what it holds.
struct Draft {
    input: BundleInput,
    batches: Vec<Held>,
    hold: Timestamp,
    attempts: u32,
    views: ViewSnapshot,
    key_group: Option<usize>,
    keyed: Option<Box<dyn GroupState>>,
    /// Whether it begins a restriction.
    fresh: bool,
}

impl Engine {
    /// What to do next, with processing time at `now`.
    pub fn next(&mut self, now: Timestamp) -> Next {
        loop {
            if let Some(next) = self.guarded(|engine| engine.look_for_work(now)) {
                return next;
            }
        }
    }

    fn look_for_work(&mut self, now: Timestamp) -> Next {
        loop {
            if self.failure.is_some() || self.cancelled || self.is_stopped() {
                self.end_live();
                return if self.in_flight.is_empty() { Next::Over } else { Next::Wait(None) };
            }
            let now = self.stream_clock().map_or(now, purlin_sdk::Clock::now);
            self.advance_clock(now);
            if let Some(task) = self.issue() {
                return Next::Task(Box::new(task));
            }
            // At rest, sources that are ahead go by the watermarks of this moment, and not by those of the last look.
            if self.is_quiet()
                && self.align_at_rest()
                && let Some(task) = self.issue()
            {
                return Next::Task(Box::new(task));
            }
            if self.next_live() {
                continue;
            }
            if !self.is_quiet() {
                return Next::Wait(self.next_wake());
            }
            if self.ask_controls(ControlPoint::Quiescent) {
                continue;
            }
            if self.live.is_some() {
                return Next::Idle;
            }
            if self.waits_for_checkpoint() {
                return Next::Wait(self.next_wake());
            }
            // Scripted time goes on.
            match self.next_event() {
                Happened::Nothing => {}
                Happened::Event => continue,
                Happened::Mark(stage, told) => return Next::Task(Box::new(self.mark(stage, told))),
            }
            if self.is_over() {
                return Next::Over;
            }
            match (self.next_timer(), self.streams.clock()) {
                (Some(at), Some(clock)) => {
                    let clock: &ManualClock = clock;
                    clock.set(at);
                }
                (Some(at), None) => return Next::Wait(Some(at)),
                (None, _) if !self.ahead.is_empty() => {
                    // They wait for each other, in several groups: the first one goes on.
                    if let Some(task) = self.let_ahead() {
                        return Next::Task(Box::new(task));
                    }
                }
                (None, _) => {
                    let stall = self.stall_report();
                    let what = format!("the pipeline cannot go on, and it is not done: {stall}");
                    self.fail(PipelineError::runner(what));
                    return Next::Over;
                }
            }
        }
    }

    /// When something is to be done in processing time.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.next_timer().into_iter().chain(self.next_alignment()).min()
    }

    /// When parked work or a timer is due in processing time.
    fn next_timer(&self) -> Option<Timestamp> {
        let parked = self.wakes.first().map(|(at, _)| *at);
        let timers = self.clock_wakes.first().map(|(at, ..)| *at);
        parked.into_iter().chain(timers).min()
    }

    /// A bundle of a source although it is ahead.
    fn let_ahead(&mut self) -> Option<Task> {
        let id = self.ahead.pop_first()?;
        let draft = self.draft_elements(id, 1, Timestamp::MAX)?;
        if self.stages[id.0].has_work() {
            self.ready.insert(id);
        }
        Some(self.start(id, draft))
    }

    /// Whether a bundle could be handed out at once.
    pub fn has_ready_work(&self) -> bool {
        !self.ready.is_empty()
    }

    /// One more bundle for a worker that has one, when there are so many that enough is left for everybody. Never one
    /// that gathers into a shard: a shard that waits with its bundle would need another in its place.
    pub fn next_of_many(&mut self) -> Option<Box<Task>> {
        self.guarded(Engine::one_of_many).flatten()
    }

    fn one_of_many(&mut self) -> Option<Box<Task>> {
        if !self.is_busy_with_much() {
            return None;
        }
        let plan = self.plan.clone();
        let id = self.ready.iter().rev().copied().find(|id| {
            plan.stages[id.0].feeds.is_empty() && self.stages[id.0].has_work() && !self.must_pause(*id)
        })?;
        let draft = self.draft(id)?;
        Some(Box::new(self.start(id, draft)))
    }

    fn is_busy_with_much(&self) -> bool {
        let enough = 4 * self.config.parallelism;
        let mut bundles = 0;
        for id in &self.ready {
            let state = &self.stages[id.0];
            bundles += state.closed.len() + state.ready_groups.len();
            // A queue gives a bundle an item where items are restrictions; elsewhere they join.
            bundles +=
                if matches!(self.plan.stages[id.0].root, Root::Splittable) { state.queue.len() } else { 1 };
            if bundles > enough {
                return true;
            }
        }
        false
    }

    fn issue(&mut self) -> Option<Task> {
        while let Some(id) = self.choose() {
            if !self.stages[id.0].has_work() {
                self.ready.remove(&id);
            } else if self.must_pause(id) {
                self.ready.remove(&id);
                self.paused.insert(id);
            } else if self.must_wait_for_cut(id) {
                self.ready.remove(&id);
                self.cutting.held.insert(id);
            } else if let Some(draft) = self.draft(id) {
                return Some(self.start(id, draft));
            } else {
                self.ready.remove(&id);
            }
        }
        if !self.in_flight.is_empty() {
            return None;
        }
        // Everything else is at rest: a source may go on whatever waits.
        let id = self.paused.pop_first()?;
        self.ready.insert(id);
        let draft = self.draft(id)?;
        Some(self.start(id, draft))
    }

    /// The stage that gives the next bundle. Without a seed: what is deepest in the pipeline, since what is near the
    /// exit frees memory, and sources only when nothing else is ready, those first that hold the watermark most.
    fn choose(&mut self) -> Option<StageId> {
        if self.chooser.is_random() {
            let n = self.ready.len();
            return if n == 0 { None } else { self.ready.iter().nth(self.chooser.pick(n)).copied() };
        }
        let is_source = |id: &StageId| matches!(self.plan.stages[id.0].root, Root::Splittable);
        if let Some(id) = self.ready.iter().rev().find(|id| !is_source(id)) {
            return Some(*id);
        }
        let hold = |id: &StageId| {
            let queue = &self.stages[id.0].queue;
            queue.get(self.stages[id.0].first_in_time(1)).map(|item| item.hold)
        };
        self.ready.iter().min_by_key(|id| hold(id)).copied()
    }

    /// Lets paused sources go on when enough was worked off.
    pub(crate) fn resume_sources(&mut self) {
        if !self.paused.is_empty() && (self.draining || !self.is_over_budget()) {
            self.ready.append(&mut self.paused);
        }
    }

    /// Whether a source must wait until what is under way is worked off.
    fn must_pause(&self, id: StageId) -> bool {
        let source = matches!(self.plan.stages[id.0].root, Root::Splittable | Root::Impulse);
        source && !self.draining && self.is_over_budget()
    }

    /// Whether so much waits between stages that sources should stop adding to it.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.waiting_bytes > self.config.memory_budget / 10 * 7
    }

    /// Takes work of stage `id`.
    fn draft(&mut self, id: StageId) -> Option<Draft> {
        self.enter(id, Phase::Coder);
        let plan = self.plan.clone();
        match &plan.stages[id.0].root {
            Root::Group(_) | Root::View(..) => {
                let closing = self.stages[id.0].closed.pop_front()?;
                Some(Draft::of_window(closing))
            }
            Root::KeyGroups(_) => self.draft_key_group(id),
            Root::Splittable => {
                let draft = self.limit(id).and_then(|limit| self.draft_elements(id, 1, limit));
                if draft.is_none() && !self.stages[id.0].queue.is_empty() {
                    self.ahead.insert(id);
                }
                draft
            }
            Root::Impulse | Root::TestStream(_) | Root::Live(_) | Root::Elements => {
                self.draft_elements(id, usize::MAX, Timestamp::MAX)
            }
        }
    }

    fn draft_key_group(&mut self, id: StageId) -> Option<Draft> {
        while let Some(n) = self.pick_key_group(id) {
            // One that is lent to a cut comes back ready.
            if self.stages[id.0].key_groups[n].state.is_none() {
                continue;
            }
            let reached = self.reached(id);
            let resting = &mut self.stages[id.0].resting_groups;
            if resting.get(&n).is_some_and(|until| *until > reached.now) {
                continue;
            }
            // Its bundle is owed also when it was for a time that had come.
            let owed = resting.remove(&n).is_some();
            let group = &mut self.stages[id.0].key_groups[n];
            let waiting = std::mem::take(&mut group.waiting);
            let mut views = ViewSnapshot::default();
            let items = if self.plan.stages[id.0].views.is_empty() {
                waiting
            } else {
                waiting.into_iter().filter_map(|item| self.take_ready(id, item, &mut views)).collect()
            };
            let group = &mut self.stages[id.0].key_groups[n];
            if items.is_empty() && !owed && !group.is_due(reached) {
                continue;
            }
            let Some(keyed) = group.state.take() else { continue };
            let attempts = group.attempts;
            self.clock_wakes.remove(&(group.report.due_clock, id, n));
            if !self.plan.stages[id.0].views.is_empty() {
                self.look_at_sides(id, keyed.side_windows(reached.watermark, reached.now), &mut views);
            }
            let batches: Vec<_> = items.iter().map(Item::held).collect();
            let bytes: usize = items.iter().map(|item| item.bytes).sum();
            self.waiting_bytes -= bytes.min(self.waiting_bytes);
            let input = BundleInput::KeyGroup { batches: items.into_iter().map(|item| item.batch).collect() };
            // What it will emit is held by the state's own hold until the commit.
            let hold = batches.iter().map(|b| b.hold).min().unwrap_or(Timestamp::MAX);
            return Some(Draft {
                input,
                batches,
                hold,
                attempts,
                views,
                key_group: Some(n),
                keyed: Some(keyed),
                fresh: false,
            });
        }
        if self.plan.stages[id.0].view.is_some() {
            // It was thought that there may be something to build.
            self.view_built(id, Vec::new());
        }
        None
    }

    /// A key group that may be ready, no longer counted among those.
    fn pick_key_group(&mut self, id: StageId) -> Option<usize> {
        let state = &mut self.stages[id.0];
        let n = match self.chooser.pick(state.ready_groups.len().max(1)) {
            0 => *state.ready_groups.first()?,
            n => *state.ready_groups.iter().nth(n)?,
        };
        state.ready_groups.remove(&n);
        Some(n)
    }

    /// Takes elements, at most so many items of them, none of which is ahead of `limit`.
    fn draft_elements(&mut self, id: StageId, most_items: usize, limit: Timestamp) -> Option<Draft> {
        let mut snapshot = ViewSnapshot::default();
        let waiting: usize = self.stages[id.0].queue.iter().map(|i| i.batch.len()).sum();
        let mut room = if most_items == 1 {
            1
        } else if self.streams.are_there() {
            waiting
        } else {
            let free = self.config.parallelism.saturating_sub(self.in_flight.len());
            self.chooser.bundle_size(waiting, self.plan.stages[id.0].least_bundle, free)
        };
        let mut items: Vec<Item> = Vec::new();
        while room > 0 && items.len() < most_items {
            let state = &mut self.stages[id.0];
            let len = state.queue.len();
            if len == 0 {
                break;
            }
            let at = if limit < Timestamp::MAX {
                let near = state.queue.iter().enumerate().filter(|(_, item)| item.hold <= limit);
                let mut near: Vec<(Timestamp, usize)> = near.map(|(i, item)| (item.hold, i)).collect();
                if near.is_empty() {
                    break;
                }
                near.sort_unstable();
                if self.chooser.is_random() { near[self.chooser.pick(near.len())].1 } else { near[0].1 }
            } else if self.chooser.is_random() {
                self.chooser.pick(len)
            } else {
                state.first_in_time(most_items)
            };
            let Some(mut item) = state.queue.remove(at) else { break };
            if item.batch.len() > room {
                let rest = item.batch.split_off(room);
                self.split_item(id, &mut item, rest);
            }
            let item = if self.plan.stages[id.0].views.is_empty() {
                Some(item)
            } else {
                self.take_ready(id, item, &mut snapshot)
            };
            if let Some(mut item) = item {
                room = room.saturating_sub(item.batch.len());
                if !self.streams.are_there()
                    && let Some(order) = self.chooser.order(item.batch.len())
                {
                    item.batch.permute(&order);
                }
                items.push(item);
            }
        }
        if items.is_empty() {
            return None;
        }
        let attempts = items.iter().map(|i| i.attempts).max().unwrap_or(0);
        let fresh = most_items == 1 && items.iter().any(|item| !item.begun);
        let batches: Vec<_> = items.iter().map(Item::held).collect();
        let bytes: usize = items.iter().map(|i| i.bytes).sum();
        self.waiting_bytes -= bytes.min(self.waiting_bytes);
        Some(Draft {
            hold: batches.iter().map(|b| b.hold).min().unwrap_or(Timestamp::MAX),
            input: BundleInput::Batches(joined(items.into_iter().map(|i| i.batch))),
            batches,
            attempts,
            views: snapshot,
            key_group: None,
            keyed: None,
            fresh,
        })
    }

    /// Puts the rest of an item back in front of the queue.
    fn split_item(&mut self, id: StageId, item: &mut Item, rest: AnyBatch) {
        let state = &mut self.stages[id.0];
        let (before, bytes) = (item.held(), item.bytes);
        let Held { time, hold, idle } = before;
        let mut tail = Item { attempts: item.attempts, ..Item::elements(rest) };
        let mut head_time = held_at(item.batch.min_timestamp());
        // What is no element but a restriction holds where it did.
        if hold != time {
            tail.hold = hold;
            tail.idle = idle;
            head_time = time;
        }
        item.time = head_time;
        item.hold = if hold == time { head_time } else { hold };
        item.bytes = item.batch.bytes();
        state.progress.open(item.held());
        state.progress.open(tail.held());
        state.progress.close(before);
        self.waiting_bytes = (self.waiting_bytes + item.bytes + tail.bytes).saturating_sub(bytes);
        state.queue.push_front(tail);
    }

    /// Makes a bundle of it.
    fn start(&mut self, id: StageId, draft: Draft) -> Task {
        let plan = self.plan.clone();
        let stage = &plan.stages[id.0];
        let Draft { input, batches, hold, attempts, views, key_group, keyed, fresh } = draft;
        let reached = self.reached(id);
        let is_copied = self.cutting.is_requested;
        let mut effects = Effects::default();
        let mut shards_of = Vec::new();
        let mut group_watermarks = Vec::new();
        for (n, feed) in stage.feeds.iter().enumerate() {
            // One that a checkpoint may count as not started begins with an empty shard, which need not be copied.
            let at_rest = if is_copied { None } else { self.stages[id.0].shards[n].pop() };
            let mut shard: Option<Box<dyn Shard>> = match &plan.stages[feed.to.0].root {
                Root::Group(factory) => at_rest.or_else(|| factory.shard()),
                Root::View(factory) => Some(at_rest.unwrap_or_else(|| factory.shard())),
                _ => None,
            };
            if let Some(shard) = &mut shard {
                shards_of.push(feed.to);
                if let Some(table) = self.stages[feed.to.0].spare_tables.pop() {
                    shard.recycle(table);
                }
            }
            effects.shards.push(shard);
            group_watermarks.push(self.stages[feed.to.0].progress.input());
        }
        if is_copied && !shards_of.is_empty() {
            self.cutting.fresh_shards += 1;
        }
        let keyed_before = match &keyed {
            Some(keyed) if is_copied => self.state_before(id, &**keyed),
            _ => None,
        };
        let state = &mut self.stages[id.0];
        let mut cx = BundleCx::new(self.env.clone(), effects);
        let watermark = state.progress.input();
        cx.watermark = (watermark > Timestamp::MIN).then_some(watermark);
        let passed = state.progress.output();
        cx.output_watermark = (passed > Timestamp::MIN).then_some(passed);
        cx.now = reached.now;
        cx.synchronized = reached.synchronized;
        *cx.keyed() = keyed;
        cx.group_watermarks = group_watermarks;
        cx.key_groups = self.key_groups;
        cx.views = views;
        cx.draining = self.draining;
        cx.limits = if matches!(stage.root, Root::Splittable) {
            self.chooser.sdf_limits()
        } else {
            SdfLimits::default()
        };
        state.running += 1;
        let bundle = BundleId(self.next_bundle);
        self.next_bundle += 1;
        self.enter(id, Phase::StartBundle);
        let backup = (is_copied || self.config.retries > attempts).then(|| input.copy());
        let in_flight = InFlight {
            stage: id,
            hold,
            attempts,
            control: Arc::clone(&cx.control),
            backup,
            is_copied,
            keyed_before,
            shards_of,
            window: match &input {
                BundleInput::Window { window, .. } => Some(window.clone()),
                _ => None,
            },
            key_group,
            batches,
            fresh,
            splitting: 0,
            draining: self.draining,
            watermark,
        };
        self.in_flight.insert(bundle, in_flight);
        let instance = self.stages[id.0].instances.pop();
        Task { id: bundle, stage: id, plan: self.plan.clone(), input, instance, cx, mark: None }
    }

    /// A bundle without elements, whose work is to tell the test that everything before has been worked off. A bundle, so
    /// that it is called without the engine's lock and nothing goes on meanwhile.
    fn mark(&mut self, id: StageId, told: Mark) -> Task {
        let cx = BundleCx::new(self.env.clone(), Effects::default());
        let bundle = BundleId(self.next_bundle);
        self.next_bundle += 1;
        let state = &mut self.stages[id.0];
        state.running += 1;
        let in_flight = InFlight {
            stage: id,
            hold: Timestamp::MAX,
            attempts: 0,
            control: Arc::clone(&cx.control),
            // A cut waits until it is done.
            backup: None,
            is_copied: false,
            keyed_before: None,
            fresh: false,
            shards_of: Vec::new(),
            window: None,
            key_group: None,
            batches: Vec::new(),
            splitting: 0,
            draining: self.draining,
            watermark: state.progress.input(),
        };
        self.in_flight.insert(bundle, in_flight);
        let input = BundleInput::Batches(Vec::new());
        Task { id: bundle, stage: id, plan: self.plan.clone(), input, instance: None, cx, mark: Some(told) }
    }
}

/// The same elements in few batches: what came in pieces is worked on as one.
fn joined(batches: impl Iterator<Item = AnyBatch>) -> Vec<AnyBatch> {
    let mut all: Vec<AnyBatch> = Vec::new();
    for mut batch in batches {
        let fits = all.last_mut().filter(|last| last.len() + batch.len() <= BATCH_SIZE);
        let joined = fits.is_some_and(|last| last.append(&mut *batch));
        if !joined {
            all.push(batch);
        }
    }
    all
}

impl Draft {
    fn of_window(closing: Closing) -> Draft {
        let Closing { window, hold, tables, attempts, .. } = closing;
        Draft {
            input: BundleInput::Window { window, tables },
            batches: Vec::new(),
            hold,
            attempts,
            views: ViewSnapshot::default(),
            key_group: None,
            keyed: None,
            fresh: false,
        }
    }
}
