//! Values of cases: what JSON and YAML can say, as elements of a pipeline.

use std::{cmp::Ordering, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

/// A value of a case. It is an element, and a key.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Datum {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(Bits),
    /// Text.
    Text(String),
    /// Values in an order.
    List(Vec<Datum>),
    /// Entries, in the order of the file.
    Map(Vec<(Datum, Datum)>),
}

/// A float by its bits, so that it can be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bits(u64);

impl Bits {
    /// The float.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl PartialOrd for Bits {
    fn partial_cmp(&self, other: &Bits) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bits {
    fn cmp(&self, other: &Bits) -> Ordering {
        self.get().total_cmp(&other.get())
    }
}

impl Datum {
    /// A float.
    pub fn float(value: f64) -> Datum {
        Datum::Float(Bits(value.to_bits()))
    }

    /// Text.
    pub fn text(value: impl Into<String>) -> Datum {
        Datum::Text(value.into())
    }

    /// A map from names.
    pub fn map<const N: usize>(entries: [(&str, Datum); N]) -> Datum {
        Datum::Map(entries.map(|(name, value)| (Datum::text(name), value)).into())
    }

    /// A number of seconds, whole where it is.
    pub fn seconds(millis: i64) -> Datum {
        match millis % 1000 {
            0 => Datum::Int(millis / 1000),
            _ => Datum::float(millis as f64 / 1000.0),
        }
    }

    /// The entry of this name, when it is a map that has one.
    pub fn get(&self, name: &str) -> Option<&Datum> {
        let Datum::Map(entries) = self else { return None };
        entries.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    /// The entry of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn need(&self, name: &str) -> Result<&Datum, String> {
        self.get(name).ok_or_else(|| format!("there is no `{name}` in {self}"))
    }

    /// The text, when it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Datum::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text.
    ///
    /// # Errors
    /// When it is none.
    pub fn to_text(&self) -> Result<&str, String> {
        self.as_text().ok_or_else(|| format!("{self} should be text"))
    }

    /// The whole number.
    ///
    /// # Errors
    /// When it is none.
    pub fn to_int(&self) -> Result<i64, String> {
        match self {
            Datum::Int(n) => Ok(*n),
            other => Err(format!("{other} should be a whole number")),
        }
    }

    /// Seconds, in milliseconds.
    ///
    /// # Errors
    /// When it is no number.
    pub fn to_millis(&self) -> Result<i64, String> {
        match self {
            Datum::Int(n) => Ok(n.saturating_mul(1000)),
            Datum::Float(x) => Ok((x.get() * 1000.0).round() as i64),
            other => Err(format!("{other} should be a number of seconds")),
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// When it is neither.
    pub fn to_bool(&self) -> Result<bool, String> {
        match self {
            Datum::Bool(b) => Ok(*b),
            other => Err(format!("{other} should be true or false")),
        }
    }

    /// The values of a list.
    ///
    /// # Errors
    /// When it is none.
    pub fn to_list(&self) -> Result<&[Datum], String> {
        match self {
            Datum::List(values) => Ok(values),
            other => Err(format!("{other} should be a list")),
        }
    }

    /// The entries of a map.
    ///
    /// # Errors
    /// When it is none.
    pub fn to_entries(&self) -> Result<&[(Datum, Datum)], String> {
        match self {
            Datum::Map(entries) => Ok(entries),
            other => Err(format!("{other} should be a map")),
        }
    }

    /// The same value with all lists in it sorted: for lists that have no order.
    #[must_use]
    pub fn sorted(self) -> Datum {
        match self {
            Datum::List(values) => {
                let mut values: Vec<Datum> = values.into_iter().map(Datum::sorted).collect();
                values.sort();
                Datum::List(values)
            }
            Datum::Map(entries) => Datum::Map(entries.into_iter().map(|(k, v)| (k, v.sorted())).collect()),
            other => other,
        }
    }

    /// Whether the two mean the same: numbers by their value, maps without an order.
    pub fn same(&self, other: &Datum) -> bool {
        match (self, other) {
            (Datum::Int(a), Datum::Float(b)) | (Datum::Float(b), Datum::Int(a)) => *a as f64 == b.get(),
            (Datum::Float(a), Datum::Float(b)) => a == b || (a.get().is_nan() && b.get().is_nan()),
            (Datum::List(a), Datum::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Datum::Map(a), Datum::Map(b)) => {
                let is_in = |(k, v): &(Datum, Datum)| b.iter().any(|(l, w)| k.same(l) && v.same(w));
                a.len() == b.len() && a.iter().all(is_in)
            }
            (a, b) => a == b,
        }
    }
}

/// As JSON, with the names of maps without quotes where they need none.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Null => f.write_str("null"),
            Datum::Bool(b) => write!(f, "{b}"),
            Datum::Int(n) => write!(f, "{n}"),
            Datum::Float(x) => write!(f, "{:?}", x.get()),
            Datum::Text(text) => write!(f, "{text:?}"),
            Datum::List(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Datum::Map(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    match key {
                        Datum::Text(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                            write!(f, "{name}: {value}")?;
                        }
                        key => write!(f, "{key}: {value}")?,
                    }
                }
                f.write_str("}")
            }
        }
    }
}

impl fmt::Debug for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A value as JSON or YAML holds it: such formats say themselves what comes.
pub(super) struct Written(pub(super) Datum);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Written, D::Error> {
        d.deserialize_any(AnyDatum).map(Written)
    }
}

struct AnyDatum;

impl<'de> Visitor<'de> for AnyDatum {
    type Value = Datum;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Datum, E> {
        Ok(Datum::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Datum, E> {
        Ok(Datum::Int(v))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Datum, E> {
        i64::try_from(v).map(Datum::Int).map_err(E::custom)
    }

    fn visit_f64<E>(self, v: f64) -> Result<Datum, E> {
        Ok(Datum::float(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Datum, E> {
        Ok(Datum::text(v))
    }

    fn visit_unit<E>(self) -> Result<Datum, E> {
        Ok(Datum::Null)
    }

    fn visit_none<E>(self) -> Result<Datum, E> {
        Ok(Datum::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Datum, D::Error> {
        Written::deserialize(d).map(|w| w.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Datum, A::Error> {
        let mut values = Vec::new();
        while let Some(Written(value)) = access.next_element()? {
            values.push(value);
        }
        Ok(Datum::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Datum, A::Error> {
        let mut entries: Vec<(Datum, Datum)> = Vec::new();
        while let Some((Written(key), Written(value))) = access.next_entry()? {
            entries.push((key, value));
        }
        Ok(Datum::Map(entries))
    }
}
