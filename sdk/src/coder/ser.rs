//! Writing a serde value as a coder's tree says.

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};

use super::{
    CoderError, CoderSpec, Context, bincode,
    wire::{Prefix, write_bytes, write_varint},
};

/// Appends `value` as `spec` says. On an error `out` holds the first part of the value.
#[inline]
pub(super) fn encode_node<T: Serialize + ?Sized>(
    spec: &CoderSpec,
    context: Context,
    value: &T,
    out: &mut Vec<u8>,
) -> Result<(), CoderError> {
    match spec {
        CoderSpec::Bincode(_) if context == Context::Outer => bincode::encode_leaf(value, out),
        CoderSpec::Bincode(_) => {
            let prefix = Prefix::begin(0, out);
            bincode::encode_leaf(value, out)?;
            prefix.end(out);
            Ok(())
        }
        CoderSpec::LengthPrefix(inner) => {
            let prefix = Prefix::begin(0, out);
            encode_node(inner, Context::Outer, value, out)?;
            prefix.end(out);
            Ok(())
        }
        spec => value.serialize(Node { spec: Spec::Of(spec), context, out }),
    }
}

#[derive(Clone, Copy)]
enum Spec<'a> {
    Of(&'a CoderSpec),
    /// One byte of a `Vec<u8>`.
    Byte,
}

struct Node<'a> {
    spec: Spec<'a>,
    context: Context,
    out: &'a mut Vec<u8>,
}

impl<'a> Node<'a> {
    #[cold]
    fn mismatch(&self, wrote: &str) -> CoderError {
        match self.spec {
            Spec::Of(spec) => CoderError::msg(format_args!(
                "its coder is {spec}, found by how the type reads itself, but it wrote {wrote}: its Serialize and Deserialize differ"
            )),
            Spec::Byte => CoderError::msg(format_args!("{wrote} among bytes")),
        }
    }

    #[inline]
    fn int(self, value: i64) -> Result<(), CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::VarInt) => {
                write_varint(value, self.out);
                Ok(())
            }
            _ => Err(self.mismatch("an integer")),
        }
    }

    fn bytes(self, bytes: &[u8], wrote: &str) -> Result<(), CoderError> {
        match (self.spec, self.context) {
            (Spec::Of(CoderSpec::StringUtf8 | CoderSpec::Bytes), Context::Outer) => {
                self.out.extend_from_slice(bytes);
            }
            (Spec::Of(CoderSpec::StringUtf8 | CoderSpec::Bytes), Context::Nested) => {
                write_bytes(bytes, self.out);
            }
            _ => return Err(self.mismatch(wrote)),
        }
        Ok(())
    }

    fn unit(self) -> Result<(), CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::Unit) => Ok(()),
            _ => Err(self.mismatch("a unit")),
        }
    }

    fn pair(self, len: usize, wrote: &str) -> Result<Compound<'a>, CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::Kv(key, value)) if len == 2 => {
                let kind = Kind::Pair { key: Some(key), value, context: self.context };
                Ok(Compound { kind, len: 0, out: self.out })
            }
            _ => Err(self.mismatch(&format!("{wrote} of {len} parts"))),
        }
    }

    fn sequence(self, len: Option<usize>, wrote: &str) -> Result<Compound<'a>, CoderError> {
        let kind = match self.spec {
            Spec::Of(CoderSpec::Iterable(of)) => {
                let count_at = self.out.len();
                self.out.extend_from_slice(&[0; 4]);
                Kind::Iterable { of, count_at }
            }
            Spec::Of(CoderSpec::Bytes) => Kind::Bytes(match self.context {
                Context::Outer => None,
                Context::Nested => Some(Prefix::begin(len.unwrap_or(0), self.out)),
            }),
            _ => return Err(self.mismatch(wrote)),
        };
        Ok(Compound { kind, len: 0, out: self.out })
    }
}

struct Compound<'a> {
    kind: Kind<'a>,
    len: usize,
    out: &'a mut Vec<u8>,
}

enum Kind<'a> {
    Pair { key: Option<&'a CoderSpec>, value: &'a CoderSpec, context: Context },
    Iterable { of: &'a CoderSpec, count_at: usize },
    Bytes(Option<Prefix>),
}

impl Compound<'_> {
    #[inline]
    fn part<T: Serialize + ?Sized>(&mut self, part: &T) -> Result<(), CoderError> {
        self.len += 1;
        match &mut self.kind {
            Kind::Pair { key, value, context } => match key.take() {
                Some(key) => encode_node(key, Context::Nested, part, self.out),
                None => encode_node(value, *context, part, self.out),
            },
            Kind::Iterable { of, .. } => encode_node(of, Context::Nested, part, self.out),
            Kind::Bytes(_) => {
                part.serialize(Node { spec: Spec::Byte, context: Context::Nested, out: self.out })
            }
        }
    }

    fn finish(self) -> Result<(), CoderError> {
        match self.kind {
            Kind::Pair { .. } if self.len == 2 => {}
            Kind::Pair { .. } => {
                return Err(CoderError::msg(format_args!("a pair of {} parts", self.len)));
            }
            Kind::Iterable { count_at, .. } => {
                let count = i32::try_from(self.len).map_err(|_| {
                    CoderError::msg(format_args!(
                        "{} elements in one iterable, which holds {} at most",
                        self.len,
                        i32::MAX
                    ))
                })?;
                self.out[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
            }
            Kind::Bytes(Some(prefix)) => prefix.end(self.out),
            Kind::Bytes(None) => {}
        }
        Ok(())
    }
}

