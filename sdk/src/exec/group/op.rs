//! What the engine needs of a grouping.

use std::{marker::PhantomData, sync::Arc};

use super::{
    AnyTable, Collector, Fold, GroupState, Shard, WindowTable, WindowTables,
    keyed::{KeyedCollector, key_group_of},
    machine::TriggerMachine,
    paned_root::PanedRoot,
    panes::Panes,
    root::WindowRoot,
};
use crate::{
    DoFnError, Key, Result,
    batch::{AnyBatch, Batch},
    coder_slot::CoderSlot,
    exec::{BatchCodec, Kernel, KernelSpec, PortableGroup, Proto, portable::grouped, save::check},
    window::WindowingStrategy,
};

/// Makes everything that a grouping needs.
pub trait GroupFactory: Send + Sync {
    /// Beam's URN of the primitive.
    fn urn(&self) -> &'static str {
        "beam:transform:group_by_key:v1"
    }
    /// An empty batch of the grouping's input type.
    fn input(&self) -> AnyBatch;
    /// Writes and reads batches of that type, by its default coder.
    fn codec(&self) -> Arc<dyn BatchCodec>;
    /// The end of a producing stage; `group` is the grouping's number among those that the stage feeds.
    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel>;
    /// The start of the stage behind it.
    fn root(&self, spec: &KernelSpec) -> Box<dyn Kernel>;
    /// What a worker gathers into; nothing when the grouping has key groups.
    fn shard(&self) -> Option<Box<dyn Shard>>;
    /// The state of key group `n` of `groups` at the start; nothing when the grouping has shards.
    fn keyed_state(&self, n: usize, groups: usize) -> Option<Box<dyn GroupState>>;
    /// How many key groups it has in a run where transforms have `all`.
    fn key_groups(&self, all: usize) -> usize {
        all
    }
    /// Whether all that it gathers can be kept in a checkpoint.
    ///
    /// # Errors
    /// What cannot, why, and what to do.
    fn check_savable(&self) -> Result;
    /// What [`Shard::save`] wrote.
    ///
    /// # Errors
    /// When the bytes are no shard of this grouping.
    fn load_shard(&self, input: &mut &[u8]) -> Result<Box<dyn Shard>>;
    /// What [`AnyTable::save`] wrote.
    ///
    /// # Errors
    /// When the bytes are no table of this grouping.
    fn load_table(&self, input: &mut &[u8]) -> Result<Box<dyn AnyTable>>;
    /// What [`GroupState::save`] wrote.
    ///
    /// # Errors
    /// When the bytes are no key group of this grouping.
    fn load_keyed_state(&self, input: &mut &[u8]) -> Result<Box<dyn GroupState>>;
    /// Whether the global window of a grouping with shards fires when nothing came.
    fn fires_when_empty(&self) -> bool;
    /// Whether its trigger waits for what groupings upstream do in processing time.
    fn is_synchronized(&self) -> bool {
        false
    }
    /// What it is for an engine that groups, keeps state and fires timers itself.
    ///
    /// # Errors
    /// When it is nothing that such an engine can do: what, and what to do instead.
    fn portable(&self) -> Result<PortableGroup> {
        Err(DoFnError::msg("it is nothing that an engine of Beam's portability protocol has"))
    }
    /// The same grouping with the named CombineFn whose configuration `payload` is; nothing when it has none that is
    /// registered.
    ///
    /// # Errors
    /// When the payload is not the configuration of this grouping's CombineFn.
    fn with_payload(&self, _payload: &serde_json::Value) -> Result<Option<Arc<dyn GroupFactory>>> {
        Ok(None)
    }
}

/// A grouping of `(K, F::Input)` to `(K, F::Output)`.
pub(crate) struct GroupOp<K: Key, F: Fold> {
    fold: Proto<F>,
    strategy: Arc<WindowingStrategy>,
    default_key: Option<K>,
    coder: CoderSlot<(K, F::Output)>,
    late: Option<CoderSlot<(K, F::Input)>>,
    key: PhantomData<fn() -> K>,
}

impl<K: Key, F: Fold> GroupOp<K, F> {
    pub(crate) fn new(
        fold: F,
        strategy: WindowingStrategy,
        default_key: Option<K>,
        coder: CoderSlot<(K, F::Output)>,
        late: Option<CoderSlot<(K, F::Input)>>,
    ) -> GroupOp<K, F> {
        let strategy = Arc::new(strategy);
        GroupOp { fold: Proto::new(fold), strategy, default_key, coder, late, key: PhantomData }
    }

