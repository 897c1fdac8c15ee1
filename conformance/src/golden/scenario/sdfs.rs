//! Splittable DoFns, by the words that scenarios describe them with.

use purlin_sdk::{
    DoFnError, Duration, Emitter, ProcessContext, Result, Tag, Timestamp,
    sdf::{
        Boundedness, Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, ParDoSplittable,
        Progress, RestrictionTracker, SdfContext, SplittableDoFn,
    },
};

use super::{Kv, Pairs};
use crate::golden::{datum::Datum, record::Recorder};

/// Beside the output: a label, a key and what a call was given.
const CALLS: Tag<(String, Datum, Datum)> = Tag::new("calls");

/// Numbers of an element from 0 up to its value.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// How long the parts of the split before the start are.
    chunk: Option<i64>,
    /// After how many claims a call gives the rest back, and where the watermark is said.
    claims: Option<usize>,
    unbounded: bool,
    /// What is left of `n` numbers when the pipeline is drained, if that is not the default.
    truncated: Option<fn(i64) -> i64>,
}

/// Applies the DoFn that `words` describe; its calls are taken down.
pub(super) fn apply(words: &str, pc: &Pairs, recorder: &Recorder) -> std::result::Result<Pairs, String> {
    let plain = Numbers::default();
    let after = |prefix: &str, suffix: &str| -> Option<i64> {
        words.strip_prefix(prefix)?.strip_suffix(suffix)?.trim().parse().ok().filter(|n| *n > 0)
    };
    let numbers = if let Some(n) = after("offsets, split every", "") {
        Numbers { chunk: Some(n), ..plain }
    } else if let Some(n) = after("claim", "per call, manual watermark = ts + next position") {
        Numbers { claims: usize::try_from(n).ok(), ..plain }
    } else {
        match words {
            "DrainBounded" => plain,
            "DrainUnbounded" => Numbers { unbounded: true, ..plain },
            "DrainHalf" => Numbers { truncated: Some(|n| n / 2), ..plain },
            "DrainNone" => Numbers { truncated: Some(|_| 0), ..plain },
            other => return Err(format!("`{other}` is no splittable DoFn that is known")),
        }
    };
    let outputs = pc.par_do_splittable_with("Numbers", ParDoSplittable::of(numbers).tag(CALLS));
    recorder.record_as("Record calls", &outputs.tagged(CALLS), |call| call);
    Ok(outputs.main())
}

fn int(value: &Datum) -> Result<i64> {
    value.to_int().map_err(DoFnError::msg)
}

/// A tracker that may be told to be split only between calls: scenarios say what each call is given.
#[derive(Debug)]
struct Whole {
    tracker: OffsetRangeTracker,
    /// How many claims there are to be before it is split; never without a number.
    after: Option<usize>,
    claimed: usize,
}

impl RestrictionTracker for Whole {
    type Restriction = OffsetRange;
    type Position = i64;

    fn try_claim(&mut self, offset: i64) -> bool {
        let granted = self.tracker.try_claim(offset);
        self.claimed += usize::from(granted);
        granted
    }

    fn try_split(&mut self, _: f64) -> Option<OffsetRange> {
        let may_split = self.after.is_some_and(|after| self.claimed >= after);
        if may_split { self.tracker.try_split(0.0) } else { None }
    }

    fn restriction(&self) -> OffsetRange {
        self.tracker.restriction()
    }

    fn progress(&self) -> Progress {
        self.tracker.progress()
    }

    fn is_done(&self) -> bool {
        self.tracker.is_done()
    }
}

impl SplittableDoFn for Numbers {
    type Input = Kv;
    type Output = Kv;
    type Tracker = Whole;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        if self.unbounded { Boundedness::Unbounded } else { Boundedness::Bounded }
    }

    fn initial_restriction(&self, (_, n): &Kv, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, int(n)?))
    }

    fn split(&self, _: &Kv, all: OffsetRange, _: usize, _: &SdfContext<'_>) -> Result<Vec<OffsetRange>> {
        let Some(chunk) = self.chunk else { return Ok(vec![all]) };
        let step = usize::try_from(chunk).map_err(DoFnError::msg)?;
        let starts = (all.start..all.end).step_by(step);
        Ok(starts.map(|start| OffsetRange::new(start, all.end.min(start + chunk))).collect())
    }

    fn truncate(&self, _: &Kv, rest: OffsetRange, _: &SdfContext<'_>) -> Result<Option<OffsetRange>> {
        Ok(match (self.truncated, self.unbounded) {
            (Some(keep), _) => {
                let end = keep(rest.end);
                (end > rest.start).then(|| OffsetRange::new(rest.start, end))
            }
            (None, true) => None,
            (None, false) => Some(rest),
        })
    }

    fn new_tracker(&self, _: &Kv, range: OffsetRange, _: &SdfContext<'_>) -> Result<Whole> {
        Ok(Whole { tracker: OffsetRangeTracker::new(range), after: self.claims, claimed: 0 })
    }

    fn initial_watermark_state(&self, _: &Kv, _: &OffsetRange, _: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(Timestamp::MIN)
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &Kv,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        (key, _): &Kv,
        claims: &Claims<'_, Numbers>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Kv>,
    ) -> Result<Continuation> {
        let range = claims.restriction();
        let ends = Datum::List(vec![Datum::Int(range.start), Datum::Int(range.end)]);
        if self.chunk.is_some() {
            out.emit_to(CALLS, ("restriction".to_owned(), key.clone(), ends));
        } else if self.claims.is_some() {
            let watermark = Some(claims.watermark()).filter(|w| *w > Timestamp::MIN);
            let watermark = watermark.map_or(Datum::Null, |w| Datum::seconds(w.as_millis()));
            let call = Datum::map([("restriction", ends), ("watermark_at_start", watermark)]);
            out.emit_to(CALLS, ("call".to_owned(), key.clone(), call));
        }
        let at = |i: i64| cx.timestamp() + Duration::from_secs(i);
        let mut left = self.claims.unwrap_or(usize::MAX);
        let mut i = range.start;
        while left > 0 && claims.try_claim(i) {
            out.emit_at((key.clone(), Datum::Int(i)), at(i));
            i += 1;
            left -= 1;
            if self.claims.is_some() {
                claims.set_watermark(at(i))?;
            }
        }
        // A restriction that is done has nothing to go on with.
        Ok(if left == 0 && i < range.end { Continuation::resume() } else { Continuation::Stop })
    }
}
