//! A deserializer with nothing to read, that looks at what a type asks for.
//!
//! It answers every question with a made-up value and writes down the questions. A type may refuse what was made up (a
//! port 0, an empty URL): then another value is tried in the next round, and what is still unseen in the end is a
//! leaf. An enum shows one variant a round.

use std::any::type_name;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor, value::U32Deserializer,
};

use super::{
    CoderSpec,
    layout::Layout,
    rounds::{Found, Refused, Rounds, Why},
};

const INTS: [i8; 4] = [1, 0, 2, 100];
const LEAST_INTS: [i8; 4] = [0, 1, 2, 100];
const TEXTS: [&str; 8] = [
    "",
    "a",
    "1",
    "1970-01-01",
    "1970-01-01T00:00:00Z",
    "00000000-0000-0000-0000-000000000000",
    "http://localhost/",
    "127.0.0.1",
];
const BYTES: [&[u8]; 4] = [&[], &[0; 16], &[0; 32], &[0]];

pub(super) struct Probe<'a> {
    rounds: &'a Rounds,
    found: &'a mut Option<Found>,
    ty: &'static str,
    depth: usize,
    /// Whether this is a map's key: the derived code of `flatten` reads its fields as a map of names.
    key: bool,
}

impl<'a> Probe<'a> {
    pub(super) fn new(
        rounds: &'a Rounds,
        found: &'a mut Option<Found>,
        ty: &'static str,
        depth: usize,
    ) -> Probe<'a> {
        Probe { rounds, found, ty, depth, key: false }
    }

    fn is(&mut self, spec: CoderSpec) {
        *self.found = Some(Found::Spec(spec));
    }

    fn is_leaf(&mut self) {
        self.is(CoderSpec::Bincode(self.ty.to_owned()));
    }

    fn int(&mut self) -> i8 {
        self.is(CoderSpec::VarInt);
        self.small()
    }

    fn small(&self) -> i8 {
        self.rounds.value(self.ty, if self.rounds.is_least() { &LEAST_INTS } else { &INTS })
    }

    fn parts<'s>(
        &self,
        left: usize,
        fields: &'static [&'static str],
        seen: &'s mut Vec<Option<Found>>,
    ) -> Parts<'s>
    where
        'a: 's,
    {
        let layout = Layout::default();
        Parts { rounds: self.rounds, left, fields, seen, depth: self.depth + 1, repeats: false, layout }
    }

    fn leaf_of<'de, V: Visitor<'de>>(
        mut self,
        len: usize,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.is_leaf();
        let mut seen = Vec::new();
        visitor.visit_seq(self.parts(len, fields, &mut seen))
    }

    /// Like [`leaf_of`](Self::leaf_of), for a struct, which may have fields that it does not read.
    fn struct_of<'de, V: Visitor<'de>>(
        mut self,
        len: usize,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.is_leaf();
        let mut seen = Vec::new();
        let mut parts = self.parts(len, fields, &mut seen);
        let made = self.rounds.in_fields(|| visitor.visit_seq(&mut parts));
        if parts.left == 0 && is_derived::<V>() && parts.layout.is_less_than::<V::Value>() {
            return Err(self.rounds.fail(type_name::<V::Value>(), Why::Skips));
        }
        made
    }
}

macro_rules! ints {
    ($($name:ident $visit:ident),*) => {$(
        fn $name<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
            let value = self.int();
            // Every candidate is small and not negative.
            visitor.$visit(value as _)
        }
    )*};
}

