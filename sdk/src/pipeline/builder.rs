//! The graph while it is built.

use std::{
    any::{Any, TypeId},
    collections::{HashMap, HashSet, hash_map::Entry},
    panic::Location,
    sync::Arc,
};

use super::super::graph::{Collection, CollectionId, Graph, Node, NodeId, Op};
use crate::{
    BuildError, BuildErrors, Step,
    coder::{CoderError, CoderSpec},
    exec::BatchCodec,
    window::WindowingStrategy,
};

/// The graph while it is built. Nothing here fails: what is wrong is remembered and told at the end.
pub(crate) struct Builder {
    nodes: Vec<Node>,
    collections: Vec<Draft>,
    errors: Vec<BuildError>,
    // Paths of the composites that are being expanded, innermost last.
    scopes: Vec<Scope>,
    // What a transform has for itself, and which one.
    claims: HashMap<String, Step>,
    // What transforms share, by type.
    extensions: HashMap<TypeId, Box<dyn Any>>,
    checks: Vec<Check>,
    options: Arc<dyn Any + Send + Sync>,
}

/// Looks at the whole graph, and says what is wrong.
type Check = Box<dyn Fn(&Graph) -> Vec<BuildError>>;

struct Scope {
    path: String,
    // The line that applied the composite; none at the top.
    site: Option<&'static Location<'static>>,
    names: HashMap<String, &'static Location<'static>>,
}

struct Draft {
    producer: NodeId,
    strategy: WindowingStrategy,
    bounded: bool,
    element: &'static str,
    coder: CoderOf,
    codec: Arc<dyn BatchCodec>,
}

/// The coder of a collection; where there is none, why, and the number of the cause: one for all collections that have
/// none because another one has none.
type CoderOf = Box<dyn Fn() -> Result<CoderSpec, (usize, CoderError)>>;

/// A transform to add.
pub(crate) struct NewNode {
    pub(crate) step: Step,
    pub(crate) inputs: Vec<CollectionId>,
    pub(crate) views: Vec<Arc<str>>,
    pub(crate) op: Op,
    pub(crate) payload: serde_json::Value,
}

impl Builder {
    pub(crate) fn new(options: Arc<dyn Any + Send + Sync>) -> Builder {
        let top = Scope { path: String::new(), site: None, names: HashMap::new() };
        Builder {
            nodes: Vec::new(),
            collections: Vec::new(),
            errors: Vec::new(),
            scopes: vec![top],
            claims: HashMap::new(),
            extensions: HashMap::new(),
            checks: Vec::new(),
            options,
        }
    }

    /// Takes the name in the scope at work, and gives the step. A name taken twice is an error that shows both lines.
    pub(crate) fn name(&mut self, name: &str, site: &'static Location<'static>) -> Step {
        let Some(scope) = self.scopes.last_mut() else { return Step::new(name, site) };
        // What a transform of the library is made of was built where the user applied it.
        let site = scope.site.filter(|_| is_library(site.file())).unwrap_or(site);
        let path = if scope.path.is_empty() { name.to_owned() } else { format!("{}/{name}", scope.path) };
        let step = Step::new(path, site);
        if name.is_empty() {
            self.errors.push(BuildError::new(step.clone(), "a transform needs a name that is not empty"));
        } else if name.contains('/') {
            self.errors.push(BuildError::new(step.clone(), slash_in(name)));
        } else if let Some(other) = scope.names.insert(name.to_owned(), site) {
            self.errors.push(BuildError::new(
                step.clone(),
                format!(
                    "the name `{name}` is taken: it was given at {other} already. Names within a composite must \
                     differ, since state, metrics and updates go by them; call one of the two something else"
                ),
            ));
        }
        step
    }

    pub(crate) fn enter(&mut self, step: &Step) {
        let (path, site) = (step.path().to_owned(), Some(step.site()));
        self.scopes.push(Scope { path, site, names: HashMap::new() });
    }

    pub(crate) fn leave(&mut self) {
        if self.scopes.len() > 1 {
            self.scopes.pop();
        }
    }

    /// Keeps `what` for the composite that is being expanded, and gives the one that has it already.
    pub(crate) fn claim(&mut self, what: String, site: &'static Location<'static>) -> (Step, Option<Step>) {
        let step = self.scope(site);
        match self.claims.entry(what) {
            Entry::Occupied(taken) => (step, Some(taken.get().clone())),
            Entry::Vacant(free) => {
                free.insert(step.clone());
                (step, None)
            }
        }
    }

