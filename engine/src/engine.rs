//! The engine's state, and the watermarks that follow from it.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use purlin_sdk::{
    BuildErrors, CombinedWatermark, ManualClock, Phase, PipelineError, Timestamp,
    batch::{AnyBatch, Batch, Meta},
    exec::{BundleControl, BundleInput, RunEnv, StageInstance, key_groups},
    graph::Graph,
    watermark::ControlPoint,
    window::Window,
};

use crate::{
    BundleId, EngineConfig, Plan, StageId, Task, Teardown,
    align::Alignments,
    checkpoint::Cutting,
    chooser::Chooser,
    live::Live,
    metrics::RunMetrics,
    plan::Root,
    progress::{Held, Network, Progress, Rule, propagate},
    state::{Closing, Item, KeyGroup, StageState},
    test_stream::Streams,
};

/// A pipeline at work.
pub struct Engine {
    pub(crate) plan: Arc<Plan>,
    pub(crate) env: Arc<RunEnv>,
    pub(crate) config: EngineConfig,
    pub(crate) chooser: Chooser,
    pub(crate) stages: Vec<StageState>,
    /// Stages that may have a bundle to give.
    pub(crate) ready: BTreeSet<StageId>,
    /// Sources that wait until less memory waits between stages.
    pub(crate) paused: BTreeSet<StageId>,
    /// Sources that wait until others have come closer in event time.
    pub(crate) ahead: BTreeSet<StageId>,
    pub(crate) alignments: Alignments,
    /// Stages whose watermark something else decides on.
    pub(crate) controlled: Vec<StageId>,
    /// When parked elements are due, and where they are.
    pub(crate) wakes: BTreeSet<(Timestamp, StageId)>,
    /// When key groups at rest want a bundle in processing time.
    pub(crate) clock_wakes: BTreeSet<(Timestamp, StageId, usize)>,
    /// Processing time as far as it is known.
    pub(crate) now: Timestamp,
    pub(crate) in_flight: HashMap<BundleId, InFlight>,
    /// Bundles that are committed while another thread still splits them: they hold the watermark until it is done.
    pub(crate) lingering: HashMap<BundleId, InFlight>,
    pub(crate) metrics: RunMetrics,
    pub(crate) streams: Streams,
    pub(crate) live: Option<Live>,
    /// Commits whose finalizers have not all run. Counted where somebody waits for all that was told to be worked off.
    pub(crate) finalizing: usize,
    pub(crate) failure: Option<PipelineError>,
    pub(crate) cancelled: bool,
    pub(crate) draining: bool,
    /// Memory that waits between stages, roughly.
    pub(crate) waiting_bytes: usize,
    /// How many key groups each grouping has.
    pub(crate) key_groups: usize,
    /// Shards and key groups that a cut has, to be encoded.
    pub(crate) lent: usize,
    /// The shards among them, with the groupings that they are for.
    pub(crate) lent_shards: BTreeMap<BundleId, StageId>,
    /// The next checkpoint.
    pub(crate) cutting: Cutting,
    pub(crate) graph: Graph,
    pub(crate) next_bundle: u64,
    pub(crate) next_parked: u64,
    /// Whose code is called under the engine's lock, and what for.
    pub(crate) at: Cell<Option<(StageId, Phase)>>,
}

/// A bundle at work.
pub(crate) struct InFlight {
    pub(crate) stage: StageId,
    pub(crate) hold: Timestamp,
    pub(crate) attempts: u32,
    pub(crate) control: Arc<BundleControl>,
    /// What to try again with, or what a checkpoint says that it is about to start from.
    pub(crate) backup: Option<BundleInput>,
    /// Whether a checkpoint may count it as not started: all that it began with is known.
    pub(crate) is_copied: bool,
    /// The key group's state that it began with, as bytes, when it is copied.
    pub(crate) keyed_before: Option<Vec<u8>>,
    /// Groupings whose shards it has.
    pub(crate) shards_of: Vec<StageId>,
    /// The window that it emits or builds.
    pub(crate) window: Option<Window>,
    /// The key group whose state it has.
    pub(crate) key_group: Option<usize>,
    /// What each of the bundle's batches holds beside the bundle's least.
    pub(crate) batches: Vec<Held>,
    /// Whether it is the first on its restriction.
    pub(crate) fresh: bool,
    /// Threads that are splitting it.
    pub(crate) splitting: usize,
    /// Whether it began when the pipeline was being drained.
    pub(crate) draining: bool,
    /// The stage's input watermark when it began.
    pub(crate) watermark: Timestamp,
}

