//! What is true of the collections of a query.

use std::collections::{BTreeSet, HashMap};

use purlin_sdk::{
    Duration,
    graph::{CollectionId, Graph, Op},
};

use super::{
    Grouping, JoinRules, JoinType, Operator, OperatorKind,
    place::{Placed, TICK},
};

/// What is true of one collection.
#[derive(Clone, Debug, Default)]
pub(super) struct Fact {
    /// Whether it has no end.
    pub(super) streaming: bool,
    /// How many event times its rows have: none without a watermark, two behind a join.
    pub(super) event_times: u32,
    /// The delay of the first of them.
    pub(super) delay: Duration,
    /// How far its watermark is behind the query's.
    pub(super) shift: Duration,
    /// How many operators with state, at most, a row has come through.
    pub(super) depth: u32,
    /// The streams that it comes from, by their places in the graph.
    pub(super) sources: BTreeSet<usize>,
    /// The operators before it, by their places.
    pub(super) operators: BTreeSet<usize>,
    /// Transforms before it, by their places in the graph, that are no operators and keep state.
    pub(super) native: BTreeSet<usize>,
    /// Transforms before it, by their places in the graph, that assign a watermark of their own.
    pub(super) assigned: BTreeSet<usize>,
    /// Unions of a stream with something that has an end.
    pub(super) mixed: BTreeSet<usize>,
    /// Whatever else is no map: flattens and reshuffles.
    pub(super) moved: BTreeSet<usize>,
}

impl Fact {
    /// What is true of what comes of several.
    fn all<'a>(facts: impl Iterator<Item = &'a Fact>) -> Fact {
        let mut merged: Option<Fact> = None;
        for fact in facts {
            let Some(merged) = &mut merged else {
                merged = Some(fact.clone());
                continue;
            };
            // As in Spark, a union has the event time of its first input.
            merged.streaming |= fact.streaming;
            merged.shift = merged.shift.max(fact.shift);
            merged.depth = merged.depth.max(fact.depth);
            for (ours, theirs) in [
                (&mut merged.sources, &fact.sources),
                (&mut merged.operators, &fact.operators),
                (&mut merged.native, &fact.native),
                (&mut merged.assigned, &fact.assigned),
                (&mut merged.mixed, &fact.mixed),
                (&mut merged.moved, &fact.moved),
            ] {
                ours.extend(theirs);
            }
        }
        merged.unwrap_or_default()
    }
}

/// What is true of all collections of a pipeline.
#[derive(Debug)]
pub(super) struct Facts(Vec<Fact>);

impl Facts {
    pub(super) fn of(graph: &Graph, operators: &[Operator]) -> Facts {
        let mut by_output = HashMap::new();
        for (i, operator) in operators.iter().enumerate() {
            operator.outputs.iter().for_each(|output| {
                by_output.insert(*output, i);
            });
        }
        let mut facts = Facts(vec![Fact::default(); graph.collections.len()]);
        // Producers come before consumers.
        for (at, node) in graph.nodes.iter().enumerate() {
            let mut fact = Fact::all(node.inputs.iter().map(|input| facts.get(*input)));
            if matches!(node.op, Op::Live(_)) {
                fact.streaming = true;
                fact.sources.insert(at);
            }
            let own = operators.iter().any(|operator| operator.contains(node.step.path()));
            match &node.op {
                _ if own => {}
                Op::AssignWatermark(_) => {
                    fact.assigned.insert(at);
                }
                Op::Group(_) | Op::View(_) | Op::Splittable(_) if fact.streaming => {
                    fact.native.insert(at);
                }
                Op::Flatten(_) if node.inputs.len() > 1 => {
                    fact.moved.insert(at);
                    let streams = node.inputs.iter().filter(|input| facts.get(**input).streaming).count();
                    if streams > 0 && streams < node.inputs.len() {
                        fact.mixed.insert(at);
                    }
                }
                Op::Redistribute(_) if fact.streaming => {
                    fact.moved.insert(at);
                }
                _ => {}
            }
            for output in &node.outputs {
                fact.streaming |= graph.collections.get(output.0).is_some_and(|c| !c.bounded);
                let fact = match by_output.get(output) {
                    Some(i) => facts.behind(*i, &operators[*i]),
                    None => fact.clone(),
                };
                if let Some(place) = facts.0.get_mut(output.0) {
                    *place = fact;
                }
            }
        }
        facts
    }

    /// Of one collection.
    pub(super) fn get(&self, id: CollectionId) -> &Fact {
        &self.0[id.0]
    }

    /// Of the inputs of an operator, as one.
    pub(super) fn before(&self, operator: &Operator) -> Fact {
        Fact::all(operator.inputs.iter().map(|input| self.get(*input)))
    }

    /// What is true behind an operator.
    fn behind(&self, number: usize, operator: &Operator) -> Fact {
        let mut fact = self.before(operator);
        fact.operators.insert(number);
        if operator.kind.state_name().is_some() {
            fact.depth += 1;
        }
        match operator.kind {
            OperatorKind::WithWatermark { delay, .. } => {
                fact.event_times = 1;
                fact.delay = delay;
            }
            OperatorKind::Aggregate(grouping) => {
                let kept = matches!(grouping, Grouping::EventTime | Grouping::Sessions);
                fact.event_times = u32::from(kept && fact.event_times > 0);
            }
            OperatorKind::StreamJoin(rules) => {
                let [left, right] = self.watermarked(operator);
                fact.event_times = match rules.how {
                    JoinType::LeftSemi => u32::from(left),
                    _ => u32::from(left) + u32::from(right),
                };
                fact.shift = fact.shift + rules.held_back([left, right]);
            }
            _ => {}
        }
        fact
    }

    /// Whether the inputs of an operator have watermarks.
    pub(super) fn watermarked(&self, operator: &Operator) -> [bool; 2] {
        let has = |input: Option<&CollectionId>| input.is_some_and(|id| self.get(*id).event_times > 0);
        let first = operator.inputs.first();
        [has(first), has(operator.inputs.get(1).or(first))]
    }

    /// Tells all operators where they stand.
    pub(super) fn place(&self, operators: &[Operator]) {
        for operator in operators {
            let before = self.before(operator);
            operator.place.settle(Placed {
                depth: before.depth + 1,
                shift: before.shift,
                watermarked: self.watermarked(operator),
                delay: before.delay,
            });
        }
    }
}

impl JoinRules {
    /// How long after its own time a left and a right row is kept at most, where there is an end to it.
    pub(super) fn kept(&self, watermarked: [bool; 2]) -> [Option<Duration>; 2] {
        if self.event_time_in_key || watermarked != [true; 2] {
            return [None; 2];
        }
        [self.latest, self.earliest.map(|earliest| -earliest)]
    }

    /// How far the watermark of the result is behind the inputs'.
    fn held_back(&self, watermarked: [bool; 2]) -> Duration {
        let kept = self.kept(watermarked).into_iter().flatten();
        kept.map(|time| time + TICK).max().unwrap_or(Duration::ZERO).max(Duration::ZERO)
    }
}
