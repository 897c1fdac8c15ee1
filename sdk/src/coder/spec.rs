//! What a coder is, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::CoderError;

/// The tree of coders that a type is written with: plain data that goes into the pipeline's graph, to engines and back.
///
/// ```
/// use purlin_sdk::coder::{CoderSpec, trace};
/// let spec = trace::<(String, Vec<Option<i64>>)>()?;
/// assert_eq!(spec.to_string(), "kv<string_utf8, iterable<nullable<varint>>>");
/// assert_eq!(spec.urn(), "beam:coder:kv:v1");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: `beam_runner_api.proto`, `StandardCoders`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CoderSpec {
    /// Bytes; behind their length as a varint when nested.
    Bytes,
    /// Text in UTF-8; behind its length in bytes when nested.
    StringUtf8,
    /// One byte, 0 or 1.
    Bool,
    /// A 64-bit integer in two's complement, seven bits a byte, the lowest first. A negative one takes ten bytes.
    VarInt,
    /// A 64-bit float, big endian.
    Double,
    /// A key and a value, one after the other; the key nested, the value as the pair.
    Kv(Box<CoderSpec>, Box<CoderSpec>),
    /// Elements behind their number in four bytes, or, when the number is not known, -1 and then blocks of elements
    /// behind their number as a varint up to a block of none.
    Iterable(Box<CoderSpec>),
    /// A byte 0 for nothing; a byte 1 and then the value.
    Nullable(Box<CoderSpec>),
    /// No bytes: there is only one value.
    Unit,
    /// The global window: no bytes.
    GlobalWindow,
    /// A window's end as a timestamp and its length in milliseconds as a varint.
    IntervalWindow,
    /// A window's last timestamp and then the window: what lets an engine close windows it does not know.
    CustomWindow(Box<CoderSpec>),
    /// Bytes behind their length, in either context; in them the value in its outer form. What an engine puts around a
    /// coder it does not know.
    LengthPrefix(Box<CoderSpec>),
    /// Timestamp, windows, pane and value: first the value's coder, then the windows'.
    WindowedValue(Box<CoderSpec>, Box<CoderSpec>),
    /// The value alone, of elements whose timestamp, windows and pane are always the same.
    ParamWindowedValue {
        /// The value's coder.
        value: Box<CoderSpec>,
        /// The windows' coder.
        window: Box<CoderSpec>,
        /// What is the same for all, as a windowed value of no bytes.
        constant: Vec<u8>,
    },
    /// As an iterable; but a block may also be a token, by which the rest is asked for.
    StateBackedIterable(Box<CoderSpec>),
    /// A shard's name behind its length, then the key.
    ShardedKey(Box<CoderSpec>),
    /// A timer that is set or cleared: first the key's coder, then the windows'.
    Timer(Box<CoderSpec>, Box<CoderSpec>),
    /// Rows with the fields of a schema: a serialised `Schema` of Beam's `schema.proto`.
    Row(Vec<u8>),
    /// A Rust type in bincode; behind its length when nested.
    Bincode(String),
    /// A coder of the user's own.
    Custom {
        /// Its name for other processes, an URN by custom.
        name: String,
        /// What else a reader must know.
        parameters: String,
    },
}

impl CoderSpec {
    /// The name that Beam, or for leaves of its own Purlin, knows the coder by.
    pub fn urn(&self) -> &str {
        match self {
            CoderSpec::Bytes => "beam:coder:bytes:v1",
            CoderSpec::StringUtf8 => "beam:coder:string_utf8:v1",
            CoderSpec::Bool => "beam:coder:bool:v1",
            CoderSpec::VarInt => "beam:coder:varint:v1",
            CoderSpec::Double => "beam:coder:double:v1",
            CoderSpec::Kv(..) => "beam:coder:kv:v1",
            CoderSpec::Iterable(_) => "beam:coder:iterable:v1",
            CoderSpec::Nullable(_) => "beam:coder:nullable:v1",
            CoderSpec::GlobalWindow => "beam:coder:global_window:v1",
            CoderSpec::IntervalWindow => "beam:coder:interval_window:v1",
            CoderSpec::CustomWindow(_) => "beam:coder:custom_window:v1",
            CoderSpec::LengthPrefix(_) => "beam:coder:length_prefix:v1",
            CoderSpec::WindowedValue(..) => "beam:coder:windowed_value:v1",
            CoderSpec::ParamWindowedValue { .. } => "beam:coder:param_windowed_value:v1",
            CoderSpec::StateBackedIterable(_) => "beam:coder:state_backed_iterable:v1",
            CoderSpec::ShardedKey(_) => "beam:coder:sharded_key:v1",
            CoderSpec::Timer(..) => "beam:coder:timer:v1",
            CoderSpec::Row(_) => "beam:coder:row:v1",
            CoderSpec::Unit => "purlin:coder:unit:v1",
            CoderSpec::Bincode(_) => "purlin:coder:bincode:v1",
            CoderSpec::Custom { name, .. } => name,
        }
    }

