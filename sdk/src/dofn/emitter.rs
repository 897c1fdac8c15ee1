//! Where user code puts what it makes.

use std::{cell::RefCell, fmt};

use super::Tag;
use crate::{
    DoFnError, Duration, Element, Phase, PipelineError, Step, Timestamp,
    batch::{BATCH_SIZE, Batch, Column, Meta, Row, WindowSet, Windows},
    exec::{Downstream, KernelResult, Port, TagPort},
    window::{PaneInfo, ValueKind, Window},
};

/// What emitted timestamps must obey.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmitRules<'a> {
    pub(crate) step: &'a Step,
    pub(crate) skew: Duration,
    pub(crate) phase: Phase,
}

/// Timestamps that were emitted and that an estimator has still to be told of.
#[derive(Debug, Default)]
pub(crate) struct Observed(RefCell<Vec<Timestamp>>);

impl Observed {
    #[inline]
    fn push(&self, ts: Timestamp) {
        self.0.borrow_mut().push(ts);
    }

    pub(crate) fn drain(&self, mut each: impl FnMut(Timestamp)) {
        self.0.borrow_mut().drain(..).for_each(&mut each);
    }
}

/// What has to be done to the output's columns for each element that is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    /// Nothing: they already say what is true of everything that comes of this input batch.
    Settled,
    /// A timestamp is added; windows and panes are settled.
    Times,
    /// Everything is looked at.
    All,
}

/// The outputs of a transform, for one input element.
///
/// What is emitted without a timestamp has the input's, and without a kind the input's; windows and pane are always the
/// input's.
pub struct Emitter<'a, O> {
    port: &'a mut Port<O>,
    tags: &'a mut [TagPort],
    down: Downstream<'a>,
    row: Row<'a>,
    rules: EmitRules<'a>,
    observed: Option<&'a Observed>,
    // Whether the bundle counts what is emitted here.
    source: bool,
    // Elements of the port's batch whose timestamps, windows and panes are in its columns.
    marked: usize,
    columns: Columns,
    // Whether batches may be handed on before the input element is done.
    holding: bool,
    failed: Option<PipelineError>,
}

