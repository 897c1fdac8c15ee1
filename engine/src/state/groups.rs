//! Groupings: windows that close, and key groups.

use std::collections::BTreeSet;

use purlin_sdk::{
    Timestamp,
    batch::AnyBatch,
    exec::{AnyTable, KeyedReport, KeyedState},
    window::Window,
};

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
    pub(crate) state: Option<Box<dyn KeyedState>>,
    pub(crate) waiting: Vec<(AnyBatch, Timestamp)>,
    pub(crate) report: KeyedReport,
    pub(crate) attempts: u32,
}

impl KeyGroup {
    pub(crate) fn new(state: Box<dyn KeyedState>) -> KeyGroup {
        let report = state.report();
        KeyGroup { state: Some(state), waiting: Vec::new(), report, attempts: 0 }
    }

    /// Whether it should get a bundle, with the input watermark at `watermark`.
    pub(crate) fn is_ready(&self, watermark: Timestamp) -> bool {
        self.state.is_some() && (!self.waiting.is_empty() || self.report.due < watermark)
    }
}
