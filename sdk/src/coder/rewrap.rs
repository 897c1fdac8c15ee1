//! Coders in the form that an engine gives them.

use std::sync::Arc;

use super::{CoderError, CoderRef, CoderSpec, LengthPrefixCoder};

/// `coder` as `spec` writes it: the same tree, with a length prefix around any of its parts. An engine puts them around
/// what it does not know, so that it can step over it.
///
/// ```
/// use purlin_sdk::coder::{CoderSpec, default_coder, rewrapped, to_bytes};
/// let own = default_coder::<(bool, i64)>()?;
/// let prefixed = CoderSpec::LengthPrefix(Box::new(CoderSpec::VarInt));
/// let coder = rewrapped(&own, &CoderSpec::Kv(Box::new(CoderSpec::Bool), Box::new(prefixed)))?;
/// assert_eq!(to_bytes(&*coder, &(true, 200))?, b"\x01\x02\xc8\x01");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: `beam_runner_api.proto`, `StandardCoders.Enum.LENGTH_PREFIX`.
///
/// # Errors
/// When `spec` is another tree than the coder's.
pub fn rewrapped<T: 'static>(coder: &CoderRef<T>, spec: &CoderSpec) -> Result<CoderRef<T>, CoderError> {
    let own = coder.spec();
    match spec {
        spec if *spec == own => Ok(Arc::clone(coder)),
        CoderSpec::LengthPrefix(of) if !matches!(own, CoderSpec::LengthPrefix(_)) => {
            Ok(Arc::new(LengthPrefixCoder::new(rewrapped(coder, of)?)))
        }
        spec => coder.rewrap(spec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{
        IterableCoder, Json, KvCoder, NullableCoder, ShardedKey, ShardedKeyCoder, default_coder, from_bytes,
        to_bytes,
    };

    fn prefixed(of: CoderSpec) -> CoderSpec {
        CoderSpec::LengthPrefix(Box::new(of))
    }

    #[test]
    fn coders_made_of_others_take_prefixes_inside() {
        let json: CoderRef<serde_json::Value> = Arc::new(Json::<serde_json::Value>::of());
        let shard: CoderRef<ShardedKey<String>> =
            Arc::new(ShardedKeyCoder::new(default_coder::<String>().unwrap()));
        let many: CoderRef<Vec<Option<serde_json::Value>>> =
            Arc::new(IterableCoder::new(Arc::new(NullableCoder::new(json.clone()))));
        let coder: CoderRef<(ShardedKey<String>, Vec<Option<serde_json::Value>>)> =
            Arc::new(KvCoder::new(shard, many));
        let spec = CoderSpec::Kv(
            Box::new(CoderSpec::ShardedKey(Box::new(prefixed(CoderSpec::StringUtf8)))),
            Box::new(prefixed(CoderSpec::Iterable(Box::new(CoderSpec::Nullable(Box::new(prefixed(
                json.spec(),
            ))))))),
        );
        let coder = rewrapped(&coder, &spec).unwrap();
        assert_eq!(coder.spec(), spec);
        let value = (ShardedKey::new("k".to_owned(), "s"), vec![Some(serde_json::json!([1])), None]);
        let bytes = to_bytes(&*coder, &value).unwrap();
        assert_eq!(bytes, b"\x01s\x01k\x0a\0\0\0\x02\x01\x03[1]\0");
        assert_eq!(from_bytes(&*coder, &bytes).unwrap(), value);
    }

    #[test]
    fn another_tree_is_refused() {
        let own = default_coder::<(String, i64)>().unwrap();
        for spec in [CoderSpec::VarInt, prefixed(CoderSpec::Bool)] {
            let e = rewrapped(&own, &spec).unwrap_err().to_string();
            assert!(e.contains("kv<string_utf8, varint> cannot be written as"), "{e}");
        }
    }
}
