//! Watermarks assigned to a collection.

use std::{panic::Location, sync::Arc};

use crate::{
    Duration, Element, PCollection, Timestamp, exec::AssignOp, graph::Op, watermark::WatermarkStrategy,
};

impl<T: Element> PCollection<T> {
    /// Gives each element the timestamp that `f` reads from it, and the collection a watermark: the greatest timestamp so
    /// far, less `delay`. It moves when a bundle of elements is done, and never back.
    ///
    /// Timestamps may lie anywhere, also before those that elements have. What lies behind the watermark is late
    /// downstream. A negative delay is a build error.
    ///
    /// ```
    /// # use purlin_sdk::{Duration, Pipeline, Timestamp, window::FixedWindows};
    /// # let p = Pipeline::new();
    /// p.create("Clicks", [("home".to_owned(), 12), ("search".to_owned(), 3)])
    ///     .with_watermark("EventTime", |(_, secs)| Timestamp::from_secs(*secs), Duration::from_minutes(10))
    ///     .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)));
    /// # p.build().unwrap();
    /// ```
    /// Source: Spark's [`withWatermark`](https://spark.apache.org/docs/latest/structured-streaming-programming-guide.html#handling-late-data-and-watermarking).
    #[track_caller]
    pub fn with_watermark<F>(&self, name: &str, f: F, delay: Duration) -> PCollection<T>
    where
        F: Fn(&T) -> Timestamp + Send + Sync + 'static,
    {
        let strategy = WatermarkStrategy::for_bounded_out_of_orderness(delay)
            .with_timestamp_assigner(f)
            .emit_per_bundle();
        self.assign_watermark_at(name, Location::caller(), strategy, delay)
    }

    /// Gives the collection the watermark of `strategy`, and its elements the timestamps, from here on; see
    /// [`WatermarkStrategy`].
    ///
    /// What the input's watermark was does not count any more, but for its end: then this one's comes too. What lies
    /// behind the watermark is late downstream: dropped by groupings and keyed DoFns, counted there, and an output of
    /// theirs where one is asked for.
    #[track_caller]
    pub fn assign_watermark(&self, name: &str, strategy: WatermarkStrategy<T>) -> PCollection<T> {
        self.assign_watermark_at(name, Location::caller(), strategy, Duration::ZERO)
    }

    fn assign_watermark_at(
        &self,
        name: &str,
        site: &'static Location<'static>,
        strategy: WatermarkStrategy<T>,
        delay: Duration,
    ) -> PCollection<T> {
        let pipeline = self.pipeline();
        let step = pipeline.name(name, site);
        if delay < Duration::ZERO {
            let what = format!("the watermark's delay of {delay} is negative; the least is zero");
            pipeline.error(&step, what);
        }
        let coder = self.coder_slot().copied();
        let op = AssignOp { strategy, coder: coder.clone() };
        let node = pipeline.add(step, vec![self.id()], Op::AssignWatermark(Arc::new(op)));
        pipeline.output_with(node, self.windowing(), self.is_bounded(), coder)
    }
}
