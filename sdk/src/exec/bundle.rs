//! What all kernels of a stage share while a bundle runs.

use std::{
    any::Any,
    cell::{Cell, RefCell, RefMut},
    fmt,
    sync::Arc,
};

use super::{BundleControl, Effects, GroupState, ViewSnapshot, key_groups, view::LastSides};
use crate::{
    Phase, Timestamp,
    clock::ClockRef,
    metrics::{BundleCounts, BundleMetrics, ElementCounts},
};

/// What stays the same for a whole run.
#[derive(Clone)]
pub struct RunEnv {
    /// The pipeline's own options.
    pub options: Arc<dyn Any + Send + Sync>,
    /// Processing time.
    pub clock: ClockRef,
    /// How many bundles may run at once.
    pub parallelism: usize,
    /// Whether a bundle may be tried again, so that grouped data must not be touched before it is done.
    pub atomic: bool,
    /// What to check that costs time.
    pub checks: Checks,
}

impl fmt::Debug for RunEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunEnv")
            .field("parallelism", &self.parallelism)
            .field("checks", &self.checks)
            .finish_non_exhaustive()
    }
}

/// Checks of what users must obey. The direct runner turns all of them on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Encode and decode every element where it is emitted, and every key.
    pub recode: bool,
}

/// When a splittable DoFn must give the rest of its restriction back to the runner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SdfLimits {
    /// Checkpoint at the first claim after this many elements were emitted in the bundle.
    pub max_elements: Option<u64>,
    /// Checkpoint at about the first claim after this many claims for one element.
    pub max_claims: Option<u64>,
    /// Checkpoint at the first claim after this long in one bundle.
    pub max_time: Option<std::time::Duration>,
    /// Split at this fraction of what remains, after this many claims.
    pub split: Option<(u64, f64)>,
}

/// What is left of a bundle that is over.
#[derive(Debug)]
pub struct BundleDone {
    /// What it did.
    pub effects: Effects,
    /// What user code counted.
    pub metrics: BundleMetrics,
    /// How many elements went through each kernel; those behind the last one that had any are left out.
    pub elements: Vec<ElementCounts>,
    /// The state of the key group that it was for.
    pub keyed: Option<Box<dyn GroupState>>,
}

/// The bundle that kernels are working on.
pub struct BundleCx {
    /// The run.
    pub env: Arc<RunEnv>,
    /// The stage's input watermark before the bundle; nothing before there was one.
    pub watermark: Option<Timestamp>,
    /// The stage's output watermark before the bundle: what transforms read that come after its first one, which may
    /// hold back what it makes.
    pub output_watermark: Option<Timestamp>,
    /// Processing time when the bundle was handed out.
    pub now: Timestamp,
    /// All groupings upstream have done what was due in processing time before this.
    pub synchronized: Timestamp,
    /// For each grouping that this stage feeds, in the stage's order: the grouping's input watermark.
    pub group_watermarks: Vec<Timestamp>,
    /// How many key groups the groupings have that this stage feeds.
    pub key_groups: usize,
    /// Side inputs that are ready.
    pub views: ViewSnapshot,
    pub(crate) last_sides: LastSides,
    /// Whether sources are to come to their end.
    pub draining: bool,
    /// When a splittable DoFn must come back.
    pub limits: SdfLimits,
    /// What other threads may ask of the bundle.
    pub control: Arc<BundleControl>,
    effects: RefCell<Effects>,
    keyed: RefCell<Option<Box<dyn GroupState>>>,
    metrics: BundleMetrics,
    counts: BundleCounts,
    at: Cell<Option<(usize, Phase)>>,
    depth: Cell<u32>,
    emitted: Cell<u64>,
    claims: Cell<u64>,
}

impl BundleCx {
    /// A bundle with nothing in it yet, whose effects start as `effects` (the shards that it may fold into).
    pub fn new(env: Arc<RunEnv>, effects: Effects) -> BundleCx {
        BundleCx {
            key_groups: key_groups(env.parallelism),
            env,
            watermark: None,
            output_watermark: None,
            now: Timestamp::MIN,
            synchronized: Timestamp::MAX,
            group_watermarks: Vec::new(),
            views: ViewSnapshot::default(),
            last_sides: LastSides::default(),
            draining: false,
            limits: SdfLimits::default(),
            control: Arc::new(BundleControl::default()),
            effects: RefCell::new(effects),
            keyed: RefCell::new(None),
            metrics: BundleMetrics::default(),
            counts: BundleCounts::default(),
            at: Cell::new(None),
            depth: Cell::new(0),
            emitted: Cell::new(0),
            claims: Cell::new(0),
        }
    }

    /// What the bundle did so far.
    pub fn effects(&self) -> RefMut<'_, Effects> {
        self.effects.borrow_mut()
    }

    /// The state of the key group that the bundle is for. It lies here, so that it is not lost when user code panics.
    pub fn keyed(&self) -> RefMut<'_, Option<Box<dyn GroupState>>> {
        self.keyed.borrow_mut()
    }

    /// The bundle's metrics.
    pub fn metrics(&self) -> &BundleMetrics {
        &self.metrics
    }

    /// How many positions splittable DoFns have claimed.
    pub fn claims(&self) -> u64 {
        self.claims.get()
    }

    pub(crate) fn add_claims(&self, n: u64) {
        self.claims.set(self.claims.get().saturating_add(n));
    }

    pub(crate) fn counts(&self) -> &BundleCounts {
        &self.counts
    }

    /// Everything that the bundle did, and the key group's state that it had.
    pub fn into_done(self) -> BundleDone {
        BundleDone {
            effects: self.effects.into_inner(),
            metrics: self.metrics,
            elements: self.counts.into_inner(),
            keyed: self.keyed.into_inner(),
        }
    }

    /// Counts elements that a source emitted.
    pub(crate) fn note_emitted(&self, elements: usize) {
        self.emitted.set(self.emitted.get() + elements as u64);
    }

    /// How many elements a source emitted in this bundle, but for those that do not make a batch yet.
    pub(crate) fn emitted(&self) -> u64 {
        self.emitted.get()
    }

    /// Remembers which kernel is at work, so that a panic can be told to come from it.
    #[inline]
    pub(crate) fn enter(&self, slot: usize, phase: Phase) {
        self.at.set(Some((slot, phase)));
    }

    /// The same kernel goes on with something else.
    #[inline]
    pub(crate) fn phase(&self, phase: Phase) {
        if let Some((slot, _)) = self.at.get() {
            self.at.set(Some((slot, phase)));
        }
    }

    /// The watermark, before the bundle, of what the transform at work reads.
    pub(crate) fn current_watermark(&self) -> Option<Timestamp> {
        match self.at.get() {
            Some((slot, _)) if slot > 0 => self.output_watermark,
            _ => self.watermark,
        }
    }

    pub(crate) fn position(&self) -> Option<(usize, Phase)> {
        self.at.get()
    }

    pub(crate) fn restore(&self, position: Option<(usize, Phase)>) {
        self.at.set(position);
    }

    /// Takes one level of nested pumping, of which there are few: past them buffers grow instead of the stack.
    pub(crate) fn descend(&self) -> bool {
        const DEEPEST: u32 = 24;
        if self.depth.get() >= DEEPEST {
            return false;
        }
        self.depth.set(self.depth.get() + 1);
        true
    }

    pub(crate) fn ascend(&self) {
        self.depth.set(self.depth.get() - 1);
    }
}

impl fmt::Debug for BundleCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleCx").field("watermark", &self.watermark).finish_non_exhaustive()
    }
}
