//! Giving away the rest of a bundle that runs.

use purlin_sdk::PipelineError;

use super::{bundles::Running, io::Reading, plan::Plan};
use crate::proto::fn_execution::{
    BundleApplication, DelayedBundleApplication, ProcessBundleSplitResponse,
    process_bundle_split_request::DesiredSplit, process_bundle_split_response::ChannelSplit,
};

/// Where a source is cut.
#[derive(Debug, PartialEq)]
enum Cut {
    /// Inside the element in hand: the fraction of what is left of it that is kept.
    Inside(f64),
    /// Before this element.
    Before(i64),
}

/// Where to cut so that `fraction` of what is left is kept, as near as may be; the first choice comes first.
///
/// `progress` is how much of the element in hand is done, when it can be cut.
///
/// Source: `bundle_processor.py` of Beam's Python SDK, `_compute_split`.
fn cuts(reading: Reading, desired: &DesiredSplit, progress: Option<f64>) -> Vec<Cut> {
    let Reading { done, in_hand, stop, over } = reading;
    let allowed = &desired.allowed_split_points;
    let may = |at: i64| allowed.is_empty() || allowed.contains(&at);
    let total = desired.estimated_input_elements.max(done + in_hand).min(stop);
    let fraction = desired.fraction_of_remainder.clamp(0.0, 1.0);
    // An element that cannot be cut is in hand as a whole.
    let current = if in_hand == 0 { 0.0 } else { progress.unwrap_or(0.0) };
    let keep = (total as f64 - done as f64 - current).max(0.0) * fraction;
    let mut cuts = Vec::new();
    if in_hand == 1 && progress.is_some() && may(done) && may(done + 1) && keep < 1.0 - current {
        cuts.push(Cut::Inside(keep / (1.0 - current)));
    }
    let least = done + in_hand;
    let mut before = least.max(done.saturating_add((current + keep).round() as i64));
    if !allowed.is_empty() {
        let later = allowed.iter().copied().filter(|at| *at >= before).min();
        let earlier = allowed.iter().copied().filter(|at| *at >= least && *at < before).max();
        let Some(nearest) = earlier.into_iter().chain(later).min_by_key(|at| at.abs_diff(before)) else {
            return cuts;
        };
        before = nearest;
    }
    // Where everything came already there is nothing behind what is in hand.
    if before < stop && !over {
        cuts.push(Cut::Before(before));
    }
    cuts
}

impl Running {
    /// Splits the bundle where `desired` says for the source `transform`. An empty answer when there is nothing to give.
    ///
    /// # Errors
    /// When the user's tracker panics, or a part of a restriction does not encode.
    pub(super) fn split(
        &self,
        plan: &Plan,
        transform: &str,
        desired: &DesiredSplit,
        answer: &mut ProcessBundleSplitResponse,
    ) -> Result<(), PipelineError> {
        // What a key has left would go to another bundle, and Prism starts that while this one still holds the key's state.
        if plan.keeps_state {
            return Ok(());
        }
        let Some(source) = plan.sources.iter().position(|port| port.transform == transform) else {
            return Ok(());
        };
        // While this is held the source does not go on, so the element in hand stays in hand, though it may be done.
        let mut all = self.io.reading();
        let reading = &mut all[source];
        let process = plan.process.as_ref().filter(|process| process.source == Some(source));
        let point = process.and_then(|_| self.control.split_point());
        let progress = point.as_ref().map(|point| point.progress().fraction());
        for cut in cuts(*reading, desired, progress) {
            let (primary, residual, last_primary, first_residual) = match (cut, process, &point) {
                (Cut::Inside(fraction), Some(process), Some(point)) => {
                    let Some(outcome) = point.try_split(fraction)? else { continue };
                    let (primary, residual): (Vec<BundleApplication>, Vec<DelayedBundleApplication>) =
                        process.split(outcome)?;
                    (primary, residual, reading.done - 1, reading.done + 1)
                }
                (Cut::Inside(_), _, _) => continue,
                (Cut::Before(at), _, _) => (Vec::new(), Vec::new(), at - 1, at),
            };
            reading.stop = reading.stop.min(first_residual);
            answer.primary_roots.extend(primary);
            answer.residual_roots.extend(residual);
            answer.channel_splits.push(ChannelSplit {
                transform_id: transform.to_owned(),
                last_primary_element: last_primary,
                first_residual_element: first_residual,
            });
            return Ok(());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(
        (done, in_hand, stop): (i64, i64, i64),
        (fraction, estimated): (f64, i64),
        allowed: &[i64],
        progress: Option<f64>,
    ) -> Vec<Cut> {
        let desired = DesiredSplit {
            fraction_of_remainder: fraction,
            estimated_input_elements: estimated,
            allowed_split_points: allowed.to_vec(),
        };
        cuts(Reading { done, in_hand, stop, over: false }, &desired, progress)
    }

    const ALL: i64 = i64::MAX;

    #[test]
    fn elements_that_cannot_be_cut_go_as_a_whole() {
        use Cut::Before;
        assert_eq!(cut((0, 0, ALL), (0.5, 10), &[], None), [Before(5)]);
        assert_eq!(cut((4, 1, ALL), (0.0, 10), &[], None), [Before(5)]);
        assert_eq!(cut((4, 3, ALL), (0.1, 10), &[], None), [Before(7)], "what was handed on stays");
        assert_eq!(cut((4, 1, 5), (0.5, 10), &[], None), [], "it ends there already");
        assert_eq!(cut((4, 1, 8), (0.5, 10), &[], None), [Before(6)], "a split is of what is left");
        assert_eq!(cut((0, 1, ALL), (1.0, 3), &[], None), [Before(3)]);
        assert_eq!(cut((0, 1, ALL), (0.5, 10), &[2, 9], None), [Before(2)]);
        assert_eq!(cut((3, 1, ALL), (0.5, 10), &[2], None), [], "past all that is allowed");
    }

    #[test]
    fn the_element_in_hand_is_cut_where_the_rest_of_it_is_more_than_is_kept() {
        use Cut::{Before, Inside};
        assert_eq!(cut((0, 1, ALL), (0.5, 1), &[], Some(0.5)), [Inside(0.5), Before(1)]);
        assert_eq!(cut((3, 1, ALL), (0.0, 10), &[], Some(0.2)), [Inside(0.0), Before(4)]);
        assert_eq!(cut((0, 1, ALL), (0.5, 10), &[], Some(0.0)), [Before(5)]);
        assert_eq!(
            cut((0, 1, ALL), (0.0, 10), &[4], Some(0.0)),
            [Before(4)],
            "not inside where that is not allowed"
        );
    }
}