macro_rules! ints {
    ($($name:ident $t:ty),*) => {
        $(#[inline] fn $name(self, v: $t) -> Result<(), CoderError> { self.int(i64::from(v)) })*
    };
}

impl<'a> Serializer for Node<'a> {
    type Ok = ();
    type Error = CoderError;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeTupleVariant = Impossible<(), CoderError>;
    type SerializeStructVariant = Impossible<(), CoderError>;

    ints!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64, serialize_u16 u16, serialize_u32 u32);

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_u8(self, v: u8) -> Result<(), CoderError> {
        if let Spec::Byte = self.spec {
            self.out.push(v);
            return Ok(());
        }
        self.int(i64::from(v))
    }

    #[inline]
    fn serialize_u64(self, v: u64) -> Result<(), CoderError> {
        // A varint has 64 bits, which are those of an `i64` where Beam reads them.
        self.int(v.cast_signed())
    }

    fn serialize_bool(self, v: bool) -> Result<(), CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::Bool) => {
                self.out.push(u8::from(v));
                Ok(())
            }
            _ => Err(self.mismatch("a bool")),
        }
    }

    fn serialize_f32(self, _: f32) -> Result<(), CoderError> {
        Err(self.mismatch("an f32"))
    }

    fn serialize_f64(self, v: f64) -> Result<(), CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::Double) => {
                self.out.extend_from_slice(&v.to_be_bytes());
                Ok(())
            }
            _ => Err(self.mismatch("an f64")),
        }
    }

    fn serialize_char(self, _: char) -> Result<(), CoderError> {
        Err(self.mismatch("a char"))
    }

    #[inline]
    fn serialize_str(self, v: &str) -> Result<(), CoderError> {
        self.bytes(v.as_bytes(), "text")
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), CoderError> {
        // Text that was read as bytes is checked for UTF-8 where it is read, so it may not be written as text here.
        match self.spec {
            Spec::Of(CoderSpec::StringUtf8) => Err(self.mismatch("bytes")),
            _ => self.bytes(v, "bytes"),
        }
    }

    fn serialize_none(self) -> Result<(), CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::Nullable(_)) => {
                self.out.push(0);
                Ok(())
            }
            _ => Err(self.mismatch("None")),
        }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::Nullable(of)) => {
                self.out.push(1);
                encode_node(of, self.context, value, self.out)
            }
            _ => Err(self.mismatch("Some")),
        }
    }

    fn serialize_unit(self) -> Result<(), CoderError> {
        self.unit()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CoderError> {
        self.unit()
    }

    fn serialize_unit_variant(self, name: &'static str, _: u32, _: &'static str) -> Result<(), CoderError> {
        Err(self.mismatch(&format!("enum {name}")))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), CoderError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), CoderError> {
        Err(self.mismatch(&format!("enum {name}")))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'a>, CoderError> {
        self.sequence(len, "a sequence")
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Compound<'a>, CoderError> {
        self.pair(len, "a tuple")
    }

    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Compound<'a>, CoderError> {
        self.pair(len, name)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, CoderError> {
        Err(self.mismatch(&format!("enum {name}")))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'a>, CoderError> {
        match self.spec {
            Spec::Of(CoderSpec::Iterable(of)) if matches!(**of, CoderSpec::Kv(..)) => {
                self.sequence(len, "a map")
            }
            _ => Err(self.mismatch("a map")),
        }
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Compound<'a>, CoderError> {
        self.pair(len, name)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, CoderError> {
        Err(self.mismatch(&format!("enum {name}")))
    }
}

macro_rules! compound {
    ($($trait:ident $name:ident),*) => {$(
        impl $trait for Compound<'_> {
            type Ok = ();
            type Error = CoderError;
            #[inline]
            fn $name<T: Serialize + ?Sized>(&mut self, part: &T) -> Result<(), CoderError> {
                self.part(part)
            }
            #[inline]
            fn end(self) -> Result<(), CoderError> {
                self.finish()
            }
        }
    )*};
}

compound!(SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field);

impl SerializeStruct for Compound<'_> {
    type Ok = ();
    type Error = CoderError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        _: &'static str,
        part: &T,
    ) -> Result<(), CoderError> {
        self.part(part)
    }

    fn end(self) -> Result<(), CoderError> {
        self.finish()
    }
}

/// A map, as the sequence of pairs that the type reads itself from.
impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = CoderError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CoderError> {
        self.len += 1;
        match self.kind {
            Kind::Iterable { of: CoderSpec::Kv(coder, _), .. } => {
                encode_node(coder, Context::Nested, key, self.out)
            }
            _ => Err(CoderError::msg("a map's key among elements that are no pairs")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CoderError> {
        match self.kind {
            Kind::Iterable { of: CoderSpec::Kv(_, coder), .. } => {
                encode_node(coder, Context::Nested, value, self.out)
            }
            _ => Err(CoderError::msg("a map's value among elements that are no pairs")),
        }
    }

    fn end(self) -> Result<(), CoderError> {
        self.finish()
    }
}
