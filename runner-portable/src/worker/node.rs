//! What a transform of a descriptor is in our pipeline.

use std::{collections::HashMap, sync::Arc};

use prost::Message;
use purlin_sdk::{
    Step,
    batch::AnyBatch,
    coder::CoderSpec,
    exec::{
        BatchCodec, CombinePart, Kernel, KernelFactory, KernelSpec, PortableGroup, PortableKeyed,
        PortablePart, Relay, SdfFactory, SdfPart, WireCodec,
    },
    graph::{Node, Op},
};

use super::WorkerGraph;
use crate::{
    payload::FnPayload,
    proto::{
        fn_execution::RemoteGrpcPort,
        pipeline::{CombinePayload, FunctionSpec, PTransform, ParDoPayload},
    },
    urns::{self, transform},
};

/// What makes the codec of a collection, which is one of the pipeline's or lies between two parts of a transform.
#[derive(Clone)]
pub(super) enum Ends {
    /// Elements of a codec.
    Codec(Arc<dyn BatchCodec>),
    /// Elements with restrictions.
    Items(Arc<dyn SdfFactory>),
}

impl Ends {
    pub(super) fn wire(&self, spec: &CoderSpec) -> purlin_sdk::Result<Arc<dyn WireCodec>> {
        match self {
            Ends::Codec(codec) => codec.wire(spec),
            Ends::Items(factory) => factory.items_wire(spec),
        }
    }
}

/// What runs a transform.
#[derive(Clone)]
pub(super) enum Work {
    /// Element by element.
    Kernel(Arc<dyn KernelFactory>),
    /// A part of a grouping, and whether it takes what the grouping does and gives what that gives.
    Part(Arc<dyn KernelFactory>, (bool, bool)),
    /// A part of pairing elements with restrictions.
    SdfPart(Arc<dyn SdfFactory>, SdfPart),
    /// Work on restrictions.
    Process(Arc<dyn SdfFactory>),
    /// With state and timers.
    Keyed(Arc<dyn PortableKeyed>),
}

impl Work {
    /// Whether what it takes is its transform's input, and what it gives its transform's output.
    pub(super) fn is_an_end(&self) -> (bool, bool) {
        match self {
            Work::Kernel(_) | Work::Keyed(_) => (true, true),
            Work::Part(_, ends) => *ends,
            Work::SdfPart(_, SdfPart::Pair) => (true, false),
            Work::SdfPart(..) => (false, false),
            Work::Process(_) => (false, true),
        }
    }
}

/// A transform of the descriptor.
pub(super) enum Transform {
    /// Where elements come in.
    Source(RemoteGrpcPort),
    /// Where they go out.
    Sink(RemoteGrpcPort),
    /// All of several collections.
    Flatten,
    /// One of ours.
    Ours(Box<Ours>),
}

/// A transform of ours.
pub(super) struct Ours {
    pub(super) step: Step,
    pub(super) work: Work,
    /// The local name of the main input.
    pub(super) input: String,
    /// What comes in.
    pub(super) takes: Ends,
    /// What comes out, in the order of its outputs, with local names.
    pub(super) gives: Vec<(String, Ends)>,
    /// Whether the output has an end.
    pub(super) bounded: bool,
    /// The ParDo's payload, where it is one.
    pub(super) par_do: Option<ParDoPayload>,
}

