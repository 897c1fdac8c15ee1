//! Cutting a graph into stages.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use purlin_sdk::{
    BuildError, BuildErrors, DoFnError, Duration, Step,
    batch::{AnyBatch, BATCH_SIZE, Batch, ErasedBatch},
    coder::CoderSpec,
    exec::{AssignFactory, BatchCodec, WireCodec},
    graph::{CollectionId, Graph, Node, Op},
};

use super::{Edge, Feed, Plan, Root, SlotKind, SlotPlan, Stage, StageId, stage::NewBatch};

/// An output of a slot.
#[derive(Clone, Copy)]
struct Source {
    stage: StageId,
    slot: usize,
    port: usize,
}

/// Of a transform that neither reads nor makes anything.
struct Nothing;

impl BatchCodec for Nothing {
    fn save(&self, _batch: &mut dyn ErasedBatch, _out: &mut Vec<u8>) -> purlin_sdk::Result {
        Err(DoFnError::msg("elements wait where none can come"))
    }

    fn load(&self, _input: &mut &[u8]) -> purlin_sdk::Result<AnyBatch> {
        Err(DoFnError::msg("elements wait where none can come"))
    }

    fn wire(&self, _spec: &CoderSpec) -> purlin_sdk::Result<Arc<dyn WireCodec>> {
        Err(DoFnError::msg("elements travel where none can come"))
    }
}

struct Planner<'a> {
    graph: &'a Graph,
    plan: Plan,
    sources: HashMap<CollectionId, Source>,
    errors: Vec<BuildError>,
}

impl Plan {
    /// Cuts `graph` into stages.
    ///
    /// # Errors
    /// When a transform reads what is not in the graph.
    pub fn new(graph: &Graph) -> Result<Plan, BuildErrors> {
        let plan = Plan { stages: Vec::new(), views: HashMap::new() };
        let mut planner = Planner { graph, plan, sources: HashMap::new(), errors: Vec::new() };
        for node in &graph.nodes {
            planner.place(node);
        }
        BuildErrors::check(planner.errors)?;
        Ok(planner.plan)
    }
}

