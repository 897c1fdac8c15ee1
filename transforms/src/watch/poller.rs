//! The splittable DoFn that polls.

use std::{collections::HashSet, marker::PhantomData, sync::Arc};

use purlin_sdk::{
    DoFnError, Duration, Element, Emitter, Key, ProcessContext, Result, Timestamp,
    coder::{Coder, CoderRef, Context},
    sdf::{Boundedness, Claims, Continuation, Manual, SdfContext, SplittableDoFn},
};

use super::{
    PollResult, Termination,
    fingerprint::Fingerprint,
    growth::{Growth, GrowthTracker, Round},
    termination::Polls,
};

/// Polls an element, emits what is new, and comes back later.
pub(super) struct Poller<T, O, K, F, G> {
    pub(super) poll: F,
    pub(super) key: G,
    pub(super) coder: Option<CoderRef<K>>,
    pub(super) interval: Duration,
    pub(super) termination: Termination,
    pub(super) types: PhantomData<fn(T, O)>,
}

impl<T, O, K, F: Clone, G: Clone> Clone for Poller<T, O, K, F, G> {
    fn clone(&self) -> Poller<T, O, K, F, G> {
        Poller {
            poll: self.poll.clone(),
            key: self.key.clone(),
            coder: self.coder.clone(),
            interval: self.interval,
            termination: self.termination.clone(),
            types: PhantomData,
        }
    }
}

impl<T, O, K, F, G> Poller<T, O, K, F, G>
where
    O: Element,
    K: Key,
    G: Fn(&O) -> K,
{
    fn fingerprint(&self, output: &O, bytes: &mut Vec<u8>) -> Result<Fingerprint> {
        let coder =
            self.coder.as_ref().ok_or_else(|| DoFnError::msg("the key of its outputs has no coder"))?;
        bytes.clear();
        coder.encode(&(self.key)(output), Context::Outer, bytes)?;
        Ok(Fingerprint::of(bytes))
    }

    /// What of `result` was not known, with the watermark that it gives.
    fn round(
        &self,
        result: PollResult<O>,
        known: &[Fingerprint],
        polls: Polls,
        now: Timestamp,
    ) -> Result<(Round<O>, Option<Timestamp>)> {
        let (mut found, mut new) = (Vec::new(), HashSet::new());
        let mut bytes = Vec::new();
        for (output, timestamp) in result.outputs {
            let print = self.fingerprint(&output, &mut bytes)?;
            if known.binary_search(&print).is_err() && new.insert(print) {
                found.push((output, timestamp));
            }
        }
        found.sort_by_key(|(_, timestamp)| *timestamp);
        let polls = polls.and_one(!found.is_empty(), now);
        let over = result.complete || result.watermark == Some(Timestamp::MAX);
        let last = over || self.termination.holds(&polls, now);
        let watermark = result.watermark.or_else(|| found.first().map(|(_, timestamp)| *timestamp));
        Ok((Round { found: Arc::new(found), new: new.into_iter().collect(), polls, last }, watermark))
    }
}

impl<T, O, K, F, G> SplittableDoFn for Poller<T, O, K, F, G>
where
    T: Element,
    O: Element,
    K: Key,
    F: Fn(&T, &ProcessContext<'_>) -> Result<PollResult<O>> + Clone + Send + 'static,
    G: Fn(&O) -> K + Clone + Send + 'static,
{
    type Input = T;
    type Output = (T, O);
    type Tracker = GrowthTracker<O>;
    type Estimator = Manual;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn initial_restriction(&self, _: &T, cx: &SdfContext<'_>) -> Result<Growth<O>> {
        Ok(Growth::Poll { known: Vec::new(), polls: Polls::none(cx.now()) })
    }

    fn new_tracker(&self, _: &T, growth: Growth<O>, _: &SdfContext<'_>) -> Result<GrowthTracker<O>> {
        Ok(GrowthTracker::new(growth))
    }

    fn initial_watermark_state(&self, _: &T, _: &Growth<O>, cx: &SdfContext<'_>) -> Result<Timestamp> {
        Ok(cx.timestamp())
    }

    fn new_watermark_estimator(
        &self,
        state: Timestamp,
        _: &T,
        _: &Growth<O>,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        input: &T,
        claims: &Claims<'_, Self>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, (T, O)>,
    ) -> Result<Continuation> {
        let (round, watermark) = match claims.restriction() {
            Growth::Poll { known, polls } => {
                let result = (self.poll)(input, cx)?;
                self.round(result, &known, polls, cx.now())?
            }
            Growth::Emit(found) => {
                (Round { found, new: Vec::new(), polls: Polls::none(cx.now()), last: true }, None)
            }
        };
        let (found, last) = (round.found.clone(), round.last);
        if !claims.try_claim(round) {
            return Ok(Continuation::Stop);
        }
        for (output, timestamp) in found.iter() {
            out.emit_at((input.clone(), output.clone()), *timestamp);
        }
        if last {
            return Ok(Continuation::Stop);
        }
        if let Some(watermark) = watermark
            && watermark > claims.watermark()
        {
            claims.set_watermark(watermark)?;
        }
        Ok(Continuation::Resume(self.interval))
    }

    /// Outputs may be older than the element that asks for them, such as a directory's files than its name.
    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::MAX
    }
}
