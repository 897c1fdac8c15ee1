//! The operators of a pipeline's query.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use purlin_sdk::{Pipeline, graph::CollectionId};

use super::{
    Epoch, Operator, OperatorKind, QueryContext, StateRows,
    facts::Facts,
    place::{Place, Placed},
};

/// The operators of a pipeline's query, in the order in which they were applied.
#[derive(Debug, Default)]
pub(super) struct Operators(Mutex<Vec<Operator>>);

impl Operators {
    pub(super) fn all(&self) -> MutexGuard<'_, Vec<Operator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What must be the same when the query goes on from a checkpoint, by the operators' paths.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let all = self.all();
        let told = all.iter().filter(|operator| !operator.settings.is_empty());
        told.map(|operator| (operator.step.path().to_owned(), operator.settings.clone())).collect()
    }
}

/// An operator, as its DoFns see it.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    query: QueryContext,
    place: Arc<Place>,
    rows: Arc<StateRows>,
}

impl Handle {
    /// Of the operator that is being expanded. What it is is said by [`declare`](Self::declare).
    pub(super) fn new(pipeline: &Pipeline) -> Handle {
        Handle { query: QueryContext::of(pipeline), place: Arc::default(), rows: Arc::default() }
    }

    /// Makes the operator known to the query.
    #[track_caller]
    pub(super) fn declare(
        &self,
        pipeline: &Pipeline,
        kind: OperatorKind,
        inputs: Vec<CollectionId>,
        outputs: Vec<CollectionId>,
    ) {
        self.declare_with(pipeline, kind, inputs, outputs, String::new());
    }

    /// Makes the operator known to the query, with what must be the same when it goes on from a checkpoint.
    #[track_caller]
    pub(super) fn declare_with(
        &self,
        pipeline: &Pipeline,
        kind: OperatorKind,
        inputs: Vec<CollectionId>,
        outputs: Vec<CollectionId>,
        settings: String,
    ) {
        let operator = Operator {
            step: pipeline.current_step(),
            inputs,
            outputs,
            kind,
            settings,
            place: self.place.clone(),
            rows: self.rows.clone(),
        };
        let mut all = self.query.operators().all();
        all.push(operator);
        let first = all.len() == 1;
        drop(all);
        if first {
            let query = self.query.clone();
            pipeline.check(move |graph| {
                let operators = query.operators().all();
                Facts::of(graph, &operators).place(&operators);
                Vec::new()
            });
        }
    }

    pub(super) fn query(&self) -> &QueryContext {
        &self.query
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.query.epoch()
    }

    pub(super) fn placed(&self) -> Placed {
        self.place.get()
    }

    pub(super) fn rows(&self) -> Arc<StateRows> {
        self.rows.clone()
    }
}
