//! Where watermarks come from.

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Result, Timestamp,
    exec::save::{check, put, take},
    sdf::{TimestampObserving, WatermarkEstimator},
};

/// Makes the watermark of one partition of a collection from its elements.
///
/// A *periodic* generator takes note of elements and emits in [`on_periodic_emit`](Self::on_periodic_emit); a *punctuated*
/// one emits in [`on_event`](Self::on_event), when an element says so. There is one for each partition, cloned from the
/// one that the strategy was given.
///
/// A checkpoint keeps the generator as serde writes it, all of its fields, and a run that goes on from there goes on with
/// it. What is not to be kept, such as settings that may be others the next time, belongs into no field of it but into a
/// constant or the elements.
///
/// Source: Flink's [`WatermarkGenerator`](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#writing-watermarkgenerators).
///
/// ```
/// use purlin_sdk::{Pipeline, Timestamp, watermark::{WatermarkGenerator, WatermarkOutput, WatermarkStrategy}};
/// # use serde::{Deserialize, Serialize};
/// /// A negative number says that everything up to its absolute value is there.
/// #[derive(Clone, Serialize, Deserialize)]
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
pub trait WatermarkGenerator<T>: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
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

/// A generator whose type is not known.
pub(super) trait AnyGenerator<T>: Send {
    fn on_event(&mut self, element: &T, timestamp: Timestamp, out: &mut WatermarkOutput);
    fn on_periodic_emit(&mut self, _out: &mut WatermarkOutput) {}
    fn copy(&self) -> Box<dyn AnyGenerator<T>>;
    /// Whether it is another one after [`on_periodic_emit`](Self::on_periodic_emit).
    fn changes_by_ticks(&self) -> bool {
        false
    }
    /// Whether it can be kept in a checkpoint.
    fn check(&self) -> Result;
    /// Appends what it has seen.
    fn save(&self, out: &mut Vec<u8>) -> Result;
    /// One like this that goes on from what was saved.
    fn load(&self, input: &mut &[u8]) -> Result<Box<dyn AnyGenerator<T>>>;
    /// Of how many elements it has seen how many before it has a watermark to speak of, for people.
    fn warms_up(&self) -> Option<WarmUp> {
        None
    }
}

/// How far a generator is that needs elements first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WarmUp {
    pub(crate) seen: u64,
    pub(crate) needs: u64,
}

/// The generator of a user.
#[derive(Clone)]
pub(super) struct Custom<G>(pub(super) G);

impl<T, G: WatermarkGenerator<T>> AnyGenerator<T> for Custom<G> {
    fn on_event(&mut self, element: &T, timestamp: Timestamp, out: &mut WatermarkOutput) {
        self.0.on_event(element, timestamp, out);
    }

    fn on_periodic_emit(&mut self, out: &mut WatermarkOutput) {
        self.0.on_periodic_emit(out);
    }

    fn copy(&self) -> Box<dyn AnyGenerator<T>> {
        Box::new(self.clone())
    }

    fn changes_by_ticks(&self) -> bool {
        true
    }

    fn check(&self) -> Result {
        check::<G>("watermark generator")
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&self.0, out)
    }

    fn load(&self, input: &mut &[u8]) -> Result<Box<dyn AnyGenerator<T>>> {
        Ok(Box::new(Custom(take::<G>(input)?)))
    }
}

/// An estimator as a generator; its own state is what is kept of it.
#[derive(Clone)]
pub(super) struct OfEstimator<E, F> {
    pub(super) estimator: E,
    /// Makes it from its state.
    pub(super) make: F,
    pub(super) warms_up: fn(&E) -> Option<WarmUp>,
}

impl<T, E, F> AnyGenerator<T> for OfEstimator<E, F>
where
    E: TimestampObserving + Clone,
    F: Fn(E::State) -> E + Clone + Send + 'static,
{
    fn on_event(&mut self, _: &T, timestamp: Timestamp, _: &mut WatermarkOutput) {
        self.estimator.observe_timestamp(timestamp);
    }

    fn on_periodic_emit(&mut self, out: &mut WatermarkOutput) {
        out.emit_watermark(WatermarkEstimator::current_watermark(&mut self.estimator));
    }

    fn copy(&self) -> Box<dyn AnyGenerator<T>> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result {
        check::<E::State>("watermark estimator's state")
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&self.estimator.state(), out)
    }

    fn load(&self, input: &mut &[u8]) -> Result<Box<dyn AnyGenerator<T>>> {
        Ok(Box::new(OfEstimator { estimator: (self.make)(take(input)?), ..self.clone() }))
    }

    fn warms_up(&self) -> Option<WarmUp> {
        (self.warms_up)(&self.estimator)
    }
}

/// A generator by a closure, which has seen nothing; one that never says anything is one, too.
#[derive(Clone)]
pub(super) struct Punctuated<F>(pub(super) F);

impl<T, F> AnyGenerator<T> for Punctuated<F>
where
    F: Fn(&T, Timestamp) -> Option<Timestamp> + Clone + Send + 'static,
{
    fn on_event(&mut self, element: &T, timestamp: Timestamp, out: &mut WatermarkOutput) {
        if let Some(watermark) = (self.0)(element, timestamp) {
            out.emit_watermark(watermark);
        }
    }

    fn copy(&self) -> Box<dyn AnyGenerator<T>> {
        Box::new(self.clone())
    }

    fn check(&self) -> Result {
        Ok(())
    }

    fn save(&self, _: &mut Vec<u8>) -> Result {
        Ok(())
    }

    fn load(&self, _: &mut &[u8]) -> Result<Box<dyn AnyGenerator<T>>> {
        Ok(self.copy())
    }
}
