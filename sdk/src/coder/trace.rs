//! From a Rust type to its coders.

use std::{
    any::type_name,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    Coder, CoderError, CoderSpec, Context, SerdeCoder,
    bincode::measuring,
    check_round_trip,
    rounds::{Fault, Rounds, Why},
};
use crate::Element;

/// Enough for every variant of large enums and every value that may be tried.
const MAX_ROUNDS: usize = 2_000;
/// Made-up values that are tried out, of those that there are.
const MAX_TRIED: usize = 200;
/// Structs in structs whose fields are tried out empty.
const MAX_STRUCTS: usize = 4;

/// The coders that `T` is written with by default, found by looking at how it reads itself.
///
/// | Rust | coder |
/// |---|---|
/// | `bool` | `bool` |
/// | integers of up to 64 bits | `varint`; a `u64` as the `i64` of the same bits, so that one above `i64::MAX` reads as a negative number in languages without unsigned ones |
/// | `f64` | `double` |
/// | `String`, `Box<str>`, ... | `string_utf8` |
/// | `Vec<u8>` and other sequences of `u8`, `serde_bytes` | `bytes` |
/// | `(A, B)` | `kv` |
/// | `Vec<T>`, sets, other sequences | `iterable` |
/// | `Option<T>` | `nullable` |
/// | `()`, unit structs | `unit`: no bytes |
/// | all else: structs, enums, maps, larger tuples, `f32`, 128-bit integers, `char` | `bincode`, in a `length_prefix` inside others |
///
/// A type whose serde form is another's is written as that one: `Timestamp` and `#[serde(transparent)]` types.
///
/// # Errors
/// - When a part of `T` must be told what it is about to read (`serde_json::Value`, `#[serde(untagged)]`,
///   `#[serde(tag = "..")]`, `#[serde(flatten)]`): the default coder writes no names, so such a part would be written
///   and never come back. The error names the part.
/// - When a struct, or one in it, is larger than the fields that it reads (`#[serde(skip)]`): what is left out would
///   come back as another value. A field so small that it fits into padding, and one of an enum's variant, are not seen.
/// - When values that are made up, full ones and empty ones, do not come back: `#[serde(skip_serializing)]`,
///   `#[serde(skip_serializing_if = "Option::is_none")]`. What depends on other values is found by
///   [`check_round_trip`](super::check_round_trip), and on the direct runner.
///
/// ```
/// use purlin_sdk::coder::trace;
/// assert_eq!(trace::<(Vec<u8>, u32)>()?.to_string(), "kv<bytes, varint>");
/// let error = trace::<(String, serde_json::Value)>().unwrap_err().to_string();
/// assert!(error.contains(".with_coder(Json::of())"), "{error}");
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
pub fn trace<T: Element>() -> Result<CoderSpec, CoderError> {
    let rounds = Rounds::default();
    let mut best = None;
    let mut made = Vec::new();
    // A type may panic over a value that its own writer would never have written.
    let safely = |work: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(work)).is_ok();
    for _ in 0..MAX_ROUNDS {
        let mut round = None;
        if !safely(&mut || round = Some(rounds.round(PhantomData::<T>))) {
            break;
        }
        let Some(round) = round else { break };
        let (again, value, found) = round.map_err(|fault| describe::<T>(&fault))?;
        let done = value.is_some();
        made.extend(value.filter(|_| made.len() < MAX_TRIED));
        match (found, done, &best) {
            (Some(found), true, _) | (Some(found), false, None | Some((_, false))) => {
                best = Some((found, done));
            }
            _ => {}
        }
        if !again {
            break;
        }
    }
    let spec = match best {
        Some((found, _)) => found.spec(),
        None => CoderSpec::Bincode(type_name::<T>().to_owned()),
    };
    for structs in 1..=MAX_STRUCTS {
        let mut least = None;
        if safely(&mut || least = Some(rounds.least(structs, PhantomData::<T>)))
            && let Some(least) = least
        {
            made.extend(least.map_err(|fault| describe::<T>(&fault))?);
        }
    }
    let coder = SerdeCoder::<T>::written_as(spec.clone());
    for value in &made {
        let mut tried = Ok(());
        if safely(&mut || tried = measuring(|| try_out(&coder, value))) {
            tried?;
        }
    }
    Ok(spec)
}

