//! Going on from a cut.

use std::collections::{BTreeSet, HashMap};

use purlin_sdk::{
    DoFnError, Phase, PipelineError, Result, Timestamp,
    exec::{GroupFactory, RunEnv, ViewFactory, save::take},
    graph::Graph,
    window::Window,
};

use super::{
    Segment, SegmentPart, Snapshot,
    header::{Header, not_built},
    save::{ItemHeader, Place, SavedWindow, next_item},
};
use crate::{
    Engine, EngineConfig, StageId,
    live::Live,
    plan::Root,
    progress::{Held, Progress},
    state::{Closing, Item, KeyGroup},
};

impl Engine {
    /// A pipeline that goes on from `snapshot`. It has as many key groups as the one before, and otherwise what `env` and
    /// `config` say.
    ///
    /// # Errors
    /// When the graph is another one, but for transforms that keep nothing, which may come and go (everything that is
    /// different is told); when something in the snapshot cannot be read.
    pub fn restore(
        graph: &Graph,
        env: RunEnv,
        config: EngineConfig,
        snapshot: &Snapshot,
    ) -> Result<Engine, PipelineError> {
        let header = header_of(snapshot)?;
        header.graph.check(graph)?;
        let mut engine = Engine::empty(graph, env, config, header.key_groups as usize).map_err(not_built)?;
        let plan = engine.plan.clone();
        let known: HashMap<&str, StageId> =
            plan.stages.iter().enumerate().map(|(i, s)| (&*s.name, StageId(i))).collect();
        engine.now = header.now;
        engine.draining = header.draining;
        engine.metrics.named = header.metrics.clone();
        engine.streams.resume(&header.streams);
        if let (Some(live), Some(watermark)) = (&mut engine.live, header.live) {
            live.resume(watermark);
        }
        let mut begun = BTreeSet::new();
        for stage in &header.stages {
            let Some(id) = known.get(stage.name.as_str()) else { continue };
            begun.insert(*id);
            let state = &mut engine.stages[id.0];
            state.progress = Progress::at(stage.input, stage.output);
            state.values_from = stage.values_from;
            for (window, hold) in &stage.windows {
                state.windows.insert((window.max_timestamp(), window.clone()), *hold);
                state.progress.holds.add(*hold);
            }
            state.in_force = stage.in_force;
            let live = engine.live.as_ref().filter(|_| matches!(plan.stages[id.0].root, Root::Live(_)));
            if let Some(hold) = live.map(Live::watermark).or(engine.streams.holds(*id)) {
                state.progress.open(Held::at(hold, hold));
            }
        }
        for segment in snapshot.segments().iter().filter(|s| s.name.part != SegmentPart::Header) {
            let Some(id) = known.get(&*segment.name.stage) else {
                return Err(PipelineError::runner(format!(
                    "this pipeline cannot go on from the checkpoint: {} is in it, and that transform is gone or no \
                     longer begins a stage. Put it back, or drain the old run and begin anew",
                    segment.name
                )));
            };
            let saved = header.stages.iter().find(|s| s.name == *segment.name.stage);
            let stage = &plan.stages[id.0];
            let checked = match saved {
                Some(saved) if segment.name.part == SegmentPart::Items && saved.element != stage.element => {
                    Err(DoFnError::msg(format!(
                        "what waits for it is `{}`, and it takes `{}` now",
                        saved.element, stage.element
                    )))
                }
                _ => engine.take_segment(*id, segment),
            };
            checked.map_err(|e| {
                let e = DoFnError::msg(format!("{} cannot be read: {e}", segment.name));
                PipelineError::user(stage.step.clone(), Phase::Checkpoint, e)
            })?;
        }
        for i in 0..plan.stages.len() {
            if !begun.contains(&StageId(i)) {
                engine.begin(StageId(i));
            } else if let (Root::KeyGroups(factory), n) =
                (&plan.stages[i].root, engine.stages[i].key_groups.len())
                && n != factory.key_groups(engine.key_groups)
            {
                let all = factory.key_groups(engine.key_groups);
                let what = format!("{n} key groups of {all} are in the checkpoint");
                let step = plan.stages[i].step.clone();
                return Err(PipelineError::user(step, Phase::Checkpoint, DoFnError::msg(what)));
            }
        }
        for stage in &header.stages {
            let Some(id) = known.get(stage.name.as_str()) else { continue };
            for (n, until, attempts) in &stage.resting {
                if let Some(group) = engine.stages[id.0].key_groups.get_mut(*n as usize) {
                    group.attempts = *attempts;
                    engine.rest(*id, *n as usize, *until);
                }
            }
        }
        engine.wake_all();
        Ok(engine)
    }

    fn take_segment(&mut self, id: StageId, segment: &Segment) -> Result {
        let input = &mut &*segment.bytes;
        match segment.name.part {
            SegmentPart::Header => {}
            SegmentPart::Items => self.take_items(id, input)?,
            SegmentPart::Windows => self.take_windows(id, input)?,
            SegmentPart::Shard => self.take_shard(id, input)?,
            SegmentPart::Values => self.take_values(id, input)?,
            SegmentPart::KeyGroup(n) => self.take_key_group(id, n, input)?,
        }
        if input.is_empty() {
            Ok(())
        } else {
            Err(DoFnError::msg(format!("{} bytes are left over", input.len())))
        }
    }

