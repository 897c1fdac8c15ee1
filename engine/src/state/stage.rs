//! One stage.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    fmt,
};

use purlin_sdk::{
    Timestamp,
    exec::{AnyTable, Assigned, Shard, StageInstance, ViewValue},
    window::Window,
};

use super::{Closing, Item, KeyGroup};
use crate::{
    StageId,
    progress::{Progress, Times},
};

/// A view, when the last data for one of its windows may come, and the window.
pub(crate) type SideWindow = (StageId, Timestamp, Window);

/// What waits at a stage, and what it has gathered.
pub(crate) struct StageState {
    pub(crate) progress: Progress,
    /// When, in processing time, the output watermark moved last.
    pub(crate) moved_at: Timestamp,
    /// Elements that can be processed.
    pub(crate) queue: VecDeque<Item>,
    /// Elements that can be processed from a processing time on.
    pub(crate) parked: BTreeMap<(Timestamp, u64), Item>,
    /// Elements that wait for a window of a side input, by when data for it can no longer come.
    pub(crate) blocked: BTreeMap<SideWindow, Vec<Item>>,
    /// Elements of a stage that needs them to be in a checkpoint, and that are in none yet.
    pub(crate) unstable: Vec<Item>,
    /// Those that are in a checkpoint which is not on disk yet.
    pub(crate) in_cut: Vec<Item>,
    /// Kernels that no bundle uses.
    pub(crate) instances: Vec<StageInstance>,
    /// For each feed: shards that no bundle uses.
    pub(crate) shards: Vec<Vec<Box<dyn Shard>>>,
    /// Bundles at work.
    pub(crate) running: usize,
    /// A grouping's open windows, by when they close, with where each holds the output watermark.
    pub(crate) windows: BTreeMap<(Timestamp, Window), Timestamp>,
    /// A grouping's windows that wait for shards in use.
    pub(crate) closing: Vec<Closing>,
    /// A grouping's windows that can be emitted.
    pub(crate) closed: VecDeque<Closing>,
    /// A grouping's emptied tables, for shards to use again.
    pub(crate) spare_tables: Vec<Box<dyn AnyTable>>,
    /// A grouping's windows whose bundle failed, from a processing time on.
    pub(crate) parked_windows: BTreeMap<(Timestamp, u64), Closing>,
    pub(crate) key_groups: Vec<KeyGroup>,
    /// Key groups whose bundle failed, with the processing time from which on they get another.
    pub(crate) resting_groups: BTreeMap<usize, Timestamp>,
    /// Key groups that should get a bundle.
    pub(crate) ready_groups: BTreeSet<usize>,
    /// Key groups by the watermark above which they want a bundle.
    pub(crate) due_groups: BTreeSet<(Timestamp, usize)>,
    /// When key groups want a bundle in processing time, also those that have one.
    pub(crate) clocks: Times,
    /// Of a stage that assigns a watermark: what its generators say, and what is in force.
    pub(crate) assigned: Assigned,
    pub(crate) in_force: Timestamp,
    /// A view's windows that are closed, or about to be, and not built yet.
    pub(crate) building: HashSet<Window>,
    /// A view's windows that were built, by their last timestamp.
    pub(crate) values: BTreeMap<(Timestamp, Window), ViewValue>,
    /// Up to which watermark it was looked for windows of a view without data.
    pub(crate) looked_up_to: Timestamp,
    /// A view's windows below this are gone.
    pub(crate) values_from: Timestamp,
}

impl StageState {
    pub(crate) fn new(feeds: usize) -> StageState {
        StageState {
            progress: Progress::new(),
            moved_at: Timestamp::MIN,
            queue: VecDeque::new(),
            parked: BTreeMap::new(),
            blocked: BTreeMap::new(),
            building: HashSet::new(),
            unstable: Vec::new(),
            in_cut: Vec::new(),
            instances: Vec::new(),
            shards: (0..feeds).map(|_| Vec::new()).collect(),
            running: 0,
            windows: BTreeMap::new(),
            closing: Vec::new(),
            closed: VecDeque::new(),
            spare_tables: Vec::new(),
            parked_windows: BTreeMap::new(),
            key_groups: Vec::new(),
            resting_groups: BTreeMap::new(),
            ready_groups: BTreeSet::new(),
            due_groups: BTreeSet::new(),
            clocks: Times::default(),
            assigned: Assigned { watermark: Timestamp::MIN, idle: false },
            in_force: Timestamp::MIN,
            values: BTreeMap::new(),
            looked_up_to: Timestamp::MIN,
            values_from: Timestamp::MIN,
        }
    }

    /// Which item of the queue to take. Of restrictions the one that holds the watermark most, so that parts of a source
    /// stay together in event time and few windows are open; of elements the oldest.
    pub(crate) fn first_in_time(&self, most_items: usize) -> usize {
        /// Looking at more would cost more than it brings.
        const LOOKED_AT: usize = 64;
        if most_items > 1 {
            return 0;
        }
        let holds = self.queue.iter().take(LOOKED_AT).map(|item| item.hold).enumerate();
        holds.min_by_key(|(_, hold)| *hold).map_or(0, |(i, _)| i)
    }

    /// Whether a bundle could be made.
    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty() || !self.closed.is_empty() || !self.ready_groups.is_empty()
    }

    /// Whether there are elements that must be in a checkpoint first.
    pub(crate) fn waits_for_checkpoint(&self) -> bool {
        !self.unstable.is_empty() || !self.in_cut.is_empty()
    }

    /// Whether anything is left to do, now or later.
    pub(crate) fn is_idle(&self) -> bool {
        !self.has_work()
            && self.parked.is_empty()
            && self.parked_windows.is_empty()
            && self.resting_groups.is_empty()
            && self.blocked.is_empty()
            && !self.waits_for_checkpoint()
            && self.closing.is_empty()
            && self.running == 0
    }
}

impl fmt::Debug for StageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageState")
            .field("input", &self.progress.input())
            .field("output", &self.progress.output())
            .field("idle", &self.progress.is_idle())
            .field("queue", &self.queue.len())
            .field("parked", &self.parked.len())
            .field("blocked", &self.blocked.values().map(Vec::len).sum::<usize>())
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}