impl InFlight {
    /// Where it holds the input watermark.
    pub(crate) fn least(&self) -> Timestamp {
        self.batches.iter().map(|held| held.time).min().unwrap_or(Timestamp::MAX)
    }
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Run this.
    Task(Box<Task>),
    /// There is nothing to do until a bundle comes back or processing time reaches this, if it is given.
    Wait(Option<Timestamp>),
    /// There is nothing to do until the run is woken.
    Idle,
    /// The run is over: see [`Engine::failure`].
    Over,
}

impl Engine {
    /// A pipeline about to start.
    ///
    /// # Errors
    /// What is wrong with the graph.
    pub fn new(graph: &Graph, env: RunEnv, config: EngineConfig) -> Result<Engine, BuildErrors> {
        let groups = key_groups(env.parallelism);
        let mut engine = Engine::empty(graph, env, config, groups)?;
        let all: BTreeSet<StageId> = (0..engine.stages.len()).map(StageId).collect();
        for id in &all {
            engine.begin(*id);
        }
        engine.propagate(all);
        Ok(engine)
    }

    /// A pipeline in which nothing is to be done.
    pub(crate) fn empty(
        graph: &Graph,
        env: RunEnv,
        config: EngineConfig,
        key_groups: usize,
    ) -> Result<Engine, BuildErrors> {
        let plan = Plan::new(graph)?;
        if config.checkpoints {
            plan.check_savable()?;
        }
        let mut env = env;
        let streams = Streams::new(&plan);
        let live = Live::new(&plan)?;
        let scripted = live.as_ref().map(|live| live.script().clock()).or(streams.clock());
        if let Some(clock) = scripted {
            // A pipeline with a script lives on the script's time.
            env.clock = clock.handle();
        }
        let alignments = Alignments::new(&plan);
        let stages = plan.stages.iter().map(|s| StageState::new(s.feeds.len())).collect();
        let controlled = plan.stages.iter().enumerate().filter(|(_, s)| matches!(s.assigns, Some(Some(_))));
        let controlled = controlled.map(|(i, _)| StageId(i)).collect();
        let plan = Arc::new(plan);
        Ok(Engine {
            metrics: RunMetrics::new(plan.clone()),
            plan,
            env: Arc::new(env),
            chooser: Chooser::new(&config),
            config,
            stages,
            ready: BTreeSet::new(),
            paused: BTreeSet::new(),
            ahead: BTreeSet::new(),
            alignments,
            controlled,
            wakes: BTreeSet::new(),
            clock_wakes: BTreeSet::new(),
            now: Timestamp::MIN,
            in_flight: HashMap::new(),
            lingering: HashMap::new(),
            streams,
            live,
            finalizing: 0,
            failure: None,
            cancelled: false,
            draining: false,
            waiting_bytes: 0,
            key_groups,
            lent: 0,
            lent_shards: BTreeMap::new(),
            cutting: Cutting::default(),
            graph: graph.clone(),
            next_bundle: 0,
            next_parked: 0,
            at: Cell::new(None),
        })
    }

    /// What a stage has to do when a pipeline begins.
    pub(crate) fn begin(&mut self, id: StageId) {
        let plan = self.plan.clone();
        let state = &mut self.stages[id.0];
        match &plan.stages[id.0].root {
            Root::Impulse => {
                let impulse: Batch<Vec<u8>> = Batch { values: vec![Vec::new()], meta: Meta::default() };
                state.push(Item::elements(Box::new(impulse)));
                self.ready.insert(id);
            }
            Root::TestStream(_) | Root::Live(_) => {
                state.progress.open(Held::at(Timestamp::MIN, Timestamp::MIN));
            }
            Root::Group(factory) if factory.fires_when_empty() => {
                let end = Timestamp::GLOBAL_WINDOW_MAX;
                state.windows.insert((end, Window::Global), end);
                state.progress.holds.add(end);
            }
            Root::KeyGroups(factory) => {
                let groups = factory.key_groups(self.key_groups);
                for n in 0..groups {
                    let Some(keyed) = factory.keyed_state(n, groups) else { break };
                    let group = KeyGroup::new(keyed);
                    if group.report.due_clock < Timestamp::MAX {
                        self.clock_wakes.insert((group.report.due_clock, id, n));
                    }
                    state.add_key_group(group);
                }
            }
            _ => {}
        }
    }

    /// The clock that the pipeline lives on when it has a test stream or a live one.
    pub fn stream_clock(&self) -> Option<&ManualClock> {
        self.live.as_ref().map(|live| live.script().clock()).or(self.streams.clock())
    }

