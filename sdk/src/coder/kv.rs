//! Pairs whose parts have coders of their own.

use std::{fmt, sync::Arc};

use super::{Coder, CoderError, CoderRef, CoderSpec, Context, rewrapped, wire::Reader};

/// Writes a key and then a value, each by its own coder: what the default coder does for pairs, for parts that the
/// default coder is not for.
///
/// ```
/// use purlin_sdk::coder::{Json, KvCoder, default_coder, from_bytes, to_bytes};
/// let coder = KvCoder::new(default_coder::<String>()?, std::sync::Arc::new(Json::<serde_json::Value>::of()));
/// let pair = ("key".to_owned(), serde_json::json!([1, null]));
/// let bytes = to_bytes(&coder, &pair)?;
/// assert_eq!(bytes, b"\x03key[1,null]");
/// assert_eq!(from_bytes(&coder, &bytes)?, pair);
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `KvCoder`: the key is nested, the value as the pair.
pub struct KvCoder<K, V> {
    key: CoderRef<K>,
    value: CoderRef<V>,
}

impl<K: 'static, V: 'static> KvCoder<K, V> {
    /// The coder of pairs of what `key` and `value` write.
    pub fn new(key: CoderRef<K>, value: CoderRef<V>) -> KvCoder<K, V> {
        KvCoder { key, value }
    }
}

impl<K: 'static, V: 'static> Coder<(K, V)> for KvCoder<K, V> {
    fn encode(&self, (key, value): &(K, V), context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        self.key.encode(key, Context::Nested, out)?;
        self.value.encode(value, context, out)
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<(K, V), CoderError> {
        let mut reader = Reader::new(input);
        let key = reader.value(&*self.key, Context::Nested)?;
        let value = reader.value(&*self.value, context)?;
        *input = reader.rest();
        Ok((key, value))
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::Kv(Box::new(self.key.spec()), Box::new(self.value.spec()))
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<(K, V)>, CoderError> {
        let CoderSpec::Kv(key, value) = spec else {
            return Err(CoderError::msg(format_args!("pairs cannot be written as {spec}")));
        };
        Ok(Arc::new(KvCoder::new(rewrapped(&self.key, key)?, rewrapped(&self.value, value)?)))
    }
}

impl<K, V> fmt::Debug for KvCoder<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KvCoder({:?}, {:?})", self.key, self.value)
    }
}
