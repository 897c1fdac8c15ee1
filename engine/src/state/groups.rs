//! Groupings: windows that close, and key groups.

use std::collections::BTreeSet;

use purlin_sdk::{
    Timestamp,
    exec::{AnyTable, GroupState, KeyedReport},
    window::Window,
};

use super::Item;
use crate::task::BundleId;

/// A window that the watermark has passed, and that gathers what the shards have for it.
pub(crate) struct Closing {
    pub(crate) window: Window,
    pub(crate) hold: Timestamp,
    pub(crate) tables: Vec<Box<dyn AnyTable>>,
    /// Bundles that run with a shard that may hold data for it.
    pub(crate) waiting: BTreeSet<BundleId>,
    pub(crate) attempts: u32,
}

/// Keys that share one state.
pub(crate) struct KeyGroup {
    /// Nothing while a bundle has it.
    pub(crate) state: Option<Box<dyn GroupState>>,
    pub(crate) waiting: Vec<Item>,
    pub(crate) report: KeyedReport,
    pub(crate) attempts: u32,
}

impl KeyGroup {
    pub(crate) fn new(state: Box<dyn GroupState>) -> KeyGroup {
        let report = state.report();
        KeyGroup { state: Some(state), waiting: Vec::new(), report, attempts: 0 }
    }

    /// Whether it should get a bundle.
    pub(crate) fn is_ready(&self, times: Reached) -> bool {
        self.state.is_some() && (!self.waiting.is_empty() || self.is_due(times))
    }

    /// Whether something in it waited for a time that has come.
    pub(crate) fn is_due(&self, Reached { watermark, now, synchronized }: Reached) -> bool {
        let KeyedReport { due, due_clock, due_synchronized, .. } = self.report;
        due < watermark || due_clock <= now || due_synchronized < synchronized
    }
}

/// What key groups wait for, as far as it has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// The input watermark.
    pub(crate) watermark: Timestamp,
    /// Processing time.
    pub(crate) now: Timestamp,
    /// Groupings upstream have done what was due in processing time before this.
    pub(crate) synchronized: Timestamp,
}
