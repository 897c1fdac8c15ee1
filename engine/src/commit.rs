//! Taking back what bundles did.

use std::collections::BTreeSet;

use purlin_sdk::{
    Duration, Phase, PipelineError, Timestamp,
    exec::{BundleDone, BundleInput, Effects, Finalizer, GroupState, Shard},
    watermark::ControlPoint,
};

use crate::{
    BundleId, Engine, Finished, StageId,
    engine::InFlight,
    plan::Root,
    state::{Closing, Item},
};

impl Engine {
    /// Commits what a bundle did, or, after an error, throws it away: then the bundle is tried again or the run fails.
    /// Returns what to call now that the bundle is committed, without the engine's lock.
    pub fn commit(&mut self, finished: Finished, now: Timestamp) -> Vec<Finalizer> {
        self.guarded(|engine| engine.take_back(finished, now)).unwrap_or_default()
    }

    fn take_back(&mut self, finished: Finished, now: Timestamp) -> Vec<Finalizer> {
        let Finished { id, instance, result, done } = finished;
        let BundleDone { effects, metrics, elements, keyed } = done;
        let Some(bundle) = self.in_flight.remove(&id) else { return Vec::new() };
        let over = self.failure.is_some() || self.cancelled || self.is_stopped();
        self.metrics.add(bundle.stage, &metrics, &elements, result.is_ok() && !over);
        let stage = bundle.stage;
        self.enter(stage, Phase::FinishBundle);
        let state = &mut self.stages[stage.0];
        state.running -= 1;
        state.instances.extend(instance);
        let mut touched = BTreeSet::from([stage]);
        // Of a run that is being ended nothing counts any more: bundles at work are told to stop, and say so.
        if over {
            return Vec::new();
        }
        match result {
            Ok(()) => {
                let finalizers = self.apply(id, &bundle, effects, now, &mut touched);
                if let (Some(mut keyed), Some(n)) = (keyed, bundle.key_group) {
                    keyed.keep();
                    self.return_key_group(stage, n, keyed);
                }
                if bundle.splitting > 0 {
                    self.lingering.insert(id, bundle);
                } else {
                    self.release(&bundle);
                }
                self.propagate(touched);
                self.ask_controls(ControlPoint::Commit);
                self.reconsider_ahead();
                self.hold_sources_back();
                self.resume_sources();
                // Of a live pipeline whoever feeds it says when a cut is made, and what follows from it.
                let kept = self.config.checkpoints && self.live.is_none();
                let finalizers = self.cutting.keep_finalizers(finalizers, kept);
                if self.live.is_some() && !finalizers.is_empty() {
                    self.finalizing += 1;
                }
                finalizers
            }
            Err(error) => {
                self.retry_or_fail(id, bundle, effects, keyed, error, now);
                Vec::new()
            }
        }
    }

    /// Adds everything that the bundle made. What it took is still held.
    fn apply(
        &mut self,
        id: BundleId,
        bundle: &InFlight,
        effects: Effects,
        now: Timestamp,
        touched: &mut BTreeSet<StageId>,
    ) -> Vec<Finalizer> {
        let plan = self.plan.clone();
        let stage = &plan.stages[bundle.stage.0];
        let Effects { outputs, keyed, shards, spare_tables, windows, residuals, finalizers, views } = effects;
        // Elements come before the watermark that follows from them.
        let most = match stage.assigns {
            Some(_) => self.stages[bundle.stage.0].progress.output(),
            None => Timestamp::MAX,
        };
        for (edge, batch) in outputs {
            let edge = stage.edges[edge];
            self.deliver(edge.to, batch, edge.spread, most);
            touched.insert(edge.to);
        }
        for batch in keyed {
            let to = stage.feeds[batch.group].to;
            self.enter(to, Phase::Coder);
            let state = &mut self.stages[to.0];
            let item = Item { key_group: Some(batch.key_group), ..Item::elements(batch.batch) };
            self.waiting_bytes += item.bytes;
            state.progress.open(item.held());
            let group = &mut state.key_groups[batch.key_group];
            group.waiting.push(item);
            if group.state.is_some() {
                state.ready_groups.insert(batch.key_group);
                self.ready.insert(to);
            }
            touched.insert(to);
        }
        for report in windows {
            let to = stage.feeds[report.group].to;
            self.note_window(to, report.window, report.hold);
            touched.insert(to);
        }
        self.return_shards(id, bundle.stage, shards);
        for feed in &stage.feeds {
            // Data for a window that the watermark had passed already close it at once.
            if matches!(plan.stages[feed.to.0].root, Root::Group(_) | Root::View(..)) {
                self.close_windows(feed.to);
            }
        }
        // What was parked when the drain began does not wait for its time; neither does what would have been.
        let drained_meanwhile = self.draining && !bundle.draining;
        self.enter(bundle.stage, Phase::Coder);
        for residual in residuals {
            let item = Item { idle: residual.idle, ..Item::residual(residual.batch, residual.hold) };
            if residual.delay > Duration::ZERO && !drained_meanwhile {
                self.park(bundle.stage, item, now + residual.delay);
            } else {
                self.waiting_bytes += item.bytes;
                self.stages[bundle.stage.0].push(item);
                self.ready.insert(bundle.stage);
            }
        }
        self.enter(bundle.stage, Phase::FinishBundle);
        let mut built = Vec::new();
        for (window, value) in views {
            let lateness = self.readers_lateness(bundle.stage);
            let state = &mut self.stages[bundle.stage.0];
            state.building.remove(&window);
            built.push(window.clone());
            // One that readers have left behind stays gone, however late it was built.
            if window.expiry(lateness) >= state.values_from {
                state.values.insert((window.max_timestamp(), window), value);
            }
        }
        if !spare_tables.is_empty() {
            self.recycle(bundle.stage, spare_tables);
        }
        if stage.view.is_some() {
            self.view_built(bundle.stage, built);
        }
        finalizers
    }

