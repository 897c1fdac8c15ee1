//! A serializer that bounds how deep values lie in each other, as [`guard`](super::guard) does where they are read: writing
//! a list of links takes stack for each, and no process survives when it ends.

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::guard::MAX_DEPTH;

/// A value, serializer or compound with the levels that are left for what lies in it.
pub(super) struct Bounded<I> {
    inner: I,
    left: usize,
}

/// `value`, refused where it is deeper than what can be read.
pub(super) fn bounded<T: Serialize + ?Sized>(value: &T) -> Bounded<&T> {
    Bounded { inner: value, left: MAX_DEPTH }
}

fn deeper<E: Error>(left: usize) -> Result<usize, E> {
    left.checked_sub(1).ok_or_else(|| {
        E::custom(format_args!(
            "values lie more than {MAX_DEPTH} deep in each other; a list of links should be a `Vec`"
        ))
    })
}

impl<T: Serialize + ?Sized> Serialize for Bounded<&T> {
    #[inline]
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(Bounded { inner: s, left: self.left })
    }
}

macro_rules! flat {
    ($($name:ident($($arg:ident: $t:ty),*)),*) => {$(
        #[inline]
        fn $name(self, $($arg: $t),*) -> Result<S::Ok, S::Error> {
            self.inner.$name($($arg),*)
        }
    )*};
}

macro_rules! empty {
    ($($name:ident($($arg:ident: $t:ty),*)),*) => {$(
        #[inline]
        fn $name(self, $($arg: $t),*) -> Result<S::Ok, S::Error> {
            deeper(self.left)?;
            self.inner.$name($($arg),*)
        }
    )*};
}

macro_rules! one {
    ($($name:ident($($arg:ident: $t:ty),*)),*) => {$(
        #[inline]
        fn $name<T: Serialize + ?Sized>(self, $($arg: $t,)* value: &T) -> Result<S::Ok, S::Error> {
            let left = deeper(self.left)?;
            self.inner.$name($($arg,)* &Bounded { inner: value, left })
        }
    )*};
}

macro_rules! many {
    ($($name:ident -> $compound:ident($($arg:ident: $t:ty),*)),*) => {$(
        #[inline]
        fn $name(self, $($arg: $t),*) -> Result<Self::$compound, S::Error> {
            let left = deeper(self.left)?;
            Ok(Bounded { inner: self.inner.$name($($arg),*)?, left })
        }
    )*};
}

impl<S: Serializer> Serializer for Bounded<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Bounded<S::SerializeSeq>;
    type SerializeTuple = Bounded<S::SerializeTuple>;
    type SerializeTupleStruct = Bounded<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Bounded<S::SerializeTupleVariant>;
    type SerializeMap = Bounded<S::SerializeMap>;
    type SerializeStruct = Bounded<S::SerializeStruct>;
    type SerializeStructVariant = Bounded<S::SerializeStructVariant>;

    flat!(
        serialize_bool(v: bool), serialize_i8(v: i8), serialize_i16(v: i16), serialize_i32(v: i32),
        serialize_i64(v: i64), serialize_i128(v: i128), serialize_u8(v: u8), serialize_u16(v: u16),
        serialize_u32(v: u32), serialize_u64(v: u64), serialize_u128(v: u128), serialize_f32(v: f32),
        serialize_f64(v: f64), serialize_char(v: char), serialize_str(v: &str), serialize_bytes(v: &[u8]),
        serialize_unit(), serialize_unit_struct(name: &'static str)
    );

    empty!(
        serialize_none(),
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str)
    );

    one!(
        serialize_some(),
        serialize_newtype_struct(name: &'static str),
        serialize_newtype_variant(name: &'static str, index: u32, variant: &'static str)
    );

    many!(
        serialize_seq -> SerializeSeq(len: Option<usize>),
        serialize_tuple -> SerializeTuple(len: usize),
        serialize_tuple_struct -> SerializeTupleStruct(name: &'static str, len: usize),
        serialize_tuple_variant -> SerializeTupleVariant(
            name: &'static str, index: u32, variant: &'static str, len: usize
        ),
        serialize_map -> SerializeMap(len: Option<usize>),
        serialize_struct -> SerializeStruct(name: &'static str, len: usize),
        serialize_struct_variant -> SerializeStructVariant(
            name: &'static str, index: u32, variant: &'static str, len: usize
        )
    );

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! compound {
    ($($trait:ident { $($part:ident($($arg:ident: $t:ty),*)),* })*) => {$(
        impl<C: $trait> $trait for Bounded<C> {
            type Ok = C::Ok;
            type Error = C::Error;
            $(
                #[inline]
                fn $part<T: Serialize + ?Sized>(&mut self, $($arg: $t,)* part: &T) -> Result<(), C::Error> {
                    self.inner.$part($($arg,)* &Bounded { inner: part, left: self.left })
                }
            )*
            #[inline]
            fn end(self) -> Result<C::Ok, C::Error> {
                self.inner.end()
            }
        }
    )*};
}

compound!(
    SerializeSeq { serialize_element() }
    SerializeTuple { serialize_element() }
    SerializeTupleStruct { serialize_field() }
    SerializeTupleVariant { serialize_field() }
    SerializeMap { serialize_key(), serialize_value() }
    SerializeStruct { serialize_field(name: &'static str) }
    SerializeStructVariant { serialize_field(name: &'static str) }
);
