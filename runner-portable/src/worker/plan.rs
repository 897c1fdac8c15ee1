//! From a descriptor to the kernels that run its bundles.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    panic::Location,
    sync::Arc,
};

use purlin_sdk::{
    PipelineError, Step,
    batch::{AnyBatch, Batch},
    coder::CoderSpec,
    exec::{
        CombinePart, Kernel, KernelSpec, PortableGroup, Relay, SdfFactory, Slot, StageInstance, WireCodec,
    },
    graph::{Node, Op},
};

use super::{
    WorkerGraph,
    coders::coder_tree,
    io::CurrentIo,
    node::{Ends, Ours, Transform, Work},
    pool::Instance,
    sides::SidePlan,
    sink::{SinkKernel, SinkPort},
    source::{SourceKernel, SourcePort},
    timers::{KeyedInstance, KeyedPlan},
};
use crate::proto::fn_execution::{ProcessBundleDescriptor, RemoteGrpcPort};

/// What runs the bundles of one descriptor.
pub(super) struct Plan {
    /// The places where elements come in.
    pub(super) sources: Arc<[SourcePort]>,
    /// Families of timers that come with every bundle.
    pub(super) timers: usize,
    /// Where the engine has state, if it was said.
    pub(super) state_url: Option<String>,
    /// Whether a DoFn has state of its own.
    pub(super) keeps_state: bool,
    /// Whether a bundle needs state.
    pub(super) needs_state: bool,
    /// Side inputs.
    pub(super) sides: Arc<SidePlan>,
    /// The kernels behind the source, in topological order.
    pub(super) slots: Vec<PlannedSlot>,
    /// Which slots read what each source gives.
    pub(super) routes: Vec<Vec<usize>>,
    /// Where data go, and come from.
    pub(super) urls: Vec<String>,
    /// The work on restrictions, if there is some.
    pub(super) process: Option<ProcessPlan>,
    /// Which slots count the elements of which collection.
    pub(super) counted: Vec<Counted>,
}

/// One kernel.
pub(super) struct PlannedSlot {
    pub(super) step: Step,
    /// The transform in the descriptor.
    pub(super) transform: String,
    pub(super) work: SlotWork,
    /// For each output, the slots that read it; slot 0 is the source.
    pub(super) routes: Vec<Vec<usize>>,
}

/// What makes it.
pub(super) enum SlotWork {
    /// A transform of ours.
    Ours(Work),
    /// One with state and timers.
    Keyed(Arc<KeyedPlan>),
    /// All of several collections, whose batches this makes.
    Flatten(Arc<dyn WireCodec>),
    /// Where elements go out.
    Sink(Arc<SinkPort>),
}

/// Work on restrictions.
pub(super) struct ProcessPlan {
    /// The transform in the descriptor.
    pub(super) transform: String,
    /// The local name of its input.
    pub(super) input: String,
    /// The local names of its outputs.
    pub(super) outputs: Vec<String>,
    /// Writes what is left of a restriction as the engine has it.
    pub(super) codec: Arc<dyn WireCodec>,
    /// The source that it reads from directly, if it does.
    pub(super) source: Option<usize>,
    /// Whether the work has an end.
    pub(super) bounded: bool,
    pub(super) step: Step,
}

/// The number of elements of a collection, as a slot counts them.
pub(super) struct Counted {
    pub(super) collection: String,
    pub(super) slot: usize,
    /// Of what came into the slot, or out of it.
    pub(super) inputs: bool,
}

impl Plan {
    /// The kernels, made anew and not set up, and where they find their bundle.
    ///
    /// # Errors
    /// When the engine has keys or timers as a kernel does not.
    pub(super) fn instance(&self) -> Result<Instance, PipelineError> {
        let io = CurrentIo::default();
        let mut keyed = Vec::new();
        let mut slots = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            slots.push(slot.make(&io, &mut keyed)?);
        }
        let keyed: Arc<[KeyedInstance]> = keyed.into();
        let source = SourceKernel::new(self.sources.clone(), self.timers, keyed.clone(), io.clone());
        let step = self.sources.first().map(|port| port.step.clone());
        let step = step.unwrap_or_else(|| Step::new("the engine's input", Location::caller()));
        let nothing: AnyBatch = Box::<Batch<()>>::default();
        let first = Slot { step, kernel: Box::new(source), input: nothing, routes: self.routes.clone() };
        let kernels = StageInstance::new(std::iter::once(first).chain(slots).collect());
        Ok(Instance { kernels, io, keyed })
    }
}

