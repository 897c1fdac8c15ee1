//! Schemas as protocol buffers: as much of that format as `schema.proto` needs.
//!
//! A message is a sequence of fields, each a key (its number and how it is written) and a value; what is not known is
//! stepped over. Source: <https://protobuf.dev/programming-guides/encoding/>, Beam's `schema.proto`.

use super::{Field, FieldKind, FieldType, FieldValue, LogicalType, Row, Schema};
use crate::coder::{
    CoderError,
    wire::{Prefix, Reader, write_bytes, write_varint},
};

/// As deep as protocol buffers are read elsewhere too.
const MAX_DEPTH: usize = 100;

const VARINT: i64 = 0;
const FIXED64: i64 = 1;
const BYTES: i64 = 2;
const FIXED32: i64 = 5;

/// The kinds without parts, by their number in `AtomicType`.
const ATOMS: [FieldKind; 9] = [
    FieldKind::Byte,
    FieldKind::Int16,
    FieldKind::Int32,
    FieldKind::Int64,
    FieldKind::Float,
    FieldKind::Double,
    FieldKind::String,
    FieldKind::Boolean,
    FieldKind::Bytes,
];

impl Schema {
    /// The schema as a serialised `Schema` of Beam's `schema.proto`: the payload of `beam:coder:row:v1`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_schema(self, &mut out);
        out
    }

    /// The schema that was serialised. Options are not kept.
    ///
    /// # Errors
    /// When the bytes are no schema, or one that nests more than 100 deep.
    pub fn from_bytes(bytes: &[u8]) -> Result<Schema, CoderError> {
        read_schema(bytes, MAX_DEPTH).map_err(CoderError::reading::<Schema>)
    }
}

fn key(number: i64, wire: i64, out: &mut Vec<u8>) {
    write_varint((number << 3) | wire, out);
}

fn number(field: i64, value: i64, out: &mut Vec<u8>) {
    key(field, VARINT, out);
    write_varint(value, out);
}

fn bytes(field: i64, value: &[u8], out: &mut Vec<u8>) {
    key(field, BYTES, out);
    write_bytes(value, out);
}

/// As proto3 does, nothing is written for an empty text.
fn text(field: i64, value: &str, out: &mut Vec<u8>) {
    if !value.is_empty() {
        bytes(field, value.as_bytes(), out);
    }
}

fn message(field: i64, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    key(field, BYTES, out);
    let prefix = Prefix::begin(0, out);
    write(out);
    prefix.end(out);
}

fn write_schema(schema: &Schema, out: &mut Vec<u8>) {
    let positions = schema.encoding_positions();
    for (i, field) in schema.fields().iter().enumerate() {
        message(1, out, |out| {
            text(1, &field.name, out);
            text(2, &field.description, out);
            message(3, out, |out| write_type(&field.field_type, out));
            let position = positions.as_ref().map_or(0, |positions| positions[i]);
            if position > 0 {
                number(5, position as i64, out);
            }
        });
    }
    text(2, schema.id(), out);
    if positions.is_some() {
        number(4, 1, out);
    }
}

fn write_type(field_type: &FieldType, out: &mut Vec<u8>) {
    if field_type.nullable {
        number(1, 1, out);
    }
    match &field_type.kind {
        FieldKind::Array(of) => message(3, out, |out| message(1, out, |out| write_type(of, out))),
        FieldKind::Iterable(of) => message(4, out, |out| message(1, out, |out| write_type(of, out))),
        FieldKind::Map(k, v) => message(5, out, |out| {
            message(1, out, |out| write_type(k, out));
            message(2, out, |out| write_type(v, out));
        }),
        FieldKind::Row(schema) => message(6, out, |out| message(1, out, |out| write_schema(schema, out))),
        FieldKind::Logical(logical) => message(7, out, |out| {
            text(1, &logical.urn, out);
            if !logical.payload.is_empty() {
                bytes(2, &logical.payload, out);
            }
            message(3, out, |out| write_type(&logical.representation, out));
            if let Some((field_type, value)) = &logical.argument {
                message(4, out, |out| write_type(field_type, out));
                message(5, out, |out| write_value(value, out));
            }
        }),
        atom => {
            let at = ATOMS.iter().position(|a| a == atom).unwrap_or_default();
            number(2, at as i64 + 1, out);
        }
    }
}

