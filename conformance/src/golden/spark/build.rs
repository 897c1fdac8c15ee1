//! From a plan to a query.

use std::collections::HashMap;

use purlin_sdk::{Apply, Duration, PCollection, Pipeline};
use purlin_transforms::streaming::{
    DropDuplicates, Limit, ReadStream, SortBy, StreamAggregate, TimeWindow, TimeWindows, WithWatermark,
    parse_span,
};

use super::{
    aggregates::Functions,
    cells::{Cell, Column, Row, Type, position},
    files::Files,
    joins,
    plan::{Plan, columns, is_static, op},
};
use crate::golden::Datum;

/// A node that is in the pipeline.
#[derive(Clone)]
pub(super) struct Built {
    pub(super) rows: PCollection<Row>,
    pub(super) columns: Vec<Column>,
    pub(super) is_static: bool,
}

impl Built {
    /// The event time, when there is exactly one.
    pub(super) fn event_time(&self) -> Option<usize> {
        let mut found = self.columns.iter().enumerate().filter(|(_, column)| column.event_time);
        let (at, _) = found.next()?;
        found.next().is_none().then_some(at)
    }
}

/// Builds the plan; the rows of its last node are the sink's.
pub(super) fn build(
    pipeline: &Pipeline,
    plan: Plan<'_>,
    files: &Files,
    max_files: Option<usize>,
) -> Result<Built, String> {
    let mut nodes: HashMap<&str, Built> = HashMap::new();
    let mut sources = 0;
    for node in plan.0 {
        let id = node.need("id")?.to_text()?;
        let input = |name: &str| -> Result<&Built, String> {
            let id = node.need(name)?.to_text()?;
            nodes.get(id).ok_or_else(|| format!("there is no node `{id}` before it"))
        };
        let built = match op(node) {
            "source" if is_static(node) => table(pipeline, id, node)?,
            "source" => {
                let source = files.source(id, sources == 0, max_files);
                sources += 1;
                let rows = pipeline.apply(id, ReadStream::from(source));
                Built { rows, columns: columns(node)?, is_static: false }
            }
            "with_watermark" => with_watermark(id, node, input("in")?)?,
            "filter" => filter(id, node, input("in")?)?,
            "select" => select(id, node, input("in")?)?,
            "aggregate" => aggregate(id, node, input("in")?)?,
            "drop_duplicates" | "distinct" | "drop_duplicates_within_watermark" => {
                drop_duplicates(id, node, input("in")?)?
            }
            "join" => joins::build(id, node, input("left")?, input("right")?)?,
            "union" => union(id, node, &nodes)?,
            "sort" => sort(id, node, input("in")?)?,
            "limit" => {
                let n = usize::try_from(node.need("n")?.to_int()?).map_err(|e| e.to_string())?;
                let input = input("in")?;
                Built { rows: input.rows.apply(id, Limit::of(n)), ..input.clone() }
            }
            other => return Err(format!("`{other}` is no node that is known")),
        };
        nodes.insert(id, built);
    }
    let last = plan.last()?.need("id")?.to_text()?;
    nodes.remove(last).ok_or_else(|| "the plan has no last node".to_owned())
}

fn table(pipeline: &Pipeline, id: &str, node: &Datum) -> Result<Built, String> {
    let columns = columns(node)?;
    let rows = rows_of(&columns, node.need("rows")?)?;
    Ok(Built { rows: pipeline.create(id, rows), columns, is_static: true })
}

/// Rows as the file writes them.
pub(super) fn rows_of(columns: &[Column], rows: &Datum) -> Result<Vec<Row>, String> {
    let row = |row: &Datum| {
        let cells = row.to_list()?.iter().zip(columns);
        cells.map(|(cell, column)| column.ty.read(cell)).collect::<Result<Row, String>>()
    };
    rows.to_list()?.iter().map(row).collect()
}

