//! Elements that do not encode, or do not come back.

use purlin_sdk::{
    Apply, CoGroupByKey, Emitter, ErrorKind, ParDo, Phase, Pipeline, ProcessContext, Result, Runner, Tag,
    coder::Json, window::Sessions,
};
use serde::{Deserialize, Serialize};

use super::support::{Sum, assert_says, at, build_errors, collect, run_to_failure, secs};

/// An element whose coder refuses it.
#[derive(Clone, Debug)]
struct Refused(i64);

impl serde::Serialize for Refused {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        if self.0 == 7 { Err(serde::ser::Error::custom("seven is not liked")) } else { self.0.serialize(s) }
    }
}

impl<'de> serde::Deserialize<'de> for Refused {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Refused, D::Error> {
        i64::deserialize(d).map(Refused)
    }
}

/// An element that cannot be encoded fails where it is emitted. Runners that encode nothing never see it.
pub fn b163_an_element_that_does_not_encode(r: &dyn Runner) {
    let error = run_to_failure(r, |p| {
        p.create("Values", 0..20_i64).map("Before", |x| x).map("Emit", Refused).map("After", |x| x.0);
    });
    assert_eq!(error.step().map(|s| s.path()), Some("Emit"));
    assert_eq!(error.phase(), Some(Phase::Coder));
    assert_says(&error.to_string(), &["`Emit`", "Refused", "seven is not liked"]);
    let error = run_to_failure(r, |p| {
        let emit = |x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
            out.emit_to(REFUSED, Refused(x));
            Ok(())
        };
        let parts = p.create("Values", 0..20_i64).par_do_with("Emit", ParDo::from_fn(emit).tag(REFUSED));
        parts.tagged(REFUSED).map("After", |x| x.0);
    });
    assert_eq!((error.step().map(|s| s.path()), error.phase()), (Some("Emit"), Some(Phase::Coder)));
}

const REFUSED: Tag<Refused> = Tag::new("refused");

/// A key whose `Eq` ignores a field that is encoded.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Careless {
    id: u8,
    note: String,
}

impl PartialEq for Careless {
    fn eq(&self, other: &Careless) -> bool {
        self.id == other.id
    }
}

impl Eq for Careless {}

impl std::hash::Hash for Careless {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// Equal keys must have equal encodings and different keys different ones: a runner that checks refuses others.
pub fn the_law_of_keys(r: &dyn Runner) {
    let key = |id: u8, note: &str| Careless { id, note: note.to_owned() };
    let error = run_to_failure(r, |p| {
        p.create("Values", [(key(1, "a"), 1_i64), (key(1, "b"), 2)]).combine_per_key("Sum", Sum);
    });
    assert_eq!((error.kind(), error.step().map(|s| s.path())), (ErrorKind::Contract, Some("Sum")));
    assert_says(&error.to_string(), &["Careless", "equal keys encode differently"]);
    let error = run_to_failure(r, |p| {
        let values = [((key(1, "a"), 1_i64), at(0)), ((key(1, "b"), 2), at(1))];
        p.create_timestamped("Values", values)
            .window_into("Sessions", Sessions::with_gap(secs(5)))
            .combine_per_key("Sum", Sum);
    });
    assert_says(&error.to_string(), &["`Sum`", "Careless", "equal keys encode differently"]);
    // The same key twice, and different ones, are fine.
    let sums = collect(r, |p| {
        p.create("Values", [(key(1, "a"), 1_i64), (key(1, "a"), 2), (key(2, "b"), 4)])
            .combine_per_key("Sum", Sum)
            .map("Id", |(k, n)| (k.id, n))
    });
    assert_eq!(sums, [(1, 3), (2, 4)]);
}

/// A key that is written in lower case: what comes back is another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Lossy {
    #[serde(serialize_with = "in_lower_case")]
    word: String,
}

fn in_lower_case<S: serde::Serializer>(word: &str, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_str(&word.to_lowercase())
}

