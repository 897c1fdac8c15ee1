//! What the engine needs of a grouping.

use std::{marker::PhantomData, sync::Arc};

use super::{
    Collector, Fold, KeyedState, Shard, WindowTables,
    keyed::{KeyedCollector, key_groups},
    merging::{MergingRoot, MergingState},
    root::WindowRoot,
};
use crate::{
    Key,
    batch::{AnyBatch, Batch},
    coder_slot::CoderSlot,
    exec::{Kernel, KernelSpec, Proto},
    window::WindowingStrategy,
};

/// Makes everything that a grouping needs.
pub trait GroupFactory: Send + Sync {
    /// An empty batch of the grouping's input type.
    fn input(&self) -> AnyBatch;
    /// The end of a producing stage; `group` is the grouping's number among those that the stage feeds.
    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel>;
    /// The start of the stage behind it.
    fn root(&self, spec: &KernelSpec) -> Box<dyn Kernel>;
    /// What a worker gathers into; nothing when the grouping has key groups.
    fn shard(&self) -> Option<Box<dyn Shard>>;
    /// The state of a new key group; nothing when the grouping has shards.
    fn keyed_state(&self) -> Option<Box<dyn KeyedState>>;
    /// How many key groups there are in a run with this parallelism.
    fn key_groups(&self, parallelism: usize) -> usize {
        key_groups(parallelism)
    }
    /// Whether the global window fires when nothing came.
    fn fires_when_empty(&self) -> bool;
    /// The same grouping with the named CombineFn whose configuration `payload` is; nothing when it has none that is
    /// registered.
    ///
    /// # Errors
    /// When the payload is not the configuration of this grouping's CombineFn.
    fn with_payload(&self, _payload: &serde_json::Value) -> crate::Result<Option<Arc<dyn GroupFactory>>> {
        Ok(None)
    }
}

/// A grouping of `(K, F::Input)` to `(K, F::Output)`.
pub(crate) struct GroupOp<K: Key, F: Fold> {
    fold: Proto<F>,
    strategy: Arc<WindowingStrategy>,
    default_key: Option<K>,
    coder: CoderSlot<(K, F::Output)>,
    key: PhantomData<fn() -> K>,
}

impl<K: Key, F: Fold> GroupOp<K, F> {
    pub(crate) fn new(
        fold: F,
        strategy: WindowingStrategy,
        default_key: Option<K>,
        coder: CoderSlot<(K, F::Output)>,
    ) -> GroupOp<K, F> {
        let strategy = Arc::new(strategy);
        GroupOp { fold: Proto::new(fold), strategy, default_key, coder, key: PhantomData }
    }
}

impl<K: Key, F: Fold> GroupFactory for GroupOp<K, F> {
    fn input(&self) -> AnyBatch {
        Box::new(Batch::<(K, F::Input)>::default())
    }

    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel> {
        if self.strategy.needs_merging() {
            Box::new(KeyedCollector::<K, F::Input>::new(spec.step.clone(), group))
        } else {
            Box::new(Collector::<K, F>::new(spec.step.clone(), group, self.strategy.allowed_lateness))
        }
    }

    fn root(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        if self.strategy.needs_merging() {
            Box::new(MergingRoot::new(&spec.step, self.fold.get(), self.strategy.clone(), &self.coder))
        } else {
            Box::new(WindowRoot::new(&spec.step, self.fold.get(), self.default_key.clone(), &self.coder))
        }
    }

    fn shard(&self) -> Option<Box<dyn Shard>> {
        (!self.strategy.needs_merging()).then(|| {
            let tables = WindowTables::<K, F>::new(self.fold.get(), self.strategy.timestamp_combiner);
            Box::new(tables) as Box<dyn Shard>
        })
    }

    fn keyed_state(&self) -> Option<Box<dyn KeyedState>> {
        self.strategy.needs_merging().then(|| Box::new(MergingState::<K, F>::new()) as Box<dyn KeyedState>)
    }

    fn fires_when_empty(&self) -> bool {
        self.default_key.is_some()
    }

    fn with_payload(&self, payload: &serde_json::Value) -> crate::Result<Option<Arc<dyn GroupFactory>>> {
        let Some(fold) = self.fold.get().with_payload(payload)? else { return Ok(None) };
        Ok(Some(Arc::new(GroupOp::<K, F> {
            fold: Proto::new(fold),
            strategy: self.strategy.clone(),
            default_key: self.default_key.clone(),
            coder: self.coder.clone(),
            key: PhantomData,
        })))
    }
}
