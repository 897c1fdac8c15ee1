//! A deserializer with nothing to read, that looks at what a type asks for.
//!
//! It answers every question with a made-up value and writes down the questions. A type may refuse what was made up (a
//! port 0, an empty URL): then another value is tried in the next round, and what is still unseen in the end is a
//! leaf. An enum shows one variant a round.

use std::{
    any::type_name,
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
};

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor, value::U32Deserializer,
};

use super::CoderSpec;

/// Deeper than any type of fields in fields; only a type that must contain itself gets there.
const MAX_DEPTH: usize = 64;
/// Questions in one round: types that refer to each other in many ways would otherwise be walked for ever.
const MAX_STEPS: usize = 20_000;
const INTS: [i8; 4] = [1, 0, 2, 100];
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

/// Why a type cannot be written without the names of its fields and types.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) path: String,
    pub(super) type_name: &'static str,
    pub(super) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Any,
    Flatten,
}

/// What was found where a value was asked for.
#[derive(Debug)]
pub(super) enum Found {
    /// A `u8`: alone an integer, in a sequence a byte.
    Byte,
    Spec(CoderSpec),
}

impl Found {
    pub(super) fn spec(self) -> CoderSpec {
        match self {
            Found::Byte => CoderSpec::VarInt,
            Found::Spec(spec) => spec,
        }
    }
}

#[derive(Default)]
struct Variants {
    next: usize,
    /// The variant that came to an end in the fewest steps: what ends a recursion.
    shortest: Option<(usize, usize)>,
}

/// What is remembered from round to round.
#[derive(Default)]
pub(super) struct Rounds {
    fault: RefCell<Option<Fault>>,
    path: RefCell<Vec<&'static str>>,
    active: RefCell<Vec<&'static str>>,
    enums: RefCell<HashMap<&'static str, Variants>>,
    attempts: RefCell<HashMap<&'static str, usize>>,
    asked: Cell<Option<(&'static str, usize)>>,
    new_variant: Cell<bool>,
    steps: Cell<usize>,
}

impl Rounds {
    /// Probes `T` once. Whether more is to be learned by another round, whether this one came to its end, and what was
    /// found.
    pub(super) fn round<S: DeserializeSeed<'static>>(
        &self,
        seed: S,
    ) -> Result<(bool, bool, Option<Found>), Fault> {
        self.path.borrow_mut().clear();
        self.active.borrow_mut().clear();
        self.asked.set(None);
        self.new_variant.set(false);
        self.steps.set(0);
        let mut found = None;
        let done = self.visit(seed, &mut found, None, 0).is_ok();
        if let Some(fault) = self.fault.borrow_mut().take() {
            return Err(fault);
        }
        let again = self.new_variant.get() || (!done && self.try_another_value());
        Ok((again, done, found))
    }

    /// The last value that was asked for is taken to be the one that was refused.
    fn try_another_value(&self) -> bool {
        match self.asked.get() {
            Some((type_name, values)) => {
                let mut attempts = self.attempts.borrow_mut();
                let attempt = attempts.entry(type_name).or_default();
                *attempt += 1;
                *attempt < values
            }
            None => false,
        }
    }

    fn value<T: Copy>(&self, type_name: &'static str, values: &[T]) -> T {
        self.asked.set(Some((type_name, values.len())));
        let attempt = self.attempts.borrow().get(type_name).copied().unwrap_or(0);
        values[attempt.min(values.len() - 1)]
    }

    fn visit<'de, S: DeserializeSeed<'de>>(
        &self,
        seed: S,
        found: &mut Option<Found>,
        field: Option<&'static str>,
        depth: usize,
    ) -> Result<S::Value, Refused> {
        self.step(depth)?;
        let ty = type_name::<S::Value>();
        self.active.borrow_mut().push(ty);
        if let Some(field) = field {
            self.path.borrow_mut().push(field);
        }
        let made = seed.deserialize(Probe { rounds: self, found, ty, depth, key: false });
        if field.is_some() {
            self.path.borrow_mut().pop();
        }
        self.active.borrow_mut().pop();
        made
    }

    fn step(&self, depth: usize) -> Result<(), Refused> {
        self.steps.set(self.steps.get() + 1);
        if depth > MAX_DEPTH || self.steps.get() > MAX_STEPS {
            return Err(Refused);
        }
        Ok(())
    }

    fn is_active<T>(&self) -> bool {
        self.active.borrow().contains(&type_name::<T>())
    }

    fn fail(&self, type_name: &'static str, why: Why) -> Refused {
        self.fault.borrow_mut().get_or_insert_with(|| Fault {
            path: self.path.borrow().join("."),
            type_name,
            why,
        });
        Refused
    }
}