    /// What transforms share under its type.
    pub(crate) fn extension<T: Clone + Default + 'static>(&mut self) -> T {
        let made = self.extensions.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        made.downcast_ref::<T>().cloned().unwrap_or_default()
    }

    pub(crate) fn check(&mut self, check: impl Fn(&Graph) -> Vec<BuildError> + 'static) {
        self.checks.push(Box::new(check));
    }

    pub(crate) fn error(&mut self, step: Step, message: impl Into<String>) {
        self.errors.push(BuildError::new(step, message));
    }

    pub(crate) fn add(&mut self, node: NewNode) -> NodeId {
        let id = NodeId(self.nodes.len());
        let NewNode { step, inputs, views, op, payload } = node;
        self.nodes.push(Node { step, inputs, views, outputs: Vec::new(), op, payload });
        id
    }

    pub(crate) fn set_op(&mut self, node: NodeId, op: Op) {
        if let Some(node) = self.nodes.get_mut(node.0) {
            node.op = op;
        }
    }

    pub(crate) fn output(
        &mut self,
        producer: NodeId,
        strategy: WindowingStrategy,
        bounded: bool,
        element: &'static str,
        coder: CoderOf,
        codec: Arc<dyn BatchCodec>,
    ) -> CollectionId {
        let id = CollectionId(self.collections.len());
        self.collections.push(Draft { producer, strategy, bounded, element, coder, codec });
        if let Some(node) = self.nodes.get_mut(producer.0) {
            node.outputs.push(id);
        }
        id
    }

    pub(crate) fn strategy(&self, id: CollectionId) -> WindowingStrategy {
        self.collections.get(id.0).map_or_else(WindowingStrategy::global, |c| c.strategy.clone())
    }

    pub(crate) fn bounded(&self, id: CollectionId) -> bool {
        self.collections.get(id.0).is_none_or(|c| c.bounded)
    }

    pub(crate) fn step_of(&self, id: CollectionId) -> Option<Step> {
        let producer = self.collections.get(id.0)?.producer;
        self.nodes.get(producer.0).map(|n| n.step.clone())
    }

    /// The composite that is being expanded; where there is none, the pipeline at `site`.
    pub(crate) fn scope(&self, site: &'static Location<'static>) -> Step {
        match self.scopes.last().map(|scope| (&scope.path, scope.site)) {
            Some((path, Some(site))) => Step::new(path.as_str(), site),
            _ => Step::new("the pipeline", site),
        }
    }

    /// The graph, or everything that is wrong with it.
    pub(crate) fn finish(&self) -> Result<Graph, BuildErrors> {
        let mut errors = self.errors.clone();
        let mut collections = Vec::with_capacity(self.collections.len());
        let mut causes = HashSet::new();
        for draft in &self.collections {
            let coder = (draft.coder)().unwrap_or_else(|(cause, e)| {
                if let Some(node) = self.nodes.get(draft.producer.0).filter(|_| causes.insert(cause)) {
                    errors.push(BuildError::new(node.step.clone(), e.to_string()));
                }
                CoderSpec::Bytes
            });
            collections.push(Collection {
                producer: draft.producer,
                strategy: draft.strategy.clone(),
                bounded: draft.bounded,
                element: draft.element,
                coder,
                codec: draft.codec.clone(),
            });
        }
        BuildErrors::check(errors)?;
        let graph = Graph { nodes: self.nodes.clone(), collections, options: self.options.clone() };
        BuildErrors::check(self.checks.iter().flat_map(|check| check(&graph)).collect())?;
        Ok(graph)
    }
}

/// What is wrong with a name that looks like a path.
pub(crate) fn slash_in(name: &str) -> String {
    format!(
        "the name `{name}` contains `/`, which stands between the names of a path, so another transform could have the \
         same path: write another character, or apply it within a composite (`composite(\"{}\", ..)`)",
        name.split('/').next().unwrap_or_default()
    )
}

/// Whether a source file belongs to the SDK or the transform library, in this workspace or in a registry.
fn is_library(file: &str) -> bool {
    let here = file!();
    let sdk = here.strip_suffix("src/pipeline/builder.rs").unwrap_or(here);
    let transforms = sdk.replace("sdk", "transforms");
    file.starts_with(sdk) || file.starts_with(&transforms)
}