fn write_value(value: &FieldValue, out: &mut Vec<u8>) {
    let list = |field: i64, values: &[FieldValue], out: &mut Vec<u8>| {
        message(field, out, |out| values.iter().for_each(|v| message(1, out, |out| write_value(v, out))));
    };
    match value {
        FieldValue::Null => {}
        FieldValue::Array(values) => list(2, values, out),
        FieldValue::Map(entries) => message(4, out, |out| {
            for (k, v) in entries {
                message(1, out, |out| {
                    message(1, out, |out| write_value(k, out));
                    message(2, out, |out| write_value(v, out));
                });
            }
        }),
        FieldValue::Row(row) => list(5, row.values(), out),
        atom => message(1, out, |out| write_atom(atom, out)),
    }
}

fn write_atom(value: &FieldValue, out: &mut Vec<u8>) {
    match value {
        FieldValue::Byte(v) => number(1, i64::from(*v), out),
        FieldValue::Int16(v) => number(2, i64::from(*v), out),
        FieldValue::Int32(v) => number(3, i64::from(*v), out),
        FieldValue::Int64(v) | FieldValue::MillisInstant(v) => number(4, *v, out),
        FieldValue::Float(v) => {
            key(5, FIXED32, out);
            out.extend_from_slice(&v.to_le_bytes());
        }
        FieldValue::Double(v) => {
            key(6, FIXED64, out);
            out.extend_from_slice(&v.to_le_bytes());
        }
        FieldValue::String(v) => bytes(7, v.as_bytes(), out),
        FieldValue::Boolean(v) => number(8, i64::from(*v), out),
        FieldValue::Bytes(v) => bytes(9, v, out),
        FieldValue::Decimal(v) => bytes(7, v.to_string().as_bytes(), out),
        FieldValue::Null | FieldValue::Array(_) | FieldValue::Map(_) | FieldValue::Row(_) => {}
    }
}

/// A field's value as it is on the wire.
enum Raw<'a> {
    Number(i64),
    Fixed32([u8; 4]),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
}

impl<'a> Raw<'a> {
    fn bytes(self) -> Result<&'a [u8], CoderError> {
        match self {
            Raw::Bytes(bytes) => Ok(bytes),
            _ => Err(CoderError::msg("a number where bytes should be")),
        }
    }

    fn text(self) -> Result<String, CoderError> {
        let text = std::str::from_utf8(self.bytes()?);
        text.map(str::to_owned).map_err(|e| CoderError::msg(format_args!("no UTF-8: {e}")))
    }

    fn number(self) -> Result<i64, CoderError> {
        match self {
            Raw::Number(n) => Ok(n),
            _ => Err(CoderError::msg("bytes where a number should be")),
        }
    }

    fn flag(self) -> Result<bool, CoderError> {
        Ok(self.number()? != 0)
    }
}

