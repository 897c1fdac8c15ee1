//! Handing out bundles.

use std::sync::Arc;

use purlin_sdk::{
    ManualClock, Phase, PipelineError, Timestamp,
    batch::{AnyBatch, BATCH_SIZE},
    exec::{BundleCx, BundleInput, Effects, GroupState, SdfLimits, Shard, ViewSnapshot},
};

use crate::{
    BundleId, Engine, Next, StageId, Task,
    engine::InFlight,
    plan::Root,
    state::{Closing, Item, held_at},
    test_stream::{Happened, Mark},
};

/// What a bundle will start from, with what it holds.
struct Draft {
    input: BundleInput,
    batches: Vec<(Timestamp, Timestamp)>,
    hold: Timestamp,
    attempts: u32,
    views: ViewSnapshot,
    key_group: Option<usize>,
    keyed: Option<Box<dyn GroupState>>,
}

impl Engine {
    /// What to do next, with processing time at `now`.
    pub fn next(&mut self, now: Timestamp) -> Next {
        loop {
            if self.failure.is_some() || self.cancelled {
                return if self.in_flight.is_empty() { Next::Over } else { Next::Wait(None) };
            }
            if let Some(next) = self.guarded(|engine| engine.look_for_work(now)) {
                return next;
            }
        }
    }

    fn look_for_work(&mut self, now: Timestamp) -> Next {
        loop {
            let now = self.streams.clock().map_or(now, purlin_sdk::Clock::now);
            self.unpark(now);
            if let Some(task) = self.issue() {
                return Next::Task(Box::new(task));
            }
            if !self.in_flight.is_empty() || !self.lingering.is_empty() {
                return Next::Wait(self.next_wake());
            }
            // Quiescent: scripted time goes on.
            match self.next_event() {
                Happened::Nothing => {}
                Happened::Event => continue,
                Happened::Mark(stage, told) => return Next::Task(Box::new(self.mark(stage, told))),
            }
            if self.is_over() {
                return Next::Over;
            }
            match (self.next_wake(), self.streams.clock()) {
                (Some(at), Some(clock)) => {
                    let clock: &ManualClock = clock;
                    clock.set(at);
                }
                (Some(at), None) => return Next::Wait(Some(at)),
                (None, _) => {
                    let stuck = self.stuck();
                    self.fail(PipelineError::runner(stuck));
                    return Next::Over;
                }
            }
        }
    }

    /// When parked work or a timer is due in processing time.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let parked = self.wakes.first().map(|(at, _)| *at);
        let timers = self.clock_wakes.first().map(|(at, ..)| *at);
        parked.into_iter().chain(timers).min()
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
            Root::Splittable => self.draft_elements(id, 1),
            Root::Impulse | Root::TestStream(_) | Root::Elements => self.draft_elements(id, usize::MAX),
        }
    }

    fn draft_key_group(&mut self, id: StageId) -> Option<Draft> {
        while let Some(n) = self.pick_key_group(id) {
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
            self.look_at_sides(id, keyed.side_windows(reached.watermark, reached.now), &mut views);
            let batches: Vec<_> = items.iter().map(|item| (item.time, item.hold)).collect();
            let bytes: usize = items.iter().map(|item| item.bytes).sum();
            self.waiting_bytes -= bytes.min(self.waiting_bytes);
            let input = BundleInput::KeyGroup { batches: items.into_iter().map(|item| item.batch).collect() };
            // What it will emit is held by the state's own hold until the commit.
            let hold = batches.iter().map(|b| b.1).min().unwrap_or(Timestamp::MAX);
            return Some(Draft {
                input,
                batches,
                hold,
                attempts,
                views,
                key_group: Some(n),
                keyed: Some(keyed),
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

    fn draft_elements(&mut self, id: StageId, most_items: usize) -> Option<Draft> {
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
            let at = if self.chooser.is_random() {
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
        let batches: Vec<_> = items.iter().map(|i| (i.time, i.hold)).collect();
        let bytes: usize = items.iter().map(|i| i.bytes).sum();
        self.waiting_bytes -= bytes.min(self.waiting_bytes);
        Some(Draft {
            hold: batches.iter().map(|b| b.1).min().unwrap_or(Timestamp::MAX),
            input: BundleInput::Batches(joined(items.into_iter().map(|i| i.batch))),
            batches,
            attempts,
            views: snapshot,
            key_group: None,
            keyed: None,
        })
    }

    /// Puts the rest of an item back in front of the queue.
    fn split_item(&mut self, id: StageId, item: &mut Item, rest: AnyBatch) {
        let state = &mut self.stages[id.0];
        let (time, hold, bytes) = (item.time, item.hold, item.bytes);
        let mut tail = Item { attempts: item.attempts, ..Item::elements(rest) };
        let mut head_time = held_at(item.batch.min_timestamp());
        // What is no element but a restriction holds where it did.
        if hold != time {
            tail.hold = hold;
            head_time = time;
        }
        item.time = head_time;
        item.hold = if hold == time { head_time } else { hold };
        item.bytes = item.batch.bytes();
        state.progress.open(item.time, item.hold);
        state.progress.open(tail.time, tail.hold);
        state.progress.close(time, hold);
        self.waiting_bytes = (self.waiting_bytes + item.bytes + tail.bytes).saturating_sub(bytes);
        state.queue.push_front(tail);
    }

    /// Makes a bundle of it.
    fn start(&mut self, id: StageId, draft: Draft) -> Task {
        let plan = self.plan.clone();
        let stage = &plan.stages[id.0];
        let Draft { input, batches, hold, attempts, views, key_group, keyed } = draft;
        let reached = self.reached(id);
        let mut effects = Effects::default();
        let mut shards_of = Vec::new();
        let mut group_watermarks = Vec::new();
        for (n, feed) in stage.feeds.iter().enumerate() {
            let mut shard: Option<Box<dyn Shard>> = match &plan.stages[feed.to.0].root {
                Root::Group(factory) => self.stages[id.0].shards[n].pop().or_else(|| factory.shard()),
                Root::View(factory) => {
                    Some(self.stages[id.0].shards[n].pop().unwrap_or_else(|| factory.shard()))
                }
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
        let state = &mut self.stages[id.0];
        let mut cx = BundleCx::new(self.env.clone(), effects);
        let watermark = state.progress.input();
        cx.watermark = (watermark > Timestamp::MIN).then_some(watermark);
        cx.now = reached.now;
        cx.synchronized = reached.synchronized;
        *cx.keyed() = keyed;
        cx.group_watermarks = group_watermarks;
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
        let backup = (self.config.retries > attempts).then(|| input.copy());
        let in_flight = InFlight {
            stage: id,
            hold,
            attempts,
            control: Arc::clone(&cx.control),
            backup,
            shards_of,
            window: match &input {
                BundleInput::Window { window, .. } => Some(window.clone()),
                _ => None,
            },
            key_group,
            batches,
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
            backup: None,
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
        }
    }
}
