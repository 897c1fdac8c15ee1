//! Values of the SDK's types, as cases write them.

use purlin_sdk::{
    Timestamp,
    coder::{
        Decimal, FieldKind, FieldType, FieldValue, Row, Schema, ShardedKey, TimerData, TimerFiring,
        WindowedValue,
    },
    window::{PaneInfo, PaneTiming, Window},
};

use crate::golden::datum::Datum;

/// Whether a value that was decoded is the one that a case writes, which may write numbers as text.
pub(super) fn agree(decoded: &Datum, written: &Datum) -> bool {
    match (decoded, written) {
        (Datum::Float(_), Datum::Text(_)) => {
            read_float(written).is_ok_and(|x| decoded.same(&Datum::float(x)))
        }
        (Datum::List(a), Datum::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b)),
        (Datum::Map(a), Datum::Map(b)) => {
            let is_in = |(k, v): &(Datum, Datum)| b.iter().any(|(l, w)| agree(k, l) && agree(v, w));
            a.len() == b.len() && a.iter().all(is_in)
        }
        (a, b) => a.same(b),
    }
}

pub(super) fn show_bytes(bytes: Vec<u8>) -> Datum {
    Datum::Text(String::from_utf8_lossy(&bytes).into_owned())
}

/// Floats are written as text, so that all of them can be.
pub(super) fn read_float(float: &Datum) -> Result<f64, String> {
    match float {
        Datum::Text(text) => text.parse().map_err(|_| format!("{float} is no float")),
        Datum::Int(n) => Ok(*n as f64),
        Datum::Float(x) => Ok(x.get()),
        other => Err(format!("{other} is no float")),
    }
}

fn timestamp(millis: &Datum) -> Result<Timestamp, String> {
    Timestamp::from_millis(millis.to_int()?).map_err(|e| e.to_string())
}

pub(super) fn read_window(window: &Datum) -> Result<Window, String> {
    if window.as_text() == Some("global") {
        return Ok(Window::Global);
    }
    let end = window.need("end")?.to_int()?;
    let start = end.checked_sub(window.need("span")?.to_int()?).ok_or("a window before all time")?;
    Ok(Window::interval(timestamp(&Datum::Int(start))?, timestamp(&Datum::Int(end))?))
}

pub(super) fn show_window(window: Window) -> Result<Datum, String> {
    match window {
        Window::Global => Ok(Datum::text("global")),
        Window::Interval(w) => Ok(Datum::map([
            ("end", Datum::Int(w.end().as_millis())),
            ("span", Datum::Int((w.end() - w.start()).as_millis())),
        ])),
        Window::Custom(_) => Err(format!("{window} is none of Beam's")),
    }
}

fn read_windows(windows: &Datum) -> Result<Vec<Window>, String> {
    windows.to_list()?.iter().map(read_window).collect()
}

fn show_windows(windows: Vec<Window>) -> Result<Datum, String> {
    windows.into_iter().map(show_window).collect::<Result<_, _>>().map(Datum::List)
}

fn read_pane(pane: &Datum) -> Result<PaneInfo, String> {
    Ok(PaneInfo {
        is_first: pane.need("is_first")?.to_bool()?,
        is_last: pane.need("is_last")?.to_bool()?,
        timing: match pane.need("timing")?.to_text()? {
            "EARLY" => PaneTiming::Early,
            "ON_TIME" => PaneTiming::OnTime,
            "LATE" => PaneTiming::Late,
            "UNKNOWN" => PaneTiming::Unknown,
            other => return Err(format!("`{other}` is no timing")),
        },
        index: pane.need("index")?.to_int()?,
        on_time_index: pane.need("on_time_index")?.to_int()?,
    })
}

fn show_pane(pane: PaneInfo) -> Datum {
    let timing = match pane.timing {
        PaneTiming::Early => "EARLY",
        PaneTiming::OnTime => "ON_TIME",
        PaneTiming::Late => "LATE",
        PaneTiming::Unknown => "UNKNOWN",
    };
    Datum::map([
        ("is_first", Datum::Bool(pane.is_first)),
        ("is_last", Datum::Bool(pane.is_last)),
        ("timing", Datum::text(timing)),
        ("index", Datum::Int(pane.index)),
        ("on_time_index", Datum::Int(pane.on_time_index)),
    ])
}

