//! The whole numbers as a source.

use std::{fmt, sync::Arc};

use purlin_sdk::{
    Duration, PCollection, PTransform, Pipeline, Timestamp,
    sdf::{Boundedness, OffsetRange},
    watermark::WatermarkStrategy,
};

use super::{
    schedule::{Schedule, problem},
    source::{Numbers, Stamp, TimestampFn, Work},
};

/// Whole numbers in rising order, up to an end or for ever, as fast as can be or at a rate.
///
/// | | timestamps | watermark |
/// |---|---|---|
/// | with an end, no rate | the beginning of time | stays there until the end |
/// | without an end, no rate | the clock, when a number is emitted | the clock |
/// | at a rate | the time at which a number is due | the clock |
/// | with [`timestamp_fn`](Self::timestamp_fn) | what it says | what it says of the next number |
///
/// The clock is the run's. Numbers with an end and no rate are shared among workers and come in any order.
/// On drain such numbers are finished, all others stop.
///
/// ```
/// use purlin_sdk::{Duration, Pipeline};
/// use purlin_transforms::GenerateSequence;
/// let p = Pipeline::new();
/// let hundred = p.apply("Hundred", GenerateSequence::from(0).to(100));
/// let ticks = p.apply("Ticks", GenerateSequence::from(0).rate(10, Duration::from_secs(1)));
/// assert!(hundred.is_bounded() && !ticks.is_bounded());
/// ```
/// Source: Beam's
/// [`GenerateSequence`](https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/io/GenerateSequence.html).
#[derive(Clone)]
#[must_use = "a source does nothing until it is applied to a pipeline"]
pub struct GenerateSequence {
    from: i64,
    to: Option<i64>,
    rate: Option<(u64, Duration)>,
    timestamp_fn: Option<TimestampFn>,
    max_read_time: Option<Duration>,
    watermark: Option<WatermarkStrategy<i64>>,
}

impl GenerateSequence {
    /// The numbers from `first` on, without an end.
    pub fn from(first: i64) -> GenerateSequence {
        GenerateSequence {
            from: first,
            to: None,
            rate: None,
            timestamp_fn: None,
            max_read_time: None,
            watermark: None,
        }
    }

    /// Ends before `end`.
    pub fn to(mut self, end: i64) -> GenerateSequence {
        self.to = Some(end);
        self
    }

    /// At most `numbers` in each `period`, evenly spread from the start of the run on. After a delay, what is due is
    /// made up for at once. A rate of nothing, or a period that is not above zero, is a build error.
    pub fn rate(mut self, numbers: u64, period: Duration) -> GenerateSequence {
        self.rate = Some((numbers, period));
        self
    }

    /// The timestamp of each number. It should not fall as numbers rise: what falls behind may be late.
    pub fn timestamp_fn(mut self, f: impl Fn(i64) -> Timestamp + Send + Sync + 'static) -> GenerateSequence {
        self.timestamp_fn = Some(Arc::new(f));
        self
    }

    /// Stops this long after the start of the run, by the run's clock. The collection then has an end.
    pub fn max_read_time(mut self, time: Duration) -> GenerateSequence {
        self.max_read_time = Some(time);
        self
    }

    /// Gets its timestamps and its watermark by a strategy, instead of what is said above.
    pub fn watermark(mut self, strategy: WatermarkStrategy<i64>) -> GenerateSequence {
        self.watermark = Some(strategy);
        self
    }

    /// What there is to do when the run starts at `start`.
    fn work(&self, start: Timestamp) -> Work {
        let first = self.from;
        let numbers = match self.to {
            Some(end) => OffsetRange::new(first, end),
            None => OffsetRange::endless(first),
        };
        let schedule = self.rate.map(|(per_period, period)| Schedule { start, first, per_period, period });
        Work { numbers, schedule, stop: self.max_read_time.map(|time| start + time) }
    }
}

impl PTransform<Pipeline> for GenerateSequence {
    type Out = PCollection<i64>;

    fn expand(self, pipeline: Pipeline) -> PCollection<i64> {
        if let Some(problem) = self.rate.and_then(|(numbers, period)| problem(numbers, period)) {
            pipeline.build_error(problem);
        }
        let ends = self.to.is_some() || self.max_read_time.is_some();
        let stamp = match &self.timestamp_fn {
            Some(f) => Stamp::Given(f.clone()),
            None if self.rate.is_some() => Stamp::Due,
            None if self.to.is_none() => Stamp::Now,
            None => Stamp::Input,
        };
        let boundedness = if ends { Boundedness::Bounded } else { Boundedness::Unbounded };
        let strategy = self.watermark.clone();
        let numbers = pipeline
            .impulse("Impulse")
            .map_cx("Start", move |_, cx| Ok(self.work(cx.now())))
            .par_do_splittable("Numbers", Numbers { stamp, boundedness });
        match strategy {
            Some(strategy) => numbers.assign_watermark("Watermark", strategy),
            None => numbers,
        }
    }
}

impl fmt::Debug for GenerateSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenerateSequence")
            .field("from", &self.from)
            .field("to", &self.to)
            .field("rate", &self.rate)
            .field("max_read_time", &self.max_read_time)
            .field("watermark", &self.watermark)
            .finish_non_exhaustive()
    }
}