    /// Whether it gathers in shards, where the data are. Late elements that are wanted back are known by key only.
    fn has_shards(&self) -> bool {
        self.strategy.is_plain() && self.late.is_none()
    }

    fn tables(&self) -> WindowTables<K, F> {
        let tables = WindowTables::new(self.fold.get(), self.strategy.timestamp_combiner);
        match self.strategy.window_fn.as_sliding() {
            Some(windows) if F::SLICES => tables.sliced(windows),
            _ => tables,
        }
    }
}

impl<K: Key, F: Fold> GroupFactory for GroupOp<K, F> {
    fn input(&self) -> AnyBatch {
        Box::new(Batch::<(K, F::Input)>::default())
    }

    fn codec(&self) -> Arc<dyn BatchCodec> {
        Arc::new(CoderSlot::<(K, F::Input)>::default_of_type())
    }

    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel> {
        if self.has_shards() {
            Box::new(Collector::<K, F>::new(spec.step.clone(), group, self.strategy.allowed_lateness))
        } else {
            Box::new(KeyedCollector::<K, F::Input>::new(spec.step.clone(), group))
        }
    }

    fn root(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        let (fold, default_key) = (self.fold.get(), self.default_key.clone());
        if self.has_shards() {
            return Box::new(WindowRoot::new(&spec.step, fold, default_key, &self.coder));
        }
        let strategy = self.strategy.clone();
        Box::new(PanedRoot::new(&spec.step, fold, strategy, default_key, &self.coder, self.late.as_ref()))
    }

    fn shard(&self) -> Option<Box<dyn Shard>> {
        self.has_shards().then(|| Box::new(self.tables()) as Box<dyn Shard>)
    }

    fn keyed_state(&self, n: usize, groups: usize) -> Option<Box<dyn GroupState>> {
        if self.has_shards() {
            return None;
        }
        let mut panes = Panes::<K, F>::new();
        if let Some(key) = self.default_key.as_ref().filter(|key| key_group_of(*key, groups) == n) {
            panes.open(key.clone(), &self.strategy, &TriggerMachine::new(&self.strategy.trigger));
        }
        Some(Box::new(panes))
    }

    fn check_savable(&self) -> Result {
        check::<K>("keys")?;
        check::<F::Acc>("accumulators")
    }

    fn load_shard(&self, input: &mut &[u8]) -> Result<Box<dyn Shard>> {
        Ok(Box::new(self.tables().load(input)?))
    }

    fn load_table(&self, input: &mut &[u8]) -> Result<Box<dyn AnyTable>> {
        Ok(Box::new(WindowTable::<K, F>::load(self.strategy.timestamp_combiner, input)?))
    }

    fn load_keyed_state(&self, input: &mut &[u8]) -> Result<Box<dyn GroupState>> {
        if self.has_shards() {
            return Err(DoFnError::msg("it has no key groups, and state of some was given to it"));
        }
        Ok(Box::new(Panes::<K, F>::load(input)?))
    }

    fn fires_when_empty(&self) -> bool {
        self.default_key.is_some() && self.has_shards()
    }

    fn is_synchronized(&self) -> bool {
        TriggerMachine::new(&self.strategy.trigger).is_synchronized()
    }

    fn portable(&self) -> Result<PortableGroup> {
        if self.late.is_some() {
            return Err(DoFnError::msg(
                "it has an output of what comes too late (`with_late_data`), and an engine drops that before anybody \
                 sees it. Leave `with_late_data` out, or allow more lateness",
            ));
        }
        let coder = self.coder.clone();
        Ok(grouped(self.fold.get(), self.strategy.clone(), self.default_key.clone(), coder))
    }

    fn with_payload(&self, payload: &serde_json::Value) -> Result<Option<Arc<dyn GroupFactory>>> {
        let Some(fold) = self.fold.get().with_payload(payload)? else { return Ok(None) };
        Ok(Some(Arc::new(GroupOp::<K, F> {
            fold: Proto::new(fold),
            strategy: self.strategy.clone(),
            default_key: self.default_key.clone(),
            coder: self.coder.clone(),
            late: self.late.clone(),
            key: PhantomData,
        })))
    }
}
