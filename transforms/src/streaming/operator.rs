//! What a query is made of, as far as output modes and triggers ask.

use std::sync::Arc;

use purlin_sdk::{Duration, Step, graph::CollectionId};

use super::{StateRows, WatermarkId, place::Place};

/// One operator of a query: a composite transform that keeps state over epochs, or that matters for which output modes
/// there can be.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The composite.
    pub step: Step,
    /// What it reads.
    pub inputs: Vec<CollectionId>,
    /// What it gives.
    pub outputs: Vec<CollectionId>,
    /// What it is.
    pub kind: OperatorKind,
    /// What else of it must be the same when the query goes on from a checkpoint, in words.
    pub settings: String,
    pub(super) place: Arc<Place>,
    pub(super) rows: Arc<StateRows>,
}

impl Operator {
    /// Whether `path` is the operator's own or that of a transform that it is made of.
    pub fn contains(&self, path: &str) -> bool {
        path.strip_prefix(self.step.path()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// What an operator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorKind {
    /// It says what the event time of rows is.
    WithWatermark {
        /// Its statistics.
        id: WatermarkId,
        /// How far the watermark stays behind.
        delay: Duration,
    },
    /// It keeps a result per group.
    Aggregate(Grouping),
    /// It lets the first of equal rows pass.
    DropDuplicates {
        /// Whether the event time is among what must be equal, so that what was seen can be forgotten.
        event_time_in_key: bool,
        /// Whether it was told what the event time of a row is.
        event_time_told: bool,
    },
    /// It lets a row pass that has no equal one within the watermark's delay.
    DropDuplicatesWithinWatermark {
        /// Whether it was told what the event time of a row is.
        event_time_told: bool,
    },
    /// A join of two streams.
    StreamJoin(JoinRules),
    /// A join of a stream with a table that does not change.
    StaticJoin,
    /// The first rows.
    Limit,
    /// Rows in an order.
    Sort,
}

/// By what rows are grouped, as far as it matters for when a group is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// By the event time, or windows of it, and whatever else: a group is final when the watermark has passed it.
    EventTime,
    /// By anything else.
    Other,
    /// By sessions of the event time, and a key.
    Sessions,
    /// By sessions of another time, and a key.
    OtherSessions,
    /// All rows are one group.
    Global,
}

/// Which rows without a partner a join of two streams gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinType {
    /// None.
    Inner,
    /// Left ones.
    LeftOuter,
    /// Right ones.
    RightOuter,
    /// Both.
    FullOuter,
    /// None, and of left rows with partners each once, by itself.
    LeftSemi,
}

impl JoinType {
    pub(super) fn keeps_left(self) -> bool {
        matches!(self, JoinType::LeftOuter | JoinType::FullOuter)
    }

    pub(super) fn keeps_right(self) -> bool {
        matches!(self, JoinType::RightOuter | JoinType::FullOuter)
    }

    pub(super) fn is_outer(self) -> bool {
        self.keeps_left() || self.keeps_right()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            JoinType::Inner => "inner",
            JoinType::LeftOuter => "left outer",
            JoinType::RightOuter => "right outer",
            JoinType::FullOuter => "full outer",
            JoinType::LeftSemi => "left semi",
        }
    }
}

/// What pairs a join of two streams makes, as far as it matters for how long rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRules {
    /// Which rows without a partner it gives.
    pub how: JoinType,
    /// The least that the right row's time may be after the left one's.
    pub earliest: Option<Duration>,
    /// The most that it may be after it.
    pub latest: Option<Duration>,
    /// Whether the event time is in the key.
    pub event_time_in_key: bool,
    /// Whether it was told what the event time of a left and of a right row is.
    pub event_time_told: [bool; 2],
}

impl OperatorKind {
    /// Its name in progress reports, if it keeps state. Source: Spark's operators.
    pub(super) fn state_name(&self) -> Option<&'static str> {
        Some(match self {
            OperatorKind::WithWatermark { .. } | OperatorKind::StaticJoin => return None,
            OperatorKind::Aggregate(Grouping::Sessions | Grouping::OtherSessions) => {
                "sessionWindowStateStoreSaveExec"
            }
            OperatorKind::Aggregate(_) => "stateStoreSave",
            OperatorKind::DropDuplicates { .. } => "dedupe",
            OperatorKind::DropDuplicatesWithinWatermark { .. } => "dedupeWithinWatermark",
            OperatorKind::StreamJoin(_) => "symmetricHashJoin",
            OperatorKind::Limit => "globalLimit",
            OperatorKind::Sort => "sort",
        })
    }
}
