//! Whether a value comes back.

use super::{Coder, CoderError, CoderSpec, Context, Json, bincode::measuring};

/// Encodes `value`, decodes it, and encodes what came back: all bytes must be read, and be the same again.
///
/// This finds what a look at the type may not, such as `#[serde(skip_serializing_if = "..")]`: the field is not
/// written, and the default coder reads the next one in its place. Bytes may come back in another order, as those of a
/// `HashMap` do, but not others.
///
/// ```
/// use purlin_sdk::coder::{check_round_trip, default_coder};
/// # use serde::{Serialize, Deserialize};
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Order {
///     #[serde(skip_serializing_if = "is_usual")]
///     carrier: String,
///     id: u32,
/// }
/// fn is_usual(carrier: &str) -> bool { carrier == "post" }
/// let coder = default_coder::<Order>()?;
/// assert!(check_round_trip(&*coder, &Order { carrier: "ship".into(), id: 7 }).is_ok());
/// let error = check_round_trip(&*coder, &Order { carrier: "post".into(), id: 7 }).unwrap_err();
/// assert!(error.to_string().contains("skip_serializing_if"), "{error}");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// # Errors
/// When the value does not encode, or something else comes back.
pub fn check_round_trip<T: 'static>(coder: &dyn Coder<T>, value: &T) -> Result<(), CoderError> {
    recoded(coder, value, &mut Scratch::default()).map(drop)
}

/// Buffers that are used again.
#[derive(Default)]
pub(crate) struct Scratch {
    written: Vec<u8>,
    again: Vec<u8>,
}

/// What comes back of `value`, checked as [`check_round_trip`] does.
pub(crate) fn recoded<T: 'static>(
    coder: &dyn Coder<T>,
    value: &T,
    Scratch { written, again }: &mut Scratch,
) -> Result<T, CoderError> {
    written.clear();
    again.clear();
    coder.encode(value, Context::Nested, written).map_err(CoderError::writing::<T>)?;
    let mut rest = &written[..];
    let back = coder.decode(&mut rest, Context::Nested).map_err(|e| differs::<T>(coder, &e))?;
    if !rest.is_empty() {
        let left = CoderError::left_over(rest.len(), written.len() - rest.len());
        return Err(differs::<T>(coder, &left));
    }
    measuring(|| coder.encode(&back, Context::Nested, again)).map_err(|e| differs::<T>(coder, &e))?;
    if written == again || counts(written) == counts(again) {
        return Ok(back);
    }
    Err(differs::<T>(coder, &CoderError::msg("another value came back")))
}

fn differs<T: 'static>(coder: &dyn Coder<T>, found: &CoderError) -> CoderError {
    if matches!(coder.spec(), CoderSpec::Custom { name, .. } if name == Json::<()>::NAME) {
        return CoderError::msg(format_args!(
            "a value of `{}` does not come back from JSON, which cannot say all values: no NaN and no infinity, no map whose keys are structs. Take the default coder where it has such values, by leaving `.with_coder(Json::of())` out, or write them in another way, such as an `Option<f64>` for a number that may be missing ({found})",
            std::any::type_name::<T>(),
        ));
    }
    CoderError::msg(format_args!(
        "a value of `{}` does not come back from {}: its Serialize and its Deserialize differ, as with `#[serde(skip_serializing_if = \"..\")]` or `#[serde(skip_serializing)]`. Remove the attribute, or give the collection another coder by `.with_coder(Json::of())` ({found})",
        std::any::type_name::<T>(),
        coder.spec()
    ))
}

/// How often each byte occurs: what does not change when entries change places.
fn counts(bytes: &[u8]) -> [usize; 256] {
    let mut counts = [0; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::coder::default_coder;

    #[derive(Clone, Serialize, Deserialize)]
    struct Last {
        id: u32,
        #[serde(default = "usual", skip_serializing_if = "is_usual")]
        carrier: String,
    }

    fn usual() -> String {
        "post".to_owned()
    }

    fn is_usual(carrier: &str) -> bool {
        carrier == "post"
    }

    #[test]
    fn a_field_that_was_not_written_is_found() {
        let without = Last { id: 7, carrier: "post".to_owned() };
        let coder = default_coder::<Last>().unwrap();
        let e = check_round_trip(&*coder, &without).unwrap_err().to_string();
        assert!(e.contains("Last") && e.contains(".with_coder(Json::of())"), "{e}");
        check_round_trip(&Json::of(), &without).unwrap();
    }

    #[derive(Clone, Serialize, Deserialize)]
    struct Forgets {
        #[serde(deserialize_with = "nothing")]
        id: u32,
    }

    fn nothing<'de, D: serde::Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
        u32::deserialize(d).map(|_| 0)
    }

    #[test]
    fn another_value_is_found() {
        let coder = default_coder::<Forgets>().unwrap();
        let e = check_round_trip(&*coder, &Forgets { id: 7 }).unwrap_err().to_string();
        assert!(e.contains("another value came back"), "{e}");
    }

    #[test]
    fn a_map_may_come_back_in_another_order() {
        let map: HashMap<String, i64> = (0..100).map(|i| (format!("key {i}"), i)).collect();
        let coder = default_coder::<HashMap<String, i64>>().unwrap();
        check_round_trip(&*coder, &map).unwrap();
    }
}