fn with_watermark(id: &str, node: &Datum, input: &Built) -> Result<Built, String> {
    let mut columns = input.columns.clone();
    let at = position(&columns, node.need("column")?.to_text()?)?;
    if columns[at].ty != Type::Timestamp {
        return Err(format!(
            "the event time `{}` is no timestamp but {:?}",
            columns[at].name, columns[at].ty
        ));
    }
    columns[at].event_time = true;
    let delay = node.need("delay")?.to_text()?;
    let watermark = WithWatermark::of(move |row: &Row| row[at].floor(), delay);
    Ok(Built { rows: input.rows.apply(id, watermark), columns, is_static: input.is_static })
}

fn filter(id: &str, node: &Datum, input: &Built) -> Result<Built, String> {
    let at = position(&input.columns, node.need("column")?.to_text()?)?;
    let value = input.columns[at].ty.read(node.need("value")?)?;
    let holds: fn(std::cmp::Ordering) -> bool = match node.need("cmp")?.to_text()? {
        "=" => std::cmp::Ordering::is_eq,
        "!=" => std::cmp::Ordering::is_ne,
        "<" => std::cmp::Ordering::is_lt,
        "<=" => std::cmp::Ordering::is_le,
        ">" => std::cmp::Ordering::is_gt,
        ">=" => std::cmp::Ordering::is_ge,
        other => return Err(format!("`{other}` compares nothing")),
    };
    let rows = input.rows.filter(id, move |row: &Row| !row[at].is_null() && holds(row[at].cmp(&value)));
    Ok(Built { rows, ..input.clone() })
}

fn select(id: &str, node: &Datum, input: &Built) -> Result<Built, String> {
    #[derive(Clone)]
    enum Take {
        Column(usize),
        Literal(Cell),
        Start(usize),
        End(usize),
        Time(usize),
    }
    let (mut takes, mut columns) = (Vec::new(), Vec::new());
    for part in node.need("columns")?.to_list()? {
        let name = part.get("as").or_else(|| part.get("column")).map_or(Ok("literal"), Datum::to_text)?;
        if let Some(literal) = part.get("literal") {
            let (cell, ty) = match literal {
                Datum::Int(n) => (Cell::Long(*n), Type::Long),
                Datum::Float(x) => (Cell::Double(*x), Type::Double),
                other => (Cell::Text(other.to_text()?.to_owned()), Type::Text),
            };
            takes.push(Take::Literal(cell));
            columns.push(Column { name: name.to_owned(), ty, event_time: false });
            continue;
        }
        let at = position(&input.columns, part.need("column")?.to_text()?)?;
        let Column { ty, event_time, .. } = input.columns[at].clone();
        let function = part.get("fn").map(Datum::to_text).transpose()?;
        if function.is_some() && ty != Type::Window {
            return Err(format!("{part}: it is no window"));
        }
        let (take, ty, event_time) = match function {
            None => (Take::Column(at), ty, event_time),
            Some("window_time") => (Take::Time(at), Type::Timestamp, event_time),
            Some("window_start") => (Take::Start(at), Type::Timestamp, false),
            Some("window_end") => (Take::End(at), Type::Timestamp, false),
            Some(other) => return Err(format!("`{other}` is no function of columns")),
        };
        takes.push(take);
        columns.push(Column { name: name.to_owned(), ty, event_time });
    }
    let rows = input.rows.map(id, move |row: Row| {
        let part = |at: usize, part: fn(i64, i64) -> i64| match &row[at] {
            Cell::Window(start, end) => Cell::Time(part(*start, *end)),
            _ => Cell::Null,
        };
        let cell = |take: &Take| match take {
            Take::Column(at) => row[*at].clone(),
            Take::Literal(cell) => cell.clone(),
            Take::Start(at) => part(*at, |start, _| start),
            Take::End(at) => part(*at, |_, end| end),
            Take::Time(at) => part(*at, |_, end| end - 1),
        };
        takes.iter().map(cell).collect()
    });
    Ok(Built { rows, columns, is_static: input.is_static })
}

