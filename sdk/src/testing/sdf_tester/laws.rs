//! The laws of a splittable DoFn.

use std::fmt::Debug;

use super::{Harness, Item, Part, Place, SdfTester, Settings};
use crate::{
    Clock, Duration, ManualClock, Timestamp,
    coder::{check_round_trip, default_coder, to_bytes},
    coder_slot::CoderSlot,
    dofn::StepScope,
    sdf::{SdfContext, SplittableDoFn, WatermarkEstimator},
    testing::assert::Difference,
};

const FRACTIONS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Up to this many claims a split is tried after each; of more, after the first and the last few and some between.
const ALL_CLAIMS_UP_TO: u64 = 24;
/// Bundles until a run counts as one without an end.
const MOST: usize = 10_000;

/// What a run gave.
struct Outcome<O> {
    outputs: Vec<(O, Timestamp)>,
    tags: Vec<Vec<Vec<u8>>>,
    /// Positions claimed in the first bundle.
    claims: u64,
}

/// Where splits happen.
#[derive(Clone, Copy)]
enum Plan {
    Never,
    /// In the first bundle, after so many claims, at a fraction.
    Once(u64, f64),
    /// After every claim the rest is given back.
    AfterEveryClaim,
}

impl<D: SplittableDoFn> SdfTester<D>
where
    D::Output: Debug + PartialEq,
{
    /// Checks the DoFn on its element against the laws, and returns the first that is broken, in words. The work is done
    /// once without any split; then again with a split after each number of claims at the fractions 0, 1/4, 1/2, 3/4
    /// and 1, with one after every claim, and in the parts of its own `split`:
    /// - all parts together give the same outputs with the same timestamps, as often, each part done by an instance of its
    ///   own;
    /// - the watermark does not go back, and an estimator made again from its state says what it said before;
    /// - what a part emits does not lie behind the watermark that it held when it began (not for an estimator that
    ///   follows the clock, nor after [`allow_late`](SdfTester::allow_late));
    /// - element, restriction and estimator state come back from their coders.
    ///
    /// Every run has a clock of its own that starts where the tester's stands. The work must have an end. Trackers and
    /// estimators have laws of their own, [`check_tracker_laws`](crate::sdf::check_tracker_laws) and
    /// [`check_estimator_laws`](crate::sdf::check_estimator_laws).
    ///
    /// # Errors
    /// The first law that does not hold, where it was split, and what came out; or the error of a bundle.
    pub fn check_laws(&self) -> Result<(), String> {
        let whole = self.outcome(Plan::Never, false).map_err(|e| format!("without any split: {e}"))?;
        let compare = |plan, by_split, at: String| {
            let split = self.outcome(plan, by_split).map_err(|e| format!("{at}: {e}"))?;
            self.same(&whole, &split).map_err(|e| format!("{at}: {e}"))
        };
        compare(Plan::Never, true, "in the parts of its `split`".to_owned())?;
        for claims in places(whole.claims) {
            for fraction in FRACTIONS {
                let at = format!("with a split at {fraction} after {claims} claims");
                compare(Plan::Once(claims, fraction), false, at)?;
            }
        }
        compare(Plan::AfterEveryClaim, false, "with a checkpoint after every claim".to_owned())
    }

    fn same(&self, whole: &Outcome<D::Output>, split: &Outcome<D::Output>) -> Result<(), String> {
        let coder = default_coder::<D::Output>().map_err(|e| e.to_string())?;
        let encode = |(value, at): &(D::Output, Timestamp)| {
            let mut bytes = to_bytes(&*coder, value).ok()?;
            bytes.extend(at.as_millis().to_be_bytes());
            Some(bytes)
        };
        let difference = Difference::between(&whole.outputs, &split.outputs, encode);
        if !difference.is_none() {
            return Err(format!("the outputs are not those without a split: {difference}"));
        }
        for (tag, (expected, got)) in self.settings.tags.iter().zip(whole.tags.iter().zip(&split.tags)) {
            if expected != got {
                return Err(format!(
                    "the elements of the output `{}` are not those without a split: there are {} instead of {}, or they \
                     have other values",
                    tag.name,
                    got.len(),
                    expected.len()
                ));
            }
        }
        Ok(())
    }

    /// Does all the work, in a tester of its own.
    fn outcome(&self, plan: Plan, by_split: bool) -> Result<Outcome<D::Output>, String> {
        let mut trial = self.again();
        if by_split {
            trial.start().map_err(|e| e.to_string())?;
        } else {
            trial.parts.push_back(self.whole()?);
            trial.started = true;
        }
        for part in &trial.parts {
            trial.check_coder(part)?;
        }
        let mut outcome = Outcome { outputs: Vec::new(), tags: Vec::new(), claims: 0 };
        for bundle in 0..MOST {
            let Some(part) = trial.parts.front().cloned() else {
                outcome.tags = trial.working.take_tags_encoded(&trial.settings);
                return Ok(outcome);
            };
            let split = match plan {
                Plan::Once(claims, fraction) if bundle == 0 => Some((claims, fraction)),
                Plan::AfterEveryClaim => Some((1, 0.0)),
                Plan::Once(..) | Plan::Never => None,
            };
            let claims = trial.bundle(&part, split, &mut outcome.outputs)?;
            if bundle == 0 {
                outcome.claims = claims;
            }
        }
        Err(format!("there is no end after {MOST} bundles: the laws are checked on work that has one"))
    }

    /// Works on the first part, which is `part`, and checks what comes of it.
    fn bundle(
        &mut self,
        part: &Part<D>,
        split: Option<(u64, f64)>,
        outputs: &mut Vec<(D::Output, Timestamp)>,
    ) -> Result<u64, String> {
        let before = self.estimate(part)?;
        let others = self.parts.len() - 1;
        self.clock.advance(part.delay);
        let end = self.work(split).map_err(|e| e.to_string())?;
        // What is left may be done by another worker: nothing may live on in the instance.
        self.teardown().map_err(|e| e.to_string())?;
        let held = part.batch.values.first().map_or(Timestamp::MIN, |item| item.watermark);
        let emitted = self.output_with_times();
        if !self.late_allowed
            && !before.follows_clock
            && let Some((value, at)) = emitted.iter().find(|(_, at)| *at < held)
        {
            return Err(format!(
                "the watermark passed what was still to come: a part that held it at {held} emitted {value:?} at {at}"
            ));
        }
        outputs.extend(emitted);
        for rest in self.parts.iter().take(self.parts.len() - others) {
            self.check_coder(rest)?;
            let after = self.estimate(rest)?;
            if after.watermark < before.watermark {
                let (before, after) = (before.watermark, after.watermark);
                return Err(format!("the watermark went back from {before} to {after} between two bundles"));
            }
            // Where the hold has moved, it is what the estimator said when the rest was given back.
            let hold = rest.batch.values.first().map_or(held, |item| item.watermark);
            if hold > held && after.watermark < hold {
                return Err(format!(
                    "made again from its state the watermark estimator says {} instead of {hold}",
                    after.watermark
                ));
            }
        }
        Ok(end.claims)
    }

    /// What the estimator of a part says, when it is made from its state.
    fn estimate(&self, part: &Part<D>) -> Result<Estimate, String> {
        let Some(Item::<D> { element, restriction, state, .. }) = part.batch.values.first() else {
            return Err("a part of the work without an element".to_owned());
        };
        self.with_context(|cx| {
            let mut estimator = self.dofn.new_watermark_estimator(state.clone(), element, restriction, cx)?;
            Ok(Estimate {
                watermark: estimator.current_watermark(),
                follows_clock: estimator.follows_clock(),
            })
        })
    }

    fn check_coder(&self, part: &Part<D>) -> Result<(), String> {
        let coder = CoderSlot::<Item<D>>::default_of_type().get();
        part.batch.values.iter().try_for_each(|item| {
            check_round_trip(&*coder, item)
                .map_err(|e| format!("a part of the work does not survive its coder: {e}"))
        })
    }

    /// All of the work as one part.
    fn whole(&self) -> Result<Part<D>, String> {
        let element =
            self.element.clone().ok_or("there is no element to work on: give one by `.element(x)`")?;
        let item = self.with_context(|cx| {
            let restriction = self.dofn.initial_restriction(&element, cx)?;
            let state = self.dofn.initial_watermark_state(&element, &restriction, cx)?;
            let (size, watermark) = (0.0, self.place.timestamp);
            Ok(Item::<D> {
                element: element.clone(),
                restriction,
                state,
                size,
                watermark,
                estimated: Timestamp::MIN,
                truncated: false,
            })
        })?;
        Ok(Part { batch: self.place.batch([(item, None)]), delay: Duration::ZERO })
    }

    fn with_context<R>(&self, f: impl FnOnce(&SdfContext<'_>) -> crate::Result<R>) -> Result<R, String> {
        let bundle = self.settings.bundle();
        let scope = StepScope { cx: &bundle, step: &self.settings.step, views: &[] };
        let at = self.place.batch([((), None)]);
        let cx = SdfContext::new(scope, crate::batch::Row::of(&at.meta, 0));
        f(&cx).map_err(|e| e.to_string())
    }

    /// A tester that is as this one was before it did anything, with a clock of its own.
    fn again(&self) -> SdfTester<D> {
        let clock = ManualClock::at(self.clock.now());
        let Place { timestamp, window, pane } = self.place.clone();
        SdfTester {
            dofn: self.dofn.clone(),
            settings: Settings { clock: clock.handle(), ..self.settings.clone() },
            clock,
            place: Place { timestamp, window, pane },
            element: self.element.clone(),
            late_allowed: self.late_allowed,
            draining: self.draining,
            started: false,
            parts: std::collections::VecDeque::new(),
            pairing: Harness::default(),
            working: Harness::default(),
        }
    }
}

struct Estimate {
    watermark: Timestamp,
    follows_clock: bool,
}

/// After how many of `claims` claims to split.
fn places(claims: u64) -> Vec<u64> {
    if claims <= ALL_CLAIMS_UP_TO {
        return (1..=claims).collect();
    }
    let edge = ALL_CLAIMS_UP_TO / 6;
    let between = ALL_CLAIMS_UP_TO - 2 * edge;
    let step = (claims - 2 * edge) / between;
    let middle = (0..between).map(|i| edge + 1 + i * step);
    (1..=edge).chain(middle).chain(claims - edge + 1..=claims).collect()
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn splits_are_tried_at_both_ends_and_between() {
        assert_eq!(places(0), [0; 0]);
        assert_eq!(places(3), [1, 2, 3]);
        for claims in [24, 25, 26, 100, 1_000_000] {
            let at = places(claims);
            assert_eq!(at.len(), 24);
            assert!(at.is_sorted_by(|a, b| a < b), "{at:?}");
            assert_eq!((at[0], at[23]), (1, claims));
        }
    }
}
