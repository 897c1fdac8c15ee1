//! Where watermarks come from.

use crate::{
    Timestamp,
    sdf::{TimestampObserving, WatermarkEstimator},
};

/// Makes the watermark of one partition of a collection from its elements.
///
/// A *periodic* generator takes note of elements and emits in [`on_periodic_emit`](Self::on_periodic_emit); a *punctuated*
/// one emits in [`on_event`](Self::on_event), when an element says so. There is one for each partition, cloned from the
/// one that the strategy was given.
///
/// Source: Flink's [`WatermarkGenerator`](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#writing-watermarkgenerators).
///
/// ```
/// use purlin_sdk::{Pipeline, Timestamp, watermark::{WatermarkGenerator, WatermarkOutput, WatermarkStrategy}};
/// /// A negative number says that everything up to its absolute value is there.
/// #[derive(Clone)]
/// struct Markers;
/// impl WatermarkGenerator<i64> for Markers {
///     fn on_event(&mut self, n: &i64, _: Timestamp, out: &mut WatermarkOutput) {
///         if *n < 0 {
///             out.emit_watermark(Timestamp::from_secs(-n));
///         }
///     }
/// }
/// # let p = Pipeline::new();
/// p.create("Numbers", [3, 5, -4]).assign_watermark("Watermark", WatermarkStrategy::for_generator(Markers));
/// # p.build().unwrap();
/// ```
pub trait WatermarkGenerator<T>: Clone + Send + 'static {
    /// An element came, with this timestamp.
    fn on_event(&mut self, element: &T, timestamp: Timestamp, out: &mut WatermarkOutput);

    /// The strategy's interval is over.
    fn on_periodic_emit(&mut self, _out: &mut WatermarkOutput) {}
}

/// Where a generator puts its watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatermarkOutput {
    pub(super) watermark: Timestamp,
    pub(super) idle: bool,
}

impl WatermarkOutput {
    pub(super) const NONE: WatermarkOutput = WatermarkOutput { watermark: Timestamp::MIN, idle: false };

    /// Says that elements still to come have timestamps of `watermark` or later. A lower one than before changes
    /// nothing. What is emitted ends an idle time.
    pub fn emit_watermark(&mut self, watermark: Timestamp) {
        self.watermark = self.watermark.max(watermark);
        self.idle = false;
    }

    /// Says that nobody should wait for this partition, until the next watermark or [`mark_active`](Self::mark_active).
    pub fn mark_idle(&mut self) {
        self.idle = true;
    }

    /// Ends an idle time.
    pub fn mark_active(&mut self) {
        self.idle = false;
    }
}

/// An estimator as a generator.
#[derive(Clone)]
pub(super) struct OfEstimator<E>(pub(super) E);

impl<T, E: TimestampObserving + Clone> WatermarkGenerator<T> for OfEstimator<E> {
    fn on_event(&mut self, _: &T, timestamp: Timestamp, _: &mut WatermarkOutput) {
        self.0.observe_timestamp(timestamp);
    }

    fn on_periodic_emit(&mut self, out: &mut WatermarkOutput) {
        out.emit_watermark(WatermarkEstimator::current_watermark(&mut self.0));
    }
}

/// A generator that never says anything.
#[derive(Clone)]
pub(super) struct Never;

impl<T> WatermarkGenerator<T> for Never {
    fn on_event(&mut self, _: &T, _: Timestamp, _: &mut WatermarkOutput) {}
}

/// A generator by a closure.
#[derive(Clone)]
pub(super) struct Punctuated<F>(pub(super) F);

impl<T, F> WatermarkGenerator<T> for Punctuated<F>
where
    F: Fn(&T, Timestamp) -> Option<Timestamp> + Clone + Send + 'static,
{
    fn on_event(&mut self, element: &T, timestamp: Timestamp, out: &mut WatermarkOutput) {
        if let Some(watermark) = (self.0)(element, timestamp) {
            out.emit_watermark(watermark);
        }
    }
}

/// A generator whose type is not known.
pub(super) trait AnyGenerator<T>: Send {
    fn on_event(&mut self, element: &T, timestamp: Timestamp, out: &mut WatermarkOutput);
    fn on_periodic_emit(&mut self, out: &mut WatermarkOutput);
    fn copy(&self) -> Box<dyn AnyGenerator<T>>;
}

impl<T, G: WatermarkGenerator<T>> AnyGenerator<T> for G {
    fn on_event(&mut self, element: &T, timestamp: Timestamp, out: &mut WatermarkOutput) {
        WatermarkGenerator::on_event(self, element, timestamp, out);
    }

    fn on_periodic_emit(&mut self, out: &mut WatermarkOutput) {
        WatermarkGenerator::on_periodic_emit(self, out);
    }

    fn copy(&self) -> Box<dyn AnyGenerator<T>> {
        Box::new(self.clone())
    }
}
