//! Times at regular intervals as a source.

use purlin_sdk::{
    Duration, PCollection, PTransform, Pipeline, Timestamp,
    sdf::{Boundedness, OffsetRange},
    watermark::WatermarkStrategy,
};
use serde::{Deserialize, Serialize};

use super::{
    schedule::{Schedule, problem},
    source::{Numbers, Stamp, Work},
};

/// The times `first`, `first + every`, `first + 2 * every`, ... before `until`: an element of a [`PeriodicSequence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first time.
    pub first: Timestamp,
    /// Where it ends; this time is no longer one of them. Without one it goes on for ever.
    pub until: Option<Timestamp>,
    /// The time between two; one that is not above zero fails the run.
    pub every: Duration,
}

impl Span {
    fn work(self) -> Work {
        let numbers = match self.until {
            None => OffsetRange::endless(0),
            Some(until) => {
                let (length, every) = ((until - self.first).as_millis(), self.every.as_millis().max(1));
                OffsetRange::new(0, length / every + i64::from(length % every > 0))
            }
        };
        let schedule = Schedule { start: self.first, first: 0, per_period: 1, period: self.every };
        Work { numbers, schedule: Some(schedule), stop: None }
    }
}

/// A time at regular intervals, such as a tick for a side input that is to be read anew.
///
/// Each element is a time, and has it as its timestamp. It is not emitted before the run's clock has come to it; times
/// that lie in the past when the run starts come at once. The watermark follows the clock, so windows of what is made
/// of them close in time. Elements are in the global window. On drain it stops.
///
/// ```
/// use purlin_sdk::{Duration, Pipeline, Timestamp};
/// use purlin_transforms::PeriodicImpulse;
/// let p = Pipeline::new();
/// let minutes = p.apply("EachMinute", PeriodicImpulse::every(Duration::from_minutes(1)));
/// let ten = PeriodicImpulse::every(Duration::from_secs(1)).starting_at(Timestamp::EPOCH).until(Timestamp::from_secs(10));
/// assert!(!minutes.is_bounded() && p.apply("Ten", ten).is_bounded());
/// ```
/// Source: Beam's `PeriodicImpulse`; as in Beam's Python SDK the end is not one of the times
/// (<https://beam.apache.org/releases/pydoc/current/apache_beam.transforms.periodicsequence.html>).
#[derive(Clone, Debug)]
#[must_use = "a source does nothing until it is applied to a pipeline"]
pub struct PeriodicImpulse {
    every: Duration,
    first: Option<Timestamp>,
    until: Option<Timestamp>,
    watermark: Option<WatermarkStrategy<Timestamp>>,
}

impl PeriodicImpulse {
    /// A time every `interval`, from the start of the run on, without an end. An interval that is not above zero is a
    /// build error.
    pub fn every(interval: Duration) -> PeriodicImpulse {
        PeriodicImpulse { every: interval, first: None, until: None, watermark: None }
    }

    /// The first time.
    pub fn starting_at(mut self, first: Timestamp) -> PeriodicImpulse {
        self.first = Some(first);
        self
    }

    /// Ends before `until`, which is not one of the times. The collection then has an end.
    pub fn until(mut self, until: Timestamp) -> PeriodicImpulse {
        self.until = Some(until);
        self
    }

    /// Gets its timestamps and its watermark by a strategy, instead of what is said above.
    pub fn watermark(mut self, strategy: WatermarkStrategy<Timestamp>) -> PeriodicImpulse {
        self.watermark = Some(strategy);
        self
    }
}

impl PTransform<Pipeline> for PeriodicImpulse {
    type Out = PCollection<Timestamp>;

    fn expand(self, pipeline: Pipeline) -> PCollection<Timestamp> {
        let PeriodicImpulse { every, first, until, watermark } = self;
        if let Some(problem) = problem(1, every) {
            pipeline.build_error(problem);
        }
        let work = pipeline.impulse("Impulse").map_cx("Start", move |_, cx| {
            Ok(Span { first: first.unwrap_or_else(|| cx.now()), until, every }.work())
        });
        let ends = if until.is_some() { Boundedness::Bounded } else { Boundedness::Unbounded };
        let times = times(&work, ends);
        match watermark {
            Some(strategy) => times.assign_watermark("Watermark", strategy),
            None => times,
        }
    }
}

/// Times at regular intervals for each [`Span`] of a collection; see [`PeriodicImpulse`].
///
/// The times of a span are in the windows of the span, which so must go well with them: the global window, usually.
/// Those before the span's own timestamp may be late.
///
/// ```
/// use purlin_sdk::{Duration, Pipeline, Timestamp};
/// use purlin_transforms::{PeriodicSequence, Span};
/// let p = Pipeline::new();
/// let span = Span { first: Timestamp::EPOCH, until: None, every: Duration::from_secs(5) };
/// let times = p.create("Spans", [span]).apply("Times", PeriodicSequence);
/// assert!(!times.is_bounded());
/// ```
/// Source: Beam's `PeriodicSequence`.
#[derive(Clone, Copy, Debug)]
pub struct PeriodicSequence;

impl PTransform<PCollection<Span>> for PeriodicSequence {
    type Out = PCollection<Timestamp>;

    fn expand(self, spans: PCollection<Span>) -> PCollection<Timestamp> {
        // Whether a span has an end is known only when it is there.
        times(&spans.map("Work", Span::work), Boundedness::Unbounded)
    }
}

fn times(work: &PCollection<Work>, boundedness: Boundedness) -> PCollection<Timestamp> {
    work.par_do_splittable("Wait", Numbers { stamp: Stamp::Due, boundedness })
        .map_cx("Time", |_, cx| Ok(cx.timestamp()))
}