/// The cells of some columns.
pub(super) fn cells(row: &Row, at: &[usize]) -> Row {
    at.iter().map(|at| row[*at].clone()).collect()
}

fn aggregate(id: &str, node: &Datum, input: &Built) -> Result<Built, String> {
    let keys = node.need("keys")?.to_list()?;
    let (functions, results) = Functions::of(node.need("aggs")?.to_list()?, &input.columns)?;
    let windows: Vec<_> = keys.iter().filter(|key| key.get("window").is_some()).collect();
    if windows.len() > 1 {
        return Err("an aggregation is by one window of time".to_owned());
    }
    let plain: Vec<usize> = keys
        .iter()
        .filter_map(|key| key.get("column"))
        .map(|column| position(&input.columns, column.to_text()?))
        .collect::<Result<_, String>>()?;
    let Some(key) = windows.first() else {
        let mut columns: Vec<Column> = plain.iter().map(|at| input.columns[*at].clone()).collect();
        let in_key = columns.iter().position(|column| column.event_time);
        columns.extend(results);
        let rows = if plain.is_empty() {
            input.rows.apply(id, StreamAggregate::globally(functions))
        } else {
            let keyed = input.rows.map(&format!("{id} keys"), move |row: Row| (cells(&row, &plain), row));
            let aggregate = StreamAggregate::per_key(functions);
            let results = match in_key {
                Some(at) => keyed.apply(id, aggregate.event_time_in_key(move |key: &Row| key[at].ceiling())),
                None => keyed.apply(id, aggregate),
            };
            results.map(&format!("{id} rows"), |(key, result)| [key, result].concat())
        };
        return Ok(Built { rows, columns, is_static: input.is_static });
    };
    let window = key.need("window")?;
    let time = position(&input.columns, window.need("time")?.to_text()?)?;
    let of = &input.columns[time];
    if !matches!(of.ty, Type::Timestamp | Type::LocalTimestamp | Type::Window) {
        return Err(format!("`{}` is no time", of.name));
    }
    let by_event_time = of.event_time;
    let session = window.need("kind")?.to_text()? == "session";
    let default = if session { "session_window" } else { "window" };
    let name = key.get("as").map_or(Ok(default), Datum::to_text)?.to_owned();
    // Where the window is among the keys.
    let place = keys.iter().position(|key| key.get("window").is_some()).unwrap_or(0);
    let mut columns: Vec<Column> = plain.iter().map(|at| input.columns[*at].clone()).collect();
    columns.insert(place, Column { name, ty: Type::Window, event_time: by_event_time });
    columns.extend(results);
    let many = plain.len();
    let keyed = input.rows.map(&format!("{id} keys"), move |row: Row| (cells(&row, &plain), row));
    let at = move |(_, row): &(Row, Row)| row[time].floor();
    let results: PCollection<((Row, TimeWindow), Row)> = if session {
        if many == 0 {
            return Err("sessions are of a key".to_owned());
        }
        let sessions = StreamAggregate::sessions_by(gap(window.need("gap")?, &input.columns)?, functions);
        let sessions = if by_event_time { sessions.event_time(at) } else { sessions.time(at) };
        keyed.apply(id, sessions)
    } else {
        let aggregate = StreamAggregate::windowed(time_windows(window)?, functions);
        let aggregate = if by_event_time { aggregate.event_time(at) } else { aggregate.time(at) };
        keyed.apply(id, aggregate)
    };
    let rows = results.map(&format!("{id} rows"), move |((mut key, window), result)| {
        let micros = |time: purlin_sdk::Timestamp| time.as_millis() * 1000;
        key.insert(place, Cell::Window(micros(window.start), micros(window.end)));
        [key, result].concat()
    });
    Ok(Built { rows, columns, is_static: input.is_static })
}

