//! The first rows.

use std::marker::PhantomData;

use purlin_derive::KeyedState;
use purlin_sdk::{
    BundleContext, BundleEmitter, Duration, Element, Emitter, KeyedDoFn, PCollection, PTransform,
    ProcessContext, Result, TimerContext, TimerOf, Timestamp,
    state::{Bag, Timer, Value},
};

use super::{
    OperatorKind, OutputMode,
    operators::Handle,
    place::TICK,
    state_rows::Tally,
    waiting::{ANY_SKEW, Waiting, wait},
};

/// The first rows: in append mode, of the whole query, in the order in which they arrived at it; in complete mode, of
/// each epoch's table, which has no order unless it was [sorted](super::SortBy).
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::streaming::Limit;
/// # let p = Pipeline::new();
/// # let clicks = p.create("Clicks", ["home".to_owned()]);
/// let first: PCollection<String> = clicks.apply("First", Limit::of(10));
/// # p.build().unwrap();
/// ```
/// Source: Spark's `limit`.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    n: usize,
}

impl Limit {
    /// The first `n` rows.
    pub fn of(n: usize) -> Limit {
        Limit { n }
    }
}

impl<T: Element> PTransform<PCollection<T>> for Limit {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, rows: PCollection<T>) -> PCollection<T> {
        let pipeline = rows.pipeline();
        let handle = Handle::new(pipeline);
        let take =
            Take { n: self.n as u64, handle: handle.clone(), tally: Tally::default(), row: PhantomData };
        let out = rows.map("All", |row| ((), row)).par_do_keyed("Take", take);
        handle.declare(pipeline, OperatorKind::Limit, vec![rows.id()], vec![out.id()]);
        out
    }
}

/// Takes the first rows.
struct Take<T> {
    n: u64,
    handle: Handle,
    tally: Tally,
    row: PhantomData<fn(T)>,
}

impl<T> Clone for Take<T> {
    fn clone(&self) -> Take<T> {
        Take { n: self.n, handle: self.handle.clone(), tally: Tally::default(), row: PhantomData }
    }
}

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Taken<T: Element> {
    /// How many rows have passed, in append mode.
    passed: Value<u64>,
    waiting: Bag<Waiting<T>>,
    earliest: Value<Timestamp>,
    #[timer(processing)]
    show: Timer,
}

impl<T: Element> KeyedDoFn for Take<T> {
    type Key = ();
    type Value = T;
    type Output = T;
    type State = Taken<T>;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.tally = Tally::default();
        Ok(())
    }

    fn process(
        &mut self,
        (): &(),
        row: T,
        taken: &mut Taken<T>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, T>,
    ) -> Result {
        let epoch = self.handle.epoch();
        let passed = taken.passed.read().copied().unwrap_or(0);
        if passed >= self.n && epoch.mode != OutputMode::Complete {
            return Ok(());
        }
        if epoch.immediate {
            taken.passed.write(passed + 1);
            out.emit(row);
            return Ok(());
        }
        taken.waiting.add((cx.pane().index, cx.timestamp(), row));
        wait(&mut taken.show, &mut taken.earliest, cx, cx.timestamp())
    }

    fn on_timer(
        &mut self,
        TakenTimer::Show: TimerOf<Self>,
        (): &(),
        taken: &mut Taken<T>,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, T>,
    ) -> Result {
        let epoch = self.handle.epoch();
        if !self.handle.placed().may_show(&epoch) {
            return taken.show.set_after(cx, TICK);
        }
        taken.earliest.clear();
        let passed = match epoch.mode {
            OutputMode::Complete => 0,
            _ => taken.passed.read().copied().unwrap_or(0),
        };
        let mut rows = taken.waiting.take();
        // Rows with one number keep the order in which they came here.
        rows.sort_by_key(|(arrival, ..)| *arrival);
        let left = usize::try_from(self.n.saturating_sub(passed)).unwrap_or(usize::MAX);
        let now = rows.len().min(left);
        for (_, timestamp, row) in rows.into_iter().take(now) {
            out.emit_at(row, timestamp);
        }
        if epoch.mode != OutputMode::Complete {
            self.tally.added += u64::from(passed == 0 && now > 0);
            self.tally.updated += u64::from(now > 0);
            taken.passed.write(passed + now as u64);
        }
        Ok(())
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, T>) -> Result {
        self.tally.report(cx, &self.handle);
        Ok(())
    }

    fn allowed_timestamp_skew(&self) -> Duration {
        ANY_SKEW
    }
}