    fn take_items(&mut self, id: StageId, input: &mut &[u8]) -> Result {
        let plan = self.plan.clone();
        let stage = &plan.stages[id.0];
        while let Some(ItemHeader { place, time, hold, idle, begun, attempts }) = next_item(input)? {
            let batch = stage.codec.load(input)?;
            let item = Item { time, hold, idle, begun, attempts, ..Item::elements(batch) };
            match place {
                Place::Parked(at) => {
                    self.park(id, item, at);
                    continue;
                }
                Place::Queue => {
                    self.waiting_bytes += item.bytes;
                    self.stages[id.0].push(item);
                }
                Place::KeyGroup(n) => {
                    let n = n as usize;
                    let Root::KeyGroups(factory) = &stage.root else {
                        return Err(DoFnError::msg("it has no key groups"));
                    };
                    if n >= factory.key_groups(self.key_groups) {
                        return Err(DoFnError::msg(format!("there is no key group {n}")));
                    }
                    self.waiting_bytes += item.bytes;
                    let state = &mut self.stages[id.0];
                    state.progress.open(item.held());
                    // The groups themselves come behind it: it waits here, where nothing else can be yet.
                    state.in_cut.push(Item { key_group: Some(n), ..item });
                }
            }
        }
        Ok(())
    }

    fn take_windows(&mut self, id: StageId, input: &mut &[u8]) -> Result {
        let plan = self.plan.clone();
        while !input.is_empty() {
            let (window, saved, len): (Window, SavedWindow, u64) = take(input)?;
            let (hold, attempts, until) = saved;
            let mut tables = Vec::new();
            for _ in 0..len {
                tables.push(match gatherer(&plan.stages[id.0].root)? {
                    Gatherer::Group(factory) => factory.load_table(input)?,
                    Gatherer::View(factory) => factory.load_table(input)?,
                });
            }
            let state = &mut self.stages[id.0];
            state.progress.holds.add(hold);
            if plan.stages[id.0].view.is_some() {
                state.building.insert(window.clone());
            }
            let closing = Closing { window, hold, tables, waiting: BTreeSet::new(), attempts };
            match until {
                Some(until) => self.park_window(id, closing, until),
                None => state.closed.push_back(closing),
            }
        }
        Ok(())
    }

    fn take_shard(&mut self, id: StageId, input: &mut &[u8]) -> Result {
        let plan = self.plan.clone();
        let shard = match gatherer(&plan.stages[id.0].root)? {
            Gatherer::Group(factory) => factory.load_shard(input)?,
            Gatherer::View(factory) => factory.load_shard(input)?,
        };
        // Any of those that gather for it will do.
        for producer in &plan.stages[id.0].upstream {
            if let Some(n) = plan.stages[producer.0].feeds.iter().position(|feed| feed.to == id) {
                self.stages[producer.0].shards[n].push(shard);
                return Ok(());
            }
        }
        Err(DoFnError::msg("nothing gathers for it any more"))
    }

    fn take_values(&mut self, id: StageId, input: &mut &[u8]) -> Result {
        let plan = self.plan.clone();
        let Some((factory, _)) = &plan.stages[id.0].view else {
            return Err(DoFnError::msg("it is no side input"));
        };
        while !input.is_empty() {
            let window = take(input)?;
            let window: Window = window;
            self.stages[id.0].values.insert((window.max_timestamp(), window), factory.load_value(input)?);
        }
        Ok(())
    }

    fn take_key_group(&mut self, id: StageId, n: u32, input: &mut &[u8]) -> Result {
        let plan = self.plan.clone();
        let Root::KeyGroups(factory) = &plan.stages[id.0].root else {
            return Err(DoFnError::msg("it has no key groups"));
        };
        let state = &mut self.stages[id.0];
        if state.key_groups.len() != n as usize {
            return Err(DoFnError::msg(format!("key group {} is missing", state.key_groups.len())));
        }
        state.add_key_group(KeyGroup::new(factory.load_keyed_state(input)?));
        Ok(())
    }

    /// Makes everything ready that can go on.
    fn wake_all(&mut self) {
        let plan = self.plan.clone();
        let all: BTreeSet<StageId> = (0..plan.stages.len()).map(StageId).collect();
        for id in &all {
            let state = &mut self.stages[id.0];
            for item in std::mem::take(&mut state.in_cut) {
                if let Some(n) = item.key_group {
                    state.key_groups[n].waiting.push(item);
                }
            }
        }
        for id in &all {
            let reached = self.reached(*id);
            let state = &mut self.stages[id.0];
            for (n, group) in state.key_groups.iter().enumerate() {
                if group.is_ready(reached) {
                    state.ready_groups.insert(n);
                } else if group.report.due_clock < Timestamp::MAX {
                    self.clock_wakes.insert((group.report.due_clock, *id, n));
                }
            }
            if matches!(plan.stages[id.0].root, Root::Group(_) | Root::View(_)) {
                self.close_windows(*id);
            }
            if self.stages[id.0].has_work() {
                self.ready.insert(*id);
            }
        }
        self.propagate(all);
    }
}

/// What makes the shards and tables of a stage.
enum Gatherer<'a> {
    Group(&'a dyn GroupFactory),
    View(&'a dyn ViewFactory),
}

fn gatherer(root: &Root) -> Result<Gatherer<'_>> {
    match root {
        Root::Group(factory) => Ok(Gatherer::Group(&**factory)),
        Root::View(factory) => Ok(Gatherer::View(&**factory)),
        _ => Err(DoFnError::msg("it does not gather in shards")),
    }
}

fn header_of(snapshot: &Snapshot) -> Result<Header, PipelineError> {
    let broken = |what: String| PipelineError::runner(format!("the snapshot cannot be read: {what}"));
    let first = snapshot.segments().iter().find(|s| s.name.part == SegmentPart::Header);
    let Some(first) = first else { return Err(broken("it has no header".into())) };
    take(&mut &*first.bytes).map_err(|e| broken(e.to_string()))
}
