//! A graph from its JSON.

use std::{collections::BTreeMap, panic::Location};

use serde_json::Value;

use super::{Graph, GraphSpec, Node, Op};
use crate::{BuildError, BuildErrors, Step};

impl Graph {
    /// The graph that `spec` was taken of: the configuration of named DoFns and CombineFns comes from `spec`, closures
    /// and generic ones from `rebuilt`, where they are found by the transforms' paths.
    ///
    /// `rebuilt` is the pipeline as the same program builds it, with whatever configuration. What decides the graph's
    /// form must be the same in both: names, kinds, edges, side inputs, element types, coders, windows, and whether
    /// collections have an end.
    ///
    /// ```
    /// use purlin_sdk::{DoFn, Emitter, Pipeline, ProcessContext, Result, graph::{Graph, GraphSpec}, named};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Clone, Serialize, Deserialize)]
    /// struct Times { by: i64 }
    ///
    /// impl DoFn for Times {
    ///     type Input = i64;
    ///     type Output = i64;
    ///     fn process(&mut self, x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
    ///         out.emit(x * self.by);
    ///         Ok(())
    ///     }
    /// }
    /// named::register!(Times);
    ///
    /// fn build(by: i64) -> Graph {
    ///     let p = Pipeline::new();
    ///     p.create("Numbers", [1]).par_do("Times", Times { by }).map("Next", |x| x + 1);
    ///     p.build().unwrap()
    /// }
    ///
    /// let json = serde_json::to_string(&build(3).spec()).unwrap();
    /// let spec: GraphSpec = serde_json::from_str(&json).unwrap();
    /// let restored = Graph::restore(&spec, build(1)).unwrap();
    /// assert_eq!(restored.fingerprint(), build(3).fingerprint());
    /// ```
    ///
    /// # Errors
    /// Every transform that is in one of the two alone or is different, with what is different; every configuration
    /// whose type is not registered in this program or is not that of the transform's function.
    #[track_caller]
    pub fn restore(spec: &GraphSpec, rebuilt: Graph) -> Result<Graph, BuildErrors> {
        let caller = Location::caller();
        let mut errors = Vec::new();
        let mut stored = BTreeMap::new();
        for shape in spec.shapes() {
            let path = shape.path;
            if stored.insert(path, shape).is_some() {
                let step = Step::new(path, caller);
                errors.push(BuildError::new(step, "the stored graph has two transforms of this name"));
            }
        }
        let now = rebuilt.spec();
        let now: BTreeMap<_, _> = now.shapes().into_iter().map(|s| (s.path, s)).collect();
        let mut graph = rebuilt;
        for node in &mut graph.nodes {
            let path = node.step.path();
            let problem = match (stored.remove(path), now.get(path)) {
                (Some(was), Some(is)) => match was.differences(is) {
                    differences if differences.is_empty() => configure(node, was.payload).err(),
                    differences => {
                        Some(format!("it differs from the stored graph: {}", differences.join("; ")))
                    }
                },
                _ => Some(
                    "the pipeline has this transform and the stored graph does not: it was added or has another \
                     name now. Give transforms the names that they had"
                        .to_owned(),
                ),
            };
            errors.extend(problem.map(|p| BuildError::new(node.step.clone(), p)));
        }
        for transform in &spec.transforms {
            if stored.remove(transform.path.as_str()).is_some() {
                let message = format!(
                    "the stored graph has this transform, built at {}, and the pipeline does not: it was removed or \
                     has another name now. Give transforms the names that they had",
                    transform.built_at
                );
                errors.push(BuildError::new(Step::new(transform.path.as_str(), caller), message));
            }
        }
        BuildErrors::check(errors)?;
        Ok(graph)
    }
}

/// Gives `node` the function whose configuration `payload` is.
fn configure(node: &mut Node, payload: &Value) -> Result<(), String> {
    if payload.is_null() {
        return if node.payload.is_null() {
            Ok(())
        } else {
            // To go on with the program's own would be another pipeline, silently.
            Err(format!(
                "the stored graph has no configuration for it, and the pipeline has {}: it was not registered when \
                 the graph was stored",
                node.payload
            ))
        };
    }
    let restored = match &node.op {
        Op::Element(f) => f.with_payload(payload).map(|f| f.map(Op::Element)),
        Op::Splittable(f) => f.with_payload(payload).map(|f| f.map(Op::Splittable)),
        Op::Group(f) => f.with_payload(payload).map(|f| f.map(Op::Group)),
        Op::Impulse
        | Op::TestStream(_)
        | Op::Live(_)
        | Op::Flatten(_)
        | Op::Redistribute(_)
        | Op::View(_)
        | Op::AssignWatermark(_) => Ok(None),
    };
    match restored {
        Ok(Some(op)) => {
            node.op = op;
            node.payload = payload.clone();
            Ok(())
        }
        // What the graph knows of a transform that has no configuration, such as an assertion's name.
        Ok(None) if *payload == node.payload => Ok(()),
        Ok(None) => Err(format!(
            "the stored graph has a configuration of `{}` for it, {payload}, and what it is here is not registered: \
             add `named::register!` for its type",
            name_of(payload)
        )),
        Err(e) => Err(format!(
            "the stored configuration of `{}`, {payload}, is not one for what it is here: {e}",
            name_of(payload)
        )),
    }
}

/// The name of the type whose configuration `payload` is.
fn name_of(payload: &Value) -> &str {
    let tag = payload.as_object().and_then(|fields| fields.keys().next());
    tag.map_or_else(|| payload.as_str().unwrap_or("unknown"), String::as_str)
}
