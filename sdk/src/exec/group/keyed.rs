//! Key groups: keys that share one state, in at most one bundle at a time.

use std::{any::Any, hash::BuildHasher};

use foldhash::fast::FixedState;

use super::{fanout::spread_groups, key_law::KeyLaw};
use crate::{
    Element, Key, Step, Timestamp,
    batch::{BATCH_SIZE, Batch, ErasedBatch, Meta, Row},
    exec::{Assigned, AssignedBy, BundleCx, Downstream, Kernel, KernelResult, KeyedBatch},
    window::Window,
};

/// The state of one key group of one transform.
pub trait GroupState: Send {
    /// The typed state, for its kernel.
    fn as_any(&mut self) -> &mut dyn Any;
    /// What the engine must know of it.
    fn report(&self) -> KeyedReport;
    /// Forgets what the bundle did that failed. Only asked for where bundles may be tried again.
    fn undo(&mut self);
    /// The bundle is done and can no more be undone.
    fn keep(&mut self);
    /// Appends all that it holds, while no bundle has it. [`GroupFactory::load_keyed_state`] reads it back.
    ///
    /// [`GroupFactory::load_keyed_state`]: super::GroupFactory::load_keyed_state
    ///
    /// # Errors
    /// When a key or a value does not encode.
    fn save(&self, out: &mut Vec<u8>) -> crate::Result;
    /// The windows of keys whose time has come: what the kernel will do for them may read side inputs.
    fn side_windows(&self, _watermark: Timestamp, _now: Timestamp) -> Vec<Window> {
        Vec::new()
    }
    /// The output watermark, of a transform that assigns one.
    fn assigned(&self) -> Option<Assigned> {
        None
    }
    /// Where that watermark comes from.
    fn assigned_by(&self, _now: Timestamp) -> Option<AssignedBy> {
        None
    }
}

impl std::fmt::Debug for dyn GroupState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "state of a key group: {:?}", self.report())
    }
}

/// What the engine must know of a key group's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedReport {
    /// Where it holds the output watermark.
    pub hold: Timestamp,
    /// It wants a bundle once the input watermark is above this.
    pub due: Timestamp,
    /// It wants a bundle once processing time reaches this.
    pub due_clock: Timestamp,
    /// It wants a bundle once all groupings upstream have done what was due in processing time up to this.
    pub due_synchronized: Timestamp,
    /// It may look at side inputs for windows that expire here or later.
    pub sides: Timestamp,
}

impl KeyedReport {
    /// A state that holds nothing and wants nothing.
    pub const IDLE: KeyedReport = KeyedReport {
        hold: Timestamp::MAX,
        due: Timestamp::MAX,
        due_clock: Timestamp::MAX,
        due_synchronized: Timestamp::MAX,
        sides: Timestamp::MAX,
    };
}

/// The key group, of `groups`, that `key` belongs to. The same in every process.
pub fn key_group_of<K: Key>(key: &K, groups: usize) -> usize {
    let hash = FixedState::default().hash_one(key);
    // The high bits: the tables inside a group use the low ones.
    ((u128::from(hash) * groups as u128) >> 64) as usize
}

/// The end of a stage that feeds key groups.
pub(crate) struct KeyedCollector<K: Key, V: Element> {
    group: usize,
    groups: usize,
    spread: Option<Spread>,
    law: KeyLaw<K>,
    buckets: Vec<Batch<(K, V)>>,
}

/// The elements of a key go in turn to so many key groups.
#[derive(Clone, Copy)]
struct Spread {
    over: usize,
    next: usize,
}

impl Spread {
    fn next(&mut self) -> usize {
        self.next = (self.next + 1) % self.over;
        self.next
    }
}

impl<K: Key, V: Element> KeyedCollector<K, V> {
    pub(crate) fn new(step: Step, group: usize) -> KeyedCollector<K, V> {
        KeyedCollector { group, groups: 0, spread: None, law: KeyLaw::new(step), buckets: Vec::new() }
    }

    /// One that does not keep keys together, but spreads each over `fanout` key groups.
    pub(super) fn spread(step: Step, group: usize, fanout: usize) -> KeyedCollector<K, V> {
        let spread = Some(Spread { over: fanout.max(1), next: 0 });
        KeyedCollector { spread, ..KeyedCollector::new(step, group) }
    }
}

/// Key groups for a run that begins with this parallelism: enough that groups even out over workers. A run that goes on
/// from a checkpoint has as many as the one before, whatever its parallelism.
pub fn key_groups(parallelism: usize) -> usize {
    parallelism.saturating_mul(8).clamp(8, 1024)
}

impl<K: Key, V: Element> Kernel for KeyedCollector<K, V> {
    fn start(&mut self, down: &mut Downstream<'_>) -> KernelResult {
        let all = down.cx().key_groups;
        self.groups = self.spread.as_ref().map_or(all, |spread| spread_groups(all, spread.over));
        self.buckets.clear();
        self.buckets.resize_with(self.groups, Batch::default);
        Ok(())
    }

    fn run(&mut self, input: &mut dyn ErasedBatch, down: &mut Downstream<'_>) -> KernelResult {
        let cx = down.cx();
        let Some(batch) = input.as_any().downcast_mut::<Batch<(K, V)>>() else { return Ok(()) };
        if cx.env.checks.recode {
            self.law.check(batch.values.iter().map(|(k, _)| k))?;
        }
        let Batch { values, meta } = batch;
        for (i, (k, v)) in values.drain(..).enumerate() {
            let mut key_group = key_group_of(&k, self.groups);
            if let Some(spread) = &mut self.spread {
                key_group = (key_group + spread.next()) % self.groups;
            }
            let bucket = &mut self.buckets[key_group];
            bucket.push((k, v), Row::of(meta, i));
            if bucket.len() >= BATCH_SIZE {
                // A group that fills one batch fills more.
                let next = Batch { values: Vec::with_capacity(BATCH_SIZE), meta: Meta::default() };
                let batch = Box::new(std::mem::replace(bucket, next));
                cx.effects().keyed.push(KeyedBatch { group: self.group, key_group, batch });
            }
        }
        meta.clear();
        Ok(())
    }

    fn seal(&mut self, cx: &BundleCx) -> KernelResult {
        for (key_group, bucket) in self.buckets.iter_mut().enumerate() {
            if !bucket.is_empty() {
                let batch = bucket.take();
                cx.effects().keyed.push(KeyedBatch { group: self.group, key_group, batch });
            }
        }
        Ok(())
    }
}
