//! Rows in bytes. Vectors from Beam's `standard_coders.yaml`.

use super::*;
use crate::coder::{check_round_trip, from_bytes, to_bytes};

fn coder(types: impl IntoIterator<Item = FieldType>) -> RowCoder {
    RowCoder::new(Schema::new(types.into_iter().enumerate().map(|(i, t)| Field::new(format!("f{i}"), t))))
}

#[track_caller]
fn check(coder: &RowCoder, values: impl IntoIterator<Item = FieldValue>, bytes: &[u8]) {
    let row = Row::new(values);
    assert_eq!(to_bytes(coder, &row).unwrap().escape_ascii().to_string(), bytes.escape_ascii().to_string());
    assert_eq!(from_bytes(coder, bytes).unwrap(), row);
}

#[test]
fn rows_are_beams() {
    let nullable = coder([FieldType::STRING, FieldType::INT32, FieldType::DOUBLE].map(FieldType::nullable));
    check(&nullable, ["foo".into(), 9001.into(), FieldValue::Null], b"\x03\x01\x04\x03foo\xa9\x46");
    check(
        &nullable,
        [FieldValue::Null, (-1).into(), 0.1.into()],
        b"\x03\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x3f\xb9\x99\x99\x99\x99\x99\x9a",
    );
    check(
        &coder([FieldType::BOOLEAN, FieldType::BYTES]),
        [false.into(), b"ab\0c"[..].into()],
        b"\x02\x00\x00\x04ab\x00c",
    );
    let seconds = FieldValue::Row(Row::new([1_597_328_054_i64.into(), 123_456_i64.into()]));
    check(
        &coder([FieldType::micros_instant()]),
        [seconds],
        b"\x01\x00\x02\x00\xb6\x95\xd5\xf9\x05\xc0\xc4\x07",
    );
    let instant = FieldValue::MillisInstant(1_597_328_054_123);
    check(&coder([FieldType::millis_instant()]), [instant], b"\x01\x00\x80\x00\x01s\xe8+\xd7k");
    let decimal = coder([FieldType::FLOAT, FieldType::decimal()]);
    check(
        &decimal,
        [(-100.123_f32).into(), Decimal::new(-100_123, 3).into()],
        b"\x02\x00\xc2\xc8>\xfa\x03\x03\xfex\xe5",
    );
    let short = FieldValue::Row(Row::new([1_597_328_054_i64.into(), 999_i16.into()]));
    check(&coder([FieldType::timestamp(3)]), [short], b"\x01\x00\x02\x00\xb6\x95\xd5\xf9\x05\x03\xe7");
    let fine = FieldValue::Row(Row::new([(-2_i64).into(), 999_999_999.into()]));
    check(
        &coder([FieldType::timestamp(9)]),
        [fine],
        b"\x01\x00\x02\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\x93\xeb\xdc\x03",
    );
}

#[test]
fn maps_and_arrays_have_bytes_for_what_is_missing() {
    let map = coder([FieldType::map(FieldType::STRING, FieldType::INT64.nullable())]);
    let entries = [("is".into(), FieldValue::Null), ("a".into(), 5_i64.into())];
    check(&map, [FieldValue::Map(entries.to_vec())], b"\x01\x00\0\0\0\x02\x02is\0\x01a\x01\x05");
    let array = coder([FieldType::array(FieldType::array(FieldType::BYTE.nullable()))]);
    let values = FieldValue::Array(vec![FieldValue::Array(vec![FieldValue::Null, (-1_i8).into()])]);
    check(&array, [values], b"\x01\x00\0\0\0\x01\0\0\0\x02\0\x01\xff");
    let blocks = from_bytes(&array, b"\x01\x00\xff\xff\xff\xff\x01\0\0\0\0\x01\0\0\0\0\0").unwrap();
    let empty = FieldValue::Array(vec![]);
    assert_eq!(blocks, Row::new([FieldValue::Array(vec![empty.clone(), empty])]));
}

#[test]
fn fields_are_written_in_their_places() {
    let schema = Schema::new([
        Field::new("str", FieldType::STRING),
        Field::new("f_bool", FieldType::BOOLEAN),
        Field::new("i32", FieldType::INT32.nullable()),
    ]);
    let moved = RowCoder::new(schema.with_encoding_positions([1, 2, 0]).unwrap());
    check(&moved, ["str2".into(), false.into(), 21.into()], b"\x03\x00\x15\x04str2\x00");
    // The bits are those of the schema's order.
    check(&moved, ["str2".into(), true.into(), FieldValue::Null], b"\x03\x01\x04\x04str2\x01");
}

