//! Reading a serde value as a coder's tree says.

use std::fmt::Display;

use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess, Visitor, value::U8Deserializer};

use super::{CoderError, CoderSpec, Context, bincode, wire::Reader};

/// Reads one value as `spec` says.
#[inline]
pub(super) fn decode_node<'de, S: DeserializeSeed<'de>>(
    spec: &CoderSpec,
    context: Context,
    reader: &mut Reader<'de>,
    seed: S,
) -> Result<S::Value, CoderError> {
    match spec {
        CoderSpec::Bincode(_) if context == Context::Outer => leaf(reader, seed),
        CoderSpec::Bincode(_) => reader.within(|inner| leaf(inner, seed)),
        CoderSpec::LengthPrefix(of) => reader.within(|inner| decode_node(of, Context::Outer, inner, seed)),
        spec => seed.deserialize(Node { spec, context, reader }),
    }
}

fn leaf<'de, S: DeserializeSeed<'de>>(reader: &mut Reader<'de>, seed: S) -> Result<S::Value, CoderError> {
    let mut rest = reader.rest();
    let value = bincode::decode_leaf(seed, &mut rest).map_err(|e| e.at(reader.offset()))?;
    reader.charge(reader.rest().len() - rest.len())?;
    reader.set_rest(rest);
    Ok(value)
}

struct Node<'a, 'de> {
    spec: &'a CoderSpec,
    context: Context,
    reader: &'a mut Reader<'de>,
}

impl<'a, 'de> Node<'a, 'de> {
    #[cold]
    fn mismatch(&self, wanted: impl Display) -> CoderError {
        self.reader.error(format_args!("the coder here is {}, the type wants {wanted}", self.spec))
    }

    #[inline]
    fn int<T: TryFrom<i64>>(self, name: &str) -> Result<T, CoderError> {
        match self.spec {
            CoderSpec::VarInt => {
                let at = self.reader.offset();
                let v = self.reader.varint()?;
                T::try_from(v).map_err(|_| CoderError::msg(format_args!("{v} is no {name}")).at(at))
            }
            _ => Err(self.mismatch(name)),
        }
    }

    fn slice(self) -> Result<&'de [u8], CoderError> {
        match self.context {
            Context::Outer => self.reader.take_rest(),
            Context::Nested => self.reader.prefixed(),
        }
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::StringUtf8 => {
                let at = self.reader.offset();
                let text = std::str::from_utf8(self.slice()?)
                    .map_err(|e| CoderError::msg(format_args!("no UTF-8: {e}")).at(at))?;
                visitor.visit_borrowed_str(text)
            }
            _ => Err(self.mismatch("text")),
        }
    }

    fn binary<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::Bytes => visitor.visit_borrowed_bytes(self.slice()?),
            _ => Err(self.mismatch("bytes")),
        }
    }

    fn unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::Unit => visitor.visit_unit(),
            _ => Err(self.mismatch("a unit")),
        }
    }

    fn pair<V: Visitor<'de>>(self, len: usize, wanted: &str, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::Kv(key, value) if len == 2 => {
                let mut pair = Pair { next: 0, key, value, context: self.context, reader: self.reader };
                let made = visitor.visit_seq(&mut pair)?;
                match pair.next {
                    2 => Ok(made),
                    n => Err(pair.reader.error(format_args!("the type read {n} parts of a pair"))),
                }
            }
            _ => Err(self.mismatch(format_args!("{wanted} of {len} parts"))),
        }
    }
}

macro_rules! ints {
    ($($name:ident $visit:ident $t:ty),*) => {$(
        #[inline]
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
            visitor.$visit(self.int::<$t>(stringify!($t))?)
        }
    )*};
}

macro_rules! never {
    ($($name:ident $what:literal),*) => {$(
        fn $name<V: Visitor<'de>>(self, _: V) -> Result<V::Value, CoderError> {
            Err(self.mismatch($what))
        }
    )*};
}

impl<'de> Deserializer<'de> for Node<'_, 'de> {
    type Error = CoderError;

    ints!(
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64, deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32
    );

