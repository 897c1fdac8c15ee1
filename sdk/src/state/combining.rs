//! The accumulator of a CombineFn.

use std::fmt;

use super::{CellChange, CellKind, StateCell, cell::coder_of, undo::Undo};
use crate::{
    CombineFn,
    coder::{CoderError, CoderSpec},
};

/// The accumulator of a CombineFn. What is kept is the accumulator, not what went into it. Beam's `CombiningState`.
///
/// The CombineFn is the default one of its type, or the one that `#[combine(..)]` gives at a field of a struct with
/// `#[derive(KeyedState)]`: `#[combine(TopFn::largest(10))]`.
///
/// ```
/// use purlin_sdk::{CombineFn, state::Combining};
/// /// The mean of integers.
/// #[derive(Clone, Default)]
/// struct Mean;
/// impl CombineFn for Mean {
///     type Input = i64;
///     type Accumulator = (i64, u64);
///     type Output = f64;
///     fn create(&self) -> (i64, u64) { (0, 0) }
///     fn add_input(&self, acc: &mut (i64, u64), x: i64) { acc.0 += x; acc.1 += 1; }
///     fn merge(&self, acc: &mut (i64, u64), other: (i64, u64)) { acc.0 += other.0; acc.1 += other.1; }
///     fn extract(&self, (sum, n): (i64, u64)) -> f64 { sum as f64 / n as f64 }
/// }
/// let mut mean = Combining::<Mean>::default();
/// mean.add(1);
/// assert_eq!(mean.read(), 1.0);
/// mean.add(2);
/// mean.add_accumulator((6, 1));
/// assert_eq!(mean.read(), 3.0);
/// ```
pub struct Combining<C: CombineFn> {
    // None while nothing was added.
    accumulator: Option<C::Accumulator>,
    undo: Undo<Option<C::Accumulator>>,
    combine: C,
}

impl<C: CombineFn> Clone for Combining<C> {
    fn clone(&self) -> Combining<C> {
        Combining {
            accumulator: self.accumulator.clone(),
            undo: self.undo.clone(),
            combine: self.combine.clone(),
        }
    }
}

impl<C: CombineFn + Default> Default for Combining<C> {
    fn default() -> Combining<C> {
        Combining::of(C::default())
    }
}

impl<C: CombineFn> Combining<C> {
    /// An accumulator of `combine` to which nothing was added.
    pub fn of(combine: C) -> Combining<C> {
        Combining { accumulator: None, undo: Undo::Off, combine }
    }

    /// Adds `input`.
    pub fn add(&mut self, input: C::Input) {
        self.undo.change(|| self.accumulator.clone());
        let Combining { accumulator, combine, .. } = self;
        combine.add_input(accumulator.get_or_insert_with(|| combine.create()), input);
    }

    /// Adds all that `other` holds.
    pub fn add_accumulator(&mut self, other: C::Accumulator) {
        self.undo.change(|| self.accumulator.clone());
        match &mut self.accumulator {
            Some(accumulator) => self.combine.merge(accumulator, other),
            none => *none = Some(other),
        }
    }

    /// The combination of what was added; that of nothing when nothing was.
    pub fn read(&self) -> C::Output {
        let accumulator = self.accumulator.clone().unwrap_or_else(|| self.combine.create());
        self.combine.extract(accumulator)
    }

    /// The accumulator; none while nothing was added.
    pub fn accumulator(&self) -> Option<&C::Accumulator> {
        self.accumulator.as_ref()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.accumulator.is_none()
    }

    /// Forgets what was added.
    pub fn clear(&mut self) {
        let before = self.accumulator.take();
        self.undo.change(|| before);
    }
}

impl<C: CombineFn> StateCell for Combining<C> {
    const KIND: CellKind = CellKind::Combining;

    fn is_initial(&self) -> bool {
        self.is_empty()
    }

    fn begin(&mut self) {
        self.undo.begin();
    }

    fn undo(&mut self) {
        if let Some(before) = self.undo.end() {
            self.accumulator = before;
        }
    }

    fn keep(&mut self) {
        self.undo.end();
    }

    fn change(&self) -> CellChange {
        self.undo.seen()
    }

    fn coders() -> Result<Vec<CoderSpec>, CoderError> {
        Ok(vec![coder_of::<C::Accumulator>()?])
    }
}

impl<C: CombineFn> fmt::Debug for Combining<C>
where
    C::Accumulator: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.accumulator.fmt(f)
    }
}