impl Transform {
    /// What `transform`, with the number `id` in its descriptor, is in `graph`.
    ///
    /// # Errors
    /// When it is nothing that this worker runs.
    pub(super) fn read(id: &str, transform: &PTransform, graph: &WorkerGraph) -> Result<Transform, String> {
        let spec = transform.spec.as_ref().ok_or_else(|| format!("the transform `{id}` has no URN"))?;
        let port = || {
            RemoteGrpcPort::decode(&spec.payload[..])
                .map_err(|e| format!("the payload of `{id}` is no port: {e}"))
        };
        match spec.urn.as_str() {
            transform::SOURCE => Ok(Transform::Source(port()?)),
            transform::SINK => Ok(Transform::Sink(port()?)),
            transform::FLATTEN => Ok(Transform::Flatten),
            transform::PARDO
            | transform::SDF_PAIR
            | transform::SDF_SPLIT_AND_SIZE
            | transform::SDF_PROCESS
            | transform::SDF_TRUNCATE => {
                let payload = ParDoPayload::decode(&spec.payload[..])
                    .map_err(|e| format!("the payload of `{id}` is no ParDo: {e}"))?;
                let function = payload.do_fn.clone();
                ours(id, &spec.urn, transform, function, Some(payload), graph)
            }
            transform::COMBINE_PRECOMBINE
            | transform::COMBINE_MERGE
            | transform::COMBINE_EXTRACT
            | transform::COMBINE_CONVERT
            | transform::COMBINE_GROUPED => {
                let payload = CombinePayload::decode(&spec.payload[..])
                    .map_err(|e| format!("the payload of `{id}` is no combine: {e}"))?;
                ours(id, &spec.urn, transform, payload.combine_fn, None, graph)
            }
            other => Err(format!(
                "the engine sent the transform `{id}` of the kind `{other}`, which this worker does not run"
            )),
        }
    }
}

fn ours(
    id: &str,
    urn: &str,
    transform: &PTransform,
    function: Option<FunctionSpec>,
    par_do: Option<ParDoPayload>,
    graph: &WorkerGraph,
) -> Result<Transform, String> {
    let function = function.ok_or_else(|| format!("the transform `{id}` has no function"))?;
    let payload = FnPayload::from_bytes(&function.payload)
        .map_err(|e| format!("the function of `{id}`, {}, is none of this SDK's: {e}", function.urn))?;
    if payload.fingerprint != graph.fingerprint {
        return Err(format!(
            "this worker was built for another pipeline: the engine runs one with the fingerprint {}, and this program \
             with these options builds one with {}. Start the workers from the same binary as the job, with the same \
             options",
            payload.fingerprint, graph.fingerprint
        ));
    }
    let node = graph.graph.nodes.iter().find(|node| node.step.path() == payload.path);
    let node = node.ok_or_else(|| {
        format!(
            "the engine sent `{id}` for the transform `{}`, which this pipeline does not have",
            payload.path
        )
    })?;
    let (work, takes, gives) = work(urn, &function.urn, node, graph)
        .map_err(|what| format!("{}: the engine sent a part of it, `{id}` ({urn}), {what}", node.step))?;
    let sides = par_do.as_ref().map(|p| &p.side_inputs);
    let mut inputs = transform.inputs.keys().filter(|name| !sides.is_some_and(|s| s.contains_key(*name)));
    let (Some(input), None) = (inputs.next().cloned(), inputs.next()) else {
        return Err(format!("the transform `{id}` has not one main input: {:?}", transform.inputs));
    };
    let bounded = node.outputs.iter().all(|output| graph.graph.collections[output.0].bounded);
    let gives = named(gives, &transform.outputs);
    let ours = Ours { step: node.step.clone(), work, input, takes, gives, bounded, par_do };
    Ok(Transform::Ours(Box::new(ours)))
}

/// Gives outputs their local names: their numbers, but a part that an engine made has one output of any name.
fn named(gives: Vec<Ends>, outputs: &HashMap<String, String>) -> Vec<(String, Ends)> {
    if let ([one], Some(name)) = (&gives[..], outputs.keys().next())
        && outputs.len() == 1
    {
        return vec![(name.clone(), one.clone())];
    }
    gives.into_iter().enumerate().map(|(i, ends)| (i.to_string(), ends)).collect()
}

/// Hands elements on.
struct Relays(Arc<dyn Fn() -> AnyBatch + Send + Sync>);

impl KernelFactory for Relays {
    fn kernel(&self, _: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(Relay)
    }

    fn input(&self) -> AnyBatch {
        (self.0)()
    }
}

/// What runs it, what it takes, what it gives.
type Run = (Work, Ends, Vec<Ends>);