#[test]
fn more_than_eight_fields_take_more_than_a_byte_of_bits() {
    let wide = coder(vec![FieldType::BOOLEAN.nullable(); 9]);
    let mut values = vec![FieldValue::from(true); 9];
    values[8] = FieldValue::Null;
    check(&wide, values, b"\x09\x02\x00\x01\x01\x01\x01\x01\x01\x01\x01\x01");
}

#[test]
fn fixed_lengths_are_filled_up_and_limits_kept() {
    let fixed = coder([FieldType::fixed_char(5), FieldType::fixed_bytes(2), FieldType::var_char(3)]);
    let row = Row::new(["A\n".into(), b"a"[..].into(), "光线".into()]);
    let bytes = to_bytes(&fixed, &row).unwrap();
    assert_eq!(bytes, [&b"\x03\x00\x05A\n   \x02a\0\x06"[..], "光线".as_bytes()].concat());
    for (values, why) in [
        (["toolong".into(), b"a"[..].into(), "a".into()], "field `f0`: 7 where 5 are the most"),
        (["a".into(), b"aaa"[..].into(), "a".into()], "field `f1`: 3 where 2 are the most"),
        (["a".into(), b"a"[..].into(), "aaaa".into()], "field `f2`: 4 where 3 are the most"),
    ] {
        let e = to_bytes(&fixed, &Row::new(values)).unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    }
}

#[test]
fn a_schema_that_has_grown_reads_old_rows() {
    let old = coder([FieldType::INT64]);
    let bytes = to_bytes(&old, &Row::new([7_i64.into()])).unwrap();
    let grown = coder([FieldType::INT64, FieldType::STRING.nullable()]);
    assert_eq!(from_bytes(&grown, &bytes).unwrap(), Row::new([7_i64.into(), FieldValue::Null]));
    let e = from_bytes(&coder([FieldType::INT64, FieldType::STRING]), &bytes).unwrap_err();
    assert!(e.to_string().contains("field `f1`: null, which it may not be"), "{e}");
    let e = from_bytes(&coder([]), &bytes).unwrap_err();
    assert!(e.to_string().contains("a row of 1 values, of a schema of 0 fields"), "{e}");
}

#[test]
fn what_does_not_fit_the_schema_is_refused_by_name() {
    let one = coder([FieldType::array(FieldType::INT32)]);
    for (row, why) in [
        (Row::new([]), "a row of 0 values, of a schema of 1 fields"),
        (Row::new([FieldValue::Null]), "field `f0`: null, which it may not be"),
        (Row::new([FieldValue::Array(vec!["a".into()])]), "field `f0`: a string where the schema has Int32"),
    ] {
        let e = to_bytes(&one, &row).unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    }
    let e = from_bytes(&one, b"\x01\x00\0\0\0\x01\xff\xff\xff\xff\xff\x01").unwrap_err();
    assert_eq!(e.offset(), Some(6), "{e}");
    // As Java writes -1.
    let java = from_bytes(&one, b"\x01\x00\0\0\0\x01\xff\xff\xff\xff\x0f").unwrap();
    assert_eq!(java, Row::new([FieldValue::Array(vec![(-1).into()])]));
}

#[test]
fn no_bytes_bring_the_decoder_down() {
    let inner = Schema::new([Field::new("x", FieldType::fixed_char(3).nullable())]);
    let types = [
        FieldType::map(FieldType::STRING, FieldType::array(FieldType::row(inner)).nullable()),
        FieldType::decimal().nullable(),
        FieldType::millis_instant(),
        FieldType::array(FieldType::row(Schema::default())),
    ];
    let coder = coder(types);
    let row = Row::new([FieldValue::from("abc")]);
    let entries = vec![("k".into(), FieldValue::Array(vec![row.into()])), ("l".into(), FieldValue::Null)];
    let whole = Row::new([
        FieldValue::Map(entries),
        Decimal::new(-314, 2).into(),
        FieldValue::MillisInstant(5),
        FieldValue::Array(vec![Row::default().into(); 3]),
    ]);
    check_round_trip(&coder, &whole).unwrap();
    let whole = to_bytes(&coder, &whole).unwrap();
    let mut random = fastrand::Rng::with_seed(0x5eed);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = [0, 1, 2, 0x7f, 0x80, 0xff, random.u8(..)][random.usize(..7)];
        }
        let mut input = &bytes[..];
        match coder.decode(&mut input, Context::Nested) {
            Ok(row) => check_round_trip(&coder, &row).unwrap(),
            Err(_) => assert_eq!(input.len(), bytes.len()),
        }
    }
}
