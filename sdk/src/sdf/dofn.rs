//! The trait of splittable DoFns.

use super::{Boundedness, Claims, Continuation, RestrictionTracker, SdfContext, WatermarkEstimator};
use crate::{BundleContext, Duration, Element, Emitter, ProcessContext, Result, SetupContext};

/// The restriction type of a splittable DoFn.
pub type RestrictionOf<D> = <<D as SplittableDoFn>::Tracker as RestrictionTracker>::Restriction;

/// The position type of a splittable DoFn.
pub type PositionOf<D> = <<D as SplittableDoFn>::Tracker as RestrictionTracker>::Position;

/// The estimator state type of a splittable DoFn.
pub type WatermarkStateOf<D> = <<D as SplittableDoFn>::Estimator as WatermarkEstimator>::State;

/// A DoFn whose work on one element can be split, paused and resumed: what sources are made of.
///
/// The work on an element is a *restriction*, such as a range of offsets. `process` claims one position after the other
/// and emits what belongs to each; a claim that fails means that the rest now belongs to somebody else, and `process`
/// returns at once. When it returns [`Continuation::Stop`], everything that it was left with must be claimed, or the
/// bundle fails.
///
/// The *watermark estimator* says up to when everything was emitted. It is made of its state, which goes along with
/// each part of the restriction.
///
/// ```
/// use purlin_sdk::{Emitter, ProcessContext, Result, sdf::*};
///
/// /// The numbers from zero up to the element.
/// #[derive(Clone)]
/// struct CountUp;
///
/// impl SplittableDoFn for CountUp {
///     type Input = i64;
///     type Output = i64;
///     type Tracker = OffsetRangeTracker;
///     type Estimator = Monotonic;
///
///     fn initial_restriction(&self, n: &i64, _: &SdfContext<'_>) -> Result<OffsetRange> {
///         Ok(OffsetRange::new(0, *n))
///     }
///     fn split(&self, _: &i64, r: OffsetRange, desired: usize, _: &SdfContext<'_>) -> Result<Vec<OffsetRange>> {
///         Ok(r.split(desired))
///     }
///     fn new_tracker(&self, _: &i64, r: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
///         Ok(OffsetRangeTracker::new(r))
///     }
///     fn initial_watermark_state(&self, _: &i64, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<WatermarkStateOf<Self>> {
///         Ok(cx.timestamp())
///     }
///     fn new_watermark_estimator(
///         &self, state: WatermarkStateOf<Self>, _: &i64, _: &OffsetRange, _: &SdfContext<'_>,
///     ) -> Result<Monotonic> {
///         Ok(Monotonic::new(state))
///     }
///     fn process(
///         &mut self, _: &i64, claims: &Claims<'_, Self>, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>,
///     ) -> Result<Continuation> {
///         let mut i = claims.restriction().start;
///         while claims.try_claim(i) {
///             out.emit(i);
///             i += 1;
///         }
///         Ok(Continuation::Stop)
///     }
/// }
/// ```
/// Source: <https://beam.apache.org/documentation/programming-guide/#splittable-dofns>.
pub trait SplittableDoFn: Clone + Send + 'static {
    /// What comes in: what to work on.
    type Input: Element;
    /// What goes out on the main output.
    type Output: Element;
    /// Hands out the positions of a restriction.
    type Tracker: RestrictionTracker;
    /// Says up to when everything was emitted.
    type Estimator: WatermarkEstimator;

    /// Once on each instance, before anything else.
    ///
    /// # Errors
    /// Any error fails the run; `teardown` is called all the same.
    fn setup(&mut self, _cx: &SetupContext<'_>) -> Result {
        Ok(())
    }

    /// Before the first element of a bundle.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn start_bundle(&mut self, _cx: &BundleContext<'_>) -> Result {
        Ok(())
    }

    /// After the last element of a bundle.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn finish_bundle(&mut self, _cx: &BundleContext<'_>) -> Result {
        Ok(())
    }

    /// Once on each instance, after anything else, also after a failure.
    ///
    /// # Errors
    /// An error fails the run, unless it failed already.
    fn teardown(&mut self, _cx: &SetupContext<'_>) -> Result {
        Ok(())
    }

    /// Whether the work on an element has an end. The output is unbounded when it has none.
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    /// All of the work on `element`.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn initial_restriction(&self, element: &Self::Input, cx: &SdfContext<'_>) -> Result<RestrictionOf<Self>>;

    /// Cuts the work up before it starts, into about `desired` parts.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn split(
        &self,
        _element: &Self::Input,
        restriction: RestrictionOf<Self>,
        _desired: usize,
        _cx: &SdfContext<'_>,
    ) -> Result<Vec<RestrictionOf<Self>>> {
        Ok(vec![restriction])
    }

    /// How much work a restriction is, in any unit, not below zero; by default what its tracker says remains.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn size(
        &self,
        element: &Self::Input,
        restriction: &RestrictionOf<Self>,
        cx: &SdfContext<'_>,
    ) -> Result<f64> {
        Ok(self.new_tracker(element, restriction.clone(), cx)?.progress().remaining)
    }

    /// What is left to do of a restriction when the pipeline is drained: by default all of it for bounded work, and
    /// nothing for work without an end.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn truncate(
        &self,
        _element: &Self::Input,
        restriction: RestrictionOf<Self>,
        _cx: &SdfContext<'_>,
    ) -> Result<Option<RestrictionOf<Self>>> {
        Ok(match self.boundedness() {
            Boundedness::Bounded => Some(restriction),
            Boundedness::Unbounded => None,
        })
    }

    /// A tracker of the restriction.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn new_tracker(
        &self,
        element: &Self::Input,
        restriction: RestrictionOf<Self>,
        cx: &SdfContext<'_>,
    ) -> Result<Self::Tracker>;

    /// The estimator's state before anything was done; made once for each part of the initial split.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn initial_watermark_state(
        &self,
        element: &Self::Input,
        restriction: &RestrictionOf<Self>,
        cx: &SdfContext<'_>,
    ) -> Result<WatermarkStateOf<Self>>;

    /// The estimator, from its state; called whenever work on a restriction begins or goes on.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn new_watermark_estimator(
        &self,
        state: WatermarkStateOf<Self>,
        element: &Self::Input,
        restriction: &RestrictionOf<Self>,
        cx: &SdfContext<'_>,
    ) -> Result<Self::Estimator>;

    /// Works on the restriction: claims positions, and emits what belongs to each.
    ///
    /// # Errors
    /// Any error fails the bundle.
    fn process(
        &mut self,
        element: &Self::Input,
        claims: &Claims<'_, Self>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result<Continuation>;

    /// How far before its input's timestamp an output's may lie.
    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::ZERO
    }
}