impl<'a, O: Element> Emitter<'a, O> {
    pub(crate) fn new(
        port: &'a mut Port<O>,
        tags: &'a mut [TagPort],
        down: Downstream<'a>,
        row: Row<'a>,
        rules: EmitRules<'a>,
    ) -> Emitter<'a, O> {
        let marked = port.batch.len();
        let mut emitter = Emitter {
            port,
            tags,
            down,
            row,
            rules,
            observed: None,
            source: false,
            marked,
            columns: Columns::All,
            holding: false,
            failed: None,
        };
        emitter.settle();
        emitter
    }

    /// The emitter of a source: what it emits is counted, and its estimator may be told of every timestamp.
    pub(crate) fn of_source(mut self, observed: Option<&'a Observed>) -> Emitter<'a, O> {
        self.observed = observed;
        self.source = true;
        self
    }

    /// Every timestamp that is emitted is noted.
    pub(crate) fn noting(mut self, noted: &'a Observed) -> Emitter<'a, O> {
        self.observed = Some(noted);
        self
    }

    /// Emits `value` with the input's timestamp.
    #[inline]
    pub fn emit(&mut self, value: O) {
        self.port.batch.values.push(value);
        if let Some(observed) = self.observed {
            observed.push(self.row.time());
        }
        if self.port.batch.values.len() >= BATCH_SIZE {
            self.overflow();
        }
    }

    /// Emits `value` with a timestamp of its own, which must not lie before the input's by more than the DoFn's
    /// allowed skew. One that does fails the bundle.
    #[inline]
    pub fn emit_at(&mut self, value: O, timestamp: Timestamp) {
        if !self.check_time(timestamp) {
            return;
        }
        self.mark();
        self.push_at(value, timestamp);
        self.marked = self.port.batch.len();
        if let Some(observed) = self.observed {
            observed.push(timestamp);
        }
        if self.marked >= BATCH_SIZE {
            self.overflow();
        }
    }

    /// Emits `value` with the input's timestamp, as what it does to the result that a reader keeps: a change is what it
    /// takes back and what it puts in place. Others have the input's kind, which is [`ValueKind::Insert`] for all that no
    /// DoFn said it of. Groupings take elements of any kind in, and what they make is inserted.
    ///
    /// ```
    /// use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, window::ValueKind};
    ///
    /// /// Lines of a change log: `+ name`, `- name`.
    /// #[derive(Clone)]
    /// struct Changes;
    /// impl DoFn for Changes {
    ///     type Input = String;
    ///     type Output = String;
    ///     fn process(&mut self, line: String, _: &ProcessContext<'_>, out: &mut Emitter<'_, String>) -> Result {
    ///         match line.split_once(' ') {
    ///             Some(("-", name)) => out.emit_with_kind(name.to_owned(), ValueKind::Delete),
    ///             Some((_, name)) => out.emit(name.to_owned()),
    ///             None => {}
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    /// Source: Beam's `ValueKind`, in the metadata of its windowed values.
    pub fn emit_with_kind(&mut self, value: O, kind: ValueKind) {
        self.mark();
        let Batch { values, meta } = &mut self.port.batch;
        meta.append(values.len(), Row { kind: Some(kind), ..self.row }, 1);
        values.push(value);
        self.marked += 1;
        self.columns = Columns::All;
        if let Some(observed) = self.observed {
            observed.push(self.row.time());
        }
        if self.marked >= BATCH_SIZE {
            self.overflow();
        }
    }

    #[inline]
    fn push_at(&mut self, value: O, timestamp: Timestamp) {
        let Batch { values, meta } = &mut self.port.batch;
        // Windows that follow from the timestamp must not follow this one.
        if let (Columns::Times, Windows::Const(_), Column::Each(times)) =
            (self.columns, &meta.windows, &mut meta.times)
        {
            values.push(value);
            times.push(timestamp);
            return;
        }
        let len = values.len();
        meta.append(len, Row { timestamp: Some(timestamp), ..self.row }, 1);
        values.push(value);
        if self.columns != Columns::All {
            let times = matches!((&meta.windows, &meta.times), (Windows::Const(_), Column::Each(_)));
            let settled = matches!((&meta.windows, &meta.times), (Windows::Const(_), Column::Const(_)));
            // Windows that followed from the input's timestamps differ from row to row: the first row's is not all's.
            let follow = self.row.meta.windows.follow_times();
            self.columns = match self.columns {
                Columns::Settled if settled => Columns::Settled,
                _ if times && !follow => Columns::Times,
                _ => Columns::All,
            };
        }
    }

    /// Emits all of `values` with the input's timestamp. With many values this is faster than as many calls of
    /// [`emit`](Self::emit), most of all when their number is known, as with a range or a vector.
    ///
    /// ```
    /// use purlin_sdk::{DoFn, Emitter, ProcessContext, Result};
    ///
    /// #[derive(Clone)]
    /// struct CountUp;
    /// impl DoFn for CountUp {
    ///     type Input = u64;
    ///     type Output = u64;
    ///     fn process(&mut self, n: u64, _: &ProcessContext<'_>, out: &mut Emitter<'_, u64>) -> Result {
    ///         out.emit_all(0..n);
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn emit_all(&mut self, values: impl IntoIterator<Item = O>) {
        let mut values = values.into_iter();
        loop {
            let before = self.port.batch.values.len();
            let room = self.room();
            self.port.batch.values.extend(values.by_ref().take(room));
            let len = self.port.batch.values.len();
            if let Some(observed) = self.observed {
                (before..len).for_each(|_| observed.push(self.row.time()));
            }
            if len >= BATCH_SIZE {
                self.overflow();
            }
            if len - before < room {
                return;
            }
        }
    }

    /// Emits all of `values`, each with a timestamp of its own, as [`emit_at`](Self::emit_at) does. With many values
    /// this is faster than as many calls of it.
    ///
    /// ```
    /// use purlin_sdk::{DoFn, Emitter, ProcessContext, Result, Timestamp};
    ///
    /// /// Measurements of a second, in milliseconds from its start.
    /// #[derive(Clone)]
    /// struct Spread;
    /// impl DoFn for Spread {
    ///     type Input = (Timestamp, Vec<u16>);
    ///     type Output = u16;
    ///     fn process(
    ///         &mut self,
    ///         (second, offsets): (Timestamp, Vec<u16>),
    ///         _: &ProcessContext<'_>,
    ///         out: &mut Emitter<'_, u16>,
    ///     ) -> Result {
    ///         let start = second.as_millis();
    ///         out.emit_all_at(
    ///             offsets.into_iter().map(|o| (o, Timestamp::saturating_from_millis(start + i64::from(o)))),
    ///         );
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn emit_all_at(&mut self, values: impl IntoIterator<Item = (O, Timestamp)>) {
        let mut values = values.into_iter();
        // The first of each batch settles what its columns are.
        while let Some((value, timestamp)) = values.next() {
            self.emit_at(value, timestamp);
            let room = BATCH_SIZE.saturating_sub(self.port.batch.values.len());
            self.extend_at(values.by_ref().take(room));
        }
    }

    /// Adds elements to columns of which only that of timestamps is written to. Others take none of them.
    fn extend_at(&mut self, more: impl Iterator<Item = (O, Timestamp)>) {
        let Batch { values, meta } = &mut self.port.batch;
        let (Columns::Times, Windows::Const(_), Column::Each(times)) =
            (self.columns, &meta.windows, &mut meta.times)
        else {
            return;
        };
        let before = times.len();
        let mut columns = (std::mem::take(values), std::mem::take(times));
        columns.extend(more);
        (*values, *times) = columns;
        let input = self.row.time();
        let least = input.min(input - self.rules.skew);
        // All are looked at whatever the first ones are: that is one comparison for several at a time.
        let early = times[before..].iter().fold(false, |early, at| early | (*at < least));
        if let Some(observed) = self.observed {
            times[before..].iter().for_each(|at| observed.push(*at));
        }
        let first = if early { times[before..].iter().find(|at| **at < least).copied() } else { None };
        self.marked = values.len();
        if let Some(at) = first {
            self.too_early(at);
        }
        if self.marked >= BATCH_SIZE {
            self.overflow();
        }
    }

    /// How many elements to add before the batch is looked at.
    fn room(&self) -> usize {
        match BATCH_SIZE.saturating_sub(self.port.batch.values.len()) {
            0 => BATCH_SIZE,
            room => room,
        }
    }

    /// Emits `value` on the output `tag`, which the transform must have declared by `ParDo::tag`. An undeclared one
    /// fails the bundle.
    pub fn emit_to<T: Element>(&mut self, tag: Tag<T>, value: T) {
        self.emit_tagged(tag, value, self.row);
    }

    /// Emits `value` on the output `tag` with a timestamp of its own.
    pub fn emit_to_at<T: Element>(&mut self, tag: Tag<T>, value: T, timestamp: Timestamp) {
        if self.check_time(timestamp) {
            self.emit_tagged(tag, value, Row { timestamp: Some(timestamp), ..self.row });
        }
    }

    fn emit_tagged<T: Element>(&mut self, tag: Tag<T>, value: T, row: Row<'_>) {
        if let Some(observed) = self.observed {
            observed.push(row.time());
        }
        let found = self.tags.iter_mut().find(|p| p.tag == tag.name());
        match found.map(|p| p.push(value, row, &mut self.down)) {
            Some(Some(Ok(()))) => {}
            Some(Some(Err(e))) => self.fail(e),
            Some(None) => self.fail(self.contract(format!(
                "the output `{}` was declared with another element type than `{}`",
                tag.name(),
                std::any::type_name::<T>()
            ))),
            None => self.fail(self.contract(format!(
                "the output `{}` was not declared: add `.tag({})` to the `ParDo` that is applied",
                tag.name(),
                tag.name().to_uppercase()
            ))),
        }
    }

    #[inline]
    fn check_time(&mut self, timestamp: Timestamp) -> bool {
        let input = self.row.time();
        let fine = timestamp >= input || timestamp >= input - self.rules.skew;
        if !fine {
            self.too_early(timestamp);
        }
        fine
    }

    #[cold]
    fn too_early(&mut self, timestamp: Timestamp) {
        let input = self.row.time();
        self.fail(self.contract(format!(
            "cannot output with timestamp {timestamp}: it must not lie before the input's, {input}, by more than the \
             allowed skew of {}; emit a later timestamp or override `allowed_timestamp_skew`",
            self.rules.skew
        )));
    }

    fn contract(&self, what: String) -> PipelineError {
        PipelineError::contract(self.rules.step.clone(), self.rules.phase, what)
    }

    fn fail(&mut self, error: PipelineError) {
        self.failed.get_or_insert(error);
    }

    /// Turns to the next input element, in the same input batch.
    #[inline]
    pub(crate) fn turn_to(&mut self, row: Row<'a>) {
        self.row = row;
    }

    /// Ends an input element.
    #[inline]
    pub(crate) fn end_row(&mut self) -> KernelResult {
        self.mark();
        match self.failed.take() {
            None => Ok(()),
            Some(e) => Err(e),
        }
    }

    /// Takes back what was emitted on the main output since it had `len` elements.
    pub(crate) fn undo_to(&mut self, len: usize) {
        self.mark();
        let _ = self.port.batch.meta.split_off(len);
        self.port.batch.values.truncate(len);
        self.marked = len;
    }

    /// How many elements the main output's batch has; until `release` no batch is handed on.
    pub(crate) fn hold(&mut self) -> usize {
        self.holding = true;
        self.port.batch.len()
    }

    /// Hands batches on again.
    pub(crate) fn release(&mut self) {
        self.holding = false;
        if self.port.batch.len() >= BATCH_SIZE {
            self.overflow();
        }
    }

    /// Brings the columns up to the values.
    #[inline]
    fn mark(&mut self) {
        let len = self.port.batch.values.len();
        if len > self.marked {
            match (self.columns, &mut self.port.batch.meta.times) {
                (Columns::Settled, _) => {}
                (Columns::Times, Column::Each(times)) if self.row.timestamp.is_none() => {
                    times.resize(len, self.row.time());
                }
                _ => self.port.batch.meta.append(self.marked, self.row, len - self.marked),
            }
        }
        self.marked = len;
    }

    /// Looks what the columns can say once and for all of everything that comes of this input batch.
    fn settle(&mut self) {
        let theirs = self.row.meta;
        let ours = &mut self.port.batch.meta;
        let one = matches!(theirs.windows, Windows::Const(WindowSet::One(_)));
        let settled = (one || theirs.windows.follow_times())
            && matches!(theirs.panes, Column::Const(_))
            && self.row.timestamp.is_none()
            && self.row.window.is_none()
            && self.port.batch.values.is_empty();
        self.columns = match &theirs.times {
            _ if !settled => Columns::All,
            Column::Const(at) => {
                ours.times = Column::Const(*at);
                Columns::Settled
            }
            Column::Each(_) => {
                match &mut ours.times {
                    Column::Each(times) => times.clear(),
                    constant => *constant = Column::Each(Vec::with_capacity(BATCH_SIZE)),
                }
                Columns::Times
            }
        };
        if settled {
            ours.windows = theirs.windows.clone();
            ours.panes = theirs.panes.clone();
        }
    }

    #[cold]
    fn overflow(&mut self) {
        if self.holding {
            return;
        }
        self.mark();
        if self.source {
            self.down.cx().note_emitted(self.marked);
        }
        if let Err(e) = self.port.flush_full(&mut self.down) {
            self.fail(e);
            // What follows of a failed bundle is thrown away.
            self.port.batch.clear();
        }
        self.marked = self.port.batch.len();
        self.settle();
    }
}

impl<O> fmt::Debug for Emitter<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "outputs of {}", self.rules.step)
    }
}

