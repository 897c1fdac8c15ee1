//! A pipeline in Beam's words: what is submitted to an engine.
//!
//! Each primitive of the graph becomes one of Beam's, or several where an engine does a part of it. Functions are not
//! sent: a transform carries its path in the graph, by which a worker finds the code in the pipeline that the same
//! program builds again. What no engine can do is told before anything is submitted, all of it at once.
//!
//! Source: `beam_runner_api.proto`.

mod coders;
mod components;
mod elements;
mod environment;
mod fingerprint;
mod groups;
mod refusals;
mod strategies;
mod test_streams;
mod triggers;
mod windows;

use purlin_sdk::{
    BuildError, BuildErrors, PipelineError,
    graph::{Graph, Node, Op},
};

use self::components::Components;
pub use self::environment::Environment;
pub(crate) use self::{
    environment::{Artifact, ENVIRONMENT, WORKER_VARIABLE, environment},
    fingerprint::fingerprint,
};
use crate::{
    proto::pipeline::{self as beam, Pipeline},
    urns,
};

/// What of a transform cannot be said to an engine: what, why, and what to do instead.
type Refused = String;

/// The pipeline to submit.
///
/// # Errors
/// Everything in it that no engine can do.
pub(crate) fn translate(
    graph: &Graph,
    fingerprint: &str,
    environment: beam::Environment,
) -> Result<Pipeline, PipelineError> {
    let mut components = Components::new(graph, fingerprint);
    components.environment(environment);
    let mut errors = Vec::new();
    for node in &graph.nodes {
        if let Err(reason) = add(node, &mut components) {
            errors.push(BuildError::new(node.step.clone(), reason));
        }
    }
    BuildErrors::check(errors)?;
    Ok(components.pipeline())
}

fn add(node: &Node, components: &mut Components<'_>) -> Result<(), Refused> {
    refusals::check(node)?;
    components.collections(node)?;
    match &node.op {
        Op::Impulse => {
            components.primitive(node, urns::transform::IMPULSE, Vec::new());
            Ok(())
        }
        Op::Flatten(_) => {
            components.flatten(node);
            Ok(())
        }
        Op::Redistribute(_) => elements::reshuffle(node, components),
        Op::TestStream(source) => test_streams::add(node, &**source, components),
        Op::Element(factory) => elements::par_do(node, &**factory, components),
        Op::Splittable(factory) => elements::splittable(node, &**factory, components),
        Op::Group(factory) => groups::add(node, &**factory, components),
        // Those who look at it name the collection.
        Op::View(_) => Ok(()),
        Op::Live(_) | Op::AssignWatermark(_) => Err(refusals::nothing_like_it(&node.op)),
    }
}

#[cfg(test)]
mod tests;
