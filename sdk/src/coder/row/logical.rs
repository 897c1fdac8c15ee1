//! Beam's portable logical types.

use super::{Field, FieldKind, FieldType, FieldValue, LogicalType, Schema};
use crate::coder::CoderError;

pub(super) const MILLIS_INSTANT: &str = "beam:logical_type:millis_instant:v1";
pub(super) const DECIMAL: &str = "beam:logical_type:decimal:v1";
const MICROS_INSTANT: &str = "beam:logical_type:micros_instant:v1";
const TIMESTAMP: &str = "beam:logical_type:timestamp:v1";
const FIXED_BYTES: &str = "beam:logical_type:fixed_bytes:v1";
const VAR_BYTES: &str = "beam:logical_type:var_bytes:v1";
const FIXED_CHAR: &str = "beam:logical_type:fixed_char:v1";
const VAR_CHAR: &str = "beam:logical_type:var_char:v1";

/// The portable logical types.
///
/// Source: Beam's `schema.proto`, `LogicalTypes`.
impl FieldType {
    /// The logical type of this name and representation.
    pub fn logical(urn: impl Into<String>, representation: FieldType) -> FieldType {
        let logical = LogicalType { urn: urn.into(), payload: Vec::new(), representation, argument: None };
        FieldType::of(FieldKind::Logical(Box::new(logical)))
    }

    fn with_length(urn: &str, representation: FieldType, length: i32) -> FieldType {
        FieldType::of(FieldKind::Logical(Box::new(LogicalType {
            urn: urn.to_owned(),
            payload: Vec::new(),
            representation,
            argument: Some((FieldType::INT32, FieldValue::Int32(length))),
        })))
    }

    /// Decimal numbers, [`FieldValue::Decimal`].
    pub fn decimal() -> FieldType {
        FieldType::logical(DECIMAL, FieldType::BYTES)
    }

    /// Instants in milliseconds, [`FieldValue::MillisInstant`].
    pub fn millis_instant() -> FieldType {
        FieldType::logical(MILLIS_INSTANT, FieldType::INT64)
    }

    /// Instants in microseconds: rows of `seconds` since the epoch and `micros` after them, both `int64`.
    pub fn micros_instant() -> FieldType {
        let fields = ["seconds", "micros"].map(|name| Field::new(name, FieldType::INT64));
        FieldType::logical(MICROS_INSTANT, FieldType::row(Schema::new(fields)))
    }

    /// Instants with `precision` digits after the second: rows of `seconds` since the epoch, an `int64`, and
    /// `subseconds`, an `int16` for up to four digits and otherwise an `int32`.
    pub fn timestamp(precision: u8) -> FieldType {
        let precision = precision.min(9);
        let subseconds = if precision <= 4 { FieldType::INT16 } else { FieldType::INT32 };
        let schema =
            Schema::new([Field::new("seconds", FieldType::INT64), Field::new("subseconds", subseconds)]);
        FieldType::with_length(TIMESTAMP, FieldType::row(schema), i32::from(precision))
    }

    /// `length` bytes; fewer are filled up with zeros.
    pub fn fixed_bytes(length: i32) -> FieldType {
        FieldType::with_length(FIXED_BYTES, FieldType::BYTES, length)
    }

    /// Up to `length` bytes.
    pub fn var_bytes(length: i32) -> FieldType {
        FieldType::with_length(VAR_BYTES, FieldType::BYTES, length)
    }

    /// `length` characters; fewer are filled up with spaces.
    pub fn fixed_char(length: i32) -> FieldType {
        FieldType::with_length(FIXED_CHAR, FieldType::STRING, length)
    }

    /// Up to `length` characters.
    pub fn var_char(length: i32) -> FieldType {
        FieldType::with_length(VAR_CHAR, FieldType::STRING, length)
    }
}

impl LogicalType {
    /// The value filled up to the length that the type has, when it has one.
    ///
    /// # Errors
    /// When it is longer.
    pub(super) fn fitted(&self, value: &FieldValue) -> Result<Option<FieldValue>, CoderError> {
        let Some((_, FieldValue::Int32(length))) = self.argument else { return Ok(None) };
        let length = usize::try_from(length).unwrap_or(0);
        let (has, fixed) = match (self.urn.as_str(), value) {
            (FIXED_BYTES, FieldValue::Bytes(bytes)) => (bytes.len(), true),
            (VAR_BYTES, FieldValue::Bytes(bytes)) => (bytes.len(), false),
            (FIXED_CHAR, FieldValue::String(text)) => (text.chars().count(), true),
            (VAR_CHAR, FieldValue::String(text)) => (text.chars().count(), false),
            _ => return Ok(None),
        };
        if has > length {
            return Err(CoderError::msg(format_args!("{has} where {length} are the most of {}", self.urn)));
        }
        Ok(match value {
            FieldValue::Bytes(bytes) if fixed && has < length => {
                let mut bytes = bytes.clone();
                bytes.resize(length, 0);
                Some(FieldValue::Bytes(bytes))
            }
            FieldValue::String(text) if fixed && has < length => {
                Some(FieldValue::String(format!("{text}{}", " ".repeat(length - has))))
            }
            _ => None,
        })
    }
}
