//! The laws of a restriction tracker.

use std::fmt::Debug;

use crate::sdf::{Boundedness, RestrictionTracker};

/// Where splits are tried: a checkpoint, the usual half, all, and the odd places between.
const FRACTIONS: [f64; 9] = [0.0, 1e-9, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999_999, 1.0];

/// Checks a tracker against its laws (see [`RestrictionTracker`]) and returns the first that is broken, in words.
///
/// `make` builds the tracker of a restriction, `restriction` is the one to try, and `positions` lists every position
/// that a restriction covers, in the order in which they are claimed. Splits are tried at many fractions after every
/// number of claims, and after another split; each piece is then claimed to its end. The effort grows with the third
/// power of the number of positions: some tens show as much as thousands.
///
/// Of an endless restriction list the positions up to a bound that no primary reaches past; for
/// [`GrowableOffsetRangeTracker`](crate::sdf::GrowableOffsetRangeTracker) that is any bound from the estimated end on.
///
/// # Errors
/// The first law that does not hold: after which claims and split, what came out, and what should have.
///
/// ```
/// use purlin_sdk::sdf::{OffsetRange, OffsetRangeTracker, check_tracker_laws};
/// let range = OffsetRange::new(3, 12);
/// check_tracker_laws(OffsetRangeTracker::new, range, |r| (r.start..r.end).collect()).unwrap();
/// ```
pub fn check_tracker_laws<R: Clone, T>(
    make: impl Fn(R) -> T,
    restriction: R,
    positions: impl Fn(&R) -> Vec<T::Position>,
) -> Result<(), String>
where
    T: RestrictionTracker<Restriction = R>,
    T::Position: Clone + PartialEq + Debug,
{
    let all = positions(&restriction);
    let mut whole = make(restriction.clone());
    claim_to_the_end(&mut whole, &all, 0)?;
    check_finished(&mut whole, &all, &positions)?;
    for claims in 0..=all.len() {
        for fraction in FRACTIONS {
            for again in [None, Some(0.0), Some(0.5)] {
                let mut tracker = make(restriction.clone());
                claim(&mut tracker, &all[..claims])?;
                let mut at = format!("after {claims} claims and a split at {fraction}");
                let mut split = check_split(&mut tracker, &all, claims, fraction, &positions)
                    .map_err(|e| format!("{at}: {e}"))?;
                if let Some(again) = again {
                    at = format!("{at} and one at {again}");
                    let mine = split.primary;
                    split = check_split(&mut tracker, &mine, claims, again, &positions)
                        .map_err(|e| format!("{at}: {e}"))?;
                }
                check_pieces(&mut tracker, &make, split, claims, &positions)
                    .map_err(|e| format!("{at}: {e}"))?;
            }
        }
    }
    Ok(())
}

/// What a split led to.
struct Split<R, P> {
    /// The positions that the tracker still covers.
    primary: Vec<P>,
    /// What was given away, and its positions.
    residual: Option<(R, Vec<P>)>,
}

/// Splits a tracker that covers `all` and has claimed the first `claims` of them.
fn check_split<T>(
    tracker: &mut T,
    all: &[T::Position],
    claims: usize,
    fraction: f64,
    positions: &impl Fn(&T::Restriction) -> Vec<T::Position>,
) -> Result<Split<T::Restriction, T::Position>, String>
where
    T: RestrictionTracker,
    T::Position: Clone + PartialEq + Debug,
{
    let Some(residual) = tracker.try_split(fraction) else {
        check_point(tracker)?;
        let primary = positions(&tracker.restriction());
        if !same(&primary, all) {
            return Err(format!("nothing was split off, yet the tracker went from {all:?} to {primary:?}"));
        }
        return Ok(Split { primary, residual: None });
    };
    check_point(tracker)?;
    let primary = positions(&tracker.restriction());
    let given = positions(&residual);
    if let Some(claimed) = all[..claims].iter().find(|p| given.contains(p)) {
        return Err(format!("the residual {given:?} holds {claimed:?}, which is claimed"));
    }
    if !same(&[&primary[..], &given[..]].concat(), all) {
        return Err(format!("primary {primary:?} and residual {given:?} are not together {all:?}"));
    }
    if fraction == 0.0 && (primary.len() != claims || !tracker.is_done()) {
        return Err(format!("the primary {primary:?} has more than the {claims} positions that are claimed"));
    }
    Ok(Split { primary, residual: Some((residual, given)) })
}

