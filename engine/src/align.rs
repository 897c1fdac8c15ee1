//! Keeping sources together in event time.
//!
//! Of the watermarks in a group the least one counts, without those of what was read and has none, is idle or is over. A source's
//! restrictions count each by itself, where the source is in the group; where a transform that assigns a watermark is, it
//! counts by that, and all sources that it comes from wait. The one that has the least watermark is never ahead, so
//! somebody can always go on.

use std::collections::{BTreeMap, HashMap};

use purlin_sdk::{Duration, Timestamp};

use crate::{
    BundleId, Engine, Plan, StageId,
    engine::InFlight,
    plan::{Root, Stage},
    state::StageState,
};

/// The groups of a pipeline.
#[derive(Debug, Default)]
pub(crate) struct Alignments {
    groups: Vec<Group>,
    /// What each source is bound by.
    bonds: BTreeMap<StageId, Vec<Bond>>,
}

#[derive(Debug)]
struct Group {
    members: Vec<StageId>,
    interval: Duration,
    /// The least watermark, and when it was looked up.
    least: Timestamp,
    updated: Option<Timestamp>,
}

#[derive(Debug)]
struct Bond {
    group: usize,
    drift: Duration,
    /// The stage whose watermark is compared; nothing where each restriction has its own.
    by: Option<StageId>,
}

impl Alignments {
    pub(crate) fn new(plan: &Plan) -> Alignments {
        let mut alignments = Alignments::default();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, stage) in plan.stages.iter().enumerate() {
            let Some(alignment) = &stage.alignment else { continue };
            let Alignments { groups, bonds } = &mut alignments;
            let group = *numbers.entry(alignment.name()).or_insert_with(|| {
                let group = Group {
                    members: Vec::new(),
                    interval: alignment.interval(),
                    least: Timestamp::MIN,
                    updated: None,
                };
                groups.push(group);
                groups.len() - 1
            });
            groups[group].members.push(StageId(i));
            groups[group].interval = groups[group].interval.min(alignment.interval());
            let drift = alignment.drift();
            if is_source(stage) {
                bonds.entry(StageId(i)).or_default().push(Bond { group, drift, by: None });
            } else {
                for source in sources_of(plan, StageId(i)) {
                    bonds.entry(source).or_default().push(Bond { group, drift, by: Some(StageId(i)) });
                }
            }
        }
        alignments
    }
}

fn is_source(stage: &Stage) -> bool {
    matches!(stage.root, Root::Splittable)
}

/// All sources that `stage` hangs on.
fn sources_of(plan: &Plan, stage: StageId) -> Vec<StageId> {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = plan.stages[stage.0].upstream.clone();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(&plan.stages[id.0].upstream);
        }
    }
    seen.into_iter().filter(|id| is_source(&plan.stages[id.0])).collect()
}

/// The watermark by which a member of a group counts, if it does.
fn counted(
    plan: &Plan,
    stages: &[StageState],
    in_flight: &HashMap<BundleId, InFlight>,
    member: StageId,
) -> Option<Timestamp> {
    let state = &stages[member.0];
    if is_source(&plan.stages[member.0]) {
        // One that has not been read yet is waited for: it is about to be.
        let fresh = state.queue.iter().any(|item| !item.begun)
            || in_flight.values().any(|bundle| bundle.stage == member && bundle.fresh);
        return if fresh { Some(Timestamp::MIN) } else { state.progress.holds.min_after(Timestamp::MIN) };
    }
    let counts = !state.progress.is_idle() && state.progress.output() > Timestamp::MIN;
    counts.then(|| state.progress.output())
}

impl Engine {
    /// The watermark above which restrictions of the source `id` get no bundle, the end of time when there is no limit;
    /// nothing when none gets one.
    pub(crate) fn limit(&mut self, id: StageId) -> Option<Timestamp> {
        if self.draining || !self.alignments.bonds.contains_key(&id) {
            return Some(Timestamp::MAX);
        }
        self.look_up_least(false);
        let bonds = self.alignments.bonds.get(&id).map_or(&[][..], Vec::as_slice);
        let mut limit = Timestamp::MAX;
        for Bond { group, drift, by } in bonds {
            let most = self.alignments.groups[*group].least + *drift;
            match by {
                None => limit = limit.min(most),
                Some(stage) if self.stages[stage.0].progress.output() > most => return None,
                Some(_) => {}
            }
        }
        Some(limit)
    }

    /// Looks the groups' least watermarks up, where they are too old, or all.
    fn look_up_least(&mut self, all: bool) {
        let (stages, plan, in_flight) = (&self.stages, &self.plan, &self.in_flight);
        for group in &mut self.alignments.groups {
            let old = group.updated.is_none_or(|at| self.now - at >= group.interval);
            if !(old || all) {
                continue;
            }
            let watermarks =
                group.members.iter().filter_map(|member| counted(plan, stages, in_flight, *member));
            group.least = watermarks.min().unwrap_or(Timestamp::MAX);
            group.updated = Some(self.now);
        }
    }

    /// What a source that is ahead waits for: what has the least watermark in its groups.
    pub(crate) fn waits_in_line_for(&self, id: StageId) -> Option<StageId> {
        let groups = self.alignments.bonds.get(&id)?.iter().map(|bond| &self.alignments.groups[bond.group]);
        let counted = groups.flat_map(|group| &group.members).filter_map(|member| {
            Some((counted(&self.plan, &self.stages, &self.in_flight, *member)?, *member))
        });
        counted.min().map(|(_, member)| member)
    }

    /// Lets sources be looked at again that were ahead.
    pub(crate) fn reconsider_ahead(&mut self) {
        self.ready.append(&mut self.ahead);
    }

    /// Everything else is at rest: whether a source that was ahead may go on by what the watermarks are now.
    pub(crate) fn align_at_rest(&mut self) -> bool {
        if self.ahead.is_empty() {
            return false;
        }
        self.look_up_least(true);
        self.reconsider_ahead();
        true
    }

    /// When sources that are ahead are to be looked at again.
    pub(crate) fn next_alignment(&self) -> Option<Timestamp> {
        if self.ahead.is_empty() {
            return None;
        }
        let groups = self.alignments.groups.iter();
        let next = groups.filter_map(|group| group.updated.map(|at| at + group.interval));
        next.filter(|at| *at > self.now).min()
    }
}
