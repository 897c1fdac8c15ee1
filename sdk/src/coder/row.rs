//! Rows: values whose fields a schema names, in bytes that every SDK reads.

mod decimal;
mod logical;
mod proto;
mod schema;
mod value;

pub use decimal::Decimal;
pub use schema::{Field, FieldKind, FieldType, LogicalType, Schema};
pub use value::{FieldValue, Row};

use super::{
    Coder, CoderError, CoderSpec, Context,
    wire::{Reader, write_bytes, write_count, write_varint},
};

/// Writes the number of fields, a bit for each field that is missing (none when none is), and the others, nested.
///
/// A row with fewer fields than the schema is read too: what is missing was added to the schema later and must be
/// nullable. Bytes and characters of a fixed length are filled up when they are written. An `int32` below zero is
/// written as the 64-bit varint, as in Python; Java's five bytes are read too.
///
/// ```
/// use purlin_sdk::coder::{Field, FieldType, FieldValue, Row, RowCoder, Schema, from_bytes, to_bytes};
/// let schema = Schema::new([
///     Field::new("word", FieldType::STRING.nullable()),
///     Field::new("count", FieldType::INT64),
/// ]);
/// let coder = RowCoder::new(schema);
/// let row = Row::new(["the".into(), 200_i64.into()]);
/// assert_eq!(to_bytes(&coder, &row)?, b"\x02\x00\x03the\xc8\x01");
/// let without = Row::new([FieldValue::Null, 1_i64.into()]);
/// assert_eq!(to_bytes(&coder, &without)?, b"\x02\x01\x01\x01");
/// assert_eq!(from_bytes(&coder, b"\x02\x01\x01\x01")?, without);
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
///
/// Source: `beam_runner_api.proto`, `beam:coder:row:v1`.
#[derive(Clone, Debug)]
pub struct RowCoder {
    schema: Schema,
    payload: Vec<u8>,
}

impl RowCoder {
    /// The coder of rows of `schema`.
    pub fn new(schema: Schema) -> RowCoder {
        RowCoder { payload: schema.to_bytes(), schema }
    }

    /// The coder that an engine or another SDK described: `payload` is a serialised schema.
    ///
    /// # Errors
    /// As [`Schema::from_bytes`].
    pub fn from_payload(payload: &[u8]) -> Result<RowCoder, CoderError> {
        Ok(RowCoder { schema: Schema::from_bytes(payload)?, payload: payload.to_vec() })
    }

    /// The fields of the rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}

impl Coder<Row> for RowCoder {
    fn encode(&self, row: &Row, _: Context, out: &mut Vec<u8>) -> Result<(), CoderError> {
        write_row(&self.schema, row, out).map_err(CoderError::writing::<Row>)
    }

    fn decode(&self, input: &mut &[u8], _: Context) -> Result<Row, CoderError> {
        let mut reader = Reader::new(input);
        let row = read_row(&self.schema, &mut reader).map_err(CoderError::reading::<Row>)?;
        *input = reader.rest();
        Ok(row)
    }