/// Claims the primary and the residual of a split to their ends.
fn check_pieces<R, T>(
    tracker: &mut T,
    make: &impl Fn(R) -> T,
    split: Split<R, T::Position>,
    claims: usize,
    positions: &impl Fn(&R) -> Vec<T::Position>,
) -> Result<(), String>
where
    T: RestrictionTracker<Restriction = R>,
    T::Position: Clone + PartialEq + Debug,
{
    claim_to_the_end(tracker, &split.primary, claims)?;
    check_finished(tracker, &split.primary, positions)?;
    let Some((residual, given)) = split.residual else { return Ok(()) };
    let mut other = make(residual);
    claim_to_the_end(&mut other, &given, 0).map_err(|e| format!("residual: {e}"))?;
    let Some(past) = given.first() else { return Ok(()) };
    if tracker.try_claim(past.clone()) {
        return Err(format!("the primary claimed {past:?}, which it gave away"));
    }
    check_point(tracker)?;
    if !tracker.is_done() {
        return Err(format!("not done after the claim of {past:?} failed: {} left", tracker.pending()));
    }
    for fraction in FRACTIONS {
        if tracker.try_split(fraction).is_some() {
            return Err(format!("split at {fraction} although the claim of {past:?} had failed"));
        }
    }
    Ok(())
}

/// Claims `positions` from the one after the first `claims` on, and checks that the tracker is done then, not before.
fn claim_to_the_end<T>(tracker: &mut T, positions: &[T::Position], claims: usize) -> Result<(), String>
where
    T: RestrictionTracker,
    T::Position: Clone + Debug,
{
    for next in claims..positions.len() {
        if tracker.is_done() {
            return Err(format!("done after {next} of the {} positions {positions:?}", positions.len()));
        }
        claim(tracker, &positions[next..=next])?;
    }
    // Of an endless restriction only the beginning is listed.
    if tracker.boundedness() == Boundedness::Bounded && !tracker.is_done() {
        return Err(format!("not done although {positions:?} are claimed: {} left", tracker.pending()));
    }
    check_point(tracker)
}

/// Claims positions that the tracker covers.
fn claim<T>(tracker: &mut T, positions: &[T::Position]) -> Result<(), String>
where
    T: RestrictionTracker,
    T::Position: Clone + Debug,
{
    check_point(tracker)?;
    for position in positions {
        if !tracker.try_claim(position.clone()) {
            return Err(format!("could not claim {position:?}, which the restriction covers"));
        }
        check_point(tracker)?;
    }
    Ok(())
}

/// That a tracker that is done has nothing to give away, and stays as it is.
fn check_finished<T>(
    tracker: &mut T,
    all: &[T::Position],
    positions: &impl Fn(&T::Restriction) -> Vec<T::Position>,
) -> Result<(), String>
where
    T: RestrictionTracker,
    T::Position: PartialEq + Debug,
{
    if !tracker.is_done() {
        return Ok(());
    }
    for fraction in FRACTIONS {
        let given = tracker.try_split(fraction).map_or_else(Vec::new, |residual| positions(&residual));
        if !given.is_empty() {
            return Err(format!("done, but a split at {fraction} gave away {given:?}"));
        }
        let left = positions(&tracker.restriction());
        if !same(&left, all) {
            return Err(format!(
                "a split at {fraction} when done changed the restriction from {all:?} to {left:?}"
            ));
        }
    }
    Ok(())
}

/// What holds at every point.
fn check_point<T: RestrictionTracker>(tracker: &T) -> Result<(), String> {
    let progress = tracker.progress();
    if !progress.is_valid() {
        return Err(format!("progress must be finite and not negative, and is {progress:?}"));
    }
    match tracker.violation() {
        Some(violation) => Err(format!("a violation is reported although there was none: {violation}")),
        None => Ok(()),
    }
}

/// Whether both hold the same positions as often, in any order.
fn same<P: PartialEq>(left: &[P], right: &[P]) -> bool {
    let times = |of: &P, list: &[P]| list.iter().filter(|p| *p == of).count();
    left == right || left.len() == right.len() && left.iter().all(|p| times(p, left) == times(p, right))
}

#[cfg(test)]
#[path = "tracker_tests.rs"]
mod tests;