/// Whether a value that was made up comes back. One that does not encode says nothing of those that there will be.
fn try_out<T: Element>(coder: &SerdeCoder<T>, value: &T) -> Result<(), CoderError> {
    match coder.encode(value, Context::Nested, &mut Vec::new()) {
        Ok(()) => check_round_trip(coder, value),
        Err(_) => Ok(()),
    }
}

fn describe<T>(fault: &Fault) -> CoderError {
    let part = match fault.path.as_str() {
        "" => format!("`{}`", fault.type_name),
        path => format!("its part `{path}`, a `{}`,", fault.type_name),
    };
    let (what, remove) = match fault.why {
        Why::Any => (
            "asks the bytes what they hold, as `serde_json::Value`, `#[serde(untagged)]` and `#[serde(tag = \"..\")]` (with `content` or without) do",
            "change the type or remove the attribute",
        ),
        Why::Flatten => ("finds its fields by name, as `#[serde(flatten)]` does", "remove the attribute"),
        Why::Skips => {
            return CoderError::msg(format_args!(
                "{part} holds more than it is written with, as `#[serde(skip)]` leaves a field out: what comes back has another value there. Remove the attribute; or take the field out of the type; or write all of it by a coder of your own, `.with_coder(..)`"
            ))
            .tracing::<T>();
        }
    };
    CoderError::msg(format_args!(
        "{part} {what}, and the default coder writes neither names nor types. Give the collection another coder by `.with_coder(Json::of())`, or {remove}"
    ))
    .tracing::<T>()
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, num::NonZeroU32};

    use serde::{Deserialize, Serialize, de::DeserializeOwned};

    use super::*;
    use crate::{Timestamp, coder::bincode};

    fn spec<T: Element>() -> String {
        trace::<T>().unwrap().to_string().replace("purlin_sdk::coder::trace::tests::", "")
    }

    fn error<T: Element>() -> String {
        trace::<T>().unwrap_err().to_string().replace("purlin_sdk::coder::trace::tests::", "")
    }

    #[derive(Clone, Serialize, Deserialize)]
    struct Order {
        id: NonZeroU32,
        lines: Vec<(String, i64)>,
    }

    #[test]
    fn types_that_beam_has_words_for() {
        assert_eq!(spec::<bool>(), "bool");
        assert_eq!(spec::<u8>(), "varint");
        assert_eq!(spec::<Timestamp>(), "varint");
        assert_eq!(spec::<NonZeroU32>(), "varint");
        assert_eq!(spec::<f64>(), "double");
        assert_eq!(spec::<()>(), "unit");
        assert_eq!(spec::<Vec<u8>>(), "bytes");
        assert_eq!(spec::<(Vec<u8>, Vec<Vec<u8>>)>(), "kv<bytes, iterable<bytes>>");
        assert_eq!(spec::<(String, (u8, Option<f64>))>(), "kv<string_utf8, kv<varint, nullable<double>>>");
        assert_eq!(spec::<Vec<Option<Vec<String>>>>(), "iterable<nullable<iterable<string_utf8>>>");
        assert_eq!(spec::<std::collections::BTreeSet<i64>>(), "iterable<varint>");
    }

    #[test]
    fn all_else_is_a_leaf() {
        assert_eq!(spec::<Order>(), "bincode<Order>");
        assert_eq!(spec::<(String, Order)>(), "kv<string_utf8, length_prefix<bincode<Order>>>");
        assert_eq!(spec::<Option<Order>>(), "nullable<length_prefix<bincode<Order>>>");
        assert_eq!(spec::<Vec<f32>>(), "iterable<length_prefix<bincode<f32>>>");
        assert_eq!(spec::<u128>(), "bincode<u128>");
        assert_eq!(spec::<(i64, i64, i64)>(), "bincode<(i64, i64, i64)>");
        assert!(spec::<HashMap<String, i64>>().starts_with("bincode<std::collections::hash::map::HashMap<"));
        assert_eq!(spec::<std::net::IpAddr>(), "bincode<core::net::ip_addr::IpAddr>");
        assert_eq!(
            spec::<(std::time::Duration, Result<std::time::SystemTime, String>)>(),
            "kv<length_prefix<bincode<core::time::Duration>>, length_prefix<bincode<core::result::Result<std::time::SystemTime, alloc::string::String>>>>"
        );
    }

    /// A type that takes few of the values there are.
    #[derive(Clone, Serialize)]
    #[serde(transparent)]
    struct Picky<T>(T);

    impl<'de, T: DeserializeOwned + ToString> Deserialize<'de> for Picky<T> {
        fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            let value = T::deserialize(d)?;
            match value.to_string().as_str() {
                "127.0.0.1" | "100" => Ok(Picky(value)),
                _ => Err(serde::de::Error::custom("no")),
            }
        }
    }

    #[derive(Clone, Serialize)]
    #[serde(transparent)]
    struct Never(i64);

    impl<'de> Deserialize<'de> for Never {
        fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            let value = i64::deserialize(d)?;
            Err(serde::de::Error::custom(value))
        }
    }

    #[derive(Clone, Serialize)]
    #[serde(transparent)]
    struct Panics(i64);

    impl<'de> Deserialize<'de> for Panics {
        fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            let value = i64::deserialize(d)?;
            assert!(value > 1000, "one of ours is larger");
            Ok(Panics(value))
        }
    }

    #[test]
    fn a_type_that_refuses_what_is_made_up_is_no_error() {
        assert_eq!(spec::<(Picky<String>, (Picky<i64>, bool))>(), "kv<string_utf8, kv<varint, bool>>");
        assert_eq!(spec::<Never>(), "varint");
        assert_eq!(spec::<(bool, Never)>(), "kv<bool, varint>");
        assert_eq!(spec::<(Never, bool)>(), "bincode<(Never, bool)>");
        assert!(spec::<(Panics, bool)>().starts_with("bincode<"));
    }

    #[derive(Clone, Serialize, Deserialize)]
    struct Tree {
        left: Option<Box<Tree>>,
        right: Option<Box<Tree>>,
        more: Vec<Tree>,
        named: HashMap<String, Tree>,
    }

    #[derive(Clone, Serialize, Deserialize)]
    enum Expr {
        Add(Box<Expr>, Box<Expr>),
        Not { of: Box<Expr> },
        Call(String, Vec<Expr>),
        Literal(i64),
    }

    #[derive(Clone, Serialize, Deserialize)]
    #[serde(transparent)]
    struct Nest(Vec<Nest>);

    #[derive(Clone, Serialize, Deserialize)]
    struct Endless(Box<Endless>);

    #[test]
    fn recursion_ends() {
        assert_eq!(spec::<Tree>(), "bincode<Tree>");
        assert_eq!(spec::<(i64, Expr)>(), "kv<varint, length_prefix<bincode<Expr>>>");
        assert_eq!(spec::<Nest>(), "bincode<Nest>");
        assert_eq!(spec::<Endless>(), "bincode<Endless>");
    }

    #[derive(Clone, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(i64),
        Text(String),
    }

    #[derive(Clone, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Number { value: i64 },
    }

    #[derive(Clone, Serialize, Deserialize)]
    #[serde(tag = "kind", content = "value")]
    enum Adjacent {
        Number(i64),
    }

    #[derive(Clone, Serialize, Deserialize)]
    enum Wide {
        A,
        B(u8),
        C,
        D((), Picky<String>),
        E { x: HashMap<Shade, i64> },
        F,
        G(Option<Box<Wide>>),
        H { bad: (i64, serde_json::Number) },
    }

    #[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
    enum Shade {
        Light,
        Dark,
    }

    #[derive(Clone, Serialize, Deserialize)]
    struct Holder {
        flat: (bool, Flat),
        adjacent: Vec<Adjacent>,
    }

    #[derive(Clone, Serialize, Deserialize)]
    struct Flat {
        id: i64,
        #[serde(flatten)]
        rest: HashMap<String, i64>,
    }

    #[derive(Clone, Serialize, Deserialize)]
    struct Event {
        at: NonZeroU32,
        body: Body,
    }

    #[derive(Clone, Serialize, Deserialize)]
    enum Body {
        Empty,
        Text(String),
        Parts { one: Option<Vec<Untagged>> },
    }

    #[test]
    fn a_type_that_asks_what_the_bytes_hold_is_refused() {
        let e = error::<serde_json::Value>();
        assert!(e.starts_with("`serde_json::value::Value` would not come back from its encoding"), "{e}");
        assert!(error::<(String, Untagged)>().contains("`Untagged` asks"));
        assert!(error::<Tagged>().contains("`Tagged` asks the bytes"));
        assert!(error::<HashMap<String, serde_json::Value>>().contains("serde_json::value::Value"));
        let e = error::<Flat>();
        assert!(e.contains("`Flat` finds its fields by name, as `#[serde(flatten)]` does"), "{e}");
        assert!(error::<Vec<Flat>>().contains("`Flat` finds"));
    }

    #[test]
    fn the_part_is_named_however_deep() {
        let e = error::<Event>();
        assert!(e.contains("its part `body.Parts.one`, a `Untagged`, asks"), "{e}");
        let e = error::<Option<Wide>>();
        assert!(e.contains("its part `H.bad`, a `serde_json::number::Number`, asks"), "{e}");
        let e = error::<(i64, Holder)>();
        assert!(e.contains("its part `flat`, a `Flat`, finds its fields by name"), "{e}");
    }

    /// What is refused is refused with reason: in bincode it does not come back, or is not even written.
    #[test]
    fn bincode_refuses_the_same_types() {
        fn comes_back<T: Element>(value: &T) -> bool {
            let mut out = Vec::new();
            let written = bincode::encode(value, &mut out);
            written.and_then(|()| bincode::decode::<T>(&mut &out[..])).is_ok()
        }
        assert!(!comes_back(&serde_json::Value::Null));
        assert!(!comes_back(&Untagged::Number(1)) && !comes_back(&Untagged::Text("a".into())));
        assert!(!comes_back(&Tagged::Number { value: 1 }));
        assert!(!comes_back(&Adjacent::Number(1)));
        assert!(!comes_back(&Flat { id: 1, rest: HashMap::new() }));
        assert!(comes_back(&Body::Empty) && comes_back(&Expr::Literal(1)));
        assert!(error::<Adjacent>().contains("`Adjacent` asks the bytes"), "{}", error::<Adjacent>());
    }

    /// Each leaves something out in its own way; the first byte of each is its name.
    #[expect(dead_code, reason = "only types are looked at")]
    mod skips {
        use std::sync::OnceLock;

        use super::*;

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct Cached {
            pub(super) id: u8,
            #[serde(skip)]
            pub(super) seen: u8,
        }

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct Large(u8, #[serde(skip)] Option<String>);

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct Generic<T> {
            value: T,
            #[serde(skip, default)]
            cell: OnceLock<T>,
        }

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct Holder {
            list: Vec<(u8, Cached)>,
        }

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct OneWay {
            id: u32,
            #[serde(skip_serializing)]
            note: String,
        }

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct IfNone {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            note: Option<String>,
            id: u32,
        }

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct IfEmpty {
            id: u32,
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            notes: Vec<String>,
        }

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) enum OfVariant {
            Plain,
            Noted {
                #[serde(skip_serializing_if = "String::is_empty")]
                note: String,
                id: u32,
            },
        }

        #[derive(Clone, Serialize, Deserialize)]
        pub(super) struct Whole {
            id: u8,
            #[serde(with = "text")]
            number: u64,
            #[serde(skip)]
            of: PhantomData<String>,
            more: Option<Box<Whole>>,
        }

        mod text {
            pub(super) fn serialize<S: serde::Serializer>(n: &u64, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(n)
            }
            pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
                let text: String = serde::Deserialize::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    }

    #[test]
    fn a_struct_with_more_than_it_reads_is_an_error() {
        use skips::*;
        let said = error::<Cached>();
        assert!(
            said.starts_with("`skips::Cached` would not come back from its encoding: `skips::Cached` holds"),
            "{said}"
        );
        assert!(said.contains("#[serde(skip)]") && said.contains(".with_coder("), "{said}");
        assert!(error::<Large>().contains("#[serde(skip)]"));
        assert!(error::<Generic<u64>>().contains("#[serde(skip)]"));
        let said = error::<(bool, Holder)>();
        assert!(said.contains("its part `list`, a `skips::Cached`, holds more"), "{said}");
        assert_eq!(spec::<Whole>(), "bincode<skips::Whole>");
    }

    #[test]
    fn a_field_that_is_not_always_written_is_an_error() {
        use skips::*;
        for said in [
            error::<OneWay>(),
            error::<IfNone>(),
            error::<IfEmpty>(),
            error::<OfVariant>(),
            error::<Vec<IfNone>>(),
        ] {
            assert!(said.contains("`#[serde(skip_serializing_if = \"..\")]`"), "{said}");
            assert!(said.contains(".with_coder(Json::of())"), "{said}");
        }
    }
}
