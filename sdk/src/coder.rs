//! Elements as bytes.
//!
//! A [`Coder`] turns elements into bytes and back. Nobody has to write one: [`default_coder`] looks once at how a type
//! reads itself with serde and picks Beam's own coders for what it can see through, so that a `(String, i64)` is
//! `kv(string_utf8, varint)` for an engine or an SDK in another language too. What Beam has no word for, structs and
//! enums above all, is a leaf of bincode behind its length.
//!
//! ```
//! use purlin_sdk::coder::{default_coder, from_bytes, to_bytes};
//! let coder = default_coder::<(String, i64)>()?;
//! assert_eq!(coder.spec().to_string(), "kv<string_utf8, varint>");
//! let bytes = to_bytes(&*coder, &("key".to_owned(), 200))?;
//! assert_eq!(bytes, b"\x03key\xc8\x01");
//! assert_eq!(from_bytes(&*coder, &bytes)?, ("key".to_owned(), 200));
//! # Ok::<(), purlin_sdk::coder::CoderError>(())
//! ```
//!
//! Source: `beam_runner_api.proto`, `StandardCoders`; the byte forms are those of Beam's `standard_coders.yaml`.

pub mod bincode;
mod de;
mod depth;
mod error;
mod guard;
mod iterable;
mod json;
mod kv;
mod layout;
mod length_prefix;
mod nullable;
mod pane;
mod param_windowed;
mod probe;
mod registry;
mod rewrap;
mod round_trip;
mod rounds;
mod row;
mod ser;
mod serde_coder;
mod sharded_key;
mod spec;
mod timer;
mod timestamp;
mod trace;
mod window;
mod windowed;
mod wire;

#[cfg(test)]
mod tests;

use std::{fmt::Debug, sync::Arc};

pub use error::CoderError;
pub use iterable::IterableCoder;
pub use json::Json;
pub use kv::KvCoder;
pub use length_prefix::LengthPrefixCoder;
pub use nullable::NullableCoder;
pub use pane::{decode_pane, encode_pane};
pub use param_windowed::ParamWindowedValueCoder;
pub use registry::default_coder;
pub use rewrap::rewrapped;
pub use round_trip::check_round_trip;
pub(crate) use round_trip::{Scratch, recoded};
pub use row::{Decimal, Field, FieldKind, FieldType, FieldValue, LogicalType, Row, RowCoder, Schema};
pub use serde_coder::SerdeCoder;
pub use sharded_key::{ShardedKey, ShardedKeyCoder};
pub use spec::CoderSpec;
pub use timer::{TimerCoder, TimerData, TimerFiring};
pub use timestamp::{decode_timestamp, encode_timestamp};
pub use trace::trace;
pub use window::{WindowCoder, decode_window, encode_window};
pub use windowed::{WindowedValue, WindowedValueCoder};

/// Whether a value has the rest of the bytes to itself.
///
/// ```
/// use purlin_sdk::coder::{Context, default_coder};
/// let coder = default_coder::<String>()?;
/// let mut out = Vec::new();
/// coder.encode(&"abc".to_owned(), Context::Outer, &mut out)?;
/// coder.encode(&"abc".to_owned(), Context::Nested, &mut out)?;
/// assert_eq!(out, b"abc\x03abc");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: Beam's `Coder.Context`. Everything on Beam's data and state planes is nested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// The value ends where the bytes end, so a string needs no length.
    Outer,
    /// More may follow, so the value must say where it ends.
    Nested,
}

/// How values of type `T` become bytes and come back.
///
/// An encoding is a function of the value: runners group keys and compare windows by their bytes. What `encode` writes
/// in [`Context::Nested`] must end by itself, because the next value follows at once.
///
/// ```
/// use purlin_sdk::coder::{Coder, CoderError, CoderSpec, Context, check_round_trip};
///
/// /// A colour as its three bytes.
/// #[derive(Debug, PartialEq)]
/// struct Rgb(u8, u8, u8);
///
/// #[derive(Debug)]
/// struct RgbCoder;
///
/// impl Coder<Rgb> for RgbCoder {
///     fn encode(&self, value: &Rgb, _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
///         out.extend([value.0, value.1, value.2]);
///         Ok(())
///     }
///     fn decode(&self, input: &mut &[u8], _: Context) -> Result<Rgb, CoderError> {
///         let (&[r, g, b], rest) = input.split_first_chunk().ok_or_else(|| CoderError::msg("a colour is three bytes"))?;
///         *input = rest;
///         Ok(Rgb(r, g, b))
///     }
///     fn spec(&self) -> CoderSpec {
///         CoderSpec::Custom { name: "example:coder:rgb:v1".into(), parameters: String::new() }
///     }
/// }
///
/// check_round_trip(&RgbCoder, &Rgb(1, 2, 3))?;
/// # Ok::<(), CoderError>(())
/// ```
pub trait Coder<T>: Debug + Send + Sync + 'static {
    /// Appends the encoding of `value` to `out`.
    ///
    /// # Errors
    /// When the value has no encoding. What `out` then holds beyond its old length means nothing.
    fn encode(&self, value: &T, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError>;

    /// Takes one value off the front of `input`.
    ///
    /// # Errors
    /// When the bytes are no such value. No bytes, however broken, may make it panic or allocate more than they are
    /// long by more than a small factor.
    fn decode(&self, input: &mut &[u8], context: Context) -> Result<T, CoderError>;

    /// What the coder is, for other processes.
    fn spec(&self) -> CoderSpec;

    /// The same coder with length prefixes where `spec` has them, for coders that are made of others; see [`rewrapped`],
    /// which deals with a prefix around the whole.
    ///
    /// # Errors
    /// When it cannot be written as `spec` says. By default always.
    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<T>, CoderError> {
        Err(CoderError::msg(format_args!("{} cannot be written as {spec}", self.spec())))
    }
}

/// A coder that is shared; itself a coder.
pub type CoderRef<T> = Arc<dyn Coder<T>>;

impl<T: 'static, C: Coder<T> + ?Sized> Coder<T> for Arc<C> {
    fn encode(&self, value: &T, context: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        (**self).encode(value, context, out)
    }

    fn decode(&self, input: &mut &[u8], context: Context) -> Result<T, CoderError> {
        (**self).decode(input, context)
    }

    fn spec(&self) -> CoderSpec {
        (**self).spec()
    }

    fn rewrap(&self, spec: &CoderSpec) -> Result<CoderRef<T>, CoderError> {
        (**self).rewrap(spec)
    }
}

/// The encoding of one value that has the bytes to itself.
///
/// # Errors
/// As [`Coder::encode`].
pub fn to_bytes<T: 'static>(coder: &dyn Coder<T>, value: &T) -> Result<Vec<u8>, CoderError> {
    let mut out = Vec::new();
    coder.encode(value, Context::Outer, &mut out)?;
    Ok(out)
}

/// The value whose encoding `bytes` is, all of them.
///
/// # Errors
/// As [`Coder::decode`], and when bytes are left over.
pub fn from_bytes<T: 'static>(coder: &dyn Coder<T>, bytes: &[u8]) -> Result<T, CoderError> {
    let mut rest = bytes;
    let value = coder.decode(&mut rest, Context::Outer)?;
    if rest.is_empty() {
        return Ok(value);
    }
    Err(CoderError::left_over(rest.len(), bytes.len() - rest.len()).reading::<T>())
}
