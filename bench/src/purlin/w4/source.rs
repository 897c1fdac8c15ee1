//! The preloaded events as a splittable source.

use std::sync::Arc;

use purlin_sdk::{
    Emitter, PCollection, Pipeline, ProcessContext, Result, Timestamp,
    sdf::{
        Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext, SplittableDoFn,
        WatermarkStateOf,
    },
};

use crate::Params;
use crate::nexmark::{Event, Preloaded};

/// Reads a partition: block `i` of partition `p` of `n` is the preloaded block `i * n + p`.
#[derive(Clone, Debug)]
pub(super) struct Events {
    preloaded: Arc<Preloaded>,
    partitions: u64,
}

impl Events {
    pub(super) fn read(pipeline: &Pipeline, params: &Params) -> PCollection<Event> {
        let partitions = super::super::partitions(params);
        let source = Events { preloaded: params.preloaded.clone(), partitions };
        pipeline.create("Partitions", 0..partitions).par_do_splittable("Read", source)
    }
}

impl SplittableDoFn for Events {
    type Input = u64;
    type Output = Event;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn initial_restriction(&self, p: &u64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        let blocks = (self.preloaded.blocks() + self.partitions - 1 - p) / self.partitions;
        Ok(OffsetRange::new(0, blocks as i64))
    }

    fn new_tracker(&self, _: &u64, blocks: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(blocks))
    }

    fn initial_watermark_state(
        &self,
        _: &u64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<WatermarkStateOf<Self>> {
        Ok(Timestamp::MIN)
    }

    fn new_watermark_estimator(
        &self,
        state: WatermarkStateOf<Self>,
        _: &u64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        p: &u64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, Event>,
    ) -> Result<Continuation> {
        let mut i = claims.restriction().start;
        while claims.try_claim(i) {
            let block = i as u64 * self.partitions + p;
            for event in self.preloaded.take(block) {
                let time = Timestamp::saturating_from_millis(event.time());
                out.emit_at(event, time);
            }
            // The partition's next block comes after those of the others.
            let next = self.preloaded.watermark(block + self.partitions);
            claims.set_watermark(Timestamp::saturating_from_millis(next))?;
            i += 1;
        }
        Ok(Continuation::Stop)
    }
}
