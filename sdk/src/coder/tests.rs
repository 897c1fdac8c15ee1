//! Beam's bytes, and bytes that are nobody's.

use std::{collections::BTreeMap, fmt::Debug};

use serde::{Deserialize, Serialize};

use super::*;
use crate::Element;

/// `value` encodes to `bytes` in `context`, and they decode to it with nothing left.
#[track_caller]
fn check<T: Element + PartialEq + Debug>(context: Context, value: T, bytes: &[u8]) {
    let coder = default_coder::<T>().unwrap();
    let mut out = Vec::new();
    coder.encode(&value, context, &mut out).unwrap();
    assert_eq!(out.escape_ascii().to_string(), bytes.escape_ascii().to_string());
    read(context, value, bytes);
}

#[track_caller]
fn read<T: Element + PartialEq + Debug>(context: Context, value: T, bytes: &[u8]) {
    let mut input = bytes;
    assert_eq!(default_coder::<T>().unwrap().decode(&mut input, context).unwrap(), value);
    assert!(input.is_empty(), "{} left over", input.len());
}

#[track_caller]
fn check_both<T: Element + PartialEq + Debug>(value: T, bytes: &[u8]) {
    check(Context::Outer, value.clone(), bytes);
    check(Context::Nested, value, bytes);
}

fn text(s: &str) -> String {
    s.to_owned()
}

fn bytes(s: &[u8]) -> Vec<u8> {
    s.to_vec()
}

/// From Beam's `standard_coders.yaml`.
#[test]
fn bytes_and_text_are_beams() {
    use Context::{Nested, Outer};
    check(Outer, bytes(b"ab\0c"), b"ab\0c");
    check(Nested, bytes(b"abc"), b"\x03abc");
    let long = (1..=20).map(|n| format!("{:>9}|", n * 10)).collect::<String>();
    check(Nested, bytes(long.as_bytes()), &[b"\xc8\x01", long.as_bytes()].concat());
    check(Nested, long.clone(), &[b"\xc8\x01", long.as_bytes()].concat());
    check(Outer, text("光线"), b"\xe5\x85\x89\xe7\xba\xbf");
    check(Nested, text("光线"), b"\x06\xe5\x85\x89\xe7\xba\xbf");
    check(Nested, text("\u{ff}"), b"\x02\xc3\xbf");
}