/// The type did not take what it was given, or cannot be given anything.
#[derive(Debug)]
pub(super) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value that was made up is refused")
    }
}

impl std::error::Error for Refused {}

impl serde::de::Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Refused {
        Refused
    }
}

struct Probe<'a> {
    rounds: &'a Rounds,
    found: &'a mut Option<Found>,
    ty: &'static str,
    depth: usize,
    /// Whether this is a map's key: the derived code of `flatten` reads its fields as a map of names.
    key: bool,
}

impl<'a> Probe<'a> {
    fn is(&mut self, spec: CoderSpec) {
        *self.found = Some(Found::Spec(spec));
    }

    fn is_leaf(&mut self) {
        self.is(CoderSpec::Bincode(self.ty.to_owned()));
    }

    fn int(&mut self) -> i8 {
        self.is(CoderSpec::VarInt);
        self.rounds.value(self.ty, &INTS)
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
        Parts { rounds: self.rounds, left, fields, seen, depth: self.depth + 1, repeats: false }
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
        // The name is of a type that derived code hides; what it is a name in is the type meant. A map's key has no
        // part of the path, the tag of an enum has.
        let owner = {
            let active = self.rounds.active.borrow();
            active.len().checked_sub(2).map_or(self.ty, |i| active[i])
        };
        if self.key {
            return Err(self.rounds.fail(owner, Why::Flatten));
        }
        self.rounds.path.borrow_mut().pop();
        Err(self.rounds.fail(owner, Why::Any))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        *self.found = Some(Found::Byte);
        visitor.visit_u8(self.rounds.value(self.ty, &INTS).cast_unsigned())
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is(CoderSpec::Bool);
        visitor.visit_bool(self.rounds.value(self.ty, &[false, true]))
    }

    fn deserialize_f64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.is(CoderSpec::Double);
        visitor.visit_f64(self.rounds.value(self.ty, &[1.0, 0.0, 0.5]))
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
        if self.rounds.active.borrow().contains(&ty) {
            return visitor.visit_none();
        }
        self.rounds.step(self.depth)?;
        let mut found = None;
        self.rounds.active.borrow_mut().push(ty);
        let inner = Probe { rounds: self.rounds, found: &mut found, ty, depth: self.depth + 1, key: false };
        let made = visitor.visit_some(inner);
        self.rounds.active.borrow_mut().pop();
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
        self.leaf_of(len, &[], visitor)
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
        self.leaf_of(fields.len(), fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.is_leaf();
        let ty = type_name::<V::Value>();
        let variant = {
            let mut enums = self.rounds.enums.borrow_mut();
            let seen = enums.entry(ty).or_default();
            if seen.next < variants.len() {
                self.rounds.new_variant.set(true);
                seen.next += 1;
                seen.next - 1
            } else {
                seen.shortest.map_or(0, |(_, variant)| variant)
            }
        };
        let Some(&name) = variants.get(variant) else { return Err(Refused) };
        let before = self.rounds.steps.get();
        self.rounds.path.borrow_mut().push(name);
        let mut seen = Vec::new();
        let parts = self.parts(0, &[], &mut seen);
        let made = visitor.visit_enum(Variant { index: u32::try_from(variant).unwrap_or(u32::MAX), parts });
        self.rounds.path.borrow_mut().pop();
        if made.is_ok() {
            let steps = self.rounds.steps.get() - before;
            let mut enums = self.rounds.enums.borrow_mut();
            let shortest = &mut enums.entry(ty).or_default().shortest;
            if shortest.is_none_or(|(fewest, _)| steps < fewest) {
                *shortest = Some((steps, variant));
            }
        }
        made
    }
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
}

impl Parts<'_> {
    fn part<'de, S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        let field = self.fields.get(self.seen.len()).copied();
        let mut found = None;
        let made = self.rounds.visit(seed, &mut found, field, self.depth);
        self.seen.push(found);
        made
    }
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        if self.left == 0 || (self.repeats && self.rounds.is_active::<S::Value>()) {
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
        if self.left == 0 || self.rounds.is_active::<S::Value>() {
            return Ok(None);
        }
        self.left -= 1;
        let ty = type_name::<S::Value>();
        let mut found = None;
        self.rounds.active.borrow_mut().push(ty);
        let key = seed.deserialize(Probe {
            rounds: self.rounds,
            found: &mut found,
            ty,
            depth: self.depth,
            key: true,
        });
        self.rounds.active.borrow_mut().pop();
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
        visitor.visit_seq(self)
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.left = fields.len();
        self.fields = fields;
        visitor.visit_seq(self)
    }
}
