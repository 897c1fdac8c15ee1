//! The laws of a watermark estimator.

use crate::{Timestamp, sdf::WatermarkEstimator};

/// Up to this many inputs all their orders are tried (720); with more, as many drawn at random.
const ALL_ORDERS_UP_TO: usize = 6;
const DRAWN_ORDERS: u64 = 720;

/// Checks an estimator against its laws and returns the first that is broken, in words.
///
/// `make` builds the estimator from a state and `state` is where to begin. The estimator is fed `timestamps` in many
/// orders, the same ones in each call, by `feed`: `TimestampObserving::observe_timestamp` for one that observes, the
/// setter of one that is set, a tick of its clock for one that follows a clock.
///
/// The laws:
/// - the watermark never goes back, whatever the order;
/// - to ask for the watermark does not change what [`state`](WatermarkEstimator::state) leads to: an estimator built
///   from the state reports the same watermark, is idle alike, and goes on alike.
///
/// # Errors
/// The first law that does not hold: what was fed so far, what came out, and what should have.
///
/// ```
/// use purlin_sdk::{Timestamp, sdf::{Monotonic, TimestampObserving, check_estimator_laws}};
/// let times = [10, 7, 12].map(Timestamp::from_secs);
/// check_estimator_laws(Monotonic::new, Timestamp::MIN, &times, TimestampObserving::observe_timestamp).unwrap();
/// ```
pub fn check_estimator_laws<E: WatermarkEstimator>(
    make: impl Fn(E::State) -> E,
    state: E::State,
    timestamps: &[Timestamp],
    feed: impl Fn(&mut E, Timestamp),
) -> Result<(), String> {
    let mut order = timestamps.to_vec();
    if timestamps.len() <= ALL_ORDERS_UP_TO {
        return for_each_order(&mut order, 0, &mut |order| check_order(&make, &state, order, &feed));
    }
    check_order(&make, &state, timestamps, &feed)?;
    for by in [|a: &Timestamp, b: &Timestamp| a.cmp(b), |a: &Timestamp, b: &Timestamp| b.cmp(a)] {
        order.sort_unstable_by(by);
        check_order(&make, &state, &order, &feed)?;
    }
    for seed in 0..DRAWN_ORDERS {
        fastrand::Rng::with_seed(seed).shuffle(&mut order);
        check_order(&make, &state, &order, &feed)?;
    }
    Ok(())
}

/// Calls `check` with every order of `items`; those before `from` stay.
fn for_each_order(
    items: &mut [Timestamp],
    from: usize,
    check: &mut impl FnMut(&[Timestamp]) -> Result<(), String>,
) -> Result<(), String> {
    if from >= items.len() {
        return check(items);
    }
    for next in from..items.len() {
        items.swap(from, next);
        for_each_order(items, from + 1, check)?;
        items.swap(from, next);
    }
    Ok(())
}