fn work(urn: &str, function: &str, node: &Node, graph: &WorkerGraph) -> Result<Run, String> {
    let collections = &graph.graph.collections;
    let codec = |id: &purlin_sdk::graph::CollectionId| Ends::Codec(collections[id.0].codec.clone());
    let input = node.inputs.first().map(codec);
    let outputs: Vec<Ends> = node.outputs.iter().map(codec).collect();
    match (&node.op, input) {
        (Op::Element(factory), Some(input)) if urn == transform::PARDO => {
            Ok((Work::Kernel(factory.clone()), input, outputs))
        }
        // What a redistribution is for an engine that has none.
        (Op::Redistribute(batch), Some(input)) if urn == transform::PARDO => {
            Ok((Work::Kernel(Arc::new(Relays(batch.clone()))), input, outputs))
        }
        (Op::Splittable(factory), Some(input)) => {
            let items = Ends::Items(factory.clone());
            let part = |part| Work::SdfPart(factory.clone(), part);
            match urn {
                transform::SDF_PAIR => Ok((part(SdfPart::Pair), input, vec![items])),
                transform::SDF_SPLIT_AND_SIZE => {
                    Ok((part(SdfPart::SplitAndSize), items.clone(), vec![items]))
                }
                transform::SDF_TRUNCATE => Ok((part(SdfPart::Truncate), items.clone(), vec![items])),
                transform::SDF_PROCESS => Ok((Work::Process(factory.clone()), items, outputs)),
                _ => Err("which is no part of a splittable DoFn".to_owned()),
            }
        }
        (Op::Group(factory), input) => {
            let group = factory.portable().map_err(|e| e.to_string())?;
            if let (PortableGroup::Keyed(keyed), Some(input), transform::PARDO) = (&group, input, urn) {
                return Ok((Work::Keyed(keyed.clone()), input, outputs));
            }
            let (part, ends) = group_part(urn, function, &group)?;
            let PortablePart { factory, input, output } = part;
            Ok((Work::Part(factory, ends), Ends::Codec(input.codec), vec![Ends::Codec(output.codec)]))
        }
        (op, _) => Err(format!("which is no part of a transform of the kind {}", op.urn())),
    }
}

/// The part, and whether it takes what the grouping does and gives what that gives.
fn group_part(
    urn: &str,
    function: &str,
    group: &PortableGroup,
) -> Result<(PortablePart, (bool, bool)), String> {
    let part = match (urn, function) {
        (transform::COMBINE_PRECOMBINE, _) | (transform::PARDO, urns::COMBINE_PRECOMBINE) => {
            CombinePart::Precombine
        }
        (transform::COMBINE_MERGE, _) => CombinePart::MergeAccumulators,
        (transform::COMBINE_EXTRACT, _) => CombinePart::ExtractOutputs,
        (transform::COMBINE_CONVERT, _) => CombinePart::ConvertToAccumulators,
        (transform::COMBINE_GROUPED, _) | (transform::PARDO, urns::COMBINE_GROUPED) => {
            CombinePart::CombineGrouped
        }
        (transform::PARDO, urns::COMBINE_ACCUMULATORS) => CombinePart::CombineAccumulators,
        (transform::PARDO, urns::COMBINE_DEFAULT) => CombinePart::Default,
        (_, function) => match group {
            PortableGroup::ParDo(part) => return Ok((part.clone(), (true, true))),
            _ => return Err(format!("with the function {function}, which is no part of a grouping")),
        },
    };
    let ends = match part {
        CombinePart::Precombine | CombinePart::ConvertToAccumulators => (true, false),
        CombinePart::MergeAccumulators | CombinePart::Default => (false, false),
        CombinePart::ExtractOutputs | CombinePart::CombineGrouped | CombinePart::CombineAccumulators => {
            (false, true)
        }
    };
    match group {
        PortableGroup::Combine(combine) => Ok((combine.part(part), ends)),
        _ => Err("which does not combine".to_owned()),
    }
}