/// The outputs of a transform at the end of a bundle, where there is no input element to take a timestamp and a window
/// from.
pub struct BundleEmitter<'a, O> {
    port: &'a mut Port<O>,
    tags: &'a mut [TagPort],
    down: Downstream<'a>,
    step: &'a Step,
    failed: Option<PipelineError>,
}

impl<'a, O: Element> BundleEmitter<'a, O> {
    pub(crate) fn new(
        port: &'a mut Port<O>,
        tags: &'a mut [TagPort],
        down: Downstream<'a>,
        step: &'a Step,
    ) -> BundleEmitter<'a, O> {
        BundleEmitter { port, tags, down, step, failed: None }
    }

    /// Emits `value` at `timestamp` in `window`.
    pub fn emit_in(&mut self, value: O, timestamp: Timestamp, window: Window) {
        let meta = Meta::constant(timestamp, WindowSet::One(window), PaneInfo::NO_FIRING);
        self.port.batch.push(value, Row::of(&meta, 0));
        if let Err(e) = self.port.flush_full(&mut self.down) {
            self.failed.get_or_insert(e);
        }
    }

    /// Emits `value` on the output `tag` at `timestamp` in `window`. An undeclared tag fails the bundle.
    pub fn emit_to_in<T: Element>(&mut self, tag: Tag<T>, value: T, timestamp: Timestamp, window: Window) {
        let meta = Meta::constant(timestamp, WindowSet::One(window), PaneInfo::NO_FIRING);
        let found = self.tags.iter_mut().find(|p| p.tag == tag.name());
        match found.and_then(|p| p.push(value, Row::of(&meta, 0), &mut self.down)) {
            Some(Ok(())) => {}
            Some(Err(e)) => {
                self.failed.get_or_insert(e);
            }
            None => {
                let what = DoFnError::msg(format!(
                    "the output `{}` was not declared for elements of type `{}`: add `.tag({})` to the `ParDo`",
                    tag.name(),
                    std::any::type_name::<T>(),
                    tag.name().to_uppercase()
                ));
                let error = PipelineError::contract(self.step.clone(), Phase::FinishBundle, what.to_string());
                self.failed.get_or_insert(error);
            }
        }
    }

    pub(crate) fn end(self) -> KernelResult {
        self.failed.map_or(Ok(()), Err)
    }
}

impl<O> fmt::Debug for BundleEmitter<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "outputs of {} at the end of a bundle", self.step)
    }
}
