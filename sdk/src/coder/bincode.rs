//! The one place that knows bincode.

use serde::de::DeserializeOwned;

use crate::{DoFnError, Element, Result};

/// No single value decodes to more than this: a length read from corrupt bytes must not allocate the machine away.
pub const MAX_DECODED_BYTES: usize = 1 << 30;

fn config() -> impl ::bincode::config::Config {
    ::bincode::config::standard().with_limit::<MAX_DECODED_BYTES>()
}

/// Appends the encoding of `value` to `out`.
///
/// # Errors
/// When the value's `Serialize` fails.
pub fn encode<T: Element>(value: &T, out: &mut Vec<u8>) -> Result {
    ::bincode::serde::encode_into_std_write(value, out, config())
        .map(drop)
        .map_err(|e| DoFnError::msg(format!("`{}` does not encode: {e}", std::any::type_name::<T>())))
}

/// Takes one value off the front of `input`.
///
/// # Errors
/// When the bytes are no such value, or it would be larger than [`MAX_DECODED_BYTES`].
pub fn decode<T: DeserializeOwned>(input: &mut &[u8]) -> Result<T> {
    let (value, used) = ::bincode::serde::decode_from_slice(input, config())
        .map_err(|e| DoFnError::msg(format!("these bytes are no `{}`: {e}", std::any::type_name::<T>())))?;
    *input = &input[used..];
    Ok(value)
}
