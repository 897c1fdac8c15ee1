//! Values that may be missing, with a coder of their own.

use std::{fmt, sync::Arc};

use super::{Coder, CoderError, CoderRef, CoderSpec, Context, rewrapped, wire::Reader};

/// Writes a byte 0 for nothing, and a byte 1 before a value: what the default coder does for an `Option`, for values
/// that the default coder is not for.
///
/// ```
/// use purlin_sdk::coder::{Json, NullableCoder, to_bytes};
/// let coder = NullableCoder::new(std::sync::Arc::new(Json::<serde_json::Value>::of()));
/// assert_eq!(to_bytes(&coder, &None)?, b"\x00");
/// assert_eq!(to_bytes(&coder, &Some(serde_json::json!([])))?, b"\x01[]");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `NullableCoder`.
pub struct NullableCoder<T> {
    value: CoderRef<T>,
}

impl<T: 'static> NullableCoder<T> {
    /// The coder of nothing or what `value` writes.
    pub fn new(value: CoderRef<T>) -> NullableCoder<T> {
        NullableCoder { value }
    }
}

impl<T: 'static> Coder<Option<T>> for NullableCoder<T> {
    fn encode(&self, value: &Option<T>, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        out.push(u8::from(value.is_some()));
        value.as_ref().map_or(Ok(()), |value| self.value.encode(value, context, out))
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<Option<T>, CoderError> {
        let mut reader = Reader::new(input);
        let value = match reader.flag("the byte before a value that may be missing")? {
            false => None,
            true => Some(reader.value(&*self.value, context)?),
        };
        *input = reader.rest();
        Ok(value)
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::Nullable(Box::new(self.value.spec()))
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<Option<T>>, CoderError> {
        let CoderSpec::Nullable(of) = spec else {
            return Err(CoderError::msg(format_args!("{} cannot be written as {spec}", self.spec())));
        };
        Ok(Arc::new(NullableCoder::new(rewrapped(&self.value, of)?)))
    }
}

impl<T> fmt::Debug for NullableCoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NullableCoder({:?})", self.value)
    }
}