#[test]
fn numbers_are_beams() {
    check_both(false, b"\0");
    check_both(true, b"\x01");
    check_both(1_i64, b"\x01");
    check_both(200_i32, b"\xc8\x01");
    check_both(1000_u64, b"\xe8\x07");
    check_both(9001_u16, b"\xa9\x46");
    check_both(-1_i64, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    check_both(-1_i8, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    check_both(0.1, b"\x3f\xb9\x99\x99\x99\x99\x99\x9a");
    check_both(-0.1, b"\xbf\xb9\x99\x99\x99\x99\x99\x9a");
    check_both(-0.0, b"\x80\0\0\0\0\0\0\0");
    check_both(f64::from_bits(1), b"\0\0\0\0\0\0\0\x01");
    check_both(f64::MAX, b"\x7f\xef\xff\xff\xff\xff\xff\xff");
    check_both(f64::INFINITY, b"\x7f\xf0\0\0\0\0\0\0");
}

#[test]
fn pairs_are_beams() {
    check_both((bytes(b"ab\0c"), 10_i64), b"\x04ab\0c\x0a");
    check_both((bytes(b"ab\0c"), false), b"\x04ab\0c\0");
    check(Context::Outer, (bytes(b"ab\0c"), bytes(b"de\0f")), b"\x04ab\0cde\0f");
    check(Context::Nested, (bytes(b"ab\0c"), bytes(b"de\0f")), b"\x04ab\0c\x04de\0f");
}

#[test]
fn iterables_are_beams() {
    check_both(vec![0_i64], b"\0\0\0\x01\0");
    check_both(vec![1_i64, 10, 200, 1000], b"\0\0\0\x04\x01\n\xc8\x01\xe8\x07");
    check_both(Vec::<i64>::new(), b"\0\0\0\0");
    check_both(vec![bytes(b"ab\0c"), bytes(b"de\0f")], b"\0\0\0\x02\x04ab\0c\x04de\0f");
    check_both(vec![true], b"\0\0\0\x01\x01");
    check_both(vec![()], b"\0\0\0\x01");
}

#[test]
fn iterables_of_unknown_length_are_read() {
    read(Context::Outer, Vec::<Vec<u8>>::new(), b"\xff\xff\xff\xff\0");
    let two = vec![bytes(b"ab\0c"), bytes(b"de\0f")];
    read(Context::Nested, two.clone(), b"\xff\xff\xff\xff\x02\x04ab\0c\x04de\0f\0");
    read(Context::Outer, two, b"\xff\xff\xff\xff\x01\x04ab\0c\x01\x04de\0f\0");
    let stateful = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05token";
    let e = from_bytes(&*default_coder::<Vec<i64>>().unwrap(), stateful).unwrap_err();
    assert!(e.to_string().contains("lies in the engine's state"), "{e}");
}

#[test]
fn values_that_may_be_missing_are_beams() {
    check(Context::Nested, Some(bytes(b"abc")), b"\x01\x03abc");
    check(Context::Nested, Some(bytes(b"more bytes")), b"\x01\x0amore bytes");
    check(Context::Outer, Some(bytes(b"abc")), b"\x01abc");
    check_both(None::<Vec<u8>>, b"\0");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(f32),
    Path(Vec<(i32, i32)>),
}

fn order(id: u64) -> Order {
    Order { id, name: text("tea") }
}

#[test]
fn leaves_lie_behind_their_length() {
    check(Context::Outer, order(7), b"\x07\x03tea");
    check(Context::Nested, order(7), b"\x05\x07\x03tea");
    check_both((text("k"), order(7)), b"\x01k\x05\x07\x03tea");
    check_both(vec![order(7), order(8)], b"\0\0\0\x02\x05\x07\x03tea\x05\x08\x03tea");
    check_both(Some(order(7)), b"\x01\x05\x07\x03tea");
    check(Context::Outer, order(u64::MAX), b"\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x03tea");
}

#[test]
fn an_engines_length_prefixes_are_followed() {
    let prefixed = |spec| CoderSpec::LengthPrefix(Box::new(spec));
    let list = prefixed(CoderSpec::Iterable(Box::new(prefixed(CoderSpec::VarInt))));
    let spec = CoderSpec::Kv(Box::new(prefixed(CoderSpec::StringUtf8)), Box::new(list));
    let coder = SerdeCoder::<(String, Vec<i64>)>::with_spec(spec).unwrap();
    let value = (text("the"), vec![1, 200]);
    let encoded = to_bytes(&coder, &value).unwrap();
    assert_eq!(encoded, b"\x03the\x09\0\0\0\x02\x01\x01\x02\xc8\x01");
    assert_eq!(from_bytes(&coder, &encoded).unwrap(), value);

    let e = SerdeCoder::<(String, i64)>::with_spec(CoderSpec::Bytes).unwrap_err();
    assert!(e.to_string().contains("is written by kv<string_utf8, varint>, which bytes does not fit"), "{e}");
}

#[test]
fn b161_outer_and_nested_keep_apart() {
    let pairs = [("a", "b"), ("", ""), ("", "b"), ("a", "")].map(|(k, v)| (text(k), text(v)));
    check(Context::Outer, pairs[0].clone(), b"\x01ab");
    check(Context::Nested, pairs[0].clone(), b"\x01a\x01b");
    check_both(vec![pairs[0].clone(), pairs[1].clone()], b"\0\0\0\x02\x01a\x01b\0\0");
    read(Context::Nested, vec![pairs[0].clone(), pairs[1].clone()], b"\xff\xff\xff\xff\x02\x01a\x01b\0\0\0");
    let coder = default_coder::<(String, String)>().unwrap();
    let mut run = Vec::new();
    for pair in &pairs {
        assert_eq!(&from_bytes(&*coder, &to_bytes(&*coder, pair).unwrap()).unwrap(), pair);
        coder.encode(pair, Context::Nested, &mut run).unwrap();
    }
    let mut input = &run[..];
    for pair in &pairs {
        assert_eq!(&coder.decode(&mut input, Context::Nested).unwrap(), pair);
    }
    assert!(input.is_empty());
}

#[test]
fn b163_a_u64_above_i64_max_has_the_bits_of_an_i64() {
    check_both(u64::MAX, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    check_both(1_u64 << 63, b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    check_both((-1.5_f64).to_bits(), b"\x80\x80\x80\x80\x80\x80\x80\xfc\xbf\x01");
    check_both((text("k"), vec![i64::MAX as u64]), b"\x01k\0\0\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
}

/// Reads as text, writes a number.
#[derive(Clone, Debug)]
struct TwoFaced;

impl Serialize for TwoFaced {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_i64(1)
    }
}

impl<'de> Deserialize<'de> for TwoFaced {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<TwoFaced, D::Error> {
        String::deserialize(d).map(|_| TwoFaced)
    }
}

#[test]
fn b163_a_type_that_writes_what_it_does_not_read_is_refused() {
    let coder = default_coder::<(bool, TwoFaced)>().unwrap();
    let mut out = bytes(b"before");
    let e = coder.encode(&(true, TwoFaced), Context::Nested, &mut out).unwrap_err();
    assert_eq!(out, b"before", "half a value is left");
    assert!(e.to_string().contains("its coder is string_utf8"), "{e}");
    assert!(e.to_string().contains("it wrote an integer"), "{e}");
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Link(Option<Box<Link>>);

fn chain(links: usize) -> Link {
    (1..links).fold(Link(None), |rest, _| Link(Some(Box::new(rest))))
}

#[test]
fn b163_a_chain_that_could_not_be_read_is_found_where_it_is_made() {
    let coder = default_coder::<Link>().unwrap();
    check_round_trip(&*coder, &chain(100)).unwrap();
    for links in [129, 200, 20_000] {
        let link = chain(links);
        let e = check_round_trip(&*coder, &link).unwrap_err().to_string();
        assert!(e.contains("more than 256 deep") && e.contains("`Vec`"), "{e}");
        assert!(!e.contains("its Serialize and its Deserialize differ"), "{e}");
        unchain(link);
    }
    check_round_trip(&*coder, &chain(128)).unwrap();
}

/// Drops link by link: dropping a long one at once takes stack for each.
fn unchain(mut link: Link) {
    while let Some(next) = link.0.take() {
        link = *next;
    }
}

/// Written as a map and as a struct, read as a sequence of pairs: bincode sees no difference, nor may we.
#[derive(Clone, Debug, PartialEq)]
struct Entries(BTreeMap<String, Entry>);

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    at: i64,
    name: String,
}

impl Serialize for Entries {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Entries, D::Error> {
        Ok(Entries(Vec::deserialize(d)?.into_iter().collect()))
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Entry, D::Error> {
        <(i64, String)>::deserialize(d).map(|(at, name)| Entry { at, name })
    }
}

#[test]
fn a_map_that_is_read_as_pairs_is_written_as_pairs() {
    let entries = Entries(BTreeMap::from([
        (text("k"), Entry { at: 7, name: text("tea") }),
        (text(""), Entry { at: -1, name: text("") }),
    ]));
    check_both(entries, b"\0\0\0\x02\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\x01k\x07\x03tea");
}

#[track_caller]
fn refused<T: Element + Debug>(bytes: &[u8], at: usize, why: &str) {
    let e = from_bytes(&*default_coder::<T>().unwrap(), bytes).unwrap_err();
    assert!(e.to_string().contains(why), "{e}");
    assert_eq!(e.offset(), Some(at), "{e}");
    assert_eq!(e.type_name(), Some(std::any::type_name::<T>()));
}

#[test]
fn broken_bytes_are_refused_with_their_place() {
    refused::<bool>(b"\x02", 0, "a bool is 0 or 1, not 2");
    refused::<(String, bool)>(b"\x01k\x02", 2, "a bool is 0 or 1, not 2");
    refused::<(String, bool)>(b"\x09k\x02", 1, "9 bytes should follow, 2 do");
    refused::<(String, bool)>(b"\x01\xff\x00", 0, "no UTF-8");
    refused::<u8>(b"\x80\x02", 0, "256 is no u8");
    refused::<u32>(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, "-1 is no u32");
    refused::<f64>(b"\0\0\0\0", 0, "8 bytes should follow, 4 do");
    refused::<i64>(b"\x01\x02\x03", 1, "2 bytes are left over");
    refused::<Option<i64>>(b"\x07", 0, "is 0 or 1, not 7");
    refused::<Vec<i64>>(b"\xff\xff\xff\xfe", 0, "an iterable of -2 elements");
    refused::<Vec<i64>>(b"\0\0\0\x02\x01", 5, "the bytes end too early");
    refused::<Vec<()>>(b"\x7f\xff\xff\xff", 4, "one value may decode to 1073741824");
    refused::<(bool, Order)>(b"\x01\x06\x07\x03tea!", 7, "1 byte is left over");
    refused::<Vec<(bool, Shape)>>(b"\0\0\0\x01\x01\x01\x09", 6, "variant index");
}

#[test]
fn a_failed_decode_takes_nothing() {
    let mut input = &b"\x01k\x02"[..];
    default_coder::<(String, bool)>().unwrap().decode(&mut input, Context::Nested).unwrap_err();
    assert_eq!(input.len(), 3);
}

/// Bytes of no meaning, and real encodings with a few bytes changed, do not bring it down; what decodes encodes.
fn batter<T: Element>(samples: &[T]) {
    let coder = default_coder::<T>().unwrap();
    let mut random = fastrand::Rng::with_seed(0x5eed);
    let try_bytes = |bytes: &[u8]| {
        for context in [Context::Outer, Context::Nested] {
            let mut input = bytes;
            if let Ok(value) = coder.decode(&mut input, context) {
                assert!(bytes.ends_with(input));
                coder.encode(&value, context, &mut Vec::new()).unwrap();
            } else {
                assert_eq!(input.len(), bytes.len());
            }
        }
    };
    for sample in samples {
        let whole = to_bytes(&*coder, sample).unwrap();
        check_round_trip(&*coder, sample).unwrap();
        for len in 0..whole.len() {
            try_bytes(&whole[..len]);
        }
        for _ in 0..2_000 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                if !bytes.is_empty() {
                    let at = random.usize(..bytes.len());
                    let any = random.u8(..);
                    bytes[at] = [0, 1, 2, 0x7f, 0x80, 0xfc, 0xfd, 0xff, any][random.usize(..9)];
                }
            }
            try_bytes(&bytes);
        }
    }
    for _ in 0..5_000 {
        let len = random.usize(..40);
        let bytes = std::iter::repeat_with(|| random.u8(..)).take(len).collect::<Vec<_>>();
        try_bytes(&bytes);
        // Small numbers reach deeper than large ones.
        try_bytes(&bytes.iter().map(|b| b % 4).collect::<Vec<_>>());
    }
}

#[test]
fn no_bytes_bring_a_decoder_down() {
    batter(&[(text("key"), 1_i64), (text(""), i64::MIN)]);
    batter(&[(bytes(b"abc"), vec![Some(1.5), None])]);
    batter(&[vec![(text("a"), vec![bytes(b"b")]), (text(""), vec![])]]);
    batter(&[vec![Some(order(7)), None, Some(order(u64::MAX))]]);
    batter(&[(true, Shape::Path(vec![(1, -1)])), (false, Shape::Circle(1.5)), (true, Shape::Point)]);
    batter(&[BTreeMap::from([(text("a"), vec!['x', '光']), (text("b"), vec![])])]);
    batter(&[(u128::MAX, (1.5_f32, ((), Some(()))))]);
}

#[test]
fn no_bytes_bring_a_windows_decoder_down() {
    let value = default_coder::<Vec<String>>().unwrap();
    let leaf = CoderSpec::LengthPrefix(Box::new(CoderSpec::Bincode("T".into())));
    let mut random = fastrand::Rng::with_seed(0x5eed);
    for window in
        [CoderSpec::GlobalWindow, CoderSpec::IntervalWindow, CoderSpec::CustomWindow(Box::new(leaf))]
    {
        let coder = WindowedValueCoder::new(value.clone(), window).unwrap();
        for _ in 0..5_000 {
            let mut bytes = b"\x80\0\0\0\0\0\0\0\0\0\0".to_vec();
            let tail = random.usize(..40);
            bytes.extend(std::iter::repeat_with(|| random.u8(..) % 5).take(tail));
            if let Ok(value) = from_bytes(&coder, &bytes) {
                to_bytes(&coder, &value).unwrap();
            }
        }
    }
}

/// The coders of parts write what the default coder does, and no bytes bring them down.
#[test]
fn coders_of_parts_are_those_of_whole_types() {
    type Parts = (Option<Vec<u8>>, Vec<(String, bool)>);
    let pair = KvCoder::new(default_coder::<String>().unwrap(), default_coder::<bool>().unwrap());
    let parts: KvCoder<Option<Vec<u8>>, Vec<(String, bool)>> = KvCoder::new(
        Arc::new(NullableCoder::new(default_coder::<Vec<u8>>().unwrap())),
        Arc::new(IterableCoder::new(Arc::new(pair))),
    );
    let whole = default_coder::<Parts>().unwrap();
    assert_eq!(parts.spec(), whole.spec());
    let mut random = fastrand::Rng::with_seed(0x5eed);
    for value in [
        (None, vec![]),
        (Some(bytes(b"a")), vec![(text("k"), true), (text(""), false)]),
        (Some(vec![]), vec![(text("long").repeat(50), true)]),
    ] {
        for context in [Context::Outer, Context::Nested] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            parts.encode(&value, context, &mut one).unwrap();
            whole.encode(&value, context, &mut other).unwrap();
            assert_eq!(one, other);
            assert_eq!(parts.decode(&mut &one[..], context).unwrap(), value);
            for _ in 0..5_000 {
                let mut broken = one.clone();
                let at = random.usize(..broken.len());
                broken[at] = [0, 1, 2, 0x7f, 0x80, 0xff, random.u8(..)][random.usize(..7)];
                let (mut by_parts, mut as_whole) = (&broken[..], &broken[..]);
                let read = parts.decode(&mut by_parts, context);
                // Both read the same, or neither reads anything.
                assert_eq!(read.ok(), whole.decode(&mut as_whole, context).ok(), "{broken:x?}");
                assert_eq!(by_parts.len(), as_whole.len());
            }
        }
    }
}

#[test]
fn no_bytes_bring_a_timers_decoder_down() {
    let key = Arc::new(LengthPrefixCoder::new(default_coder::<String>().unwrap()));
    let coder = TimerCoder::new(Arc::new(ShardedKeyCoder::new(key)), CoderSpec::IntervalWindow).unwrap();
    let mut random = fastrand::Rng::with_seed(0x5eed);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut bytes = b"\x01s\x01k\x01t\0\0\0\x01\x80\0\0\0\0\0\x27\x10\x90\x4e\x01".to_vec();
        for _ in 0..random.usize(..3) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        if let Ok(timer) = from_bytes(&coder, &bytes) {
            read += 1;
            assert_eq!(from_bytes(&coder, &to_bytes(&coder, &timer).unwrap()).unwrap(), timer);
        }
    }
    assert!(read > 1000, "{read}");
}
