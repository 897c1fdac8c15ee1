//! DoFns without state.

use std::collections::HashMap;

use prost::Message;
use purlin_sdk::{
    coder::CoderSpec,
    exec::{KernelFactory, SdfFactory},
    graph::Node,
};

use super::{
    ENVIRONMENT, Refused,
    components::{Components, side_input_name},
};
use crate::{
    proto::pipeline::{FunctionSpec, PTransform, ParDoPayload, SideInput},
    urns,
};

/// Adds a DoFn, or what works like one: windows and timestamps are put on elements by a worker too.
pub(super) fn par_do(
    node: &Node,
    factory: &dyn KernelFactory,
    components: &mut Components<'_>,
) -> Result<(), Refused> {
    let mut payload = payload(node, components)?;
    payload.requires_stable_input = factory.requires_stable_input();
    if payload.requires_stable_input {
        components.require(urns::requirement::STABLE_INPUT);
    }
    add(node, payload, components);
    Ok(())
}

/// Adds a splittable DoFn. What is left of a restriction travels with the state of its watermark estimator, in bytes
/// that are nothing to the engine.
pub(super) fn splittable(
    node: &Node,
    factory: &dyn SdfFactory,
    components: &mut Components<'_>,
) -> Result<(), Refused> {
    if factory.alignment().is_some() {
        return Err("it is kept together with other sources (`aligned`), and an engine has no way to hold one source back \
                    for another: leave the alignment out, or run it with --runner=threaded"
            .to_owned());
    }
    let mut payload = payload(node, components)?;
    payload.restriction_coder_id = components.coders.id(&CoderSpec::Bytes);
    components.require(urns::requirement::SPLITTABLE);
    add(node, payload, components);
    Ok(())
}

/// Adds a redistribution. It changes nothing but where elements are, so an engine that has none may as well hand them on,
/// which is what it is made of.
pub(super) fn reshuffle(node: &Node, components: &mut Components<'_>) -> Result<(), Refused> {
    let path = node.step.path();
    let relay = format!("{path}#relay");
    let payload =
        ParDoPayload { do_fn: Some(components.function(urns::DOFN, path)?), ..ParDoPayload::default() };
    let part = PTransform {
        unique_name: relay.clone(),
        spec: Some(FunctionSpec { urn: urns::transform::PARDO.to_owned(), payload: payload.encode_to_vec() }),
        inputs: components.inputs(node),
        outputs: components.outputs(node),
        environment_id: ENVIRONMENT.to_owned(),
        ..PTransform::default()
    };
    components.part(relay.clone(), part);
    let whole = PTransform {
        unique_name: path.to_owned(),
        spec: Some(FunctionSpec { urn: urns::transform::RESHUFFLE.to_owned(), payload: Vec::new() }),
        subtransforms: vec![relay],
        inputs: components.inputs(node),
        outputs: components.outputs(node),
        ..PTransform::default()
    };
    components.root(path.to_owned(), whole);
    Ok(())
}

/// What is the same for all DoFns.
pub(super) fn payload(node: &Node, components: &mut Components<'_>) -> Result<ParDoPayload, Refused> {
    // Any DoFn may ask for a call after its bundle was committed, and whether it will is not known before.
    components.require(urns::requirement::FINALIZATION);
    Ok(ParDoPayload {
        do_fn: Some(components.function(urns::DOFN, node.step.path())?),
        side_inputs: side_inputs(node, components)?,
        requests_finalization: true,
        ..ParDoPayload::default()
    })
}

/// The views that `node` looks at. A worker makes the value of a view of all elements of the window.
fn side_inputs(node: &Node, components: &Components<'_>) -> Result<HashMap<String, SideInput>, Refused> {
    let pattern = FunctionSpec { urn: urns::side_input::ITERABLE.to_owned(), payload: Vec::new() };
    let side_input = |view: &str| -> Result<SideInput, Refused> {
        Ok(SideInput {
            access_pattern: Some(pattern.clone()),
            view_fn: Some(components.function(urns::VIEW, view)?),
            window_mapping_fn: Some(components.function(urns::WINDOW_MAPPING, view)?),
        })
    };
    node.views.iter().map(|view| Ok((side_input_name(view), side_input(view)?))).collect()
}

/// Adds `node` as a ParDo.
pub(super) fn add(node: &Node, payload: ParDoPayload, components: &mut Components<'_>) {
    let path = node.step.path();
    let transform = PTransform {
        unique_name: path.to_owned(),
        spec: Some(FunctionSpec { urn: urns::transform::PARDO.to_owned(), payload: payload.encode_to_vec() }),
        inputs: components.inputs(node),
        outputs: components.outputs(node),
        environment_id: ENVIRONMENT.to_owned(),
        ..PTransform::default()
    };
    components.root(path.to_owned(), transform);
}
