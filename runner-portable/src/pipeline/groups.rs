//! Groupings, combines and DoFns with state.

use std::collections::HashMap;

use prost::Message;
use purlin_sdk::{
    coder::CoderSpec,
    exec::{CombinePart, GroupFactory, PortableCombine, PortableGroup, PortableKeyed},
    graph::Node,
    state::TimeDomain,
    window::WindowingStrategy,
};

use super::{
    ENVIRONMENT, Refused,
    components::{Components, MAIN_INPUT, collection_id},
    elements,
    triggers::counts_elements,
    windows,
};
use crate::{
    proto::pipeline::{
        BagStateSpec, CombinePayload, FunctionSpec, PTransform, ParDoPayload, StateSpec, TimerFamilySpec,
        state_spec, time_domain,
    },
    urns,
};

/// Adds what is by key and window.
pub(super) fn add(
    node: &Node,
    factory: &dyn GroupFactory,
    components: &mut Components<'_>,
) -> Result<(), Refused> {
    match factory.portable().map_err(|e| e.to_string())? {
        PortableGroup::GroupByKey => {
            components.primitive(node, urns::transform::GROUP_BY_KEY, Vec::new());
            Ok(())
        }
        PortableGroup::Combine(combine) if combine.has_default() => {
            Parts { node, components }.with_default(&*combine)
        }
        PortableGroup::Combine(combine) => Parts { node, components }.per_key(&*combine),
        PortableGroup::Keyed(keyed) => add_keyed(node, &*keyed, components),
        PortableGroup::ParDo(_) => {
            let payload = elements::payload(node, components)?;
            elements::add(node, payload, components);
            Ok(())
        }
    }
}

/// Adds a DoFn with state: each field is a bag of bytes to the engine.
fn add_keyed(node: &Node, keyed: &dyn PortableKeyed, components: &mut Components<'_>) -> Result<(), Refused> {
    let mut payload = elements::payload(node, components)?;
    let bytes = components.coders.id(&CoderSpec::Bytes);
    let bag = |_: &String| StateSpec {
        protocol: Some(FunctionSpec { urn: urns::state::BAG.to_owned(), payload: Vec::new() }),
        spec: Some(state_spec::Spec::BagSpec(BagStateSpec { element_coder_id: bytes.clone() })),
    };
    payload.state_specs = keyed
        .cells()
        .into_iter()
        .map(|cell| {
            let spec = bag(&cell);
            (cell, spec)
        })
        .collect();
    let timers = keyed.timers();
    if !timers.is_empty() {
        let key = keyed.key().map_err(|e| format!("its key has no coder: {e}"))?;
        let (_, window) = match node.inputs.first() {
            Some(input) => windows::window_fn(&*components.collection(*input).strategy.window_fn, false),
            None => return Err("it reads nothing".to_owned()),
        };
        let coder = components.coders.id(&CoderSpec::Timer(Box::new(key), Box::new(window)));
        let family = |time: TimeDomain| TimerFamilySpec {
            time_domain: match time {
                TimeDomain::Event => time_domain::Enum::EventTime,
                TimeDomain::Processing => time_domain::Enum::ProcessingTime,
            }
            .into(),
            timer_family_coder_id: coder.clone(),
        };
        payload.timer_family_specs =
            timers.into_iter().map(|timer| (timer.name, family(timer.time))).collect();
    }
    payload.requires_stable_input = keyed.requires_stable_input();
    components.require(urns::requirement::STATEFUL);
    if payload.requires_stable_input {
        components.require(urns::requirement::STABLE_INPUT);
    }
    elements::add(node, payload, components);
    Ok(())
}

/// What a combine is made of.
struct Parts<'a, 'b> {
    node: &'a Node,
    components: &'a mut Components<'b>,
}

impl Parts<'_, '_> {
    fn path(&self) -> &str {
        self.node.step.path()
    }

    fn id(&self, name: &str) -> String {
        format!("{}#{name}", self.path())
    }

    /// A combine per key: Beam's composite, which an engine may do in its own way, and for others what it is made of.
    ///
    /// Where a trigger counts, elements must not be combined before they are counted: there it is not named.
    fn per_key(mut self, combine: &dyn PortableCombine) -> Result<(), Refused> {
        let grouped = combine.part(CombinePart::CombineGrouped);
        let accumulator = combine.accumulator().map_err(|e| format!("its accumulator has no coder: {e}"))?;
        let lists = coder(&grouped.input.coder)?;
        let inputs = self.components.inputs(self.node);
        let input = inputs.get(MAIN_INPUT).cloned().unwrap_or_default();
        let strategy = self.after_grouping()?;
        let group = primitive(urns::transform::GROUP_BY_KEY);
        let group = self.add_part("group", group, input, &lists, &strategy)?;
        let combined = PTransform {
            spec: Some(self.par_do(urns::COMBINE_GROUPED)?),
            inputs: HashMap::from([(MAIN_INPUT.to_owned(), collection_id(&group, 0))]),
            outputs: self.components.outputs(self.node),
            unique_name: self.id("combine"),
            ..self.worker()
        };
        let combine = self.id("combine");
        self.components.part(combine.clone(), combined);
        let payload = CombinePayload {
            combine_fn: Some(self.components.function(urns::DOFN, self.path())?),
            accumulator_coder_id: self.components.coders.id(&accumulator),
        };
        let spec = FunctionSpec {
            urn: urns::transform::COMBINE_PER_KEY.to_owned(),
            payload: payload.encode_to_vec(),
        };
        let composite = PTransform {
            unique_name: self.path().to_owned(),
            spec: (!counts_elements(&self.before_grouping()?.trigger)).then_some(spec),
            subtransforms: vec![group, combine],
            inputs,
            outputs: self.components.outputs(self.node),
            environment_id: ENVIRONMENT.to_owned(),
            ..PTransform::default()
        };
        self.components.root(self.path().to_owned(), composite);
        Ok(())
    }

