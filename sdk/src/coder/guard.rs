//! A deserializer that bounds another: how deep values lie in each other, and how many there are.
//!
//! A leaf's format trusts the bytes: a linked list is read by recursion, so a megabyte of ones would overflow the
//! stack, which no process survives; a length in front of elements that take no bytes is a loop without end; and a
//! length in front of text is allocated before the text is there.

use std::cell::Cell;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// Values lie in each other no deeper than this. A list of a thousand links should be a `Vec`.
pub(super) const MAX_DEPTH: usize = 256;

/// What is left, for one level of nesting.
#[derive(Clone, Copy)]
pub(super) struct Limits<'g> {
    pub(super) depth: usize,
    pub(super) elements: &'g Cell<usize>,
}

impl<'g> Limits<'g> {
    fn deeper<E: Error>(self) -> Result<Limits<'g>, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Limits { depth, ..self }),
            None => Err(E::custom(format_args!("values lie more than {MAX_DEPTH} deep in each other"))),
        }
    }

    fn element<E: Error>(self) -> Result<(), E> {
        match self.elements.get().checked_sub(1) {
            Some(left) => {
                self.elements.set(left);
                Ok(())
            }
            None => Err(E::custom("one value holds too many elements")),
        }
    }
}

/// `inner`, guarded: as a seed, a deserializer, a visitor, or what a visitor walks along.
pub(super) struct Guard<'g, I> {
    pub(super) inner: I,
    pub(super) limits: Limits<'g>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Guard<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Guard { inner: d, limits: self.limits })
    }
}

macro_rules! flat {
    ($($name:ident => $to:ident),*) => {$(
        #[inline]
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$to(visitor)
        }
    )*};
}

macro_rules! deep {
    ($($name:ident($($arg:ident: $t:ty),*)),*) => {$(
        #[inline]
        fn $name<V: Visitor<'de>>(self, $($arg: $t,)* visitor: V) -> Result<V::Value, D::Error> {
            let limits = self.limits.deeper()?;
            self.inner.$name($($arg,)* Guard { inner: visitor, limits })
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Guard<'_, D> {
    type Error = D::Error;

    flat!(
        deserialize_any => deserialize_any, deserialize_ignored_any => deserialize_ignored_any,
        deserialize_identifier => deserialize_identifier, deserialize_bool => deserialize_bool,
        deserialize_i8 => deserialize_i8, deserialize_i16 => deserialize_i16, deserialize_i32 => deserialize_i32,
        deserialize_i64 => deserialize_i64, deserialize_i128 => deserialize_i128, deserialize_u8 => deserialize_u8,
        deserialize_u16 => deserialize_u16, deserialize_u32 => deserialize_u32, deserialize_u64 => deserialize_u64,
        deserialize_u128 => deserialize_u128, deserialize_f32 => deserialize_f32, deserialize_f64 => deserialize_f64,
        deserialize_char => deserialize_char, deserialize_unit => deserialize_unit,
        // Borrowed first and copied by the visitor: nothing is allocated for bytes that are not there.
        deserialize_str => deserialize_str, deserialize_string => deserialize_str,
        deserialize_bytes => deserialize_bytes, deserialize_byte_buf => deserialize_bytes
    );

    deep!(
        deserialize_option(), deserialize_seq(), deserialize_map(), deserialize_tuple(len: usize),
        deserialize_newtype_struct(name: &'static str),
        deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    );

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Only what a compound is visited with: the flat ones keep their own visitor.
impl<'de, V: Visitor<'de>> Visitor<'de> for Guard<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Guard { inner: d, limits: self.limits })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Guard { inner: d, limits: self.limits })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, a: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Guard { inner: a, limits: self.limits })
    }

    fn visit_map<A: MapAccess<'de>>(self, a: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Guard { inner: a, limits: self.limits })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, a: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(Guard { inner: a, limits: self.limits })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.limits.element()?;
        self.inner.next_element_seed(Guard { inner: seed, limits: self.limits })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.limits.element()?;
        self.inner.next_key_seed(Guard { inner: seed, limits: self.limits })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Guard { inner: seed, limits: self.limits })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'g, A: EnumAccess<'de>> EnumAccess<'de> for Guard<'g, A> {
    type Error = A::Error;
    type Variant = Guard<'g, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, inner) = self.inner.variant_seed(seed)?;
        Ok((name, Guard { inner, limits: self.limits }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Guard<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(Guard { inner: seed, limits: self.limits })
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(len, Guard { inner: visitor, limits: self.limits })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, Guard { inner: visitor, limits: self.limits })
    }
}
