//! Which queries there can be.

use purlin_sdk::{
    BuildError, Duration, Step,
    graph::{CollectionId, Graph, Op},
};

use super::{
    Grouping, JoinRules, JoinType, Operator, OperatorKind, OutputMode, QueryTrigger,
    facts::{Fact, Facts},
};

/// Real-time epochs are not shorter than this: each ends with a checkpoint. Source: Spark's default.
const SHORTEST_REAL_TIME: Duration = Duration::from_secs(5);

const MODES: [OutputMode; 3] = [OutputMode::Append, OutputMode::Update, OutputMode::Complete];

/// A query, looked at as a whole.
pub(super) struct Legality<'a> {
    graph: &'a Graph,
    operators: &'a [Operator],
    facts: Facts,
    sink: CollectionId,
}

impl<'a> Legality<'a> {
    pub(super) fn new(graph: &'a Graph, operators: &'a [Operator], sink: CollectionId) -> Legality<'a> {
        Legality { graph, operators, facts: Facts::of(graph, operators), sink }
    }

    /// What is wrong with the query in this mode and with this trigger, and in which modes it could be. Source: Spark's
    /// checks of unsupported operations.
    pub(super) fn check(&self, mode: OutputMode, trigger: QueryTrigger) -> Vec<BuildError> {
        let mut errors = self.in_mode(mode);
        if !errors.is_empty() {
            let others = MODES.into_iter().filter(|other| *other != mode && self.in_mode(*other).is_empty());
            let others: Vec<_> = others.map(|other| other.to_string()).collect();
            if !others.is_empty() {
                let way = format!("; as it is, the query can be in {} mode", others.join(" or "));
                let with_way =
                    |e: &BuildError| BuildError::new(e.step().clone(), format!("{}{way}", e.message()));
                errors = errors.iter().map(with_way).collect();
            }
        }
        errors.extend(self.with_trigger(mode, trigger));
        errors
    }

    fn result(&self) -> &Fact {
        self.facts.get(self.sink)
    }

    /// The operators of the query.
    fn of_query(&self) -> impl Iterator<Item = &'a Operator> + use<'a, '_> {
        self.result().operators.iter().filter_map(|i| self.operators.get(*i))
    }

    fn steps(&self, nodes: &std::collections::BTreeSet<usize>) -> Vec<Step> {
        nodes.iter().filter_map(|at| self.graph.nodes.get(*at)).map(|node| node.step.clone()).collect()
    }

    fn has_aggregate(&self, fact: &Fact) -> bool {
        let aggregate = |i: &usize| matches!(self.operators[*i].kind, OperatorKind::Aggregate(_));
        fact.operators.iter().any(aggregate)
    }

    fn in_mode(&self, mode: OutputMode) -> Vec<BuildError> {
        let mut errors = Vec::new();
        let result = self.result();
        if !result.streaming {
            let producer = self.graph.nodes.get(self.graph.collections[self.sink.0].producer.0);
            errors.extend(producer.map(|node| {
                BuildError::new(
                    node.step.clone(),
                    "a streaming query is to give this, and it has an end: read it as a stream, or write it as a file",
                )
            }));
        }
        for step in self.steps(&result.assigned) {
            errors.push(BuildError::new(
                step,
                "it gives the pipeline another watermark than the query's, which moves between epochs: use \
                 `streaming::WithWatermark`",
            ));
        }
        for step in self.steps(&result.mixed) {
            errors.push(BuildError::new(
                step,
                "it unites a stream with something that has an end, which would come in the first epoch only; join the \
                 two, or read both as streams",
            ));
        }
        if mode == OutputMode::Complete && !self.has_aggregate(result) {
            let producer = self.graph.nodes.get(self.graph.collections[self.sink.0].producer.0);
            errors.extend(producer.map(|node| {
                BuildError::new(
                    node.step.clone(),
                    "complete mode gives the whole result in every epoch, and without an aggregation that would be all \
                     rows that ever came",
                )
            }));
        }
        if mode != OutputMode::Append {
            for step in self.steps(&result.native) {
                errors.push(BuildError::new(
                    step,
                    format!(
                        "it keeps state in its own way, so that nobody knows what of it has changed in an epoch, or is \
                         all of it, as {mode} mode asks; use an operator of `streaming` (`StreamAggregate`, \
                         `DropDuplicates`, `StreamJoin`), or append mode"
                    ),
                ));
            }
        }
        errors.extend(self.of_query().filter_map(|operator| {
            let why = self.wrong_with(operator, mode)?;
            Some(BuildError::new(operator.step.clone(), why))
        }));
        errors
    }

    /// What is wrong with an operator in this mode.
    fn wrong_with(&self, operator: &Operator, mode: OutputMode) -> Option<String> {
        let before = self.facts.before(operator);
        let told = match operator.kind {
            OperatorKind::StreamJoin(rules) => {
                let untold = rules.event_time_told.iter().zip(&operator.inputs);
                !untold.into_iter().any(|(told, input)| !told && self.facts.get(*input).event_times > 1)
            }
            OperatorKind::DropDuplicates { event_time_told, .. }
            | OperatorKind::DropDuplicatesWithinWatermark { event_time_told } => {
                event_time_told || before.event_times < 2
            }
            _ => true,
        };
        if !told {
            return Some(
                "its input is the result of a join, whose rows have two event times; say which one counts, by \
                 `event_time`"
                    .to_owned(),
            );
        }
        if mode != OutputMode::Append && self.follows_an_aggregate(operator, &before) {
            return Some(format!(
                "it follows an aggregation, and in {mode} mode that gives results that change later, and that are older \
                 than the watermark: what this keeps of them would be wrong. In append mode each comes once; or leave \
                 one of the two out"
            ));
        }
        match operator.kind {
            OperatorKind::WithWatermark { .. } => {
                let again = |i: &usize| matches!(self.operators[*i].kind, OperatorKind::WithWatermark { .. });
                before.operators.iter().any(again).then(|| {
                    "its rows have a watermark already, and what is before it goes by that one; say the event time \
                     once, at the source or behind the union"
                        .to_owned()
                })
            }
            OperatorKind::Aggregate(grouping) => wrong_aggregate(grouping, before.event_times > 0, mode),
            OperatorKind::DropDuplicatesWithinWatermark { .. } => (before.event_times == 0).then(|| {
                "it forgets rows by the watermark, and its input has none; apply `WithWatermark` before it, or use \
                 `DropDuplicates::by`"
                    .to_owned()
            }),
            OperatorKind::StreamJoin(rules) => wrong_join(rules, self.facts.watermarked(operator), mode),
            OperatorKind::Limit => (mode == OutputMode::Update).then(|| {
                "in update mode rows change after they came out, so there are no first ones".to_owned()
            }),
            OperatorKind::Sort => (mode != OutputMode::Complete || !self.has_aggregate(&before)).then(|| {
                "a stream has no end, so that its rows have no order; only the whole table of an aggregation has one, \
                 in complete mode"
                    .to_owned()
            }),
            OperatorKind::DropDuplicates { .. } | OperatorKind::StaticJoin => None,
        }
    }

    /// Whether it keeps state that goes by event time, of what an aggregation gives.
    fn follows_an_aggregate(&self, operator: &Operator, before: &Fact) -> bool {
        let stateful = match operator.kind {
            OperatorKind::Aggregate(_)
            | OperatorKind::StreamJoin(_)
            | OperatorKind::DropDuplicatesWithinWatermark { .. } => true,
            OperatorKind::DropDuplicates { event_time_in_key, .. } => {
                event_time_in_key && before.event_times > 0
            }
            _ => false,
        };
        stateful && self.has_aggregate(before)
    }

    fn with_trigger(&self, mode: OutputMode, trigger: QueryTrigger) -> Vec<BuildError> {
        match trigger {
            QueryTrigger::Continuous(_) => self.continuous(),
            QueryTrigger::RealTime(every) => self.real_time(mode, every),
            _ => Vec::new(),
        }
    }

    /// Only maps.
    fn continuous(&self) -> Vec<BuildError> {
        let result = self.result();
        let operators = self.of_query().map(|operator| operator.step.clone());
        let nodes = self.steps(&result.native).into_iter().chain(self.steps(&result.moved));
        let error = |step| {
            BuildError::new(
                step,
                "with a continuous trigger rows flow without waiting for each other, so that there can be only maps and \
                 filters; use a processing-time or real-time trigger",
            )
        };
        operators.chain(nodes).map(error).collect()
    }

    fn real_time(&self, mode: OutputMode, every: Duration) -> Vec<BuildError> {
        let result = self.result();
        let mut errors = Vec::new();
        let producer = self.graph.nodes.get(self.graph.collections[self.sink.0].producer.0);
        let mut at_sink = |why: String| {
            errors.extend(producer.map(|node| BuildError::new(node.step.clone(), why)));
        };
        if mode != OutputMode::Update {
            at_sink(format!(
                "with a real-time trigger results come out as rows come in, and change later: only update mode can \
                 show that, and not {mode} mode"
            ));
        }
        if every < SHORTEST_REAL_TIME {
            at_sink(format!(
                "its real-time epochs of {every} are shorter than {SHORTEST_REAL_TIME}, the least; rows do not wait for \
                 an epoch's end, so make them longer"
            ));
        }
        for operator in self.of_query() {
            let can = match operator.kind {
                OperatorKind::WithWatermark { .. }
                | OperatorKind::DropDuplicates { .. }
                | OperatorKind::StaticJoin => true,
                OperatorKind::Aggregate(grouping) => {
                    !matches!(grouping, Grouping::Sessions | Grouping::OtherSessions)
                }
                _ => false,
            };
            if !can {
                errors.push(BuildError::new(
                    operator.step.clone(),
                    "what it gives depends on rows that are still to come, and a real-time trigger gives results at \
                     once; use a processing-time trigger",
                ));
            }
        }
        for at in &result.moved {
            let Some(node) = self.graph.nodes.get(*at).filter(|node| matches!(node.op, Op::Flatten(_)))
            else {
                continue;
            };
            let inputs: Vec<_> = node.inputs.iter().map(|input| self.facts.get(*input)).collect();
            let mut sources = std::collections::BTreeSet::new();
            let twice = !inputs.iter().flat_map(|fact| &fact.sources).all(|source| sources.insert(*source));
            if twice || inputs.iter().any(|fact| fact.depth > 0) {
                errors.push(BuildError::new(
                    node.step.clone(),
                    "with a real-time trigger only different sources can be united, before anything that keeps state; \
                     use a processing-time trigger",
                ));
            }
        }
        errors
    }
}

