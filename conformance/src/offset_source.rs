//! A splittable DoFn that is made of a closure.

use std::{fmt, marker::PhantomData, sync::Arc};

use purlin_sdk::{
    ClockRef, DoFnError, Duration, Element, Emitter, ProcessContext, Result, Timestamp,
    sdf::{
        Boundedness, Claims, Continuation, IdlenessState, Manual, ManualWatermark, Monotonic, OffsetRange,
        OffsetRangeTracker, PerPartition, PerPartitionState, Progress, RestrictionTracker, SdfContext,
        SplittableDoFn, WallTime, WatermarkEstimator, WithIdleness,
    },
};

/// What the closure of an [`OffsetSource`] has of its restriction.
pub trait Offsets {
    /// See [`Claims::try_claim`].
    fn try_claim(&self, offset: i64) -> bool;
    /// See [`Claims::restriction`].
    fn range(&self) -> OffsetRange;
    /// See [`Claims::watermark`].
    fn watermark(&self) -> Timestamp;
    /// See [`Claims::set_watermark`].
    ///
    /// # Errors
    /// When it would go back, or the estimator is not a manual one.
    fn set_watermark(&self, watermark: Timestamp) -> Result;
    /// Gives the partitions of the estimator to `f`.
    ///
    /// # Errors
    /// When it has none.
    fn partitions(&self, f: &mut dyn FnMut(&mut Partitions)) -> Result;
}

/// An estimator of several partitions.
pub type Partitions = PerPartition<i64, Monotonic>;

/// Estimators that an [`OffsetSource`] can have.
pub trait Estimate: WatermarkEstimator {
    /// The state that it begins with.
    fn start(at: Timestamp, clock: &ClockRef) -> Self::State;

    /// From its state.
    fn make(state: Self::State, clock: ClockRef) -> Self;

    /// Its partitions.
    fn partitions(&mut self) -> Option<&mut Partitions> {
        None
    }

    /// Sets the watermark, where it can be set.
    ///
    /// # Errors
    /// When it would go back or cannot be set.
    fn set(&mut self, _watermark: Timestamp) -> Result {
        Err(DoFnError::msg("the estimator finds its watermark by itself"))
    }
}

impl Estimate for Manual {
    fn start(at: Timestamp, _: &ClockRef) -> Timestamp {
        at
    }

    fn make(state: Timestamp, _: ClockRef) -> Manual {
        Manual::new(state)
    }

    fn set(&mut self, watermark: Timestamp) -> Result {
        Ok(self.set_watermark(watermark)?)
    }
}

impl Estimate for Monotonic {
    fn start(at: Timestamp, _: &ClockRef) -> Timestamp {
        at
    }

    fn make(state: Timestamp, _: ClockRef) -> Monotonic {
        Monotonic::new(state)
    }
}

impl Estimate for WallTime {
    fn start(at: Timestamp, _: &ClockRef) -> Timestamp {
        at
    }

    fn make(state: Timestamp, clock: ClockRef) -> WallTime {
        WallTime::new(state, clock)
    }
}

/// Idle after a second.
impl Estimate for WithIdleness<Monotonic> {
    fn start(at: Timestamp, clock: &ClockRef) -> IdlenessState<Timestamp> {
        IdlenessState::new(at, &**clock)
    }

    fn make(state: IdlenessState<Timestamp>, clock: ClockRef) -> WithIdleness<Monotonic> {
        WithIdleness::new(state, Duration::from_secs(1), clock, Monotonic::new)
    }
}

/// No partition is known at first.
impl Estimate for Partitions {
    fn start(_: Timestamp, _: &ClockRef) -> PerPartitionState<i64, Timestamp> {
        PerPartitionState::of([])
    }

    fn make(state: PerPartitionState<i64, Timestamp>, _: ClockRef) -> Partitions {
        PerPartition::new(state, |_, state| state.map_or_else(Monotonic::default, Monotonic::new))
    }

    fn partitions(&mut self) -> Option<&mut Partitions> {
        Some(self)
    }
}

/// A tracker that can be told to split at its cursor only, as that of a source that polls must.
#[derive(Debug)]
pub struct Offset {
    tracker: OffsetRangeTracker,
    whole: bool,
}

impl RestrictionTracker for Offset {
    type Restriction = OffsetRange;
    type Position = i64;

    fn try_claim(&mut self, offset: i64) -> bool {
        self.tracker.try_claim(offset)
    }

    fn try_split(&mut self, fraction: f64) -> Option<OffsetRange> {
        if self.whole && fraction > 0.0 { None } else { self.tracker.try_split(fraction) }
    }

    fn restriction(&self) -> OffsetRange {
        self.tracker.restriction()
    }

    fn progress(&self) -> Progress {
        self.tracker.progress()
    }

    fn is_done(&self) -> bool {
        self.tracker.is_done()
    }
}