impl PlannedSlot {
    fn make(&self, io: &CurrentIo, keyed: &mut Vec<KeyedInstance>) -> Result<Slot, PipelineError> {
        let spec = KernelSpec { step: self.step.clone() };
        let (kernel, input): (Box<dyn Kernel>, AnyBatch) = match &self.work {
            SlotWork::Ours(Work::Kernel(f) | Work::Part(f, _)) => (f.kernel(&spec), f.input()),
            SlotWork::Ours(Work::SdfPart(f, part)) => {
                use purlin_sdk::exec::SdfPart;
                let input = if *part == SdfPart::Pair { f.input() } else { f.items() };
                (f.part(*part, &spec), input)
            }
            SlotWork::Ours(Work::Process(f)) => (f.process(&spec), f.items()),
            SlotWork::Keyed(plan) => {
                let (kernel, instance) = plan.instance()?;
                keyed.push(instance);
                (kernel, plan.keyed.input())
            }
            SlotWork::Ours(Work::Keyed(_)) => {
                return Err(PipelineError::runner(format!("{} has state and no plan for it", self.step)));
            }
            SlotWork::Flatten(codec) => (Box::new(Relay), codec.batch()),
            SlotWork::Sink(port) => (Box::new(SinkKernel::new(port.clone(), io.clone())), port.codec.batch()),
        };
        Ok(Slot { step: self.step.clone(), kernel, input, routes: self.routes.clone() })
    }
}

/// A descriptor while it is read.
struct Reader<'a> {
    descriptor: &'a ProcessBundleDescriptor,
    graph: &'a WorkerGraph,
    transforms: BTreeMap<&'a str, Transform>,
    /// What each collection holds, and who says so.
    ends: HashMap<&'a str, (Ends, Step)>,
}

impl Plan {
    /// The plan of `descriptor`.
    ///
    /// # Errors
    /// What in it this worker cannot run.
    pub(super) fn new(descriptor: &ProcessBundleDescriptor, graph: &WorkerGraph) -> Result<Plan, String> {
        let mut transforms = BTreeMap::new();
        for (id, transform) in &descriptor.transforms {
            // A composite is what it is made of.
            if transform.subtransforms.iter().any(|part| descriptor.transforms.contains_key(part)) {
                continue;
            }
            transforms.insert(id.as_str(), Transform::read(id, transform, graph)?);
        }
        let mut reader = Reader { descriptor, graph, transforms, ends: HashMap::new() };
        reader.type_collections();
        let order = reader.order()?;
        reader.plan(&order)
    }
}

/// What a collection holds that has the name under which it was submitted.
fn by_name(collection: &str, graph: &WorkerGraph) -> Option<(Ends, Step)> {
    let graph = &graph.graph;
    let output = |node: &Node, index: usize| {
        let codec = graph.collections[node.outputs.get(index)?.0].codec.clone();
        Some((Ends::Codec(codec), node.step.clone()))
    };
    graph.nodes.iter().find_map(|node| {
        let rest = collection.strip_prefix(node.step.path())?;
        if let Some(index) = rest.strip_prefix('.') {
            return output(node, index.parse().ok()?);
        }
        let Op::Group(factory) = &node.op else { return None };
        // What was not asked for cannot be said, and a grouping that cannot be is not submitted.
        let Ok(PortableGroup::Combine(combine)) = factory.portable() else { return None };
        let part = match rest.strip_suffix(".0")? {
            "#precombine" | "#default" | "#flatten" => combine.part(CombinePart::Precombine).output,
            "#group" if combine.has_default() => combine.part(CombinePart::CombineAccumulators).input,
            "#group" => combine.part(CombinePart::CombineGrouped).input,
            _ => return None,
        };
        Some((Ends::Codec(part.codec), node.step.clone()))
    })
}

