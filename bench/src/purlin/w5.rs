//! W5: how long a result takes.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use std::time::{Duration as StdDuration, Instant};

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Duration, Element, Emitter, PCollection, ProcessContext, Result,
    Timestamp,
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext,
        SplittableDoFn, WatermarkStateOf,
    },
    window::FixedWindows,
};
use purlin_transforms::Count;

use super::{answers::start, run};
use crate::generate::splitmix64;
use crate::hand::w5::{KEYS, NAP, WINDOW_MS, due, due_by, percentiles, since, time};
use crate::{Failure, Outcome, Params, checksum::window_count};

/// When the source was first asked.
type Start = Arc<OnceLock<Instant>>;

/// Hands over each event when it is due.
#[derive(Clone, Debug)]
struct Live {
    start: Start,
    n: u64,
}

impl SplittableDoFn for Live {
    type Input = u64;
    type Output = u64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn initial_restriction(&self, _: &u64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, self.n as i64))
    }

    fn new_tracker(&self, _: &u64, events: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(events))
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
        _: &u64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, u64>,
    ) -> Result<Continuation> {
        let start = *self.start.get_or_init(Instant::now);
        let mut next = claims.restriction().start as u64;
        let due = due_by(start.elapsed());
        while next < due {
            if !claims.try_claim(next as i64) {
                return Ok(Continuation::Stop);
            }
            out.emit_at(next, Timestamp::saturating_from_millis(time(next)));
            next += 1;
        }
        claims.set_watermark(Timestamp::saturating_from_millis(time(next)))?;
        Ok(Continuation::Resume(Duration::from_millis(NAP.as_millis() as i64)))
    }
}

/// What a result adds to the checksum, and since when it could have been there.
type Told<T> = fn(&T, &ProcessContext<'_>) -> (u64, StdDuration);

/// Notes how late each result is.
#[derive(Clone, Debug)]
struct Note<T> {
    told: Told<T>,
    start: Start,
    sum: u64,
    bundle: Vec<u32>,
    total: Arc<AtomicU64>,
    latencies: Arc<Mutex<Vec<u32>>>,
}

impl<T: Element> DoFn for Note<T> {
    type Input = T;
    type Output = ();

    fn process(&mut self, result: T, cx: &ProcessContext<'_>, _: &mut Emitter<'_, ()>) -> Result {
        let (answer, then) = (self.told)(&result, cx);
        self.sum = self.sum.wrapping_add(answer);
        if let Some(start) = self.start.get() {
            self.bundle.push(since(*start, then));
        }
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, _: &mut BundleEmitter<'_, ()>) -> Result {
        self.total.fetch_add(std::mem::take(&mut self.sum), Ordering::Relaxed);
        self.latencies.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.bundle);
        Ok(())
    }
}

/// Each event is a result.
pub fn each(params: &Params) -> Result<Outcome, Failure> {
    latency(params, |events| events.map("Through", |id| id), |id, _| (splitmix64(*id), due(*id)))
}

/// Each key's count in a window is a result.
pub fn windowed(params: &Params) -> Result<Outcome, Failure> {
    latency(
        params,
        |events| {
            events
                .window_into("Windows", FixedWindows::of(Duration::from_millis(WINDOW_MS)))
                .map("Key", |id| id % KEYS)
                .apply("Count", Count::per_element())
        },
        |(key, count), cx| {
            let end = StdDuration::from_millis((start(cx) + WINDOW_MS) as u64);
            (window_count(*key, start(cx), *count), end)
        },
    )
}

fn latency<T: Element>(
    params: &Params,
    build: fn(PCollection<u64>) -> PCollection<T>,
    told: Told<T>,
) -> Result<Outcome, Failure> {
    let (total, latencies, start) = (Arc::new(AtomicU64::new(0)), Arc::default(), Start::default());
    run(params, |p| {
        let source = Live { start: start.clone(), n: params.n };
        let note = Note {
            told,
            start: start.clone(),
            sum: 0,
            bundle: Vec::new(),
            total: total.clone(),
            latencies: Arc::clone(&latencies),
        };
        build(p.create("One", [0_u64]).par_do_splittable("Read", source)).par_do("Note", note);
    })?;
    let latencies = std::mem::take(&mut *latencies.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Outcome { latency: percentiles(latencies), ..Outcome::new(total.load(Ordering::Relaxed), params.n) })
}