    fn spec(&self) -> CoderSpec {
        CoderSpec::Row(self.payload.clone())
    }
}

fn write_row(schema: &Schema, row: &Row, out: &mut Vec<u8>) -> Result<(), CoderError> {
    let (fields, values) = (schema.fields(), row.values());
    if fields.len() != values.len() {
        return Err(CoderError::msg(format_args!(
            "a row of {} values, of a schema of {} fields",
            values.len(),
            fields.len()
        )));
    }
    write_varint(values.len() as i64, out);
    let mut missing = Vec::new();
    for (i, (field, value)) in fields.iter().zip(values).enumerate() {
        if *value == FieldValue::Null {
            if !field.field_type.nullable {
                return Err(CoderError::msg("null, which it may not be")).map_err(|e| in_field(field, &e));
            }
            missing.resize(values.len().div_ceil(8), 0);
            missing[i / 8] |= 1_u8 << (i % 8);
        }
    }
    write_bytes(&missing, out);
    for (i, field) in schema.in_wire_order() {
        if values[i] != FieldValue::Null {
            write_value(&field.field_type, &values[i], out).map_err(|e| in_field(field, &e))?;
        }
    }
    Ok(())
}

fn in_field(field: &Field, e: &CoderError) -> CoderError {
    let at = e.offset();
    let said = CoderError::msg(format_args!("field `{}`: {}", field.name, e.what()));
    at.map_or(said.clone(), |at| said.at(at))
}

/// A value of an array or a map, which may be missing in its own way.
fn write_part(of: &FieldType, value: &FieldValue, out: &mut Vec<u8>) -> Result<(), CoderError> {
    match (of.nullable, value) {
        (true, FieldValue::Null) => {
            out.push(0);
            return Ok(());
        }
        (true, _) => out.push(1),
        (false, _) => {}
    }
    write_value(of, value, out)
}

fn write_value(of: &FieldType, value: &FieldValue, out: &mut Vec<u8>) -> Result<(), CoderError> {
    match (&of.kind, value) {
        (FieldKind::Byte, FieldValue::Byte(v)) => out.push(v.cast_unsigned()),
        (FieldKind::Int16, FieldValue::Int16(v)) => out.extend_from_slice(&v.to_be_bytes()),
        (FieldKind::Int32, FieldValue::Int32(v)) => write_varint(i64::from(*v), out),
        (FieldKind::Int64, FieldValue::Int64(v)) => write_varint(*v, out),
        (FieldKind::Float, FieldValue::Float(v)) => out.extend_from_slice(&v.to_be_bytes()),
        (FieldKind::Double, FieldValue::Double(v)) => out.extend_from_slice(&v.to_be_bytes()),
        (FieldKind::String, FieldValue::String(v)) => write_bytes(v.as_bytes(), out),
        (FieldKind::Boolean, FieldValue::Boolean(v)) => out.push(u8::from(*v)),
        (FieldKind::Bytes, FieldValue::Bytes(v)) => write_bytes(v, out),
        (FieldKind::Array(of) | FieldKind::Iterable(of), FieldValue::Array(values)) => {
            write_count(values.len(), out)?;
            values.iter().try_for_each(|value| write_part(of, value, out))?;
        }
        (FieldKind::Map(k, v), FieldValue::Map(entries)) => {
            write_count(entries.len(), out)?;
            for (key, value) in entries {
                write_part(k, key, out)?;
                write_part(v, value, out)?;
            }
        }
        (FieldKind::Row(schema), FieldValue::Row(row)) => write_row(schema, row, out)?,
        (FieldKind::Logical(logical), value) => match (logical.urn.as_str(), value) {
            (logical::MILLIS_INSTANT, FieldValue::MillisInstant(millis)) => {
                out.extend_from_slice(&(millis ^ i64::MIN).to_be_bytes());
            }
            (logical::DECIMAL, FieldValue::Decimal(number)) => {
                write_varint(i64::from(number.scale()), out);
                write_bytes(number.unscaled_bytes(), out);
            }
            (logical::MILLIS_INSTANT | logical::DECIMAL, other) => return Err(mismatch(&logical.urn, other)),
            _ => {
                let fitted = logical.fitted(value)?;
                write_value(&logical.representation, fitted.as_ref().unwrap_or(value), out)?;
            }
        },
        (kind, value) => return Err(mismatch(&format!("{kind:?}"), value)),
    }
    Ok(())
}

fn mismatch(wanted: &str, value: &FieldValue) -> CoderError {
    CoderError::msg(format_args!("{} where the schema has {wanted}", value.kind()))
}

fn read_row(schema: &Schema, reader: &mut Reader<'_>) -> Result<Row, CoderError> {
    let at = reader.offset();
    let count = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
    let fields = schema.fields();
    if count > fields.len() {
        return Err(CoderError::msg(format_args!(
            "a row of {count} values, of a schema of {} fields",
            fields.len()
        ))
        .at(at));
    }
    let missing = reader.prefixed()?;
    // Fields that are not there take no bytes and are made all the same.
    reader.charge(fields.len())?;
    let is_missing = |i: usize| missing.get(i / 8).is_some_and(|byte| byte & (1 << (i % 8)) != 0);
    let mut values = vec![FieldValue::Null; fields.len()];
    for (place, (i, field)) in schema.in_wire_order().enumerate() {
        if place >= count || is_missing(i) {
            if !field.field_type.nullable {
                let e = CoderError::msg("null, which it may not be").at(at);
                return Err(in_field(field, &e));
            }
        } else {
            values[i] = read_value(&field.field_type, reader).map_err(|e| in_field(field, &e))?;
        }
    }
    Ok(Row::new(values))
}

fn read_part(of: &FieldType, reader: &mut Reader<'_>) -> Result<FieldValue, CoderError> {
    if of.nullable && !reader.flag("the byte before a value that may be missing")? {
        return Ok(FieldValue::Null);
    }
    read_value(of, reader)
}

fn read_value(of: &FieldType, reader: &mut Reader<'_>) -> Result<FieldValue, CoderError> {
    let at = reader.offset();
    Ok(match &of.kind {
        FieldKind::Byte => FieldValue::Byte(reader.byte()?.cast_signed()),
        FieldKind::Int16 => FieldValue::Int16(i16::from_be_bytes(reader.array()?)),
        FieldKind::Int32 => {
            let wide = reader.varint()?;
            // Java writes the 32 bits as a number without a sign.
            let narrow = i32::try_from(wide).or_else(|_| u32::try_from(wide).map(u32::cast_signed));
            FieldValue::Int32(narrow.map_err(|_| CoderError::msg(format_args!("{wide} is no int32")).at(at))?)
        }
        FieldKind::Int64 => FieldValue::Int64(reader.varint()?),
        FieldKind::Float => FieldValue::Float(f32::from_be_bytes(reader.array()?)),
        FieldKind::Double => FieldValue::Double(f64::from_be_bytes(reader.array()?)),
        FieldKind::String => {
            let text = std::str::from_utf8(reader.prefixed()?)
                .map_err(|e| CoderError::msg(format_args!("no UTF-8: {e}")).at(at))?;
            FieldValue::String(text.to_owned())
        }
        FieldKind::Boolean => FieldValue::Boolean(reader.flag("a boolean")?),
        FieldKind::Bytes => FieldValue::Bytes(reader.prefixed()?.to_vec()),
        FieldKind::Array(of) | FieldKind::Iterable(of) => {
            let mut values = Vec::new();
            read_elements(reader, |reader| {
                values.push(read_part(of, reader)?);
                Ok(())
            })?;
            FieldValue::Array(values)
        }
        FieldKind::Map(k, v) => {
            let mut entries = Vec::new();
            read_elements(reader, |reader| {
                entries.push((read_part(k, reader)?, read_part(v, reader)?));
                Ok(())
            })?;
            FieldValue::Map(entries)
        }
        FieldKind::Row(schema) => FieldValue::Row(read_row(schema, reader)?),
        FieldKind::Logical(logical) => match logical.urn.as_str() {
            logical::MILLIS_INSTANT => {
                FieldValue::MillisInstant(i64::from_be_bytes(reader.array()?) ^ i64::MIN)
            }
            logical::DECIMAL => {
                let scale = reader.varint()?;
                let scale = i32::try_from(scale)
                    .or_else(|_| u32::try_from(scale).map(u32::cast_signed))
                    .map_err(|_| CoderError::msg(format_args!("a decimal with the scale {scale}")).at(at))?;
                FieldValue::Decimal(Decimal::from_bytes(reader.prefixed()?, scale))
            }
            _ => read_value(&logical.representation, reader)?,
        },
    })
}

/// Calls `read` for each element behind their number, or behind -1 for each in blocks up to a block of none.
fn read_elements(
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<(), CoderError>,
) -> Result<(), CoderError> {
    let at = reader.offset();
    let count = i32::from_be_bytes(reader.array()?);
    let blocks = count == -1;
    let mut count = if blocks { reader.varint()? } else { i64::from(count) };
    loop {
        let Ok(n) = usize::try_from(count) else {
            return Err(CoderError::msg(format_args!("{count} elements")).at(at));
        };
        // Rows without fields take bytes too, so a number that lies runs out of them.
        reader.charge(n)?;
        for _ in 0..n {
            read(reader)?;
        }
        if !blocks || n == 0 {
            return Ok(());
        }
        count = reader.varint()?;
    }
}

#[cfg(test)]
mod tests;
