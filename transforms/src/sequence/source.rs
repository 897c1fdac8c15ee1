//! The splittable DoFn behind all sequences.

use std::{fmt, sync::Arc};

use purlin_sdk::{
    ClockRef, DoFnError, Duration, Emitter, ProcessContext, Result, Timestamp,
    sdf::{Boundedness, Claims, Continuation, EndEstimator, Manual, OffsetRange, SdfContext, SplittableDoFn},
};
use serde::{Deserialize, Serialize};

use super::schedule::{Schedule, problem};
use crate::offsets::Offsets;

/// Numbers between two looks at the clock.
const LOOK_EVERY: u32 = 64;

/// Looks at the clock after which an endless source lets others have their turn, also where the runner does not ask.
const LOOKS_PER_TURN: u32 = 256;

/// The longest wait, so that the watermark follows the clock also between numbers that are far apart.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Which numbers, and when.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Work {
    pub(super) numbers: OffsetRange,
    /// Without one, as fast as can be.
    pub(super) schedule: Option<Schedule>,
    /// When to stop, wherever it has come to.
    pub(super) stop: Option<Timestamp>,
}

impl Work {
    /// Whether several workers can share it: numbers that take their time come from one.
    fn is_divisible(&self) -> bool {
        self.schedule.is_none() && !self.numbers.is_endless()
    }
}

pub(super) type TimestampFn = Arc<dyn Fn(i64) -> Timestamp + Send + Sync>;

/// What timestamp a number has.
#[derive(Clone)]
pub(super) enum Stamp {
    /// That of the element that asked for it.
    Input,
    /// The time by the run's clock at which it is emitted.
    Now,
    /// The time at which it is due.
    Due,
    /// What the user's function says, which should not go back.
    Given(TimestampFn),
}

/// Emits numbers.
#[derive(Clone)]
pub(super) struct Numbers {
    pub(super) stamp: Stamp,
    pub(super) boundedness: Boundedness,
}

/// How many numbers of an endless range are due.
pub(super) struct DueByNow {
    schedule: Option<Schedule>,
    clock: ClockRef,
}

impl EndEstimator for DueByNow {
    fn estimate(&self) -> i64 {
        self.schedule.map_or(i64::MAX, |schedule| schedule.next(self.clock.now()))
    }
}

impl fmt::Debug for DueByNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "up to {}", self.estimate())
    }
}

impl Numbers {
    /// The timestamp of `number`, emitted at `now`; none for that of the input.
    #[inline]
    fn stamp(&self, work: &Work, number: i64, now: Timestamp) -> Option<Timestamp> {
        match (&self.stamp, &work.schedule) {
            (Stamp::Input, _) => None,
            (Stamp::Given(f), _) => Some(f(number)),
            (Stamp::Due, Some(schedule)) => Some(schedule.due(number)),
            (Stamp::Due, None) | (Stamp::Now, _) => Some(now),
        }
    }

    /// Says that `next` is the next number.
    fn report(&self, work: &Work, next: i64, now: Timestamp, claims: &Claims<'_, Self>) -> Result {
        if !work.numbers.contains(next) {
            return Ok(());
        }
        let Some(mut watermark) = self.stamp(work, next, now) else { return Ok(()) };
        if matches!(self.stamp, Stamp::Due) {
            // Not ahead of the clock: whoever sees a window close there knows that its time is over.
            watermark = watermark.min(now);
        }
        if watermark > claims.watermark() {
            claims.set_watermark(watermark)?;
        }
        Ok(())
    }
}

impl SplittableDoFn for Numbers {
    type Input = Work;
    type Output = i64;
    type Tracker = Offsets<DueByNow>;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        self.boundedness
    }

    fn initial_restriction(&self, work: &Work, _: &SdfContext<'_>) -> Result<OffsetRange> {
        match work.schedule.and_then(|schedule| problem(schedule.per_period, schedule.period)) {
            Some(reason) => Err(DoFnError::msg(reason)),
            None => Ok(work.numbers),
        }
    }

    fn split(
        &self,
        work: &Work,
        numbers: OffsetRange,
        desired: usize,
        _: &SdfContext<'_>,
    ) -> Result<Vec<OffsetRange>> {
        Ok(if work.is_divisible() { numbers.split(desired) } else { vec![numbers] })
    }

    /// What takes its time or has no end is given up; what only takes work is done.
    fn truncate(&self, work: &Work, numbers: OffsetRange, _: &SdfContext<'_>) -> Result<Option<OffsetRange>> {
        Ok(work.is_divisible().then_some(numbers))
    }

    fn new_tracker(
        &self,
        work: &Work,
        numbers: OffsetRange,
        cx: &SdfContext<'_>,
    ) -> Result<Offsets<DueByNow>> {
        let end = DueByNow { schedule: work.schedule, clock: cx.clock() };
        Ok(Offsets::new(numbers, end, work.is_divisible()))
    }

    fn initial_watermark_state(&self, _: &Work, _: &OffsetRange, cx: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &Work,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        work: &Work,
        claims: &Claims<'_, Self>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, i64>,
    ) -> Result<Continuation> {
        let mut next = claims.restriction().start;
        let mut looks = 0;
        while looks < LOOKS_PER_TURN {
            // Work with an end needs no turns.
            looks += u32::from(work.numbers.is_endless());
            let now = cx.now();
            if work.stop.is_some_and(|stop| now >= stop) {
                // The rest is claimed, and nothing comes of it.
                claims.try_claim(i64::MAX);
                return Ok(Continuation::Stop);
            }
            self.report(work, next, now, claims)?;
            for _ in 0..LOOK_EVERY {
                if let Some(wait) = wait(work, next, now)
                    && next < claims.restriction().end
                {
                    self.report(work, next, now, claims)?;
                    return Ok(Continuation::Resume(wait));
                }
                if !claims.try_claim(next) {
                    return Ok(Continuation::Stop);
                }
                match self.stamp(work, next, now) {
                    Some(timestamp) => out.emit_at(next, timestamp),
                    None => out.emit(next),
                }
                next = next.saturating_add(1);
            }
        }
        Ok(Continuation::resume())
    }

    /// Times that are asked for by an element of a later timestamp are emitted all the same.
    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::MAX
    }
}

/// How long to wait before `number` can be emitted; not at all when it is due.
#[inline]
fn wait(work: &Work, number: i64, now: Timestamp) -> Option<Duration> {
    let due = work.schedule?.due(number);
    if due <= now {
        return None;
    }
    let until_stop = work.stop.map_or(Duration::MAX, |stop| stop - now);
    Some((due - now).min(MAX_WAIT).min(until_stop))
}
