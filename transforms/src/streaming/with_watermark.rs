//! What the event time of rows is, and how far the watermark stays behind.

use std::{fmt, marker::PhantomData};

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Duration, Element, Emitter, PCollection, PTransform, ProcessContext,
    Result, Timestamp,
};

use super::{EventTime, IntervalError, OperatorKind, WatermarkId, operators::Handle, parse_delay};

/// Says what the event time of rows is, and how long after it a row may come: the query's watermark is the latest event
/// time seen so far, less the delay, and decides which results are final.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline, Timestamp};
/// use purlin_transforms::streaming::WithWatermark;
/// # let p = Pipeline::new();
/// # let clicks = p.create("Clicks", [(Timestamp::EPOCH, "home".to_owned())]);
/// let clicks: PCollection<(Timestamp, String)> =
///     clicks.apply("EventTime", WithWatermark::of(|(at, _): &(Timestamp, String)| *at, "10 minutes"));
/// # p.build().unwrap();
/// ```
/// - The event time becomes the timestamp of the row. A row without one has [`Timestamp::MIN`], is never late, and is in
///   no window; for how far the watermark is it counts as 1970.
/// - The watermark moves when an epoch is done, by all rows of that epoch: they never make each other late. It begins at
///   1970 and never goes back. Where a query has several, the [policy](super::WatermarkPolicy) says which counts.
/// - The delay is no promise to drop what is later: rows behind the watermark are counted as long as what they belong to
///   is not final.
///
/// A row that is filtered out before does not move the watermark; one that is filtered out afterwards does.
///
/// Source: Spark's `withWatermark`.
pub struct WithWatermark<T, F> {
    event_time: F,
    delay: Result<Duration, IntervalError>,
    row: PhantomData<fn(T)>,
}

/// A span of time, or text that says one, as a delay.
pub trait IntoDelay {
    /// The delay.
    ///
    /// # Errors
    /// When it is below zero or no span of time.
    fn into_delay(self) -> Result<Duration, IntervalError>;
}

impl IntoDelay for Duration {
    fn into_delay(self) -> Result<Duration, IntervalError> {
        if self < Duration::ZERO {
            return Err(IntervalError::Negative { text: self.to_string() });
        }
        Ok(self)
    }
}

impl IntoDelay for &str {
    fn into_delay(self) -> Result<Duration, IntervalError> {
        parse_delay(self)
    }
}

impl<T: Element, F, M> WithWatermark<T, F>
where
    F: Fn(&T) -> M + Clone + Send + 'static,
    M: Into<Option<Timestamp>>,
{
    /// The event time of a row is what `event_time` reads from it: a timestamp, or an `Option` of one. The delay is a
    /// [`Duration`], or text such as `"10 minutes"`.
    ///
    /// A delay that is below zero or no span of time is a build error.
    pub fn of(event_time: F, delay: impl IntoDelay) -> WithWatermark<T, F> {
        WithWatermark { event_time, delay: delay.into_delay(), row: PhantomData }
    }
}

impl<T: Element, F, M> PTransform<PCollection<T>> for WithWatermark<T, F>
where
    F: Fn(&T) -> M + Clone + Send + 'static,
    M: Into<Option<Timestamp>> + 'static,
{
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, rows: PCollection<T>) -> PCollection<T> {
        let pipeline = rows.pipeline();
        let handle = Handle::new(pipeline);
        let delay = self.delay.unwrap_or_else(|e| {
            pipeline.build_error(e.to_string());
            Duration::ZERO
        });
        let id = handle.query().add_watermark(delay);
        let out = rows.par_do("EventTime", Assign::new(id, self.event_time, handle.clone()));
        let kind = OperatorKind::WithWatermark { id, delay };
        handle.declare(pipeline, kind, vec![rows.id()], vec![out.id()]);
        out
    }
}

impl<T, F> fmt::Debug for WithWatermark<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WithWatermark({:?})", self.delay)
    }
}

struct Assign<T, F, M> {
    id: WatermarkId,
    event_time: F,
    handle: Handle,
    /// Of the bundle at work.
    seen: EventTime,
    types: PhantomData<fn(T) -> M>,
}

impl<T, F, M> Assign<T, F, M> {
    fn new(id: WatermarkId, event_time: F, handle: Handle) -> Assign<T, F, M> {
        Assign { id, event_time, handle, seen: EventTime::default(), types: PhantomData }
    }
}

impl<T, F: Clone, M> Clone for Assign<T, F, M> {
    fn clone(&self) -> Assign<T, F, M> {
        Assign::new(self.id, self.event_time.clone(), self.handle.clone())
    }
}

impl<T: Element, F, M> DoFn for Assign<T, F, M>
where
    F: Fn(&T) -> M + Clone + Send + 'static,
    M: Into<Option<Timestamp>> + 'static,
{
    type Input = T;
    type Output = T;

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.seen = EventTime::default();
        Ok(())
    }

    fn process(&mut self, row: T, _: &ProcessContext<'_>, out: &mut Emitter<'_, T>) -> Result {
        let at: Option<Timestamp> = (self.event_time)(&row).into();
        self.seen.add(at.unwrap_or(Timestamp::EPOCH));
        out.emit_at(row, at.unwrap_or(Timestamp::MIN));
        Ok(())
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, T>) -> Result {
        let seen = std::mem::take(&mut self.seen);
        if seen.rows > 0 {
            let (query, id) = (self.handle.query().clone(), self.id);
            cx.finalize(move || {
                query.saw(id, &seen);
                Ok(())
            });
        }
        Ok(())
    }

    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::MAX
    }
}
