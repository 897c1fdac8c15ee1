//! A key in one of its shards.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    Coder, CoderError, CoderRef, CoderSpec, Context, rewrapped,
    wire::{Reader, write_bytes},
};

/// A key together with the shard that an element of it belongs to: what a hot key is split by.
///
/// ```
/// use purlin_sdk::coder::{ShardedKey, ShardedKeyCoder, default_coder, to_bytes};
/// let coder = ShardedKeyCoder::new(default_coder::<String>()?);
/// let key = ShardedKey::new("key".to_owned(), b"shard_id");
/// assert_eq!(to_bytes(&coder, &key)?, b"\x08shard_id\x03key");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `ShardedKey`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ShardedKey<K> {
    /// The key.
    pub key: K,
    /// The shard's name, any bytes.
    pub shard_id: Vec<u8>,
}

impl<K> ShardedKey<K> {
    /// `key` in the shard of this name.
    pub fn new(key: K, shard_id: impl Into<Vec<u8>>) -> ShardedKey<K> {
        ShardedKey { key, shard_id: shard_id.into() }
    }
}

/// Writes the shard's name behind its length, and then the key, nested.
///
/// Source: Beam's `ShardedKey.Coder`, `beam:coder:sharded_key:v1`.
pub struct ShardedKeyCoder<K> {
    key: CoderRef<K>,
}

impl<K: 'static> ShardedKeyCoder<K> {
    /// The coder of shards of keys that `key` writes.
    pub fn new(key: CoderRef<K>) -> ShardedKeyCoder<K> {
        ShardedKeyCoder { key }
    }
}

impl<K: 'static> Coder<ShardedKey<K>> for ShardedKeyCoder<K> {
    fn encode(&self, value: &ShardedKey<K>, _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        write_bytes(&value.shard_id, out);
        self.key.encode(&value.key, Context::Nested, out)
    }

    fn decode(&self, input: &mut &[u8], _: Context) -> Result<ShardedKey<K>, CoderError> {
        let mut reader = Reader::new(input);
        let shard_id = reader.prefixed()?.to_vec();
        let key = reader.value(&*self.key, Context::Nested)?;
        *input = reader.rest();
        Ok(ShardedKey { key, shard_id })
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::ShardedKey(Box::new(self.key.spec()))
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<ShardedKey<K>>, CoderError> {
        let CoderSpec::ShardedKey(of) = spec else {
            return Err(CoderError::msg(format_args!("{} cannot be written as {spec}", self.spec())));
        };
        Ok(Arc::new(ShardedKeyCoder::new(rewrapped(&self.key, of)?)))
    }
}

impl<K> fmt::Debug for ShardedKeyCoder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardedKeyCoder({:?})", self.key)
    }
}