pub(super) fn read_windowed(value: &Datum) -> Result<WindowedValue<Datum>, String> {
    Ok(WindowedValue {
        value: value.need("value")?.clone(),
        timestamp: timestamp(value.need("timestamp")?)?,
        windows: read_windows(value.need("windows")?)?,
        pane: read_pane(value.need("pane")?)?,
    })
}

pub(super) fn show_windowed(value: WindowedValue<Datum>) -> Result<Datum, String> {
    Ok(Datum::map([
        ("value", value.value),
        ("timestamp", Datum::Int(value.timestamp.as_millis())),
        ("windows", show_windows(value.windows)?),
        ("pane", show_pane(value.pane)),
    ]))
}

pub(super) fn read_sharded(key: &Datum) -> Result<ShardedKey<Datum>, String> {
    Ok(ShardedKey::new(key.need("key")?.clone(), key.need("shardId")?.to_text()?))
}

pub(super) fn show_sharded(key: ShardedKey<Datum>) -> Result<Datum, String> {
    Ok(Datum::map([("shardId", show_bytes(key.shard_id)), ("key", key.key)]))
}

pub(super) fn read_timer(timer: &Datum) -> Result<TimerData<Datum>, String> {
    let firing = match timer.need("clearBit")?.to_bool()? {
        true => None,
        false => Some(TimerFiring {
            fire_timestamp: timestamp(timer.need("fireTimestamp")?)?,
            hold_timestamp: timestamp(timer.need("holdTimestamp")?)?,
            pane: read_pane(timer.need("pane")?)?,
        }),
    };
    Ok(TimerData {
        key: timer.need("userKey")?.clone(),
        tag: timer.need("dynamicTimerTag")?.to_text()?.to_owned(),
        windows: read_windows(timer.need("windows")?)?,
        firing,
    })
}

pub(super) fn show_timer(timer: TimerData<Datum>) -> Result<Datum, String> {
    let mut entries = vec![
        (Datum::text("userKey"), timer.key),
        (Datum::text("dynamicTimerTag"), Datum::Text(timer.tag)),
        (Datum::text("windows"), show_windows(timer.windows)?),
        (Datum::text("clearBit"), Datum::Bool(timer.firing.is_none())),
    ];
    if let Some(firing) = timer.firing {
        let millis = |at: Timestamp| Datum::Int(at.as_millis());
        entries.push((Datum::text("fireTimestamp"), millis(firing.fire_timestamp)));
        entries.push((Datum::text("holdTimestamp"), millis(firing.hold_timestamp)));
        entries.push((Datum::text("pane"), show_pane(firing.pane)));
    }
    Ok(Datum::Map(entries))
}

pub(super) fn read_row(schema: &Schema, row: &Datum) -> Result<Row, String> {
    let field = |f: &purlin_sdk::coder::Field| read_field(&f.field_type, row.need(&f.name)?);
    Ok(Row::new(schema.fields().iter().map(field).collect::<Result<Vec<_>, _>>()?))
}

pub(super) fn show_row(schema: &Schema, row: Row) -> Result<Datum, String> {
    let fields = schema.fields().iter().zip(row.into_values());
    let entry = |(f, v): (&purlin_sdk::coder::Field, FieldValue)| {
        Ok::<_, String>((Datum::text(&f.name), show_field(&f.field_type, v)?))
    };
    Ok(Datum::Map(fields.map(entry).collect::<Result<_, _>>()?))
}

/// The sign bit of an instant's bytes: cases write the number that the bytes are.
const FLIPPED: i64 = i64::MIN;

