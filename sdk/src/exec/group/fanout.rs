//! Combining in parts before the values of a key meet.
//!
//! The elements of a key go in turn to several key groups. A bundle of one combines what waits there, per key and window,
//! and hands on one [`Partial`] for each: no state stays behind, so that a partial result is never older than a bundle,
//! and the trigger of the grouping that merges the parts sees elements as soon as one that is given them singly. It also
//! counts them: a partial result weighs what it is made of.
//!
//! In Beam the first of two groupings has the trigger too, so that its delays and counts apply twice; like there, what
//! goes from the first to the second is only what is new, whatever the accumulation mode.

mod root;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::root::FanoutRoot;
use super::{CombineFold, Fold, GroupFactory, GroupState, KeyedReport, Shard, keyed::KeyedCollector};
use crate::{
    CombineFn, DoFnError, Key,
    batch::{AnyBatch, Batch},
    coder_slot::CoderSlot,
    exec::{AnyTable, BatchCodec, Kernel, KernelSpec, PortableGroup, Proto, portable::precombine},
    window::WindowingStrategy,
};

/// No more key groups are made for a fan-out, however large it is.
const MOST_GROUPS: usize = 1024;

/// What some elements of a key and window come to.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Partial<A> {
    acc: A,
    elements: u64,
}

/// Combining of what was combined in part.
#[derive(Clone)]
pub(crate) struct PartialFold<C>(pub(crate) CombineFold<C>);

impl<C: CombineFn> Fold for PartialFold<C> {
    type Input = Partial<C::Accumulator>;
    type Acc = C::Accumulator;
    type Output = C::Output;

    fn create(&self) -> C::Accumulator {
        self.0.create()
    }

    fn add(&self, acc: &mut C::Accumulator, input: Partial<C::Accumulator>) {
        self.0.merge(acc, input.acc);
    }

    fn merge(&self, acc: &mut C::Accumulator, other: C::Accumulator) {
        self.0.merge(acc, other);
    }

    fn extract(&self, acc: C::Accumulator) -> C::Output {
        self.0.extract(acc)
    }

    fn weight(&self, input: &Partial<C::Accumulator>) -> u64 {
        input.elements
    }

    fn payload(&self) -> crate::Result<serde_json::Value> {
        self.0.payload()
    }

    fn with_payload(&self, payload: &serde_json::Value) -> crate::Result<Option<Self>> {
        Ok(self.0.with_payload(payload)?.map(PartialFold))
    }
}

/// The transform that combines in parts: of `(K, F::Input)` to `(K, Partial<F::Acc>)`.
pub(crate) struct FanoutOp<K: Key, F: Fold> {
    fold: Arc<Proto<F>>,
    strategy: Arc<WindowingStrategy>,
    fanout: usize,
    coder: CoderSlot<(K, Partial<F::Acc>)>,
}

impl<K: Key, F: Fold> FanoutOp<K, F> {
    pub(crate) fn new(
        fold: F,
        strategy: WindowingStrategy,
        fanout: usize,
        coder: CoderSlot<(K, Partial<F::Acc>)>,
    ) -> FanoutOp<K, F> {
        FanoutOp { fold: Arc::new(Proto::new(fold)), strategy: Arc::new(strategy), fanout, coder }
    }
}

impl<K: Key, F: Fold> GroupFactory for FanoutOp<K, F> {
    fn urn(&self) -> &'static str {
        "beam:transform:combine_per_key_precombine:v1"
    }

    fn input(&self) -> AnyBatch {
        Box::new(Batch::<(K, F::Input)>::default())
    }

    fn collector(&self, spec: &KernelSpec, group: usize) -> Box<dyn Kernel> {
        Box::new(KeyedCollector::<K, F::Input>::spread(spec.step.clone(), group, self.fanout))
    }

    fn root(&self, spec: &KernelSpec) -> Box<dyn Kernel> {
        Box::new(FanoutRoot::new(&spec.step, self.fold.get(), self.strategy.clone(), &self.coder))
    }

    fn shard(&self) -> Option<Box<dyn Shard>> {
        None
    }

    fn keyed_state(&self, _n: usize, _groups: usize) -> Option<Box<dyn GroupState>> {
        Some(Box::new(Nothing))
    }

    fn key_groups(&self, all: usize) -> usize {
        spread_groups(all, self.fanout)
    }

    fn codec(&self) -> Arc<dyn BatchCodec> {
        Arc::new(CoderSlot::<(K, F::Input)>::default_of_type())
    }

    fn check_savable(&self) -> crate::Result {
        // Nothing is kept between bundles.
        Ok(())
    }

    fn load_shard(&self, _: &mut &[u8]) -> crate::Result<Box<dyn Shard>> {
        Err(no_shards())
    }

    fn load_table(&self, _: &mut &[u8]) -> crate::Result<Box<dyn AnyTable>> {
        Err(no_shards())
    }

    fn load_keyed_state(&self, _: &mut &[u8]) -> crate::Result<Box<dyn GroupState>> {
        Ok(Box::new(Nothing))
    }

    fn fires_when_empty(&self) -> bool {
        false
    }

    fn portable(&self) -> crate::Result<PortableGroup> {
        let combiner = self.strategy.timestamp_combiner;
        let part =
            precombine(self.fold.clone(), combiner, &self.coder, |acc, elements| Partial { acc, elements });
        Ok(PortableGroup::ParDo(part))
    }

    fn with_payload(&self, payload: &serde_json::Value) -> crate::Result<Option<Arc<dyn GroupFactory>>> {
        let Some(fold) = self.fold.get().with_payload(payload)? else { return Ok(None) };
        let strategy = WindowingStrategy::clone(&self.strategy);
        Ok(Some(Arc::new(FanoutOp::<K, F>::new(fold, strategy, self.fanout, self.coder.clone()))))
    }
}

fn no_shards() -> DoFnError {
    DoFnError::msg("what is combined in parts is not gathered in shards")
}

/// Key groups where other transforms have `all`: so many at least that each part of a key has one.
pub(super) fn spread_groups(all: usize, fanout: usize) -> usize {
    all.max(fanout.min(MOST_GROUPS))
}

/// What a key group keeps between bundles.
struct Nothing;

impl GroupState for Nothing {
    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }

    fn report(&self) -> KeyedReport {
        KeyedReport::IDLE
    }

    fn undo(&mut self) {}

    fn keep(&mut self) {}

    fn save(&self, _: &mut Vec<u8>) -> crate::Result {
        Ok(())
    }
}