fn span(window: &Datum, name: &str) -> Result<Option<Duration>, String> {
    let text = window.get(name).filter(|text| **text != Datum::Null);
    text.map(|text| parse_span(text.to_text()?).map_err(|e| e.to_string())).transpose()
}

fn time_windows(window: &Datum) -> Result<TimeWindows, String> {
    let size = span(window, "size")?.ok_or("a window needs a size")?;
    let slide = span(window, "slide")?.unwrap_or(size);
    let start = span(window, "offset")?.unwrap_or(Duration::ZERO);
    Ok(TimeWindows::sliding(size, slide).starting_at(start))
}

/// The gap of a session: a span, or one for each value of a column.
fn gap(
    gap: &Datum,
    columns: &[Column],
) -> Result<impl Fn(&(Row, Row)) -> Duration + Send + Sync + 'static, String> {
    let parse = |text: &Datum| parse_span(text.to_text()?).map_err(|e| e.to_string());
    let (column, by_value, default) = match gap {
        Datum::Text(_) => (0, HashMap::new(), parse(gap)?),
        by => {
            let column = position(columns, by.need("column")?.to_text()?)?;
            let mut by_value = HashMap::new();
            for (value, gap) in by.need("map")?.to_entries()? {
                by_value.insert(columns[column].ty.read(value)?, parse(gap)?);
            }
            (column, by_value, parse(by.need("default")?)?)
        }
    };
    Ok(move |(_, row): &(Row, Row)| by_value.get(&row[column]).copied().unwrap_or(default))
}

fn drop_duplicates(id: &str, node: &Datum, input: &Built) -> Result<Built, String> {
    let columns: Vec<usize> = match node.get("columns").filter(|columns| **columns != Datum::Null) {
        Some(columns) => {
            let names = columns.to_list()?.iter();
            names.map(|name| position(&input.columns, name.to_text()?)).collect::<Result<_, String>>()?
        }
        None => (0..input.columns.len()).collect(),
    };
    let in_key = columns.iter().any(|at| input.columns[*at].event_time);
    let within = op(node) == "drop_duplicates_within_watermark";
    let key = move |row: &Row| cells(row, &columns);
    let mut drop = if within { DropDuplicates::within_watermark(key) } else { DropDuplicates::by(key) };
    if in_key && !within {
        drop = drop.and_event_time();
    }
    if let Some(at) = input.event_time() {
        drop = drop.event_time(move |row: &Row| row[at].ceiling());
    }
    Ok(Built { rows: input.rows.apply(id, drop), ..input.clone() })
}

fn union(id: &str, node: &Datum, nodes: &HashMap<&str, Built>) -> Result<Built, String> {
    let mut inputs = Vec::new();
    for id in node.need("inputs")?.to_list()? {
        inputs.push(nodes.get(id.to_text()?).ok_or_else(|| format!("there is no node {id}"))?);
    }
    let (first, others) = inputs.split_first().ok_or("a union of nothing")?;
    let rows = first.rows.flatten_with(id, others.iter().map(|built| built.rows.clone()));
    Ok(Built { rows, columns: first.columns.clone(), is_static: inputs.iter().all(|built| built.is_static) })
}

fn sort(id: &str, node: &Datum, input: &Built) -> Result<Built, String> {
    let columns: Vec<usize> = node
        .need("columns")?
        .to_list()?
        .iter()
        .map(|name| position(&input.columns, name.to_text()?))
        .collect::<Result<_, String>>()?;
    let order = move |a: &Row, b: &Row| cells(a, &columns).cmp(&cells(b, &columns));
    Ok(Built { rows: input.rows.apply(id, SortBy::of(order)), ..input.clone() })
}

/// Applies a transform to two collections.
pub(super) fn apply_both<A, B, X>(id: &str, left: PCollection<A>, right: PCollection<B>, join: X) -> X::Out
where
    X: purlin_sdk::PTransform<(PCollection<A>, PCollection<B>)>,
{
    (left, right).apply(id, join)
}