    #[inline]
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        visitor.visit_u64(self.int::<i64>("u64")?.cast_unsigned())
    }

    never!(
        deserialize_any "to be told what is here", deserialize_ignored_any "to skip what is here",
        deserialize_identifier "a name", deserialize_f32 "an f32", deserialize_char "a char",
        deserialize_map "a map"
    );

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::Bool => visitor.visit_bool(self.reader.flag("a bool")?),
            _ => Err(self.mismatch("a bool")),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::Double => visitor.visit_f64(f64::from_be_bytes(self.reader.array()?)),
            _ => Err(self.mismatch("an f64")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        self.text(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        self.binary(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        self.binary(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::Nullable(of) => {
                if self.reader.flag("the byte before a value that may be missing")? {
                    decode_node(of, self.context, self.reader, SomeSeed(visitor))
                } else {
                    visitor.visit_none()
                }
            }
            _ => Err(self.mismatch("an Option")),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        self.unit(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, CoderError> {
        self.unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, CoderError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoderError> {
        match self.spec {
            CoderSpec::Bytes => {
                let mut bytes = Bytes(self.slice()?.iter());
                let made = visitor.visit_seq(&mut bytes)?;
                match bytes.0.len() {
                    0 => Ok(made),
                    n => Err(CoderError::msg(format_args!("the type left {n} bytes unread"))),
                }
            }
            CoderSpec::Iterable(of) => {
                let mut elements = Elements::start(of, self.reader)?;
                let made = visitor.visit_seq(&mut elements)?;
                if elements.advance()? {
                    return Err(elements.reader.error("the type left elements unread"));
                }
                Ok(made)
            }
            _ => Err(self.mismatch("a sequence")),
        }
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, CoderError> {
        self.pair(len, "a tuple", visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, CoderError> {
        self.pair(len, name, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CoderError> {
        self.pair(fields.len(), name, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, CoderError> {
        Err(self.mismatch(format_args!("enum {name}")))
    }
}

struct SomeSeed<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for SomeSeed<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(deserializer)
    }
}

struct Pair<'a, 'de> {
    next: usize,
    key: &'a CoderSpec,
    value: &'a CoderSpec,
    context: Context,
    reader: &'a mut Reader<'de>,
}

impl<'de> SeqAccess<'de> for Pair<'_, 'de> {
    type Error = CoderError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, CoderError> {
        self.next += 1;
        match self.next {
            1 => decode_node(self.key, Context::Nested, self.reader, seed).map(Some),
            2 => decode_node(self.value, self.context, self.reader, seed).map(Some),
            _ => {
                self.next = 2;
                Ok(None)
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(2 - self.next)
    }
}

/// The bytes of a `Vec<u8>`.
struct Bytes<'de>(std::slice::Iter<'de, u8>);

impl<'de> SeqAccess<'de> for Bytes<'de> {
    type Error = CoderError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, CoderError> {
        let Some(&byte) = self.0.next() else { return Ok(None) };
        let byte: U8Deserializer<CoderError> = byte.into_deserializer();
        seed.deserialize(byte).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Elements<'a, 'de> {
    of: &'a CoderSpec,
    /// Elements still to come in this block.
    left: usize,
    /// Whether another block follows.
    blocks: bool,
    reader: &'a mut Reader<'de>,
}

impl<'a, 'de> Elements<'a, 'de> {
    fn start(of: &'a CoderSpec, reader: &'a mut Reader<'de>) -> Result<Self, CoderError> {
        let at = reader.offset();
        let count = i32::from_be_bytes(reader.array()?);
        let mut elements = Elements { of, left: 0, blocks: false, reader };
        match count {
            -1 => elements.blocks = true,
            n => elements.expect(i64::from(n), at)?,
        }
        Ok(elements)
    }

    fn expect(&mut self, count: i64, at: usize) -> Result<(), CoderError> {
        let Ok(count) = usize::try_from(count) else {
            return Err(CoderError::msg(match count {
                -1 => "the rest of the iterable lies in the engine's state, and no such coder was declared"
                    .to_owned(),
                n => format!("an iterable of {n} elements"),
            })
            .at(at));
        };
        // Charged before the first is read: elements that take no bytes would otherwise be made for ever.
        self.reader.charge(count)?;
        self.left = count;
        Ok(())
    }

    /// Whether there is an element left; begins the next block when this one is used up.
    #[inline]
    fn advance(&mut self) -> Result<bool, CoderError> {
        if self.left == 0 && self.blocks {
            let at = self.reader.offset();
            let count = self.reader.varint()?;
            self.expect(count, at)?;
            self.blocks = self.left > 0;
        }
        Ok(self.left > 0)
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = CoderError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, CoderError> {
        if !self.advance()? {
            return Ok(None);
        }
        self.left -= 1;
        decode_node(self.of, Context::Nested, self.reader, seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        // A count is only a claim; memory grows as bytes are there.
        Some(self.left.min(self.reader.rest().len()))
    }
}
