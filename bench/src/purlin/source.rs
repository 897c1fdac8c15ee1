//! The events of W2 and W3 as a splittable source.

use purlin_sdk::{
    Emitter, PCollection, Pipeline, ProcessContext, Result, Timestamp,
    sdf::{
        Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext, SplittableDoFn,
        WatermarkStateOf,
    },
};

use crate::generate::{BATCH, Event, Generator};

/// Which timestamps the events get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// None: all stand at the beginning of time.
    Constant,
    /// Their own, with the generator's watermark.
    Own,
}

/// Reads a partition of the events, as one would read a log: in order, a block of [`BATCH`] events a position. Event
/// `i` of partition `p` of `n` is the generator's event `i * n + p`.
#[derive(Clone, Debug)]
pub(super) struct Events {
    generator: Generator,
    events: u64,
    partitions: u64,
    times: Times,
}

impl Events {
    pub(super) fn read(
        pipeline: &Pipeline,
        keys: u64,
        events: u64,
        partitions: u64,
        times: Times,
    ) -> PCollection<Event> {
        let source = Events { generator: Generator::new(keys), events, partitions, times };
        pipeline.create("Partitions", 0..partitions).par_do_splittable("Read", source)
    }

    /// How many events partition `p` has.
    fn len(&self, p: u64) -> u64 {
        (self.events + self.partitions - 1 - p) / self.partitions
    }
}

impl SplittableDoFn for Events {
    type Input = u64;
    type Output = Event;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn initial_restriction(&self, p: &u64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, self.len(*p).div_ceil(BATCH) as i64))
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
        let len = self.len(*p);
        let mut block = claims.restriction().start;
        while claims.try_claim(block) {
            let first = block as u64 * BATCH;
            let events =
                (first..(first + BATCH).min(len)).map(|i| self.generator.event(i * self.partitions + p));
            match self.times {
                Times::Constant => out.emit_all(events),
                Times::Own => {
                    out.emit_all_at(events.map(|e| (e, Timestamp::saturating_from_millis(e.ts))));
                }
            }
            if self.times == Times::Own {
                let next = (first + BATCH) * self.partitions + p;
                claims.set_watermark(Timestamp::saturating_from_millis(Generator::watermark(next)))?;
            }
            block += 1;
        }
        Ok(Continuation::Stop)
    }
}
