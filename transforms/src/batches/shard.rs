//! Keys in shards.

use std::{
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use purlin_sdk::{DoFn, Element, Emitter, Key, ProcessContext, Result, SetupContext, coder::ShardedKey};

/// Gives each instance, and so each worker, a shard of its own.
pub(super) struct Shard<K, V> {
    instances: Arc<AtomicU64>,
    shard: [u8; 8],
    types: PhantomData<fn(K, V)>,
}

impl<K, V> Shard<K, V> {
    pub(super) fn new() -> Shard<K, V> {
        Shard { instances: Arc::default(), shard: [0; 8], types: PhantomData }
    }
}

impl<K, V> Clone for Shard<K, V> {
    fn clone(&self) -> Shard<K, V> {
        Shard { instances: Arc::clone(&self.instances), shard: self.shard, types: PhantomData }
    }
}

impl<K: Key, V: Element> DoFn for Shard<K, V> {
    type Input = (K, V);
    type Output = (ShardedKey<K>, V);

    fn setup(&mut self, _: &SetupContext<'_>) -> Result {
        self.shard = self.instances.fetch_add(1, Relaxed).to_be_bytes();
        Ok(())
    }

    fn process(
        &mut self,
        (key, value): (K, V),
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, (ShardedKey<K>, V)>,
    ) -> Result {
        out.emit((ShardedKey::new(key, self.shard), value));
        Ok(())
    }
}