fn check_order<E: WatermarkEstimator>(
    make: &impl Fn(E::State) -> E,
    state: &E::State,
    order: &[Timestamp],
    feed: &impl Fn(&mut E, Timestamp),
) -> Result<(), String> {
    let mut estimator = make(state.clone());
    // It is made again from its state after every input, as by a run that is checkpointed all the time.
    let mut restored = make(state.clone());
    let mut last = Timestamp::MIN;
    for fed in 0..=order.len() {
        if let Some(input) = fed.checked_sub(1).and_then(|i| order.get(i)) {
            feed(&mut estimator, *input);
            feed(&mut restored, *input);
        }
        let so_far = &order[..fed];
        let before = estimator.current_watermark();
        let was_idle = estimator.is_idle();
        if before < last {
            return Err(format!("the watermark went back from {last} to {before}; fed so far: {so_far:?}"));
        }
        let mut now = make(estimator.state());
        let rebuilt = now.current_watermark();
        let idle = now.is_idle();
        // As below: between the two readings a clock may move.
        if was_idle == estimator.is_idle() && idle != was_idle {
            let (it, other) = if was_idle { ("is not idle", "is") } else { ("is idle", "is not") };
            return Err(format!(
                "made again from its state it {it}, and the other {other}; fed so far: {so_far:?}"
            ));
        }
        restored = make(restored.state());
        let followed = restored.current_watermark();
        // Two readings around the others: they differ only where the estimator follows a clock.
        last = estimator.current_watermark();
        if last < before {
            return Err(format!(
                "the watermark went back from {before} to {last} by itself; fed: {so_far:?}"
            ));
        }
        if rebuilt < before || last < rebuilt {
            return Err(format!(
                "made again from its state it reports {rebuilt} instead of {before}; fed so far: {so_far:?}"
            ));
        }
        if followed < before || last < followed {
            return Err(format!(
                "made again from its state after every input it reports {followed} instead of {before}; \
                 fed so far: {so_far:?}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::Plain;

    /// An estimator with one thing wrong.
    struct Broken {
        fault: Fault,
        last: Timestamp,
        inputs: u32,
    }

    #[derive(Clone, Copy)]
    enum Fault {
        /// Reports the last timestamp and not the highest.
        GoesBack,
        /// Goes back when it is asked twice.
        GoesBackByItself,
        /// Saves nothing.
        ForgetsItsState,
        /// Counts its inputs to know when it is warm, and does not save the count.
        ForgetsTheCount,
        /// Is idle until the first input, and does not save that there was one.
        ForgetsThatItIsActive,
    }

    impl WatermarkEstimator for Broken {
        type State = Timestamp;
        type Kind = Plain;

        fn current_watermark(&mut self) -> Timestamp {
            match self.fault {
                Fault::GoesBackByItself => std::mem::replace(&mut self.last, Timestamp::MIN),
                Fault::ForgetsTheCount if self.inputs < 3 => Timestamp::MIN,
                _ => self.last,
            }
        }

        fn state(&self) -> Timestamp {
            match self.fault {
                Fault::ForgetsItsState => Timestamp::MIN,
                _ => self.last,
            }
        }

        fn is_idle(&mut self) -> bool {
            matches!(self.fault, Fault::ForgetsThatItIsActive) && self.inputs == 0
        }
    }

    fn check(fault: Fault, secs: &[i64]) -> String {
        let times: Vec<_> = secs.iter().map(|s| Timestamp::from_secs(*s)).collect();
        let make = |last| Broken { fault, last, inputs: 0 };
        let feed = |e: &mut Broken, ts| {
            e.inputs += 1;
            e.last = if matches!(fault, Fault::GoesBack) { ts } else { e.last.max(ts) };
        };
        check_estimator_laws(make, Timestamp::MIN, &times, feed).unwrap_err()
    }

    #[test]
    fn broken_estimators_are_found() {
        for (fault, words) in [
            (Fault::GoesBack, "went back from"),
            (Fault::GoesBackByItself, "by itself"),
            (Fault::ForgetsItsState, "made again from its state it reports -inf"),
            (Fault::ForgetsTheCount, "made again from its state"),
            (Fault::ForgetsThatItIsActive, "made again from its state it is idle"),
        ] {
            let found = check(fault, &[10, 12, 14]);
            assert!(found.contains(words), "{found}");
        }
    }

    #[test]
    fn an_order_that_breaks_it_is_found_among_many_inputs_too() {
        // The order given is harmless.
        let found = check(Fault::GoesBack, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(found.contains("went back from"), "{found}");
    }

    #[test]
    fn all_orders_are_tried_once_each() {
        let mut seen = std::collections::BTreeSet::new();
        let mut items = [1, 2, 3, 4].map(Timestamp::from_secs);
        for_each_order(&mut items, 0, &mut |order| {
            assert!(seen.insert(order.to_vec()));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen.len(), 24);
    }
}
