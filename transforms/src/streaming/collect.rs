//! From the pipeline to the sink.

use std::{any::Any, marker::PhantomData};

use purlin_sdk::{BundleContext, BundleEmitter, DoFn, Element, Emitter, ProcessContext, Result};

use super::QueryContext;

/// Gathers what comes out, and gives it to the query when its bundle is committed.
pub(crate) struct Collect<T> {
    cx: QueryContext,
    rows: Vec<(i64, T)>,
    element: PhantomData<fn(T)>,
}

impl<T> Collect<T> {
    pub(crate) fn new(cx: QueryContext) -> Collect<T> {
        Collect { cx, rows: Vec::new(), element: PhantomData }
    }
}

impl<T> Clone for Collect<T> {
    fn clone(&self) -> Collect<T> {
        Collect::new(self.cx.clone())
    }
}

impl<T: Element> DoFn for Collect<T> {
    type Input = T;
    type Output = ();

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        // Of a bundle that failed.
        self.rows.clear();
        Ok(())
    }

    fn process(&mut self, row: T, cx: &ProcessContext<'_>, _: &mut Emitter<'_, ()>) -> Result {
        self.rows.push((cx.pane().index, row));
        Ok(())
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, ()>) -> Result {
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            let query = self.cx.clone();
            cx.finalize(move || {
                query.give(Box::new(rows));
                Ok(())
            });
        }
        Ok(())
    }
}

/// What was gathered, in the order of arrival as far as there is one.
pub(crate) fn gathered<T: 'static>(parts: Vec<Box<dyn Any + Send>>) -> Vec<T> {
    let parts = parts.into_iter().filter_map(|part| part.downcast::<Vec<(i64, T)>>().ok());
    let mut rows: Vec<(i64, T)> = parts.flat_map(|part| *part).collect();
    rows.sort_by_key(|(arrival, _)| *arrival);
    rows.into_iter().map(|(_, row)| row).collect()
}
