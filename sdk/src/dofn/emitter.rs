//! Where user code puts what it makes.

use std::{cell::RefCell, fmt};

use super::Tag;
use crate::{
    DoFnError, Duration, Element, Phase, PipelineError, Step, Timestamp,
    batch::{BATCH_SIZE, Column, Meta, Row, WindowSet, Windows},
    exec::{Downstream, KernelResult, Port, TagPort},
    window::{PaneInfo, Window},
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

/// The outputs of a transform, for one input element.
///
/// What is emitted without a timestamp has the input's; windows and pane are always the input's.
pub struct Emitter<'a, O> {
    port: &'a mut Port<O>,
    tags: &'a mut [TagPort],
    down: Downstream<'a>,
    row: Row<'a>,
    rules: EmitRules<'a>,
    observed: Option<&'a Observed>,
    // Elements of the port's batch whose timestamps, windows and panes are in its columns.
    marked: usize,
    // Whether the columns already say what is true of whatever is emitted for this input batch.
    uniform: bool,
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
            marked,
            uniform: false,
            holding: false,
            failed: None,
        };
        emitter.settle();
        emitter
    }

    pub(crate) fn observing(mut self, observed: Option<&'a Observed>) -> Emitter<'a, O> {
        self.observed = observed;
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
        let row = Row { timestamp: Some(timestamp), ..self.row };
        self.port.batch.push(value, row);
        self.marked = self.port.batch.len();
        self.uniform = false;
        if let Some(observed) = self.observed {
            observed.push(timestamp);
        }
        if self.marked >= BATCH_SIZE {
            self.overflow();
        }
    }

    /// Emits all of `values` with the input's timestamp.
    pub fn emit_all(&mut self, values: impl IntoIterator<Item = O>) {
        for value in values {
            self.emit(value);
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

    fn check_time(&mut self, timestamp: Timestamp) -> bool {
        let input = self.row.time();
        if timestamp >= input - self.rules.skew {
            return true;
        }
        self.fail(self.contract(format!(
            "cannot output with timestamp {timestamp}: it must not lie before the input's, {input}, by more than the \
             allowed skew of {}; emit a later timestamp or override `allowed_timestamp_skew`",
            self.rules.skew
        )));
        false
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
        if !self.uniform && len > self.marked {
            self.port.batch.meta.append(self.marked, self.row, len - self.marked);
        }
        self.marked = len;
    }

    /// Looks whether the columns of an empty batch can say once and for all what is true of this input batch.
    fn settle(&mut self) {
        let theirs = self.row.meta;
        let constant = matches!(theirs.times, Column::Const(_))
            && matches!(theirs.windows, Windows::Const(WindowSet::One(_)))
            && matches!(theirs.panes, Column::Const(_))
            && self.row.timestamp.is_none()
            && self.row.window.is_none();
        if !constant {
            self.uniform = false;
            return;
        }
        if self.port.batch.is_empty() && !self.port.batch.meta.same_constants(theirs) {
            self.port.batch.meta = theirs.clone();
        }
        self.uniform = self.port.batch.meta.same_constants(theirs);
    }

    #[cold]
    fn overflow(&mut self) {
        if self.holding {
            return;
        }
        self.mark();
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