/// Calls `take` with the number and the value of every field of a message.
fn fields<'a>(
    message: &'a [u8],
    mut take: impl FnMut(i64, Raw<'a>) -> Result<(), CoderError>,
) -> Result<(), CoderError> {
    let mut reader = Reader::new(message);
    while !reader.rest().is_empty() {
        let key = reader.varint()?;
        let raw = match key & 7 {
            VARINT => Raw::Number(reader.varint()?),
            FIXED64 => Raw::Fixed64(reader.array()?),
            BYTES => Raw::Bytes(reader.prefixed()?),
            FIXED32 => Raw::Fixed32(reader.array()?),
            wire => return Err(CoderError::msg(format_args!("no protocol buffer has the wire type {wire}"))),
        };
        take(key >> 3, raw)?;
    }
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, CoderError> {
    depth
        .checked_sub(1)
        .ok_or_else(|| CoderError::msg(format_args!("a schema that nests more than {MAX_DEPTH} deep")))
}

fn read_schema(message: &[u8], depth: usize) -> Result<Schema, CoderError> {
    let depth = deeper(depth)?;
    let (mut all, mut positions, mut id, mut reordered) = (Vec::new(), Vec::new(), String::new(), false);
    fields(message, |number, raw| {
        match number {
            1 => {
                let (field, position) = read_field(raw.bytes()?, depth)?;
                all.push(field);
                positions.push(position);
            }
            2 => id = raw.text()?,
            4 => reordered = raw.flag()?,
            _ => {}
        }
        Ok(())
    })?;
    let schema = Schema::new(all).with_id(id);
    if reordered { schema.with_encoding_positions(positions) } else { Ok(schema) }
}

fn read_field(message: &[u8], depth: usize) -> Result<(Field, usize), CoderError> {
    let (mut name, mut description, mut field_type, mut position) =
        (String::new(), String::new(), None, 0_usize);
    fields(message, |number, raw| {
        match number {
            1 => name = raw.text()?,
            2 => description = raw.text()?,
            3 => field_type = Some(read_type(raw.bytes()?, depth)?),
            5 => position = usize::try_from(raw.number()?).unwrap_or(usize::MAX),
            _ => {}
        }
        Ok(())
    })?;
    let Some(field_type) = field_type else {
        return Err(CoderError::msg(format_args!("the field `{name}` has no type")));
    };
    Ok((Field { name, description, field_type }, position))
}

fn read_type(message: &[u8], depth: usize) -> Result<FieldType, CoderError> {
    let depth = deeper(depth)?;
    let (mut nullable, mut kind) = (false, None);
    fields(message, |number, raw| {
        match number {
            1 => nullable = raw.flag()?,
            2 => {
                let atom = raw.number()?;
                let known = usize::try_from(atom - 1).ok().and_then(|i| ATOMS.get(i));
                kind =
                    Some(known.cloned().ok_or_else(|| {
                        CoderError::msg(format_args!("{atom} is no atomic type of a schema"))
                    })?);
            }
            3 => kind = Some(FieldKind::Array(Box::new(read_part(raw.bytes()?, 1, depth)?))),
            4 => kind = Some(FieldKind::Iterable(Box::new(read_part(raw.bytes()?, 1, depth)?))),
            5 => {
                let map = raw.bytes()?;
                let (k, v) = (read_part(map, 1, depth)?, read_part(map, 2, depth)?);
                kind = Some(FieldKind::Map(Box::new(k), Box::new(v)));
            }
            6 => {
                let mut schema = Schema::default();
                fields(raw.bytes()?, |number, raw| {
                    if number == 1 {
                        schema = read_schema(raw.bytes()?, depth)?;
                    }
                    Ok(())
                })?;
                kind = Some(FieldKind::Row(schema));
            }
            7 => kind = Some(FieldKind::Logical(Box::new(read_logical(raw.bytes()?, depth)?))),
            _ => {}
        }
        Ok(())
    })?;
    let kind = kind.ok_or_else(|| CoderError::msg("a type without a kind"))?;
    Ok(FieldType { kind, nullable })
}

/// The type that is field `part` of a message.
fn read_part(message: &[u8], part: i64, depth: usize) -> Result<FieldType, CoderError> {
    let mut found = None;
    fields(message, |number, raw| {
        if number == part {
            found = Some(read_type(raw.bytes()?, depth)?);
        }
        Ok(())
    })?;
    found.ok_or_else(|| CoderError::msg("a type of elements is missing"))
}

fn read_logical(message: &[u8], depth: usize) -> Result<LogicalType, CoderError> {
    let (mut urn, mut payload, mut representation) = (String::new(), Vec::new(), None);
    let (mut argument_type, mut argument) = (None, None);
    fields(message, |number, raw| {
        match number {
            1 => urn = raw.text()?,
            2 => payload = raw.bytes()?.to_vec(),
            3 => representation = Some(read_type(raw.bytes()?, depth)?),
            4 => argument_type = Some(read_type(raw.bytes()?, depth)?),
            5 => argument = Some(read_value(raw.bytes()?, depth)?),
            _ => {}
        }
        Ok(())
    })?;
    let Some(representation) = representation else {
        return Err(CoderError::msg(format_args!("the logical type `{urn}` has no representation")));
    };
    Ok(LogicalType { urn, payload, representation, argument: argument_type.zip(argument) })
}

fn read_value(message: &[u8], depth: usize) -> Result<FieldValue, CoderError> {
    let depth = deeper(depth)?;
    let mut value = FieldValue::Null;
    fields(message, |number, raw| {
        value = match number {
            1 => read_atom(raw.bytes()?)?,
            2 | 3 => FieldValue::Array(read_values(raw.bytes()?, depth)?),
            4 => FieldValue::Map(read_entries(raw.bytes()?, depth)?),
            5 => FieldValue::Row(Row::new(read_values(raw.bytes()?, depth)?)),
            6 => read_values(raw.bytes()?, depth)?.pop().unwrap_or(FieldValue::Null),
            _ => return Ok(()),
        };
        Ok(())
    })?;
    Ok(value)
}

/// The values that are the fields 1 of a message.
fn read_values(message: &[u8], depth: usize) -> Result<Vec<FieldValue>, CoderError> {
    let mut values = Vec::new();
    fields(message, |number, raw| {
        if number == 1 {
            values.push(read_value(raw.bytes()?, depth)?);
        }
        Ok(())
    })?;
    Ok(values)
}

fn read_entries(message: &[u8], depth: usize) -> Result<Vec<(FieldValue, FieldValue)>, CoderError> {
    let mut entries = Vec::new();
    fields(message, |number, raw| {
        if number == 1 {
            let (mut k, mut v) = (FieldValue::Null, FieldValue::Null);
            fields(raw.bytes()?, |number, raw| {
                match number {
                    1 => k = read_value(raw.bytes()?, depth)?,
                    2 => v = read_value(raw.bytes()?, depth)?,
                    _ => {}
                }
                Ok(())
            })?;
            entries.push((k, v));
        }
        Ok(())
    })?;
    Ok(entries)
}

fn read_atom(message: &[u8]) -> Result<FieldValue, CoderError> {
    let mut value = FieldValue::Null;
    fields(message, |number, raw| {
        value = match (number, raw) {
            // An int32 is written as what it is in 64 bits, so that its lower bits are it.
            (1, Raw::Number(n)) => FieldValue::Byte(n as i8),
            (2, Raw::Number(n)) => FieldValue::Int16(n as i16),
            (3, Raw::Number(n)) => FieldValue::Int32(n as i32),
            (4, Raw::Number(n)) => FieldValue::Int64(n),
            (5, Raw::Fixed32(bits)) => FieldValue::Float(f32::from_le_bytes(bits)),
            (6, Raw::Fixed64(bits)) => FieldValue::Double(f64::from_le_bytes(bits)),
            (7, raw) => FieldValue::String(raw.text()?),
            (8, raw) => FieldValue::Boolean(raw.flag()?),
            (9, raw) => FieldValue::Bytes(raw.bytes()?.to_vec()),
            _ => return Ok(()),
        };
        Ok(())
    })?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_comes_back() {
        let inner = Schema::new([Field::new("x", FieldType::DOUBLE), Field::new("y", FieldType::FLOAT)])
            .with_encoding_positions([1, 0])
            .unwrap();
        let mut noted = Field::new("when", FieldType::timestamp(3).nullable());
        noted.description = "of the click".to_owned();
        let argument = FieldValue::Map(vec![
            (FieldValue::Byte(-1), FieldValue::Array(vec![FieldValue::Null, 2.5.into(), 2.5_f32.into()])),
            (FieldValue::Int16(-2), FieldValue::Row(Row::new([true.into(), vec![1_u8].into()]))),
            (FieldValue::Int32(-3), FieldValue::Int64(i64::MIN)),
        ]);
        let logical = LogicalType {
            urn: "own".to_owned(),
            payload: vec![0xff],
            representation: FieldType::array(FieldType::row(inner.clone())),
            argument: Some((FieldType::map(FieldType::BYTE, FieldType::INT16), argument)),
        };
        let schema = Schema::new([
            noted,
            Field::new("m", FieldType::map(FieldType::STRING, FieldType::BYTES.nullable())),
            Field::new("i", FieldType::of(FieldKind::Iterable(Box::new(FieldType::BOOLEAN)))),
            Field::new("l", FieldType::of(FieldKind::Logical(Box::new(logical)))),
            Field::new("r", FieldType::row(inner)),
        ])
        .with_id("clicks");
        assert_eq!(Schema::from_bytes(&schema.to_bytes()).unwrap(), schema);
    }

    #[test]
    fn the_bytes_are_beams() {
        // From Beam's standard_coders.yaml: fields in another order than they are written in.
        let payload = b"\n\x0b\n\x03str\x1a\x02\x10\x07(\x01\n\x0e\n\x06f_bool\x1a\x02\x10\x08(\x02\n\x0b\n\x03i32\x1a\x04\x08\x01\x10\x03\x12$30ea5a25-dcd8-4cdb-abeb-5332d15ab4b9 \x01";
        let schema = Schema::from_bytes(payload).unwrap();
        let own = Schema::new([
            Field::new("str", FieldType::STRING),
            Field::new("f_bool", FieldType::BOOLEAN),
            Field::new("i32", FieldType::INT32.nullable()),
        ]);
        let own = own.with_encoding_positions([1, 2, 0]).unwrap();
        assert_eq!(schema, own.with_id("30ea5a25-dcd8-4cdb-abeb-5332d15ab4b9"));
        assert_eq!(schema.to_bytes(), payload);
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for (bytes, why) in [
            (&b"\n\x03\n\x01a"[..], "the field `a` has no type"),
            (b"\n\x05\x1a\x03\x10\x8f\x01", "143 is no atomic type"),
            (b"\n\x02\x1a\x00", "a type without a kind"),
            (b"\n\x04\x1a\x02\x1a\x00", "a type of elements is missing"),
            (b"\x0b", "wire type 3"),
            (b"\n\x04\x1a\x02\x10\x01\n\x04\x1a\x02\x10\x01\x20\x01", "are not those of 2 fields"),
        ] {
            let e = Schema::from_bytes(bytes).unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        }
        let mut deep = FieldType::BYTE;
        for _ in 0..1000 {
            deep = FieldType::array(deep);
        }
        let e = Schema::from_bytes(&Schema::new([Field::new("a", deep)]).to_bytes()).unwrap_err();
        assert!(e.to_string().contains("more than 100 deep"), "{e}");
    }

    #[test]
    fn no_bytes_bring_the_reader_down() {
        let schema = Schema::new([
            Field::new("m", FieldType::map(FieldType::STRING, FieldType::fixed_char(5).nullable())),
            Field::new("r", FieldType::array(FieldType::timestamp(9))),
        ]);
        let whole = schema.to_bytes();
        let mut random = fastrand::Rng::with_seed(0x5eed);
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            if let Ok(schema) = Schema::from_bytes(&bytes) {
                assert_eq!(Schema::from_bytes(&schema.to_bytes()).unwrap().fields(), schema.fields());
            }
        }
    }
}