    /// Why the run failed.
    pub fn failure(&self) -> Option<&PipelineError> {
        self.failure.as_ref()
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Whether it is being drained, or was.
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// What was counted so far.
    pub fn metrics(&self) -> &RunMetrics {
        &self.metrics
    }

    /// How many bundles are at work, and parts of a snapshot.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len() + self.lent
    }

    /// Whether no bundle is at work and no part of a snapshot, and no bundle that is done still holds the watermark because
    /// it is being split.
    pub fn is_quiet(&self) -> bool {
        self.in_flight.is_empty() && self.lingering.is_empty() && self.lent == 0
    }

    /// The input and output watermarks of the stage that begins at the transform `path`.
    pub fn watermarks(&self, path: &str) -> Option<(Timestamp, Timestamp)> {
        let i = self.plan.stages.iter().position(|s| s.step.path() == path)?;
        self.stages.get(i).map(|s| (s.progress.input(), s.progress.output()))
    }

    /// Ends the run with `error`; bundles at work are told to stop.
    pub fn fail(&mut self, error: PipelineError) {
        self.failure.get_or_insert(error);
        self.stop_bundles();
    }

    /// Ends the run; bundles at work are told to stop.
    pub fn cancel(&mut self) {
        self.cancelled = true;
        self.stop_bundles();
    }

    pub(crate) fn stop_bundles(&mut self) {
        self.in_flight.values().for_each(|b| b.control.cancel());
        self.ready.clear();
    }

    /// Brings the sources to their end.
    pub fn drain(&mut self) {
        if std::mem::replace(&mut self.draining, true) {
            return;
        }
        if let Some(live) = &self.live {
            // Whoever feeds it brings it to its end.
            return live.script().drain();
        }
        for (i, stage) in self.plan.stages.iter().enumerate() {
            if !matches!(stage.root, Root::Splittable) {
                continue;
            }
            let state = &mut self.stages[i];
            let parked = std::mem::take(&mut state.parked);
            state.queue.extend(parked.into_values());
            if !state.queue.is_empty() {
                self.ready.insert(StageId(i));
            }
        }
        let stages = &self.plan.stages;
        for bundle in self.in_flight.values() {
            if matches!(stages[bundle.stage.0].root, Root::Splittable) {
                bundle.control.request_checkpoint();
            }
        }
        self.resume_sources();
        self.reconsider_ahead();
        self.end_streams();
    }

    /// Kernels that the run has no more use for. Called when it is over and no bundle is at work.
    pub fn shut_down(&mut self) -> Vec<Teardown> {
        let env = &self.env;
        let all = self.stages.iter_mut().flat_map(|s| s.instances.drain(..));
        all.map(|instance: StageInstance| Teardown { instance, env: env.clone() }).collect()
    }

    /// Whether the run is over.
    pub(crate) fn is_over(&self) -> bool {
        if self.failure.is_some() || self.cancelled || self.is_stopped() {
            return self.in_flight.is_empty();
        }
        self.is_quiet() && self.streams.is_over() && self.stages.iter().all(StageState::is_idle)
    }

    /// Adds elements to a stage, which hold its watermark at `most` at most.
    pub(crate) fn deliver(&mut self, to: StageId, mut batch: AnyBatch, spread: bool, most: Timestamp) {
        if batch.is_empty() {
            return;
        }
        self.enter(to, Phase::Coder);
        let piece = match &self.plan.stages[to.0].root {
            // A restriction can be a lot of work, so each is a bundle of its own.
            Root::Splittable => 1,
            // Elements that are to be spread come in pieces, so that all workers get some.
            _ if spread && self.config.parallelism > 1 && !self.streams.are_there() => {
                batch.len().div_ceil(2 * self.config.parallelism)
            }
            _ => batch.len(),
        };
        let mut pieces = Vec::new();
        while batch.len() > piece {
            let whole = (batch.len() - 1) / piece * piece;
            pieces.push(batch.split_off(whole));
        }
        pieces.push(batch);
        let state = &mut self.stages[to.0];
        let waits = self.config.checkpoints && self.plan.stages[to.0].stable_input;
        for piece in pieces.into_iter().rev() {
            let mut item = Item::elements(piece);
            item.time = item.time.min(most);
            item.hold = item.hold.min(most);
            self.waiting_bytes += item.bytes;
            if waits {
                state.progress.open(item.held());
                state.unstable.push(item);
            } else {
                state.push(item);
            }
        }
        self.ready.insert(to);
    }

    /// Sets work aside until processing time reaches `at`.
    pub(crate) fn park(&mut self, stage: StageId, item: Item, at: Timestamp) {
        let state = &mut self.stages[stage.0];
        state.progress.open(item.held());
        state.parked.insert((at, self.next_parked), item);
        self.next_parked += 1;
        self.wakes.insert((at, stage));
    }