    /// A combine that has a result when there is nothing to combine: the accumulator of nothing goes into the grouping
    /// together with those of what there is.
    fn with_default(mut self, combine: &dyn PortableCombine) -> Result<(), Refused> {
        let (before, after) = (self.before_grouping()?, self.after_grouping()?);
        if counts_elements(&before.trigger) {
            return Err(format!(
                "it has a result for nothing, and its trigger, {}, counts elements: on an engine the result for nothing \
                 would be counted too. Say `.without_defaults()`, or use a trigger that does not count",
                before.trigger
            ));
        }
        let accumulators = coder(&combine.part(CombinePart::Precombine).output.coder)?;
        let lists = coder(&combine.part(CombinePart::CombineAccumulators).input.coder)?;
        let input = self.components.inputs(self.node).remove(MAIN_INPUT).unwrap_or_default();
        let precombine = PTransform { spec: Some(self.par_do(urns::COMBINE_PRECOMBINE)?), ..self.worker() };
        let precombine = self.add_root("precombine", precombine, &[input], &accumulators, &before)?;
        let impulse = primitive(urns::transform::IMPULSE);
        let impulse =
            self.add_root("impulse", impulse, &[], &CoderSpec::Bytes, &WindowingStrategy::global())?;
        let default = PTransform { spec: Some(self.par_do(urns::COMBINE_DEFAULT)?), ..self.worker() };
        let default = self.add_root("default", default, &[impulse], &accumulators, &before)?;
        let flatten = primitive(urns::transform::FLATTEN);
        let all = self.add_root("flatten", flatten, &[precombine, default], &accumulators, &before)?;
        let group = primitive(urns::transform::GROUP_BY_KEY);
        let group = self.add_root("group", group, &[all], &lists, &after)?;
        let combine = PTransform {
            unique_name: self.id("combine"),
            spec: Some(self.par_do(urns::COMBINE_ACCUMULATORS)?),
            inputs: HashMap::from([(MAIN_INPUT.to_owned(), group)]),
            outputs: self.components.outputs(self.node),
            ..self.worker()
        };
        self.components.root(self.id("combine"), combine);
        Ok(())
    }

    /// Adds a transform of one output that is a part of no other; gives the id of its output.
    fn add_root(
        &mut self,
        name: &str,
        transform: PTransform,
        inputs: &[String],
        output: &CoderSpec,
        strategy: &WindowingStrategy,
    ) -> Result<String, Refused> {
        let (id, transform) = self.part(name, transform, inputs, output, strategy)?;
        self.components.root(id.clone(), transform);
        Ok(collection_id(&id, 0))
    }

    /// Adds a transform that the combine is made of; gives its id.
    fn add_part(
        &mut self,
        name: &str,
        transform: PTransform,
        input: String,
        output: &CoderSpec,
        strategy: &WindowingStrategy,
    ) -> Result<String, Refused> {
        let (id, transform) = self.part(name, transform, &[input], output, strategy)?;
        self.components.part(id.clone(), transform);
        Ok(id)
    }

    fn part(
        &mut self,
        name: &str,
        transform: PTransform,
        inputs: &[String],
        output: &CoderSpec,
        strategy: &WindowingStrategy,
    ) -> Result<(String, PTransform), Refused> {
        let id = self.id(name);
        let bounded = self.node.inputs.first().is_none_or(|input| self.components.collection(*input).bounded);
        self.components.add_collection(collection_id(&id, 0), output, strategy, bounded)?;
        let local = |i: usize| if inputs.len() == 1 { MAIN_INPUT.to_owned() } else { i.to_string() };
        let transform = PTransform {
            unique_name: id.clone(),
            inputs: inputs.iter().enumerate().map(|(i, input)| (local(i), input.clone())).collect(),
            outputs: HashMap::from([("0".to_owned(), collection_id(&id, 0))]),
            ..transform
        };
        Ok((id, transform))
    }

    fn par_do(&self, urn: &str) -> Result<FunctionSpec, Refused> {
        let payload = ParDoPayload {
            do_fn: Some(self.components.function(urn, self.path())?),
            ..ParDoPayload::default()
        };
        Ok(FunctionSpec { urn: urns::transform::PARDO.to_owned(), payload: payload.encode_to_vec() })
    }

    /// A part that a worker does.
    fn worker(&self) -> PTransform {
        PTransform { environment_id: ENVIRONMENT.to_owned(), ..PTransform::default() }
    }

    /// How what is grouped is windowed.
    fn before_grouping(&self) -> Result<WindowingStrategy, Refused> {
        let input = self.node.inputs.first().ok_or("it groups nothing")?;
        Ok(self.components.collection(*input).strategy.clone())
    }

    fn after_grouping(&self) -> Result<WindowingStrategy, Refused> {
        Ok(self.before_grouping()?.after_grouping())
    }
}

/// A part that the engine does.
fn primitive(urn: &str) -> PTransform {
    let spec = FunctionSpec { urn: urn.to_owned(), payload: Vec::new() };
    PTransform { spec: Some(spec), ..PTransform::default() }
}

fn coder(of: &Result<CoderSpec, purlin_sdk::coder::CoderError>) -> Result<CoderSpec, Refused> {
    of.clone().map_err(|e| format!("a part of it has no coder: {e}"))
}