    /// Asks sources at work to come back when too much waits.
    fn hold_sources_back(&self) {
        if self.is_over_budget() {
            for bundle in self.in_flight.values() {
                if matches!(self.plan.stages[bundle.stage.0].root, Root::Splittable) {
                    bundle.control.request_checkpoint();
                }
            }
        }
    }

    fn return_shards(&mut self, id: BundleId, from: StageId, shards: Vec<Option<Box<dyn Shard>>>) {
        let plan = self.plan.clone();
        for (n, shard) in shards.into_iter().enumerate() {
            let (Some(shard), Some(feed)) = (shard, plan.stages[from.0].feeds.get(n)) else { continue };
            let mut shard = [shard];
            self.settle_closing(feed.to, id, &mut shard);
            self.stages[from.0].shards[n].extend(shard);
        }
    }

    /// Gives emptied tables to the shards that feed the grouping `id`.
    fn recycle(&mut self, id: StageId, mut tables: Vec<Box<dyn purlin_sdk::exec::AnyTable>>) {
        let plan = self.plan.clone();
        for producer in &plan.stages[id.0].upstream {
            for (n, _) in plan.stages[producer.0].feeds.iter().enumerate().filter(|(_, f)| f.to == id) {
                for shard in &mut self.stages[producer.0].shards[n] {
                    if let Some(table) = tables.pop() {
                        shard.recycle(table);
                    }
                }
            }
        }
        // The others wait for shards that are with bundles.
        let spare = &mut self.stages[id.0].spare_tables;
        spare.append(&mut tables);
        spare.truncate(2 * self.config.parallelism);
    }

    /// Stops holding the watermark for what the bundle took.
    pub(crate) fn release(&mut self, bundle: &InFlight) {
        let state = &mut self.stages[bundle.stage.0];
        if bundle.window.is_some() {
            state.progress.holds.remove(bundle.hold);
        }
        bundle.batches.iter().for_each(|held| state.progress.close(*held));
    }

    fn retry_or_fail(
        &mut self,
        id: BundleId,
        bundle: InFlight,
        effects: Effects,
        keyed: Option<Box<dyn GroupState>>,
        error: PipelineError,
        now: Timestamp,
    ) {
        let (stage, least) = (bundle.stage, bundle.least());
        let again = error.is_retryable() && bundle.attempts < self.config.retries;
        let Some(input) = bundle.backup.filter(|_| again) else {
            self.fail(error);
            return;
        };
        // Nothing was folded into the shards: with retries on that happens when a bundle is done.
        self.return_shards(id, stage, effects.shards);
        let attempts = bundle.attempts + 1;
        // Under a script it is tried again at once: the next event must find everything worked off.
        let delay = if self.streams.are_there() || self.live.is_some() {
            std::time::Duration::ZERO
        } else {
            self.config.retry_delay
        };
        let wait = delay.saturating_mul(1 << bundle.attempts.min(16));
        match input {
            BundleInput::Batches(batches) => {
                let restriction = matches!(self.plan.stages[stage.0].root, Root::Splittable);
                for batch in batches {
                    let item = Item::elements(batch);
                    // Behind a transform that assigns a watermark they hold it where it was before them.
                    let time = item.time.min(least);
                    let hold = if restriction { bundle.hold } else { time.min(bundle.hold) };
                    let begun = !bundle.fresh;
                    self.park(stage, Item { time, hold, begun, attempts, ..item }, now + wait.into());
                }
                bundle.batches.iter().for_each(|held| self.stages[stage.0].progress.close(*held));
            }
            BundleInput::Window { window, tables } => {
                let closing =
                    Closing { window, hold: bundle.hold, tables, waiting: BTreeSet::new(), attempts };
                self.park_window(stage, closing, now + wait.into());
            }
            BundleInput::KeyGroup { batches } => {
                let (Some(mut keyed), Some(n)) = (keyed, bundle.key_group) else { return };
                keyed.undo();
                let state = &mut self.stages[stage.0];
                let items = batches.into_iter().zip(bundle.batches).map(|(batch, held)| Item {
                    time: held.time,
                    hold: held.hold,
                    key_group: Some(n),
                    ..Item::elements(batch)
                });
                state.key_groups[n].waiting.splice(0..0, items);
                self.return_key_group(stage, n, keyed);
                self.stages[stage.0].key_groups[n].attempts = attempts;
                self.rest(stage, n, now + wait.into());
            }
        }
    }
}