    /// Sets a window aside until processing time reaches `at`. It goes on holding the watermark.
    pub(crate) fn park_window(&mut self, stage: StageId, closing: Closing, at: Timestamp) {
        self.stages[stage.0].parked_windows.insert((at, self.next_parked), closing);
        self.next_parked += 1;
        self.wakes.insert((at, stage));
    }

    /// Lets a key group rest until processing time reaches `at`, whatever comes for it meanwhile.
    pub(crate) fn rest(&mut self, stage: StageId, key_group: usize, at: Timestamp) {
        self.stages[stage.0].resting_groups.insert(key_group, at);
        self.clock_wakes.insert((at, stage, key_group));
    }

    /// Makes ready what waits for processing time to come to `now`: parked work, key groups and generators with
    /// timers, and sources that were ahead of others.
    pub(crate) fn advance_clock(&mut self, now: Timestamp) {
        if now > self.now {
            self.now = now;
            self.reconsider_ahead();
        }
        while let Some((_, stage, n)) = self.clock_wakes.first().copied().filter(|(at, ..)| *at <= now) {
            self.clock_wakes.pop_first();
            self.stages[stage.0].ready_groups.insert(n);
            self.ready.insert(stage);
        }
        while let Some((_, stage)) = self.wakes.first().copied().filter(|(at, _)| *at <= now) {
            self.wakes.pop_first();
            let state = &mut self.stages[stage.0];
            while let Some(entry) = state.parked.first_entry().filter(|e| e.key().0 <= now) {
                state.queue.push_back(entry.remove());
                self.ready.insert(stage);
            }
            while let Some(entry) = state.parked_windows.first_entry().filter(|e| e.key().0 <= now) {
                state.closed.push_back(entry.remove());
                self.ready.insert(stage);
            }
        }
    }

    /// Brings watermarks up to date, from `stages` downstream, and does what follows from their moving.
    pub(crate) fn propagate(&mut self, stages: BTreeSet<StageId>) {
        propagate(self, stages);
    }
}

impl Network for Engine {
    fn upstream(&self, stage: StageId) -> CombinedWatermark {
        let mut combined = CombinedWatermark::default();
        self.plan.stages[stage.0]
            .upstream
            .iter()
            .for_each(|u| self.stages[u.0].progress.add_to(&mut combined));
        combined
    }

    fn rule(&self, stage: StageId) -> Rule {
        if self.plan.stages[stage.0].assigns.is_some() {
            return self.assigned(stage);
        }
        match &self.plan.stages[stage.0].root {
            Root::Splittable | Root::TestStream(_) | Root::Live(_) => Rule::Sources,
            _ => Rule::Passes { busy: !self.stages[stage.0].is_idle() },
        }
    }

    fn output_moved(&mut self, stage: StageId, to: &mut BTreeSet<StageId>) {
        self.stages[stage.0].moved_at = self.now;
        to.extend(self.plan.stages[stage.0].downstream());
    }

    fn progress(&mut self, stage: StageId) -> &mut Progress {
        &mut self.stages[stage.0].progress
    }

    fn input_moved(&mut self, id: StageId) {
        let plan = self.plan.clone();
        let stage = &plan.stages[id.0];
        match &stage.root {
            Root::Group(_) | Root::View(..) => self.close_windows(id),
            Root::KeyGroups(_) => self.wake_key_groups(id),
            _ => {}
        }
        // It may be over now.
        self.ask_control(id, ControlPoint::Commit);
        if stage.view.is_some() {
            self.view_moved(id);
        }
        if !stage.views.is_empty() {
            self.forget_views(id);
        }
    }
}

impl StageState {
    /// Adds the next key group.
    pub(crate) fn add_key_group(&mut self, group: KeyGroup) {
        let n = self.key_groups.len();
        if let Some(assigned) = group.state.as_ref().and_then(|state| state.assigned()) {
            self.assigned = assigned;
        }
        self.progress.holds.add(group.report.hold);
        if group.report.due < Timestamp::MAX {
            self.due_groups.insert((group.report.due, n));
        }
        if group.report.due_clock < Timestamp::MAX {
            self.clocks.add(group.report.due_clock);
        }
        self.key_groups.push(group);
    }

    /// Adds an item that holds the watermark.
    pub(crate) fn push(&mut self, item: Item) {
        self.progress.open(item.held());
        self.queue.push_back(item);
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: BTreeMap<&str, &StageState> =
            self.plan.stages.iter().map(|s| s.step.path()).zip(&self.stages).collect();
        f.debug_map().entries(stages).finish()
    }
}
