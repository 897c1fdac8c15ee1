//! The engine's state, and the watermarks that follow from it.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use purlin_sdk::{
    BuildErrors, ManualClock, Phase, PipelineError, Timestamp,
    batch::{AnyBatch, Batch, Meta},
    exec::{BundleControl, BundleInput, RunEnv, StageInstance},
    graph::Graph,
    window::Window,
};

use crate::{
    BundleId, EngineConfig, Plan, StageId, Task, Teardown,
    chooser::Chooser,
    metrics::RunMetrics,
    plan::Root,
    progress::{Network, Progress, propagate},
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
    pub(crate) failure: Option<PipelineError>,
    pub(crate) cancelled: bool,
    pub(crate) draining: bool,
    /// Memory that waits between stages, roughly.
    pub(crate) waiting_bytes: usize,
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
    /// What to try again with.
    pub(crate) backup: Option<BundleInput>,
    /// Groupings whose shards it has.
    pub(crate) shards_of: Vec<StageId>,
    /// The window that it emits or builds.
    pub(crate) window: Option<Window>,
    /// The key group whose state it has.
    pub(crate) key_group: Option<usize>,
    /// What each of the bundle's batches holds beside the bundle's least.
    pub(crate) batches: Vec<(Timestamp, Timestamp)>,
    /// Threads that are splitting it.
    pub(crate) splitting: usize,
    /// Whether it began when the pipeline was being drained.
    pub(crate) draining: bool,
    /// The stage's input watermark when it began.
    pub(crate) watermark: Timestamp,
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Run this.
    Task(Box<Task>),
    /// There is nothing to do until a bundle comes back or processing time reaches this, if it is given.
    Wait(Option<Timestamp>),
    /// The run is over: see [`Engine::failure`].
    Over,
}

impl Engine {
    /// A pipeline about to start.
    ///
    /// # Errors
    /// What is wrong with the graph.
    pub fn new(graph: &Graph, env: RunEnv, config: EngineConfig) -> Result<Engine, BuildErrors> {
        let plan = Plan::new(graph)?;
        let mut env = env;
        let streams = Streams::new(&plan);
        if let Some(clock) = streams.clock() {
            // A pipeline with a test stream lives on the stream's time.
            env.clock = clock.handle();
        }
        let mut stages: Vec<StageState> =
            plan.stages.iter().map(|s| StageState::new(s.feeds.len())).collect();
        let mut ready = BTreeSet::new();
        for (i, (stage, state)) in plan.stages.iter().zip(&mut stages).enumerate() {
            match &stage.root {
                Root::Impulse => {
                    let impulse: Batch<Vec<u8>> = Batch { values: vec![Vec::new()], meta: Meta::default() };
                    state.push(Item::elements(Box::new(impulse)));
                    ready.insert(StageId(i));
                }
                Root::TestStream(_) => state.progress.open(Timestamp::MIN, Timestamp::MIN),
                Root::Group(factory) if factory.fires_when_empty() => {
                    let end = Timestamp::GLOBAL_WINDOW_MAX;
                    state.windows.insert((end, Window::Global), end);
                    state.progress.holds.add(end);
                }
                Root::KeyGroups(factory) => {
                    let groups = factory.key_groups(env.parallelism);
                    for n in 0..groups {
                        let Some(keyed) = factory.keyed_state(n, groups) else { break };
                        let group = KeyGroup::new(keyed);
                        state.progress.holds.add(group.report.hold);
                        if group.report.due < Timestamp::MAX {
                            state.due_groups.insert((group.report.due, n));
                        }
                        state.key_groups.push(group);
                    }
                }
                _ => {}
            }
        }
        let all: BTreeSet<StageId> = (0..stages.len()).map(StageId).collect();
        let plan = Arc::new(plan);
        let mut engine = Engine {
            metrics: RunMetrics::new(plan.clone()),
            plan,
            env: Arc::new(env),
            chooser: Chooser::new(&config),
            config,
            stages,
            ready,
            paused: BTreeSet::new(),
            wakes: BTreeSet::new(),
            clock_wakes: BTreeSet::new(),
            now: Timestamp::MIN,
            in_flight: HashMap::new(),
            lingering: HashMap::new(),
            streams,
            failure: None,
            cancelled: false,
            draining: false,
            waiting_bytes: 0,
            next_bundle: 0,
            next_parked: 0,
            at: Cell::new(None),
        };
        engine.propagate(all);
        Ok(engine)
    }

    /// The clock that the pipeline lives on when it has a test stream.
    pub fn stream_clock(&self) -> Option<&ManualClock> {
        self.streams.clock()
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

    /// How many bundles are at work.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether no bundle is at work, and none that is done still holds the watermark because it is being split.
    pub fn is_quiet(&self) -> bool {
        self.in_flight.is_empty() && self.lingering.is_empty()
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

    fn stop_bundles(&mut self) {
        self.in_flight.values().for_each(|b| b.control.cancel());
        self.ready.clear();
    }

    /// Brings the sources to their end.
    pub fn drain(&mut self) {
        if std::mem::replace(&mut self.draining, true) {
            return;
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
        if self.failure.is_some() || self.cancelled {
            return self.in_flight.is_empty();
        }
        self.in_flight.is_empty()
            && self.lingering.is_empty()
            && self.streams.is_over()
            && self.stages.iter().all(StageState::is_idle)
    }

    /// Adds elements to a stage.
    pub(crate) fn deliver(&mut self, to: StageId, mut batch: AnyBatch, spread: bool) {
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
        for piece in pieces.into_iter().rev() {
            let item = Item::elements(piece);
            self.waiting_bytes += item.bytes;
            state.push(item);
        }
        self.ready.insert(to);
    }

    /// Sets work aside until processing time reaches `at`.
    pub(crate) fn park(&mut self, stage: StageId, item: Item, at: Timestamp) {
        let state = &mut self.stages[stage.0];
        state.progress.open(item.time, item.hold);
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

    /// Makes parked work ready that is due at `now`.
    pub(crate) fn unpark(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
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
    fn upstream(&self, stage: StageId) -> Timestamp {
        let outputs = self.plan.stages[stage.0].upstream.iter().map(|u| self.stages[u.0].progress.output());
        outputs.min().unwrap_or(Timestamp::MAX)
    }

    fn add_downstream(&self, stage: StageId, to: &mut BTreeSet<StageId>) {
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
        if stage.view.is_some() {
            self.view_moved(id);
        }
        if !stage.views.is_empty() {
            self.forget_views(id);
        }
    }
}

impl StageState {
    /// Adds an item that holds the watermark.
    pub(crate) fn push(&mut self, item: Item) {
        self.progress.open(item.time, item.hold);
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