impl Planner<'_> {
    fn place(&mut self, node: &Node) {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for id in &node.inputs {
            match self.sources.get(id) {
                Some(source) => inputs.push(*source),
                None => {
                    let message = "it reads a collection that this pipeline does not make; build all of it from one \
                                   `Pipeline`";
                    self.errors.push(BuildError::new(node.step.clone(), message));
                    return;
                }
            }
        }
        match &node.op {
            Op::Impulse => {
                let bytes: NewBatch = Arc::new(|| Box::new(Batch::<Vec<u8>>::default()));
                self.root(node, Root::Impulse, SlotKind::Relay(bytes));
            }
            Op::TestStream(source) => {
                let typed = source.clone();
                let output: NewBatch = Arc::new(move || typed.output());
                self.root(node, Root::TestStream(source.clone()), SlotKind::Relay(output));
            }
            Op::Live(stream) => {
                let typed = stream.clone();
                let output: NewBatch = Arc::new(move || typed.output());
                self.root(node, Root::Live(stream.clone()), SlotKind::Relay(output));
            }
            Op::Element(factory) if node.views.is_empty() && !factory.requires_stable_input() => {
                if let [input] = inputs[..] {
                    let slot = self.slot(input.stage, &node.step, SlotKind::Kernel(factory.clone()));
                    self.connect(input, slot);
                    self.outputs(node, input.stage, slot);
                }
            }
            Op::Element(factory) => {
                let typed = factory.clone();
                let stage = self.root(node, Root::Elements, SlotKind::Kernel(factory.clone()));
                self.cross(&inputs, stage, &(Arc::new(move || typed.input()) as NewBatch), node, false);
            }
            Op::Flatten(new_batch) => self.flatten(node, &inputs, new_batch),
            Op::Redistribute(new_batch) => {
                let stage = self.root(node, Root::Elements, SlotKind::Relay(new_batch.clone()));
                self.cross(&inputs, stage, new_batch, node, true);
            }
            Op::Group(factory) => {
                let root = match factory.keyed_state(0, 1) {
                    Some(_) => Root::KeyGroups(factory.clone()),
                    None => Root::Group(factory.clone()),
                };
                let synchronized = factory.is_synchronized();
                let stage = self.root(node, root, SlotKind::GroupRoot(factory.clone()));
                self.feed(&inputs, stage, node, |n| SlotKind::GroupCollector(factory.clone(), n));
                if synchronized {
                    self.plan.stages[stage.0].keyed_upstream = self.keyed_upstream(stage);
                }
            }
            Op::AssignWatermark(factory) => self.assign(node, &inputs, factory),
            Op::View(factory) => {
                let strategy = self.graph.collections[node.inputs[0].0].strategy.clone();
                let stage = match factory.panes() {
                    None => self.root(node, Root::View(factory.clone()), SlotKind::ViewRoot(factory.clone())),
                    Some(panes) => {
                        let root = Root::KeyGroups(panes.clone());
                        let stage = self.root(node, root, SlotKind::GroupRoot(panes.clone()));
                        let builder = self.slot(stage, &node.step, SlotKind::PaneBuilder(factory.clone()));
                        self.connect(Source { stage, slot: 0, port: 0 }, builder);
                        if panes.is_synchronized() {
                            self.plan.stages[stage.0].keyed_upstream = self.keyed_upstream(stage);
                        }
                        stage
                    }
                };
                self.plan.stages[stage.0].view = Some((factory.clone(), strategy));
                self.plan.views.insert(node.step.path().into(), stage);
                self.feed(&inputs, stage, node, |n| SlotKind::ViewCollector(factory.clone(), n));
            }
            Op::Splittable(factory) => {
                let [input] = inputs[..] else { return };
                let pair = self.slot(input.stage, &node.step, SlotKind::Pair(factory.clone()));
                self.connect(input, pair);
                let typed = factory.clone();
                let stage = self.root(node, Root::Splittable, SlotKind::Process(factory.clone()));
                self.plan.stages[stage.0].alignment = factory.alignment();
                let paired = Source { stage: input.stage, slot: pair, port: 0 };
                self.cross(&[paired], stage, &(Arc::new(move || typed.items()) as NewBatch), node, true);
            }
        }
    }

    /// A stage with the generators, whose output watermark is theirs, and one that begins behind it: nothing that
    /// follows runs in the first, whose bundles come one after another.
    fn assign(&mut self, node: &Node, inputs: &[Source], factory: &Arc<dyn AssignFactory>) {
        let group = factory.group();
        let stage = self.root(node, Root::KeyGroups(group.clone()), SlotKind::GroupRoot(group.clone()));
        self.plan.stages[stage.0].assigns = Some(factory.control());
        self.plan.stages[stage.0].alignment = factory.alignment();
        self.feed(inputs, stage, node, |n| SlotKind::GroupCollector(group.clone(), n));
        let typed = factory.clone();
        let new_batch: NewBatch = Arc::new(move || typed.output());
        let behind = self.root(node, Root::Elements, SlotKind::Relay(new_batch.clone()));
        // Which no transform is called.
        self.plan.stages[behind.0].name.push_str("//behind");
        self.cross(&[Source { stage, slot: 0, port: 0 }], behind, &new_batch, node, false);
    }

    /// All stages with key groups that `stage` hangs on.
    fn keyed_upstream(&self, stage: StageId) -> Vec<StageId> {
        let stages = &self.plan.stages;
        let mut seen = BTreeSet::new();
        let mut open = stages[stage.0].upstream.clone();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(&stages[id.0].upstream);
            }
        }
        seen.into_iter()
            .filter(|id| matches!(stages[id.0].root, Root::KeyGroups(_)) && stages[id.0].assigns.is_none())
            .collect()
    }

    /// Begins a stage with the slot that `node`'s outputs come from.
    fn root(&mut self, node: &Node, root: Root, kind: SlotKind) -> StageId {
        let stage = StageId(self.plan.stages.len());
        let mut views = Vec::new();
        for path in &node.views {
            match self.plan.views.get(path) {
                Some(view) => views.push((path.clone(), *view)),
                None => {
                    let message =
                        format!("it looks at the side input `{path}`, which this pipeline does not make");
                    self.errors.push(BuildError::new(node.step.clone(), message));
                }
            }
        }
        let (codec, element) = self.input_of(node);
        self.plan.stages.push(Stage {
            root,
            codec,
            element,
            stable_input: matches!(&node.op, Op::Element(factory) if factory.requires_stable_input()),
            slots: Vec::new(),
            edges: Vec::new(),
            feeds: Vec::new(),
            upstream: Vec::new(),
            keyed_upstream: Vec::new(),
            assigns: None,
            alignment: None,
            view: None,
            lateness: node
                .inputs
                .first()
                .map_or(Duration::ZERO, |input| self.graph.collections[input.0].strategy.allowed_lateness),
            views,
            least_bundle: if matches!(node.op, Op::Redistribute(_)) { 1 } else { BATCH_SIZE },
            name: node.step.path().to_owned(),
            step: node.step.clone(),
        });
        let slot = self.slot(stage, &node.step, kind);
        self.outputs(node, stage, slot);
        stage
    }

    /// What writes the batches that wait in front of a stage that begins with `node`, and the Rust type of what `node`
    /// reads, or makes where it reads nothing.
    fn input_of(&self, node: &Node) -> (Arc<dyn BatchCodec>, &'static str) {
        let id = node.inputs.first().or(node.outputs.first());
        let collection = id.and_then(|id| self.graph.collections.get(id.0));
        let codec = match (&node.op, collection) {
            (Op::Splittable(factory), _) => Some(factory.items_codec()),
            (Op::View(factory), collection) => match factory.panes() {
                Some(panes) => Some(panes.codec()),
                None => collection.map(|c| c.codec.clone()),
            },
            (_, collection) => collection.map(|c| c.codec.clone()),
        };
        (codec.unwrap_or_else(|| Arc::new(Nothing)), collection.map_or("", |c| c.element))
    }

    fn slot(&mut self, stage: StageId, step: &Step, kind: SlotKind) -> usize {
        let slots = &mut self.plan.stages[stage.0].slots;
        slots.push(SlotPlan { step: step.clone(), kind, routes: Vec::new() });
        slots.len() - 1
    }

    fn outputs(&mut self, node: &Node, stage: StageId, slot: usize) {
        for (port, id) in node.outputs.iter().enumerate() {
            self.sources.insert(*id, Source { stage, slot, port });
        }
    }

    /// Makes `slot`, in the same stage, a reader of `source`.
    fn connect(&mut self, source: Source, slot: usize) {
        let routes = &mut self.plan.stages[source.stage.0].slots[source.slot].routes;
        if routes.len() <= source.port {
            routes.resize(source.port + 1, Vec::new());
        }
        routes[source.port].push(slot);
    }

    /// Makes `stage` a reader of `sources`, across the boundaries of their stages.
    fn cross(&mut self, sources: &[Source], stage: StageId, new_batch: &NewBatch, node: &Node, spread: bool) {
        for source in sources {
            let edges = &mut self.plan.stages[source.stage.0].edges;
            edges.push(Edge { to: stage, spread });
            let kind = SlotKind::Boundary(new_batch.clone(), edges.len() - 1);
            let slot = self.slot(source.stage, &node.step, kind);
            self.connect(*source, slot);
            self.upstream(stage, source.stage);
        }
    }

    /// Makes the grouping or view `stage` a reader of `sources`.
    fn feed(&mut self, sources: &[Source], stage: StageId, node: &Node, kind: impl Fn(usize) -> SlotKind) {
        for source in sources {
            let feeds = &mut self.plan.stages[source.stage.0].feeds;
            feeds.push(Feed { to: stage });
            let number = feeds.len() - 1;
            let slot = self.slot(source.stage, &node.step, kind(number));
            self.connect(*source, slot);
            self.upstream(stage, source.stage);
        }
    }

    fn upstream(&mut self, stage: StageId, from: StageId) {
        let upstream = &mut self.plan.stages[stage.0].upstream;
        if !upstream.contains(&from) {
            upstream.push(from);
        }
    }

    /// A flatten of one stage's collections is part of the stage; otherwise it begins one.
    fn flatten(&mut self, node: &Node, inputs: &[Source], new_batch: &NewBatch) {
        match inputs.split_first() {
            Some((first, rest)) if rest.iter().all(|s| s.stage == first.stage) => {
                let slot = self.slot(first.stage, &node.step, SlotKind::Relay(new_batch.clone()));
                for source in inputs {
                    self.connect(*source, slot);
                }
                self.outputs(node, first.stage, slot);
            }
            _ => {
                let stage = self.root(node, Root::Elements, SlotKind::Relay(new_batch.clone()));
                self.cross(inputs, stage, new_batch, node, false);
            }
        }
    }
}
