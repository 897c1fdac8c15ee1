//! The one place that knows bincode.

use std::{any::type_name, cell::Cell, marker::PhantomData};

use serde::{
    Serialize,
    de::{DeserializeOwned, DeserializeSeed},
};

use super::{
    CoderError,
    depth::bounded,
    guard::{Guard, Limits, MAX_DEPTH},
};
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
    encode_leaf(value, out)
        .map_err(|e| DoFnError::msg(format!("`{}` does not encode: {e}", type_name::<T>())))
}

thread_local! {
    static MEASURING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the value that is being serialised on this thread is only measured: its bytes are looked at and forgotten.
/// Runners measure a few elements of a batch to know how much memory waits, and compare what comes back from a coder.
/// For a type whose `Serialize` has an effect, such as one that owns a file and gives it up to whoever reads the bytes.
///
/// ```
/// assert!(!purlin_sdk::coder::bincode::is_measuring());
/// ```
pub fn is_measuring() -> bool {
    MEASURING.get()
}

/// Runs `work`, on whose thread values are serialised only to be measured.
pub(crate) fn measuring<R>(work: impl FnOnce() -> R) -> R {
    /// Also undone when a value's `Serialize` panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MEASURING.set(self.0);
        }
    }
    let _before = Before(MEASURING.replace(true));
    work()
}

/// How many bytes `value` encodes to; zero when it does not encode.
pub(crate) fn encoded_len<T: Serialize>(value: &T) -> usize {
    struct Count(usize);
    impl ::bincode::enc::write::Writer for Count {
        fn write(&mut self, bytes: &[u8]) -> std::result::Result<(), ::bincode::error::EncodeError> {
            self.0 += bytes.len();
            Ok(())
        }
    }
    let mut count = Count(0);
    match measuring(|| ::bincode::serde::encode_into_writer(bounded(value), &mut count, config())) {
        Ok(()) => count.0,
        Err(_) => 0,
    }
}

/// Takes one value off the front of `input`.
///
/// # Errors
/// When the bytes are no such value, or it would be larger than [`MAX_DECODED_BYTES`].
pub fn decode<T: DeserializeOwned>(input: &mut &[u8]) -> Result<T> {
    decode_leaf(PhantomData::<T>, input)
        .map_err(|e| DoFnError::msg(format!("these bytes are no `{}`: {e}", type_name::<T>())))
}

pub(super) fn encode_leaf<T: Serialize + ?Sized>(
    value: &T,
    out: &mut Vec<u8>,
) -> std::result::Result<(), CoderError> {
    ::bincode::serde::encode_into_std_write(bounded(value), out, config()).map(drop).map_err(|e| match e {
        ::bincode::error::EncodeError::OtherString(said) => CoderError::msg(said),
        other => CoderError::msg(other),
    })
}

pub(super) fn decode_leaf<'de, S: DeserializeSeed<'de>>(
    seed: S,
    input: &mut &'de [u8],
) -> std::result::Result<S::Value, CoderError> {
    let elements = Cell::new(MAX_DECODED_BYTES);
    let guarded = Guard { inner: seed, limits: Limits { depth: MAX_DEPTH, elements: &elements } };
    let (value, used) =
        ::bincode::serde::seed_decode_from_slice(guarded, input, config()).map_err(|e| match e {
            ::bincode::error::DecodeError::OtherString(said) => CoderError::msg(said),
            other => CoderError::msg(other),
        })?;
    *input = &input[used..];
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Link(Option<Box<Link>>);

    #[test]
    fn corrupt_bytes_do_not_overflow_the_stack() {
        let e = decode::<Link>(&mut &[1; 1 << 20][..]).unwrap_err().to_string();
        assert!(e.contains("more than 256 deep"), "{e}");
        let link = Link(Some(Box::new(Link(Some(Box::new(Link(None)))))));
        let mut out = Vec::new();
        encode(&link, &mut out).unwrap();
        decode::<Link>(&mut &out[..]).unwrap();
    }

    #[test]
    fn a_text_length_that_lies_is_no_allocation() {
        // 0xfc: a length of four bytes follows, here 2^29.
        let e = decode::<String>(&mut &b"\xfc\x00\x00\x00\x20abc"[..]).unwrap_err().to_string();
        assert!(e.contains("String"), "{e}");
    }

    #[test]
    fn a_value_can_tell_that_it_is_measured() {
        struct Panics;
        impl Serialize for Panics {
            fn serialize<S: serde::Serializer>(&self, _: S) -> std::result::Result<S::Ok, S::Error> {
                panic!("measured: {}", is_measuring())
            }
        }
        let panics = std::panic::catch_unwind(|| encoded_len(&Panics)).unwrap_err();
        assert_eq!(panics.downcast_ref::<String>().unwrap(), "measured: true");
        assert!(!is_measuring());
    }

    #[test]
    fn an_enum_has_a_message_of_its_own() {
        let e = decode::<Option<bool>>(&mut &b"\x07"[..]).unwrap_err().to_string();
        assert!(e.contains("these bytes are no `core::option::Option<bool>`"), "{e}");
    }
}
