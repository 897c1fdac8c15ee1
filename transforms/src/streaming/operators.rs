//! The operators of a pipeline's query.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
        let operator = Operator {
            step: pipeline.current_step(),
            inputs,
            outputs,
            kind,
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
