//! What the fields of a row hold.

use serde::{Deserialize, Serialize};

use super::Decimal;

/// The value of a field, or of what an array or a map holds.
///
/// A logical type's value is that of its representation, but for the two whose bytes are not: an instant in
/// milliseconds and a decimal number.
///
/// ```
/// use purlin_sdk::coder::FieldValue;
/// assert_eq!(FieldValue::from("a"), FieldValue::String("a".into()));
/// assert_eq!(FieldValue::from(None::<i64>), FieldValue::Null);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FieldValue {
    /// Nothing.
    Null,
    /// One byte.
    Byte(i8),
    /// 16 bits.
    Int16(i16),
    /// 32 bits.
    Int32(i32),
    /// 64 bits.
    Int64(i64),
    /// A 32-bit float.
    Float(f32),
    /// A 64-bit float.
    Double(f64),
    /// Text.
    String(String),
    /// True or false.
    Boolean(bool),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Milliseconds since the epoch: `beam:logical_type:millis_instant:v1`.
    MillisInstant(i64),
    /// A decimal number: `beam:logical_type:decimal:v1`.
    Decimal(Decimal),
    /// The elements of an array or of an iterable.
    Array(Vec<FieldValue>),
    /// The entries of a map, in the order that they are written in.
    Map(Vec<(FieldValue, FieldValue)>),
    /// A row in the row.
    Row(Row),
}

impl FieldValue {
    /// What kind of value it is, for errors.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            FieldValue::Null => "null",
            FieldValue::Byte(_) => "a byte",
            FieldValue::Int16(_) => "an int16",
            FieldValue::Int32(_) => "an int32",
            FieldValue::Int64(_) => "an int64",
            FieldValue::Float(_) => "a float",
            FieldValue::Double(_) => "a double",
            FieldValue::String(_) => "a string",
            FieldValue::Boolean(_) => "a boolean",
            FieldValue::Bytes(_) => "bytes",
            FieldValue::MillisInstant(_) => "an instant",
            FieldValue::Decimal(_) => "a decimal",
            FieldValue::Array(_) => "an array",
            FieldValue::Map(_) => "a map",
            FieldValue::Row(_) => "a row",
        }
    }
}

/// The values of a schema's fields, in the schema's order.
///
/// ```
/// use purlin_sdk::coder::{FieldValue, Row};
/// let row = Row::new(["key".into(), 3_i64.into()]);
/// assert_eq!(row.values()[1], FieldValue::Int64(3));
/// ```
///
/// Source: Beam's `Row`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    values: Vec<FieldValue>,
}

impl Row {
    /// The row with these values.
    pub fn new(values: impl IntoIterator<Item = FieldValue>) -> Row {
        Row { values: values.into_iter().collect() }
    }

    /// The values, in the schema's order.
    pub fn values(&self) -> &[FieldValue] {
        &self.values
    }

    /// The values, in the schema's order.
    pub fn into_values(self) -> Vec<FieldValue> {
        self.values
    }
}

macro_rules! from {
    ($($from:ty => $variant:ident),* $(,)?) => {$(
        impl From<$from> for FieldValue {
            fn from(value: $from) -> FieldValue {
                FieldValue::$variant(value.into())
            }
        }
    )*};
}

from!(
    i8 => Byte, i16 => Int16, i32 => Int32, i64 => Int64, f32 => Float, f64 => Double, bool => Boolean,
    String => String, &str => String, Vec<u8> => Bytes, &[u8] => Bytes, Decimal => Decimal, Row => Row,
);

impl<T: Into<FieldValue>> From<Option<T>> for FieldValue {
    fn from(value: Option<T>) -> FieldValue {
        value.map_or(FieldValue::Null, Into::into)
    }
}
