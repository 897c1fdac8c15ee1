//! Elements as JSON.

use std::{any::type_name, fmt, marker::PhantomData};

use super::{
    Coder, CoderError, CoderSpec, Context,
    wire::{Prefix, Reader},
};
use crate::Element;

/// Writes elements as JSON text, behind its length when nested: for types that need names in their encoding, as
/// `serde_json::Value` and `#[serde(untagged)]` enums do.
///
/// What JSON cannot say does not come back: a NaN, a map whose keys are structs.
///
/// ```
/// use purlin_sdk::coder::{Json, from_bytes, to_bytes};
/// let coder = Json::<serde_json::Value>::of();
/// let value = serde_json::json!({"a": [1, null]});
/// let bytes = to_bytes(&coder, &value)?;
/// assert_eq!(bytes, br#"{"a":[1,null]}"#);
/// assert_eq!(from_bytes(&coder, &bytes)?, value);
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
pub struct Json<T>(PhantomData<fn() -> T>);

impl<T> Json<T> {
    pub(super) const NAME: &str = "purlin:coder:json:v1";
}

impl<T: Element> Json<T> {
    /// The JSON coder of `T`.
    pub const fn of() -> Json<T> {
        Json(PhantomData)
    }
}

impl<T: Element> Coder<T> for Json<T> {
    fn encode(&self, value: &T, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        let before = out.len();
        let prefix = match context {
            Context::Outer => None,
            Context::Nested => Some(Prefix::begin(0, out)),
        };
        if let Err(e) = serde_json::to_writer(&mut *out, value) {
            out.truncate(before);
            return Err(CoderError::msg(e).writing::<T>());
        }
        if let Some(prefix) = prefix {
            prefix.end(out);
        }
        Ok(())
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<T, CoderError> {
        let mut reader = Reader::new(input);
        let text = match context {
            Context::Outer => reader.take_rest(),
            Context::Nested => reader.prefixed(),
        };
        let value = text.and_then(|text| {
            let start = reader.offset() - text.len();
            // One line, so the column is the byte.
            serde_json::from_slice(text)
                .map_err(|e| CoderError::msg(&e).at(start + e.column().saturating_sub(1)))
        });
        match value {
            Ok(value) => {
                *input = reader.rest();
                Ok(value)
            }
            Err(e) => Err(e.reading::<T>()),
        }
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::Custom { name: Self::NAME.into(), parameters: type_name::<T>().into() }
    }
}

impl<T> Clone for Json<T> {
    fn clone(&self) -> Json<T> {
        *self
    }
}

impl<T> Copy for Json<T> {}

impl<T> fmt::Debug for Json<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json<{}>", type_name::<T>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{check_round_trip, from_bytes};

    #[test]
    fn nested_json_has_its_length_in_front() {
        let coder = Json::<Option<String>>::of();
        let mut out = Vec::new();
        coder.encode(&Some("a".into()), Context::Nested, &mut out).unwrap();
        coder.encode(&None, Context::Nested, &mut out).unwrap();
        assert_eq!(out, b"\x03\"a\"\x04null");
        let mut input = &out[..];
        assert_eq!(coder.decode(&mut input, Context::Nested).unwrap(), Some("a".into()));
        assert_eq!(coder.decode(&mut input, Context::Nested).unwrap(), None);
        assert!(input.is_empty());
    }

    #[test]
    fn floats_come_back_to_the_last_bit() {
        for x in [0.1 + 0.2, 5e-324, 1.797_693_134_862_315_7e308, 64.080_000_000_000_01, 7.038_531e-26] {
            let coder = Json::<f64>::of();
            let mut out = Vec::new();
            coder.encode(&x, Context::Outer, &mut out).unwrap();
            assert_eq!(from_bytes(&coder, &out).unwrap().to_bits(), f64::to_bits(x), "{x:?}");
        }
    }

    #[test]
    fn what_json_cannot_say_is_found() {
        let e = check_round_trip(&Json::<f64>::of(), &f64::NAN).unwrap_err().to_string();
        assert!(e.contains("no NaN") && e.contains("leaving `.with_coder(Json::of())` out"), "{e}");
        let e = from_bytes(&Json::<Vec<i64>>::of(), b"[1,x]").unwrap_err();
        assert_eq!(e.offset(), Some(3), "{e}");
    }
}