fn read_field(of: &FieldType, value: &Datum) -> Result<FieldValue, String> {
    let no = |what: &str| format!("{value} is no {what}");
    if *value == Datum::Null {
        return Ok(FieldValue::Null);
    }
    Ok(match &of.kind {
        FieldKind::Byte => FieldValue::Byte(value.to_int()?.try_into().map_err(|_| no("byte"))?),
        FieldKind::Int16 => FieldValue::Int16(value.to_int()?.try_into().map_err(|_| no("int16"))?),
        FieldKind::Int32 => FieldValue::Int32(value.to_int()?.try_into().map_err(|_| no("int32"))?),
        FieldKind::Int64 => FieldValue::Int64(value.to_int()?),
        FieldKind::Float => FieldValue::Float(match value {
            Datum::Text(text) => text.parse().map_err(|_| no("float"))?,
            other => read_float(other)? as f32,
        }),
        FieldKind::Double => FieldValue::Double(read_float(value)?),
        FieldKind::String => value.to_text()?.into(),
        FieldKind::Boolean => value.to_bool()?.into(),
        FieldKind::Bytes => value.to_text()?.as_bytes().into(),
        FieldKind::Array(of) | FieldKind::Iterable(of) => {
            let values = value.to_list()?.iter().map(|v| read_field(of, v));
            FieldValue::Array(values.collect::<Result<_, _>>()?)
        }
        FieldKind::Map(k, v) => {
            let entries = value
                .to_entries()?
                .iter()
                .map(|(key, value)| Ok::<_, String>((read_field(k, key)?, read_field(v, value)?)));
            FieldValue::Map(entries.collect::<Result<_, _>>()?)
        }
        FieldKind::Row(schema) => read_row(schema, value)?.into(),
        FieldKind::Logical(logical) => match logical.urn.as_str() {
            "beam:logical_type:millis_instant:v1" => FieldValue::MillisInstant(value.to_int()? ^ FLIPPED),
            "beam:logical_type:decimal:v1" => {
                value.to_text()?.parse::<Decimal>().map_err(|e| e.to_string())?.into()
            }
            _ => read_field(&logical.representation, value)?,
        },
        other => return Err(format!("{other:?} is no kind of field that is known")),
    })
}

fn show_field(of: &FieldType, value: FieldValue) -> Result<Datum, String> {
    Ok(match (&of.kind, value) {
        (_, FieldValue::Null) => Datum::Null,
        (_, FieldValue::Byte(v)) => Datum::Int(v.into()),
        (_, FieldValue::Int16(v)) => Datum::Int(v.into()),
        (_, FieldValue::Int32(v)) => Datum::Int(v.into()),
        (_, FieldValue::Int64(v)) => Datum::Int(v),
        // By its shortest text, as cases write it: 3.1415 is another double than the float.
        (_, FieldValue::Float(v)) => Datum::float(v.to_string().parse().unwrap_or_else(|_| v.into())),
        (_, FieldValue::Double(v)) => Datum::float(v),
        (_, FieldValue::String(v)) => Datum::Text(v),
        (_, FieldValue::Boolean(v)) => Datum::Bool(v),
        (_, FieldValue::Bytes(v)) => show_bytes(v),
        (_, FieldValue::MillisInstant(v)) => Datum::Int(v ^ FLIPPED),
        (_, FieldValue::Decimal(v)) => Datum::Text(v.to_string()),
        (FieldKind::Array(of) | FieldKind::Iterable(of), FieldValue::Array(values)) => {
            let values = values.into_iter().map(|v| show_field(of, v));
            Datum::List(values.collect::<Result<_, _>>()?)
        }
        (FieldKind::Map(k, v), FieldValue::Map(entries)) => {
            let entries = entries
                .into_iter()
                .map(|(key, value)| Ok::<_, String>((show_field(k, key)?, show_field(v, value)?)));
            Datum::Map(entries.collect::<Result<_, _>>()?)
        }
        (FieldKind::Row(schema), FieldValue::Row(row)) => show_row(schema, row)?,
        (FieldKind::Logical(logical), value) => show_field(&logical.representation, value)?,
        (kind, value) => return Err(format!("{value:?} came out of a field of {kind:?}")),
    })
}