/// A key is compared with what comes back, where its pair is first made: there are two groups here and one elsewhere.
pub fn a_key_that_comes_back_as_another(r: &dyn Runner) {
    let pairs = || ["the", "The"].map(|word| (Lossy { word: word.to_owned() }, 1_i64));
    type Build = fn(&Pipeline, [(Lossy, i64); 2]);
    let builds: [Build; 7] = [
        |p, pairs| drop(p.create("Pairs", pairs).view_as_map("Map")),
        |p, pairs| drop(p.create("Pairs", pairs).view_as_multimap("Multimap")),
        |p, pairs| drop(p.create("Pairs", pairs).combine_per_key("Sum", Sum)),
        |p, pairs| drop(p.create("Pairs", pairs).group_by_key("Group")),
        |p, pairs| {
            let times = p.create("Pairs", pairs).with_timestamps("Times", |_| at(0)).filter("All", |_| true);
            times.window_into("Sessions", Sessions::with_gap(secs(5))).group_by_key("Group");
        },
        |p, pairs| {
            let other = p.create("Other", [(Lossy { word: "a".to_owned() }, 1)]);
            p.flatten("Both", [other, p.create("Pairs", pairs)]).group_by_key("Group");
        },
        |p, pairs| {
            let other = p.create("Other", [(Lossy { word: "a".to_owned() }, 1_i64)]);
            (other, p.create("Pairs", pairs)).apply("Join", CoGroupByKey);
        },
    ];
    for build in builds {
        let error = run_to_failure(r, |p| build(p, pairs()));
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Contract, Some(Phase::Coder)), "{error}");
        assert_eq!(error.step().map(|s| s.path()), Some("Pairs/Values"), "{error}");
        assert_says(&error.to_string(), &["Lossy", "its key comes back as another one", "serialize_with"]);
    }
    // What is no key may change: only its encoding is looked at.
    let words = collect(r, |p| p.create("Values", pairs()).map("Word", |(lossy, _)| lossy.word));
    assert_eq!(words, ["the", "the"]);
}

/// A field that is not written when it has one of its values, one that nobody makes up.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    #[serde(default, skip_serializing_if = "is_usual")]
    carrier: String,
    id: u32,
}

fn is_usual(carrier: &str) -> bool {
    carrier == "post"
}

/// What the look at the type did not find, the first such element does.
pub fn an_element_that_does_not_come_back(r: &dyn Runner) {
    let order = |carrier: &str| Order { carrier: carrier.to_owned(), id: 7 };
    let error = run_to_failure(r, |p| {
        p.create("Orders", [order("ship"), order("post")]).map("After", |order| order.id);
    });
    assert_eq!(error.step().map(|s| s.path()), Some("Orders/Values"));
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Contract, Some(Phase::Coder)));
    assert_says(&error.to_string(), &["Order` does not come back", "skip_serializing_if", "Json::of()"]);
}

/// A field that is in no encoding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Cached {
    id: u64,
    #[serde(skip)]
    shown: bool,
}

/// A field that is not always in the encoding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Noted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    id: u64,
}

/// Types whose values would not come back are refused when the pipeline is built, once for each transform that makes
/// them, and not again for what is derived from it.
pub fn a_type_that_leaves_something_out(_: &dyn Runner) {
    let text = build_errors(|p| {
        let made = p.create("Cached", [Cached { id: 1, shown: true }]).filter("All", |_| true);
        p.flatten("Flat", [made]).reshuffle("Spread").map("Id", |x| x.id);
        p.create("Ids", [1_u64]).map("Noted", |id| Noted { note: None, id });
    });
    assert_says(&text, &["for 2 reasons", "`Cached/Values`", "`Noted`"]);
    assert_says(&text, &["#[serde(skip)]", "#[serde(skip_serializing_if", ".with_coder(Json::of())"]);
}

/// The way out that such an error tells, for values that the pipeline holds itself and for those that it makes.
pub fn another_coder_for_such_a_type(r: &dyn Runner) {
    let noted = |id| Noted { note: None, id };
    let all = collect(r, |p| {
        let created = p.create("Created", [noted(1), noted(2)]).with_coder(Json::of());
        let made = p.create("Ids", [3_u64]).map("Noted", |id| Noted { note: None, id });
        p.flatten("Both", [created.filter("All", |_| true), made.with_coder(std::sync::Arc::new(Json::of()))])
    });
    assert_eq!(all, [noted(1), noted(2), noted(3)]);
}