    /// Whether every SDK knows the coder by its URN, its components aside.
    pub fn is_standard(&self) -> bool {
        !matches!(self, CoderSpec::Unit | CoderSpec::Bincode(_) | CoderSpec::Custom { .. })
    }

    /// The coders that this one is made of, in Beam's order.
    pub fn components(&self) -> Vec<&CoderSpec> {
        match self {
            CoderSpec::Kv(a, b) | CoderSpec::WindowedValue(a, b) | CoderSpec::Timer(a, b) => vec![a, b],
            CoderSpec::ParamWindowedValue { value, window, .. } => vec![value, window],
            CoderSpec::Iterable(of)
            | CoderSpec::StateBackedIterable(of)
            | CoderSpec::ShardedKey(of)
            | CoderSpec::Nullable(of)
            | CoderSpec::CustomWindow(of)
            | CoderSpec::LengthPrefix(of) => vec![of],
            _ => Vec::new(),
        }
    }

    /// What a coder needs to be known by beside its URN and components: a leaf's Rust type, a custom coder's
    /// parameters, the schema of rows, what is constant.
    pub fn payload(&self) -> &[u8] {
        match self {
            CoderSpec::Bincode(name) => name.as_bytes(),
            CoderSpec::Custom { parameters, .. } => parameters.as_bytes(),
            CoderSpec::Row(schema) => schema,
            CoderSpec::ParamWindowedValue { constant, .. } => constant,
            _ => b"",
        }
    }

    /// The coder with this URN, payload and components, as an engine describes it. An URN that is not known gives
    /// [`CoderSpec::Custom`].
    ///
    /// # Errors
    /// When the number of components is not the coder's, or the payload is no text where it should be.
    pub fn from_parts(
        urn: &str,
        payload: &[u8],
        components: impl IntoIterator<Item = CoderSpec>,
    ) -> Result<CoderSpec, CoderError> {
        let text = || {
            let text = std::str::from_utf8(payload);
            text.map(str::to_owned)
                .map_err(|_| CoderError::msg(format_args!("the payload of coder `{urn}` is no text")))
        };
        let mut parts = components.into_iter();
        let mut next = || {
            parts
                .next()
                .map(Box::new)
                .ok_or_else(|| CoderError::msg(format_args!("coder `{urn}` has too few components")))
        };
        let spec = match urn {
            "beam:coder:bytes:v1" => CoderSpec::Bytes,
            "beam:coder:string_utf8:v1" => CoderSpec::StringUtf8,
            "beam:coder:bool:v1" => CoderSpec::Bool,
            "beam:coder:varint:v1" => CoderSpec::VarInt,
            "beam:coder:double:v1" => CoderSpec::Double,
            "beam:coder:kv:v1" => CoderSpec::Kv(next()?, next()?),
            "beam:coder:iterable:v1" => CoderSpec::Iterable(next()?),
            "beam:coder:nullable:v1" => CoderSpec::Nullable(next()?),
            "beam:coder:global_window:v1" => CoderSpec::GlobalWindow,
            "beam:coder:interval_window:v1" => CoderSpec::IntervalWindow,
            "beam:coder:custom_window:v1" => CoderSpec::CustomWindow(next()?),
            "beam:coder:length_prefix:v1" => CoderSpec::LengthPrefix(next()?),
            "beam:coder:windowed_value:v1" => CoderSpec::WindowedValue(next()?, next()?),
            "beam:coder:param_windowed_value:v1" => {
                CoderSpec::ParamWindowedValue { value: next()?, window: next()?, constant: payload.to_vec() }
            }
            "beam:coder:state_backed_iterable:v1" => CoderSpec::StateBackedIterable(next()?),
            "beam:coder:sharded_key:v1" => CoderSpec::ShardedKey(next()?),
            "beam:coder:timer:v1" => CoderSpec::Timer(next()?, next()?),
            "beam:coder:row:v1" => CoderSpec::Row(payload.to_vec()),
            "purlin:coder:unit:v1" => CoderSpec::Unit,
            "purlin:coder:bincode:v1" => CoderSpec::Bincode(text()?),
            _ => CoderSpec::Custom { name: urn.to_owned(), parameters: text()? },
        };
        match parts.next() {
            Some(more) => {
                Err(CoderError::msg(format_args!("coder `{urn}` has one component too many: {more}")))
            }
            None => Ok(spec),
        }
    }