impl<'a> Reader<'a> {
    fn inputs(&self, id: &str) -> Vec<&'a str> {
        let proto = &self.descriptor.transforms[id];
        match &self.transforms[id] {
            Transform::Ours(ours) => proto.inputs.get(&ours.input).map(String::as_str).into_iter().collect(),
            _ => proto.inputs.values().map(String::as_str).collect(),
        }
    }

    /// The collections that come out, by output.
    fn outputs(&self, id: &str) -> Vec<Option<&'a str>> {
        let proto = &self.descriptor.transforms[id];
        match &self.transforms[id] {
            Transform::Ours(ours) => {
                ours.gives.iter().map(|(name, _)| proto.outputs.get(name).map(String::as_str)).collect()
            }
            _ => proto.outputs.values().map(|id| Some(id.as_str())).collect(),
        }
    }

    /// Finds out what collections hold: our transforms know, a flatten holds what its inputs do, and where there is
    /// neither, an engine that kept the name that we gave it says it.
    fn type_collections(&mut self) {
        let mut ends = HashMap::new();
        for (id, transform) in &self.transforms {
            let Transform::Ours(ours) = transform else { continue };
            // What makes a collection is named before what reads it.
            for ((_, gives), output) in ours.gives.iter().zip(self.outputs(id)) {
                if let Some(output) = output {
                    ends.insert(output, (gives.clone(), ours.step.clone()));
                }
            }
            for input in self.inputs(id) {
                ends.entry(input).or_insert_with(|| (ours.takes.clone(), ours.step.clone()));
            }
        }
        for collection in self.descriptor.pcollections.keys() {
            // An engine may read a collection only to write it elsewhere.
            if !ends.contains_key(collection.as_str())
                && let Some(known) = by_name(collection, self.graph)
            {
                ends.insert(collection, known);
            }
        }
        // Where a flatten's inputs have other coders than its output, Prism puts flattens of one input each before it,
        // whose outputs have its output's coder, and its output's name behind the input's.
        for (id, transform) in &self.transforms {
            let Transform::Flatten = transform else { continue };
            for output in self.outputs(id).into_iter().flatten() {
                let parts = output.match_indices("_to_").map(|(at, to)| &output[at + to.len()..]);
                let known = parts.filter_map(|name| by_name(name, self.graph)).next();
                if let (false, Some(known)) = (ends.contains_key(output), known) {
                    ends.insert(output, known);
                }
            }
        }
        loop {
            let before = ends.len();
            for id in
                self.transforms.iter().filter(|(_, t)| matches!(t, Transform::Flatten)).map(|(id, _)| *id)
            {
                let all: Vec<&str> =
                    self.inputs(id).into_iter().chain(self.outputs(id).into_iter().flatten()).collect();
                if let Some(known) = all.iter().find_map(|c| ends.get(c).cloned()) {
                    for collection in all {
                        ends.entry(collection).or_insert_with(|| known.clone());
                    }
                }
            }
            if ends.len() == before {
                break;
            }
        }
        self.ends = ends;
    }

    fn ends_of(&self, collection: &str) -> Result<&(Ends, Step), String> {
        self.ends.get(collection).ok_or_else(|| {
            format!(
                "no transform of this pipeline reads or makes the collection `{collection}` of the descriptor"
            )
        })
    }

    /// Transforms behind those whose outputs they read; sources are left out.
    fn order(&self) -> Result<Vec<&'a str>, String> {
        let mut readers: HashMap<&str, Vec<&'a str>> = HashMap::new();
        let mut missing: HashMap<&str, usize> = HashMap::new();
        let made: HashSet<&str> = self.transforms.keys().flat_map(|id| self.outputs(id)).flatten().collect();
        let mut ready = VecDeque::new();
        for (id, transform) in &self.transforms {
            let inputs: Vec<&str> = match transform {
                Transform::Source(_) => Vec::new(),
                _ => self.inputs(id),
            };
            if let Some(lost) = inputs.iter().find(|c| !made.contains(**c)) {
                return Err(format!(
                    "nothing in the descriptor makes the collection `{lost}`, which `{id}` reads"
                ));
            }
            if inputs.is_empty() {
                ready.push_back(*id);
            }
            missing.insert(id, inputs.len());
            inputs.into_iter().for_each(|c| readers.entry(c).or_default().push(id));
        }
        let mut order = Vec::new();
        while let Some(id) = ready.pop_front() {
            if !matches!(self.transforms[id], Transform::Source(_)) {
                order.push(id);
            }
            for output in self.outputs(id).into_iter().flatten() {
                for reader in readers.get(output).into_iter().flatten() {
                    if let Some(n) = missing.get_mut(reader) {
                        *n -= 1;
                        if *n == 0 {
                            ready.push_back(reader);
                        }
                    }
                }
            }
        }
        let sources = self.transforms.values().filter(|t| matches!(t, Transform::Source(_))).count();
        match order.len() + sources == self.transforms.len() {
            true => Ok(order),
            false => Err("the transforms of the descriptor read each other in a circle".to_owned()),
        }
    }

    fn port(
        &self,
        id: &str,
        port: &RemoteGrpcPort,
        collection: &str,
    ) -> Result<(String, Arc<dyn WireCodec>, Step), String> {
        let url = port.api_service_descriptor.as_ref().map(|d| d.url.clone()).unwrap_or_default();
        if url.is_empty() {
            return Err(format!("the port `{id}` has no URL"));
        }
        let spec = coder_tree(&self.descriptor.coders, &port.coder_id)?;
        let (ends, step) = self.ends_of(collection)?;
        let codec = ends
            .wire(&spec)
            .map_err(|e| format!("{step}: its elements travel as {spec} through `{id}`: {e}"))?;
        Ok((url, codec, step.clone()))
    }

    fn plan(self, order: &[&'a str]) -> Result<Plan, String> {
        let mut urls: Vec<String> = Vec::new();
        let mut sources = Vec::new();
        let mut fed: Vec<&str> = Vec::new();
        for (id, transform) in &self.transforms {
            let Transform::Source(port) = transform else { continue };
            let Some(Some(collection)) = self.outputs(id).first().copied() else {
                return Err(format!("the source `{id}` has no output"));
            };
            let (url, codec, _) = self.port(id, port, collection)?;
            urls.push(url);
            let reader = order.iter().find_map(|r| match &self.transforms[*r] {
                Transform::Ours(ours) if self.inputs(r).contains(&collection) => Some(ours),
                _ => None,
            });
            let step = match reader {
                Some(ours) => ours.step.clone(),
                None => self.ends_of(collection)?.1.clone(),
            };
            let one_by_one = reader.is_some_and(|ours| matches!(ours.work, Work::Process(_)));
            sources.push(SourcePort { transform: (*id).to_owned(), codec, step, one_by_one });
            fed.push(collection);
        }
        let mut slots = Vec::new();
        let mut process = None;
        let (mut sides, mut timers, mut keeps_state) = (SidePlan::default(), 0, false);
        for (at, id) in order.iter().enumerate() {
            let (step, work) = match &self.transforms[*id] {
                Transform::Source(_) => continue,
                Transform::Sink(port) => {
                    let [collection] = self.inputs(id)[..] else {
                        return Err(format!("the sink `{id}` has not one input"));
                    };
                    let (url, codec, step) = self.port(id, port, collection)?;
                    urls.push(url.clone());
                    let port = SinkPort { transform: (*id).to_owned(), url, codec, step: step.clone() };
                    (step, SlotWork::Sink(Arc::new(port)))
                }
                Transform::Flatten => {
                    let collection = self.outputs(id).into_iter().flatten().next().unwrap_or_default();
                    let (ends, step) = self.ends_of(collection)?;
                    let codec = ends.wire(&self.windowed(collection)?).map_err(|e| format!("`{id}`: {e}"))?;
                    (step.clone(), SlotWork::Flatten(codec))
                }
                Transform::Ours(ours) => {
                    if let Work::Process(factory) = &ours.work {
                        process = Some(self.process(id, ours, factory, &fed)?);
                    }
                    if let Some(par_do) = &ours.par_do {
                        sides.add(id, par_do, self.descriptor, &self.graph.graph)?;
                    }
                    let work = match (&ours.work, &ours.par_do) {
                        (Work::Keyed(keyed), Some(par_do)) => {
                            let keyed = keyed.clone();
                            let plan =
                                KeyedPlan::read(id, &ours.input, &ours.step, keyed, par_do, self.descriptor)?;
                            timers += plan.families();
                            keeps_state = true;
                            urls.extend((plan.families() > 0).then(|| plan.url().to_owned()));
                            SlotWork::Keyed(Arc::new(plan))
                        }
                        (work, _) => SlotWork::Ours(work.clone()),
                    };
                    (ours.step.clone(), work)
                }
            };
            let routes = self.outputs(id).into_iter().map(|c| self.readers(c, order)).collect();
            debug_assert_eq!(slots.len(), at, "every transform in the order has a slot");
            slots.push(PlannedSlot { step, transform: (*id).to_owned(), work, routes });
        }
        let routes = fed.iter().map(|c| self.readers(Some(c), order)).collect();
        urls.sort_unstable();
        urls.dedup();
        let counted = self.counted(order);
        let state_url = self.descriptor.state_api_service_descriptor.as_ref().map(|d| d.url.clone());
        let needs_state = keeps_state || !sides.is_empty();
        Ok(Plan {
            sources: sources.into(),
            timers,
            state_url: state_url.filter(|url| !url.is_empty()),
            keeps_state,
            needs_state,
            sides: Arc::new(sides),
            slots,
            routes,
            urls,
            process,
            counted,
        })
    }

    /// The slots that read `collection`; a flatten that reads it twice is there twice.
    fn readers(&self, collection: Option<&str>, order: &[&str]) -> Vec<usize> {
        let Some(collection) = collection else { return Vec::new() };
        let times = |id: &str| self.inputs(id).into_iter().filter(|c| *c == collection).count();
        order.iter().enumerate().flat_map(|(i, id)| std::iter::repeat_n(i + 1, times(id))).collect()
    }

    /// The coder of a collection's windowed values.
    fn windowed(&self, collection: &str) -> Result<CoderSpec, String> {
        let proto = self.descriptor.pcollections.get(collection);
        let proto = proto.ok_or_else(|| format!("the descriptor has no collection `{collection}`"))?;
        let strategy = self.descriptor.windowing_strategies.get(&proto.windowing_strategy_id);
        let strategy = strategy.ok_or_else(|| {
            format!("the descriptor has no windowing strategy `{}`", proto.windowing_strategy_id)
        })?;
        let value = coder_tree(&self.descriptor.coders, &proto.coder_id)?;
        let window = coder_tree(&self.descriptor.coders, &strategy.window_coder_id)?;
        Ok(CoderSpec::WindowedValue(Box::new(value), Box::new(window)))
    }

    fn process(
        &self,
        id: &str,
        ours: &Ours,
        factory: &Arc<dyn SdfFactory>,
        fed: &[&str],
    ) -> Result<ProcessPlan, String> {
        let proto = &self.descriptor.transforms[id];
        let input = proto.inputs.get(&ours.input).map(String::as_str).unwrap_or_default();
        let source = fed.iter().position(|c| *c == input);
        // What is left comes back the way it came.
        let port = self.transforms.iter().find_map(|(id, t)| match t {
            Transform::Source(port) if self.outputs(id).contains(&Some(input)) => Some(port),
            _ => None,
        });
        let spec = match port {
            Some(port) => coder_tree(&self.descriptor.coders, &port.coder_id)?,
            None => self.windowed(input)?,
        };
        let codec = factory.items_wire(&spec).map_err(|e| format!("{}: {e}", ours.step))?;
        Ok(ProcessPlan {
            transform: id.to_owned(),
            input: ours.input.clone(),
            outputs: proto.outputs.keys().cloned().collect(),
            codec,
            source,
            bounded: ours.bounded,
            step: ours.step.clone(),
        })
    }

    /// Each collection is counted by one that reads it alone, or by what makes it alone.
    fn counted(&self, order: &[&str]) -> Vec<Counted> {
        let mut counted = BTreeMap::new();
        for (i, id) in order.iter().enumerate() {
            if let [Some(output)] = self.outputs(id)[..] {
                counted.entry(output).or_insert((i + 1, false));
            }
        }
        for (i, id) in order.iter().enumerate() {
            if let [input] = self.inputs(id)[..] {
                counted.entry(input).or_insert((i + 1, true));
            }
        }
        let entry = |(collection, (slot, inputs)): (&str, (usize, bool))| Counted {
            collection: collection.to_owned(),
            slot,
            inputs,
        };
        counted.into_iter().map(entry).collect()
    }
}