type Pieces = Arc<dyn Fn(OffsetRange, usize) -> Vec<OffsetRange> + Send + Sync>;
type First = Arc<dyn Fn(&ProcessContext<'_>) -> Result + Send + Sync>;
type Truncate = Arc<dyn Fn(OffsetRange) -> Option<OffsetRange> + Send + Sync>;

/// Works on a range of offsets by a closure, with an estimator `E`.
pub struct OffsetSource<E, I, O, F> {
    range: OffsetRange,
    boundedness: Boundedness,
    whole: bool,
    pieces: Pieces,
    truncate: Option<Truncate>,
    first: Option<First>,
    process: F,
    types: PhantomData<fn(E, I) -> O>,
}

impl<E, I, O, F> OffsetSource<E, I, O, F>
where
    F: Fn(&I, &dyn Offsets, &ProcessContext<'_>, &mut Emitter<'_, O>) -> Result<Continuation>,
{
    /// All of `range` in one piece; bounded.
    pub fn new(range: OffsetRange, process: F) -> OffsetSource<E, I, O, F> {
        OffsetSource {
            range,
            boundedness: Boundedness::Bounded,
            whole: false,
            pieces: Arc::new(|range, _| vec![range]),
            truncate: None,
            first: None,
            process,
            types: PhantomData,
        }
    }

    /// Offsets from 0, without an end and in one piece that is split at its cursor only.
    pub fn endless(process: F) -> OffsetSource<E, I, O, F> {
        OffsetSource::new(OffsetRange::endless(0), process).unbounded().whole()
    }

    /// Calls itself unbounded.
    #[must_use]
    pub fn unbounded(mut self) -> Self {
        self.boundedness = Boundedness::Unbounded;
        self
    }

    /// Is split at its cursor only.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Is split up like this before it starts.
    #[must_use]
    pub fn pieces(
        mut self,
        f: impl Fn(OffsetRange, usize) -> Vec<OffsetRange> + Send + Sync + 'static,
    ) -> Self {
        self.pieces = Arc::new(f);
        self
    }

    /// Does this first, at each call of `process`.
    #[must_use]
    pub fn first(mut self, f: impl Fn(&ProcessContext<'_>) -> Result + Send + Sync + 'static) -> Self {
        self.first = Some(Arc::new(f));
        self
    }

    /// Keeps this on drain.
    #[must_use]
    pub fn truncate(
        mut self,
        f: impl Fn(OffsetRange) -> Option<OffsetRange> + Send + Sync + 'static,
    ) -> Self {
        self.truncate = Some(Arc::new(f));
        self
    }
}

impl<E, I, O, F: Clone> Clone for OffsetSource<E, I, O, F> {
    fn clone(&self) -> Self {
        OffsetSource {
            range: self.range,
            boundedness: self.boundedness,
            whole: self.whole,
            pieces: self.pieces.clone(),
            truncate: self.truncate.clone(),
            first: self.first.clone(),
            process: self.process.clone(),
            types: PhantomData,
        }
    }
}

impl<E, I, O, F> fmt::Debug for OffsetSource<E, I, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "source of {:?}", self.range)
    }
}

impl<E, I, O, F> Offsets for Claims<'_, OffsetSource<E, I, O, F>>
where
    OffsetSource<E, I, O, F>: SplittableDoFn<Tracker = Offset, Estimator = E>,
    E: Estimate,
{
    fn try_claim(&self, offset: i64) -> bool {
        Claims::try_claim(self, offset)
    }

    fn range(&self) -> OffsetRange {
        self.restriction()
    }

    fn watermark(&self) -> Timestamp {
        Claims::watermark(self)
    }

    fn set_watermark(&self, watermark: Timestamp) -> Result {
        self.with_estimator(|e| e.set(watermark))
    }

    fn partitions(&self, f: &mut dyn FnMut(&mut Partitions)) -> Result {
        self.with_estimator(|e| {
            e.partitions().map(f).ok_or_else(|| DoFnError::msg("the estimator has no partitions"))
        })
    }
}

impl<E, I, O, F> SplittableDoFn for OffsetSource<E, I, O, F>
where
    E: Estimate,
    I: Element,
    O: Element,
    F: Fn(&I, &dyn Offsets, &ProcessContext<'_>, &mut Emitter<'_, O>) -> Result<Continuation>
        + Clone
        + Send
        + 'static,
{
    type Input = I;
    type Output = O;
    type Tracker = Offset;
    type Estimator = E;

    fn boundedness(&self) -> Boundedness {
        self.boundedness
    }

    fn initial_restriction(&self, _: &I, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(self.range)
    }

    fn split(
        &self,
        _: &I,
        range: OffsetRange,
        desired: usize,
        _: &SdfContext<'_>,
    ) -> Result<Vec<OffsetRange>> {
        Ok((self.pieces)(range, desired))
    }

    fn truncate(&self, _: &I, range: OffsetRange, _: &SdfContext<'_>) -> Result<Option<OffsetRange>> {
        Ok(match (&self.truncate, self.boundedness) {
            (Some(truncate), _) => truncate(range),
            (None, Boundedness::Bounded) => Some(range),
            (None, Boundedness::Unbounded) => None,
        })
    }

    fn new_tracker(&self, _: &I, range: OffsetRange, _: &SdfContext<'_>) -> Result<Offset> {
        Ok(Offset { tracker: OffsetRangeTracker::new(range), whole: self.whole })
    }

    fn initial_watermark_state(&self, _: &I, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<E::State> {
        Ok(E::start(cx.timestamp(), &cx.clock()))
    }

    fn new_watermark_estimator(
        &self,
        state: E::State,
        _: &I,
        _: &OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<E> {
        Ok(E::make(state, cx.clock()))
    }

    fn process(
        &mut self,
        element: &I,
        claims: &Claims<'_, Self>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, O>,
    ) -> Result<Continuation> {
        if let Some(first) = &self.first {
            first(cx)?;
        }
        (self.process)(element, claims, cx, out)
    }
}