macro_rules! leaves {
    ($($name:ident $visit:ident $value:expr),*) => {$(
        fn $name<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
            self.is_leaf();
            visitor.$visit($value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Refused;

    ints!(
        deserialize_i8 visit_i8, deserialize_i16 visit_i16, deserialize_i32 visit_i32, deserialize_i64 visit_i64,
        deserialize_u16 visit_u16, deserialize_u32 visit_u32, deserialize_u64 visit_u64
    );
    // Beam has no coder of these that every SDK knows.
    leaves!(
        deserialize_i128 visit_i128 1, deserialize_u128 visit_u128 1, deserialize_f32 visit_f32 1.0,
        deserialize_char visit_char 'a'
    );

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refused> {
        Err(self.rounds.fail(self.ty, Why::Any))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refused> {
        Err(self.rounds.fail(self.ty, Why::Any))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refused> {
        Err(self.rounds.fail_by_name(self.key))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        *self.found = Some(Found::Byte);
        visitor.visit_u8(self.small().cast_unsigned())
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is(CoderSpec::Bool);
        visitor.visit_bool(self.rounds.value(self.ty, &[false, true]))
    }

    fn deserialize_f64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is(CoderSpec::Double);
        let values = if self.rounds.is_least() { [0.0, 1.0, 0.5] } else { [1.0, 0.0, 0.5] };
        visitor.visit_f64(self.rounds.value(self.ty, &values))
    }

    fn deserialize_str<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is(CoderSpec::StringUtf8);
        visitor.visit_str(self.rounds.value(self.ty, &TEXTS))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is(CoderSpec::Bytes);
        visitor.visit_bytes(self.rounds.value(self.ty, &BYTES))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        let option = type_name::<V::Value>();
        let within = option.strip_prefix("core::option::Option<").and_then(|name| name.strip_suffix('>'));
        let ty = within.unwrap_or(option);
        self.is_leaf();
        if self.rounds.is_least() || self.rounds.is_inside(ty) {
            return visitor.visit_none();
        }
        self.rounds.step(self.depth)?;
        let mut found = None;
        let inner = Probe::new(self.rounds, &mut found, ty, self.depth + 1);
        let made = self.rounds.inside(ty, || visitor.visit_some(inner));
        if let Some(found) = found {
            self.is(CoderSpec::Nullable(found.spec().nested()));
        }
        made
    }

    fn deserialize_unit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is(CoderSpec::Unit);
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.is_leaf();
        self.rounds.step(self.depth)?;
        let mut found = None;
        visitor.visit_newtype_struct(Probe { found: &mut found, depth: self.depth + 1, ..self })
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is_leaf();
        let mut seen = Vec::new();
        let mut parts = self.parts(1, &[], &mut seen);
        parts.repeats = true;
        let made = visitor.visit_seq(parts);
        match seen.pop().flatten() {
            Some(Found::Byte) => self.is(CoderSpec::Bytes),
            Some(Found::Spec(of)) => self.is(CoderSpec::Iterable(of.nested())),
            None => {}
        }
        made
    }

    fn deserialize_tuple<V: Visitor<'de>>(mut self, len: usize, visitor: V) -> Result<V::Value, Refused> {
        if len != 2 {
            return self.leaf_of(len, &[], visitor);
        }
        self.is_leaf();
        let mut seen = Vec::new();
        let made = visitor.visit_seq(self.parts(2, &[], &mut seen));
        if let (Some(value), Some(key), None) =
            (seen.pop().flatten(), seen.pop().flatten(), seen.pop().flatten())
        {
            self.is(CoderSpec::Kv(key.spec().nested(), value.spec().nested()));
        }
        made
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.struct_of(len, &[], visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is_leaf();
        let mut seen = Vec::new();
        visitor.visit_map(self.parts(1, &[], &mut seen))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.struct_of(fields.len(), fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.is_leaf();
        let ty = type_name::<V::Value>();
        let variant = self.rounds.variant(ty, variants.len());
        let (Some(&name), Ok(index)) = (variants.get(variant), u32::try_from(variant)) else {
            return Err(Refused);
        };
        let before = self.rounds.steps();
        let mut seen = Vec::new();
        let parts = self.parts(0, &[], &mut seen);
        let made = self.rounds.named(name, || visitor.visit_enum(Variant { index, parts }));
        if made.is_ok() {
            self.rounds.variant_ended(ty, variant, before);
        }
        made
    }
}

/// Whether serde's derive wrote the visitor: then the value has the fields that it reads, and those that it skips. What
/// people write may read something else than what it makes.
fn is_derived<V>() -> bool {
    let name = type_name::<V>();
    name.contains("::_::<impl ")
        && name.contains("::de::Deserialize")
        && name.contains("::deserialize::__Visitor")
}

/// The parts of a compound, one after the other.
struct Parts<'s> {
    rounds: &'s Rounds,
    left: usize,
    fields: &'static [&'static str],
    seen: &'s mut Vec<Option<Found>>,
    depth: usize,
    /// Whether there may be none: then a type is not walked again inside itself.
    repeats: bool,
    layout: Layout,
}

impl Parts<'_> {
    fn part<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        let field = self.fields.get(self.seen.len()).copied();
        let mut found = None;
        let made = self.rounds.visit(seed, &mut found, field, self.depth);
        self.seen.push(found);
        self.layout.push::<S::Value>();
        made
    }
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        let none = self.rounds.is_least() || self.rounds.is_inside(type_name::<S::Value>());
        if self.left == 0 || (self.repeats && none) {
            return Ok(None);
        }
        self.left -= 1;
        self.part(seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for Parts<'_> {
    type Error = Refused;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        let none = self.rounds.is_least() || self.rounds.is_inside(type_name::<S::Value>());
        if self.left == 0 || none {
            return Ok(None);
        }
        self.left -= 1;
        let ty = type_name::<S::Value>();
        let mut found = None;
        let probe = Probe { key: true, ..Probe::new(self.rounds, &mut found, ty, self.depth) };
        let key = self.rounds.inside(ty, || seed.deserialize(probe));
        key.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        self.part(seed)
    }
}

struct Variant<'s> {
    index: u32,
    parts: Parts<'s>,
}

impl<'de, 's> EnumAccess<'de> for Variant<'s> {
    type Error = Refused;
    type Variant = Parts<'s>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Parts<'s>), Refused> {
        let index: U32Deserializer<Refused> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self.parts))
    }
}

impl<'de> VariantAccess<'de> for Parts<'_> {
    type Error = Refused;

    fn unit_variant(self) -> Result<(), Refused> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, Refused> {
        self.part(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, len: usize, visitor: V) -> Result<V::Value, Refused> {
        self.left = len;
        self.rounds.in_fields(|| visitor.visit_seq(self))
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.left = fields.len();
        self.fields = fields;
        self.rounds.in_fields(|| visitor.visit_seq(self))
    }
}
