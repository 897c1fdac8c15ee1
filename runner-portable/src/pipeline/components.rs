//! The parts of a pipeline while it is put together.

use std::collections::{BTreeSet, HashMap};

use purlin_sdk::{
    coder::CoderSpec,
    graph::{Collection, CollectionId, Graph, Node, NodeId, Op},
    window::WindowingStrategy,
};

use super::{ENVIRONMENT, Refused, coders::Coders, strategies::Strategies};
use crate::{
    payload::FnPayload,
    proto::pipeline::{self as beam, FunctionSpec, PCollection, PTransform, Pipeline, is_bounded},
    urns,
};

/// The local name of a main input.
pub(super) const MAIN_INPUT: &str = "in";

/// The id of the output `index` of the transform at `path`.
pub(super) fn collection_id(path: &str, index: usize) -> String {
    format!("{path}.{index}")
}

/// The local name of a side input.
pub(super) fn side_input_name(view: &str) -> String {
    format!("side:{view}")
}

pub(super) struct Components<'a> {
    pub(super) graph: &'a Graph,
    fingerprint: &'a str,
    pub(super) coders: Coders,
    strategies: Strategies,
    /// The collection that each view is of.
    views: HashMap<&'a str, CollectionId>,
    transforms: HashMap<String, PTransform>,
    collections: HashMap<String, PCollection>,
    environments: HashMap<String, beam::Environment>,
    requirements: BTreeSet<&'static str>,
    roots: Vec<String>,
}

impl<'a> Components<'a> {
    pub(super) fn new(graph: &'a Graph, fingerprint: &'a str) -> Components<'a> {
        let views = graph.nodes.iter().filter(|node| matches!(node.op, Op::View(_)));
        Components {
            graph,
            fingerprint,
            coders: Coders::default(),
            strategies: Strategies::default(),
            views: views.filter_map(|node| Some((node.step.path(), *node.inputs.first()?))).collect(),
            transforms: HashMap::new(),
            collections: HashMap::new(),
            environments: HashMap::new(),
            requirements: BTreeSet::new(),
            roots: Vec::new(),
        }
    }

    pub(super) fn environment(&mut self, environment: beam::Environment) {
        self.environments.insert(ENVIRONMENT.to_owned(), environment);
    }

    /// Notes that the engine must be able to do this.
    pub(super) fn require(&mut self, requirement: &'static str) {
        self.requirements.insert(requirement);
    }

    /// The collection with this number.
    pub(super) fn collection(&self, id: CollectionId) -> &'a Collection {
        &self.graph.collections[id.0]
    }

    /// The id of a collection of the graph.
    pub(super) fn id_of(&self, id: CollectionId) -> String {
        let NodeId(producer) = self.collection(id).producer;
        let node = &self.graph.nodes[producer];
        let index = node.outputs.iter().position(|output| *output == id).unwrap_or(0);
        collection_id(node.step.path(), index)
    }

    /// Adds what `node` makes.
    pub(super) fn collections(&mut self, node: &Node) -> Result<(), Refused> {
        // The value of a view is made where it is looked at.
        if matches!(node.op, Op::View(_)) {
            return Ok(());
        }
        for output in &node.outputs {
            let Collection { strategy, bounded, coder, .. } = self.collection(*output);
            self.add_collection(self.id_of(*output), coder, strategy, *bounded)?;
        }
        Ok(())
    }

    /// Adds a collection.
    pub(super) fn add_collection(
        &mut self,
        id: String,
        coder: &CoderSpec,
        strategy: &WindowingStrategy,
        bounded: bool,
    ) -> Result<(), Refused> {
        let bounded = if bounded { is_bounded::Enum::Bounded } else { is_bounded::Enum::Unbounded };
        let collection = PCollection {
            unique_name: id.clone(),
            coder_id: self.coders.id(coder),
            is_bounded: bounded.into(),
            windowing_strategy_id: self.strategies.id(strategy, &mut self.coders)?,
            ..PCollection::default()
        };
        self.collections.insert(id, collection);
        Ok(())
    }

    /// What a worker finds the code of the transform at `path` by.
    pub(super) fn function(&self, urn: &str, path: &str) -> Result<FunctionSpec, Refused> {
        let payload = FnPayload { path: path.to_owned(), fingerprint: self.fingerprint.to_owned() };
        let payload = payload.to_bytes().map_err(|e| format!("its payload cannot be written: {e}"))?;
        Ok(FunctionSpec { urn: urn.to_owned(), payload })
    }

    /// The inputs of `node` by their local names.
    pub(super) fn inputs(&self, node: &Node) -> HashMap<String, String> {
        let main = node.inputs.iter().map(|input| (MAIN_INPUT.to_owned(), self.id_of(*input)));
        let sides = node.views.iter().filter_map(|view| {
            let of = self.views.get(&**view)?;
            Some((side_input_name(view), self.id_of(*of)))
        });
        main.chain(sides).collect()
    }

    /// The outputs of `node` by their local names.
    pub(super) fn outputs(&self, node: &Node) -> HashMap<String, String> {
        node.outputs.iter().enumerate().map(|(i, output)| (i.to_string(), self.id_of(*output))).collect()
    }

    /// Adds a transform that is a part of no other.
    pub(super) fn root(&mut self, id: String, transform: PTransform) {
        self.roots.push(id.clone());
        self.transforms.insert(id, transform);
    }

    /// Adds a transform that is a part of another one.
    pub(super) fn part(&mut self, id: String, transform: PTransform) {
        self.transforms.insert(id, transform);
    }

    /// Adds `node` as one that the engine does itself.
    pub(super) fn primitive(&mut self, node: &Node, urn: &str, payload: Vec<u8>) {
        let path = node.step.path();
        let transform = PTransform {
            unique_name: path.to_owned(),
            spec: Some(FunctionSpec { urn: urn.to_owned(), payload }),
            inputs: self.inputs(node),
            outputs: self.outputs(node),
            ..PTransform::default()
        };
        self.root(path.to_owned(), transform);
    }

    /// Adds a flatten.
    pub(super) fn flatten(&mut self, node: &Node) {
        let path = node.step.path();
        let coders: BTreeSet<String> = node
            .inputs
            .iter()
            .chain(&node.outputs)
            .map(|of| self.coders.id(&self.graph.collections[of.0].coder))
            .collect();
        let inputs = node.inputs.iter().enumerate().map(|(i, input)| (i.to_string(), self.id_of(*input)));
        let transform = PTransform {
            unique_name: path.to_owned(),
            spec: Some(FunctionSpec { urn: urns::transform::FLATTEN.to_owned(), payload: Vec::new() }),
            inputs: inputs.collect(),
            outputs: self.outputs(node),
            // Where coders differ, elements must be written anew, and only a worker can do that.
            environment_id: if coders.len() > 1 { ENVIRONMENT.to_owned() } else { String::new() },
            ..PTransform::default()
        };
        self.root(path.to_owned(), transform);
    }

    pub(super) fn pipeline(self) -> Pipeline {
        Pipeline {
            components: Some(beam::Components {
                transforms: self.transforms,
                pcollections: self.collections,
                windowing_strategies: self.strategies.all(),
                coders: self.coders.all(),
                environments: self.environments,
            }),
            root_transform_ids: self.roots,
            requirements: self.requirements.into_iter().map(str::to_owned).collect(),
            ..Pipeline::default()
        }
    }
}
