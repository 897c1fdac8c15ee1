//! Rows whose columns are known by the case only.

use std::fmt;

use purlin_sdk::Timestamp;
use serde::{Deserialize, Serialize};

use crate::golden::{Bits, Datum};

/// A value in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Cell {
    Null,
    Long(i64),
    Double(Bits),
    Text(String),
    /// Microseconds since 1970.
    Time(i64),
    /// Start and end, in microseconds since 1970.
    Window(i64, i64),
    List(Vec<Cell>),
}

pub(super) type Row = Vec<Cell>;

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Long,
    Double,
    Date,
    Timestamp,
    /// A timestamp without a zone.
    LocalTimestamp,
    Window,
    List(Box<Type>),
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) ty: Type,
    /// Whether a `with_watermark` knows it.
    pub(super) event_time: bool,
}

impl Type {
    pub(super) fn of(text: &str) -> Result<Type, String> {
        Ok(match text {
            "string" => Type::Text,
            "bigint" => Type::Long,
            "double" => Type::Double,
            "date" => Type::Date,
            "timestamp" => Type::Timestamp,
            "timestamp_ntz" => Type::LocalTimestamp,
            other => return Err(format!("`{other}` is no type of column that is known")),
        })
    }

    /// A value of this type, as the file writes it.
    pub(super) fn read(&self, value: &Datum) -> Result<Cell, String> {
        if *value == Datum::Null {
            return Ok(Cell::Null);
        }
        Ok(match self {
            Type::Text | Type::Date => Cell::Text(value.to_text()?.to_owned()),
            Type::Long => Cell::Long(value.to_int()?),
            Type::Double => match value {
                Datum::Float(x) => Cell::Double(*x),
                other => double(other.to_int()? as f64),
            },
            Type::Timestamp | Type::LocalTimestamp => Cell::Time(micros(value.to_text()?)?),
            Type::Window => {
                let time = |name| micros(value.need(name)?.to_text()?);
                Cell::Window(time("start")?, time("end")?)
            }
            Type::List(of) => {
                Cell::List(value.to_list()?.iter().map(|v| of.read(v)).collect::<Result<_, _>>()?)
            }
        })
    }
}

pub(super) fn double(value: f64) -> Cell {
    match Datum::float(value) {
        Datum::Float(bits) => Cell::Double(bits),
        _ => Cell::Null,
    }
}

impl Cell {
    pub(super) fn is_null(&self) -> bool {
        *self == Cell::Null
    }

    /// The millisecond that a time is in.
    pub(super) fn floor(&self) -> Option<Timestamp> {
        match self {
            Cell::Time(micros) => Some(Timestamp::saturating_from_millis(micros.div_euclid(1000))),
            // A window stands for its last moment.
            Cell::Window(_, end) => Some(Timestamp::saturating_from_millis((end - 1).div_euclid(1000))),
            _ => None,
        }
    }

    /// What a watermark in milliseconds must come to, to have come to this time or to the end of this window.
    pub(super) fn ceiling(&self) -> Option<Timestamp> {
        match self {
            Cell::Time(micros) | Cell::Window(_, micros) => {
                Some(Timestamp::saturating_from_millis(-(-micros).div_euclid(1000)))
            }
            _ => None,
        }
    }
}

/// Microseconds since 1970, of a timestamp with or without a zone.
pub(super) fn micros(text: &str) -> Result<i64, String> {
    let (text, zone) = match text.strip_suffix('Z') {
        Some(text) => (text, "Z"),
        None => (text, "Z"),
    };
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: Timestamp = format!("{seconds}{zone}").parse().map_err(|e| format!("{e}"))?;
    let six: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let fraction: i64 = six.parse().map_err(|e| format!("`{text}`: {e}"))?;
    Ok(seconds.as_millis() * 1000 + fraction)
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |micros: i64| Timestamp::saturating_from_millis(micros.div_euclid(1000));
        match self {
            Cell::Null => f.write_str("null"),
            Cell::Long(n) => write!(f, "{n}"),
            Cell::Double(x) => write!(f, "{:?}", x.get()),
            Cell::Text(text) => write!(f, "{text:?}"),
            Cell::Time(micros) => write!(f, "{}", time(*micros)),
            Cell::Window(start, end) => write!(f, "[{}, {})", time(*start), time(*end)),
            Cell::List(cells) => {
                f.write_str("[")?;
                for (i, cell) in cells.iter().enumerate() {
                    write!(f, "{}{cell}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Rows as text, for messages.
pub(super) fn shown(rows: &[Row]) -> String {
    let row = |row: &Row| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    format!("{{{}}}", rows.iter().map(row).collect::<Vec<_>>().join("; "))
}

/// Where a column is.
pub(super) fn position(columns: &[Column], name: &str) -> Result<usize, String> {
    let names = || columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
    let at = columns.iter().position(|column| column.name == name);
    at.ok_or_else(|| format!("there is no column `{name}` among {}", names()))
}