    /// The coder as the element of another: a leaf of bincode gets its length in front.
    pub(super) fn nested(self) -> Box<CoderSpec> {
        Box::new(match self {
            leaf @ CoderSpec::Bincode(_) => CoderSpec::LengthPrefix(Box::new(leaf)),
            other => other,
        })
    }

    /// Whether a type traced to `self` can be written by `other`: the same tree, length prefixes aside.
    pub(super) fn fits(&self, other: &CoderSpec) -> bool {
        match (self, other) {
            (CoderSpec::LengthPrefix(of), other) => of.fits(other),
            (this, CoderSpec::LengthPrefix(of)) => this.fits(of),
            (CoderSpec::Kv(a, b), CoderSpec::Kv(c, d)) => a.fits(c) && b.fits(d),
            (CoderSpec::Iterable(a), CoderSpec::Iterable(b)) => a.fits(b),
            (CoderSpec::Nullable(a), CoderSpec::Nullable(b)) => a.fits(b),
            (CoderSpec::Bincode(_), CoderSpec::Bincode(_)) => true,
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for CoderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoderSpec::Bincode(name) => return write!(f, "bincode<{name}>"),
            CoderSpec::Custom { name, parameters } if parameters.is_empty() => return f.write_str(name),
            CoderSpec::Custom { name, parameters } => return write!(f, "{name}<{parameters}>"),
            standard => {
                let urn = standard.urn();
                f.write_str(urn.split(':').nth(2).unwrap_or(urn))?;
            }
        }
        let parts = self.components();
        for (i, part) in parts.iter().enumerate() {
            write!(f, "{}{part}", if i == 0 { "<" } else { ", " })?;
        }
        f.write_str(if parts.is_empty() { "" } else { ">" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_survives_its_parts_and_serde() {
        fn rebuilt(spec: &CoderSpec) -> CoderSpec {
            let parts = spec.components().into_iter().map(rebuilt).collect::<Vec<_>>();
            CoderSpec::from_parts(spec.urn(), spec.payload(), parts).unwrap()
        }
        let boxed = |spec| Box::new(spec);
        for spec in [
            CoderSpec::Row(b"\n\x01\xff".to_vec()),
            CoderSpec::Timer(boxed(CoderSpec::StringUtf8), boxed(CoderSpec::GlobalWindow)),
            CoderSpec::ParamWindowedValue {
                value: boxed(CoderSpec::VarInt),
                window: boxed(CoderSpec::GlobalWindow),
                constant: vec![0xff],
            },
            CoderSpec::StateBackedIterable(boxed(CoderSpec::ShardedKey(boxed(CoderSpec::Bytes)))),
        ] {
            assert_eq!(rebuilt(&spec), spec);
            assert!(spec.is_standard());
        }
        let leaf = CoderSpec::Bincode("crate::Order".into()).nested();
        let own = CoderSpec::Custom { name: "x:y:v1".into(), parameters: "p".into() };
        let kv = CoderSpec::Kv(leaf, Box::new(CoderSpec::Iterable(Box::new(own))));
        let spec = CoderSpec::WindowedValue(Box::new(kv), Box::new(CoderSpec::IntervalWindow));
        assert_eq!(rebuilt(&spec), spec);
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<CoderSpec>(&json).unwrap(), spec);
        assert_eq!(
            spec.to_string(),
            "windowed_value<kv<length_prefix<bincode<crate::Order>>, iterable<x:y:v1<p>>>, interval_window>"
        );
    }

    #[test]
    fn a_wrong_number_of_components_is_refused() {
        let few = CoderSpec::from_parts("beam:coder:kv:v1", b"", [CoderSpec::Bytes]).unwrap_err();
        assert!(few.to_string().contains("`beam:coder:kv:v1` has too few components"), "{few}");
        let many = CoderSpec::from_parts("beam:coder:bytes:v1", b"", [CoderSpec::VarInt]).unwrap_err();
        assert!(many.to_string().contains("one component too many: varint"), "{many}");
    }
}