fn wrong_aggregate(grouping: Grouping, watermarked: bool, mode: OutputMode) -> Option<String> {
    let by_event_time = matches!(grouping, Grouping::EventTime | Grouping::Sessions);
    match mode {
        OutputMode::Append if !watermarked => Some(
            "append mode gives a group when it is final, and without a watermark none ever is; apply `WithWatermark` \
             before it"
                .to_owned(),
        ),
        OutputMode::Append if !by_event_time => Some(
            "append mode gives a group when it is final, and these never are, since they are not by event time: group \
             by windows of it, or by itself (`event_time_in_key`)"
                .to_owned(),
        ),
        OutputMode::Update if matches!(grouping, Grouping::Sessions | Grouping::OtherSessions) => Some(
            "sessions merge, so that one that was shown may be gone later, which update mode cannot say".to_owned(),
        ),
        _ => None,
    }
}

fn wrong_join(rules: JoinRules, [left, right]: [bool; 2], mode: OutputMode) -> Option<String> {
    let name = rules.how.name();
    let allowed = if rules.how.is_outer() { "append mode" } else { "append or update mode" };
    let legal = mode == OutputMode::Append || mode == OutputMode::Update && !rules.how.is_outer();
    if !legal {
        return Some(format!(
            "a {name} join of two streams can only be in {allowed}, and not in {mode} mode: what it has given does not \
             change, and is not kept"
        ));
    }
    let (for_left, for_right) = (right && rules.latest.is_some(), left && rules.earliest.is_some());
    let bounded = match rules.how {
        JoinType::Inner => true,
        _ if rules.event_time_in_key => left || right,
        JoinType::LeftOuter | JoinType::LeftSemi => for_left,
        JoinType::RightOuter => for_right,
        JoinType::FullOuter => for_left || for_right,
    };
    (!bounded).then(|| {
        format!(
            "a {name} join of two streams must know when no partner can come any more, and it does not: apply \
             `WithWatermark` to both sides, and say `within` which time partners are, or have the event time in the \
             key (`event_time_in_key`)"
        )
    })
}

/// Whether an epoch without data can bring something about when the watermark has moved. Source: Spark's no-data batches.
pub(super) fn wants_closing_epoch(operators: &[Operator], mode: OutputMode) -> bool {
    operators.iter().any(|operator| match operator.kind {
        OperatorKind::Aggregate(_) => mode != OutputMode::Complete,
        OperatorKind::DropDuplicates { .. } | OperatorKind::DropDuplicatesWithinWatermark { .. } => true,
        OperatorKind::StreamJoin(rules) => {
            let watermarked = operator.place.get().watermarked;
            let in_key = rules.event_time_in_key && watermarked.contains(&true);
            in_key || rules.kept(watermarked).iter().any(Option::is_some)
        }
        _ => false,
    })
}
