//! Rows in an order.

use std::{cmp::Ordering, fmt, marker::PhantomData};

use purlin_derive::KeyedState;
use purlin_sdk::{
    Duration, Element, Emitter, KeyedDoFn, PCollection, PTransform, ProcessContext, Result, TimerContext,
    TimerOf, Timestamp,
    state::{Bag, Timer, Value},
};

use super::{
    OperatorKind,
    operators::Handle,
    place::TICK,
    waiting::{ANY_SKEW, Waiting, wait},
};

/// Puts each epoch's table in an order, behind an aggregation in complete mode. The sink gets the rows in that order when
/// there is nothing between but maps and filters.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::streaming::SortBy;
/// # let p = Pipeline::new();
/// # let counts = p.create("Counts", [("home".to_owned(), 7_u64)]);
/// let most: PCollection<(String, u64)> =
///     counts.apply("Most", SortBy::of(|a: &(String, u64), b: &(String, u64)| b.1.cmp(&a.1)));
/// # p.build().unwrap();
/// ```
/// Source: Spark's `orderBy`.
pub struct SortBy<F> {
    order: F,
}

impl<F> SortBy<F> {
    /// In the order that `order` says, the least first.
    pub fn of<T>(order: F) -> SortBy<F>
    where
        F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
    {
        SortBy { order }
    }
}

impl<T: Element, F> PTransform<PCollection<T>> for SortBy<F>
where
    F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
{
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, rows: PCollection<T>) -> PCollection<T> {
        let pipeline = rows.pipeline();
        let handle = Handle::new(pipeline);
        let sort = Sort { order: self.order, handle: handle.clone(), row: PhantomData };
        let out = rows.map("All", |row| ((), row)).par_do_keyed("Sort", sort);
        handle.declare(pipeline, OperatorKind::Sort, vec![rows.id()], vec![out.id()]);
        out
    }
}

impl<F> fmt::Debug for SortBy<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SortBy")
    }
}

struct Sort<T, F> {
    order: F,
    handle: Handle,
    row: PhantomData<fn(T)>,
}

impl<T, F: Clone> Clone for Sort<T, F> {
    fn clone(&self) -> Sort<T, F> {
        Sort { order: self.order.clone(), handle: self.handle.clone(), row: PhantomData }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Table<T: Element> {
    rows: Bag<Waiting<T>>,
    earliest: Value<Timestamp>,
    #[timer(processing)]
    show: Timer,
}

impl<T: Element, F> KeyedDoFn for Sort<T, F>
where
    F: Fn(&T, &T) -> Ordering + Clone + Send + 'static,
{
    type Key = ();
    type Value = T;
    type Output = T;
    type State = Table<T>;

    fn process(
        &mut self,
        (): &(),
        row: T,
        table: &mut Table<T>,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, T>,
    ) -> Result {
        table.rows.add((cx.pane().index, cx.timestamp(), row));
        wait(&mut table.show, &mut table.earliest, cx, cx.timestamp())
    }

    fn on_timer(
        &mut self,
        TableTimer::Show: TimerOf<Self>,
        (): &(),
        table: &mut Table<T>,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, T>,
    ) -> Result {
        if !self.handle.placed().may_show(&self.handle.epoch()) {
            return table.show.set_after(cx, TICK);
        }
        table.earliest.clear();
        let mut rows = table.rows.take();
        rows.sort_by(|(_, _, a), (_, _, b)| (self.order)(a, b));
        for (_, timestamp, row) in rows {
            out.emit_at(row, timestamp);
        }
        Ok(())
    }

    fn allowed_timestamp_skew(&self) -> Duration {
        ANY_SKEW
    }
}
