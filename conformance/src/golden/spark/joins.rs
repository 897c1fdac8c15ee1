//! Joins of plans.

use purlin_sdk::{Duration, PCollection};
use purlin_transforms::streaming::{StaticJoin, StreamJoin};

use super::{
    build::{Built, apply_both, cells},
    cells::{Cell, Column, Row, position},
};
use crate::golden::Datum;

/// `left.<left> <cmp> right.<right> + plus`.
#[derive(Clone)]
struct Condition {
    left: usize,
    right: usize,
    cmp: String,
    plus_ms: i64,
}

impl Condition {
    fn of(range: &Datum, left: &[Column], right: &[Column]) -> Result<Condition, String> {
        Ok(Condition {
            left: position(left, range.need("left")?.to_text()?)?,
            right: position(right, range.need("right")?.to_text()?)?,
            cmp: range.need("cmp")?.to_text()?.to_owned(),
            plus_ms: range.need("plus_ms")?.to_int()?,
        })
    }

    fn holds(&self, left: &Row, right: &Row) -> bool {
        let (Cell::Time(left), Cell::Time(right)) = (&left[self.left], &right[self.right]) else {
            return false;
        };
        let order = left.cmp(&(right + self.plus_ms * 1000));
        match self.cmp.as_str() {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            ">=" => order.is_ge(),
            _ => order.is_eq(),
        }
    }

    /// What it says of the right time less the left one: the least and the most.
    fn bounds(&self) -> (Option<Duration>, Option<Duration>) {
        let at = |more: i64| Some(Duration::from_millis(more - self.plus_ms));
        match self.cmp.as_str() {
            "<" => (at(1), None),
            "<=" => (at(0), None),
            ">" => (None, at(-1)),
            ">=" => (None, at(0)),
            _ => (at(0), at(0)),
        }
    }
}

pub(super) fn build(id: &str, node: &Datum, left: &Built, right: &Built) -> Result<Built, String> {
    let on = node.need("on")?;
    let (mut left_keys, mut right_keys) = (Vec::new(), Vec::new());
    for pair in on.get("eq").map_or(Ok(&[][..]), Datum::to_list)? {
        let [l, r] = pair.to_list()? else { return Err(format!("{pair} is no pair of columns")) };
        left_keys.push(position(&left.columns, l.to_text()?)?);
        right_keys.push(position(&right.columns, r.to_text()?)?);
    }
    if left_keys.is_empty() {
        return Err("a join is by a key that both sides have".to_owned());
    }
    let conditions: Vec<Condition> = on
        .get("range")
        .map_or(Ok(&[][..]), Datum::to_list)?
        .iter()
        .map(|range| Condition::of(range, &left.columns, &right.columns))
        .collect::<Result<_, _>>()?;
    let how = node.need("how")?.to_text()?;
    let keyed = |side: &Built, name: &str, keys: &[usize]| {
        let keys = keys.to_vec();
        side.rows.map(&format!("{id} {name} keys"), move |row: Row| (cells(&row, &keys), row))
    };
    let (lefts, rights) = (keyed(left, "left", &left_keys), keyed(right, "right", &right_keys));
    let only_left = matches!(how, "left_semi" | "left_anti");
    let columns = if only_left { left.columns.clone() } else { [&left.columns[..], &right.columns].concat() };
    if left.is_static != right.is_static {
        let rows = with_table(id, how, conditions, (left, lefts), (right, rights))?;
        return Ok(Built { rows, columns, is_static: false });
    }
    let sides = Sides { id, left, right, lefts, rights, left_keys, right_keys, conditions };
    let rows = match how {
        "inner" => {
            let join = sides.rules(StreamJoin::inner(), true);
            let joined = sides.join(join);
            joined.map(&format!("{id} rows"), |(_, (l, r))| [l, r].concat())
        }
        "left_outer" => {
            let join = sides.rules(StreamJoin::left_outer(), true);
            let nulls = vec![Cell::Null; right.columns.len()];
            let rows = move |(_, (l, r)): (Row, (Row, Option<Row>))| {
                [l, r.unwrap_or_else(|| nulls.clone())].concat()
            };
            sides.join(join).map(&format!("{id} rows"), rows)
        }
        "right_outer" => {
            let join = sides.rules(StreamJoin::right_outer(), true);
            let nulls = vec![Cell::Null; left.columns.len()];
            let rows = move |(_, (l, r)): (Row, (Option<Row>, Row))| {
                [l.unwrap_or_else(|| nulls.clone()), r].concat()
            };
            sides.join(join).map(&format!("{id} rows"), rows)
        }
        "full_outer" => {
            // Here keys that are null match each other, which is no SQL: it is as Spark does it.
            let join = sides.rules(StreamJoin::full_outer(), false);
            let (no_left, no_right) =
                (vec![Cell::Null; left.columns.len()], vec![Cell::Null; right.columns.len()]);
            let rows = move |(_, (l, r)): (Row, (Option<Row>, Option<Row>))| {
                [l.unwrap_or_else(|| no_left.clone()), r.unwrap_or_else(|| no_right.clone())].concat()
            };
            sides.join(join).map(&format!("{id} rows"), rows)
        }
        "left_semi" => {
            let join = sides.rules(StreamJoin::left_semi(), true);
            sides.join(join).map(&format!("{id} rows"), |(_, l)| l)
        }
        other => return Err(format!("there is no {other} join of two streams")),
    };
    Ok(Built { rows, columns, is_static: left.is_static })
}

/// Two streams.
struct Sides<'a> {
    id: &'a str,
    left: &'a Built,
    right: &'a Built,
    lefts: PCollection<(Row, Row)>,
    rights: PCollection<(Row, Row)>,
    left_keys: Vec<usize>,
    right_keys: Vec<usize>,
    conditions: Vec<Condition>,
}

impl Sides<'_> {
    /// How rows belong together.
    fn rules<S>(
        &self,
        join: StreamJoin<Row, Row, Row, S>,
        nulls_match_nothing: bool,
    ) -> StreamJoin<Row, Row, Row, S> {
        let conditions = self.conditions.clone();
        let mut join = join.on(move |left: &Row, right: &Row| {
            conditions.iter().all(|condition| condition.holds(left, right))
        });
        if nulls_match_nothing {
            join = join.null_key(|key: &Row| key.iter().any(Cell::is_null));
        }
        let is_event_time = |(l, r): &(&usize, &usize)| {
            self.left.columns[**l].event_time || self.right.columns[**r].event_time
        };
        if let Some(at) = self.left_keys.iter().zip(&self.right_keys).position(|pair| is_event_time(&pair)) {
            join = join.event_time_in_key(move |key: &Row| key[at].ceiling());
        }
        // A condition on the event time of one side says how long rows are kept; the other side's time is then the
        // column that it is compared with, if that side has no event time of its own.
        let (mut left, mut right) = (self.left.event_time(), self.right.event_time());
        let (mut earliest, mut latest) = (None, None);
        let has_none = |side: &Built| side.columns.iter().all(|column| !column.event_time);
        let (no_left, no_right) = (has_none(self.left), has_none(self.right));
        for condition in self.conditions.iter().filter(|_| !(no_left && no_right)) {
            let is_left = left == Some(condition.left) || left.is_none() && no_left;
            let is_right = right == Some(condition.right) || right.is_none() && no_right;
            if is_left && is_right {
                (left, right) = (Some(condition.left), Some(condition.right));
                let (from, to) = condition.bounds();
                earliest = earliest.max(from);
                latest = latest.into_iter().chain(to).min();
            }
        }
        if let Some(earliest) = earliest {
            join = join.not_before(earliest);
        }
        if let Some(latest) = latest {
            join = join.not_after(latest);
        }
        if let Some(at) = left {
            join = join.left_event_time(move |(_, row): &(Row, Row)| row[at].ceiling());
        }
        if let Some(at) = right {
            join = join.right_event_time(move |(_, row): &(Row, Row)| row[at].ceiling());
        }
        join
    }

    fn join<S, O>(&self, join: StreamJoin<Row, Row, Row, S>) -> PCollection<O>
    where
        StreamJoin<Row, Row, Row, S>:
            purlin_sdk::PTransform<(PCollection<(Row, Row)>, PCollection<(Row, Row)>), Out = PCollection<O>>,
    {
        apply_both(self.id, self.lefts.clone(), self.rights.clone(), join)
    }
}

/// A stream and a table, the one or the other on the left.
fn with_table(
    id: &str,
    how: &str,
    conditions: Vec<Condition>,
    (left, lefts): (&Built, PCollection<(Row, Row)>),
    (right, rights): (&Built, PCollection<(Row, Row)>),
) -> Result<PCollection<Row>, String> {
    if !conditions.is_empty() {
        return Err("a range in a join with a table is not known".to_owned());
    }
    let (stream, table, stream_is_left) =
        if right.is_static { (lefts, rights, true) } else { (rights, lefts, false) };
    // Null keys match nothing.
    let table = table.filter(&format!("{id} table"), |(key, _): &(Row, Row)| !key.iter().any(Cell::is_null));
    let together = move |stream: Row, table: Row| match stream_is_left {
        true => [stream, table].concat(),
        false => [table, stream].concat(),
    };
    let rows = format!("{id} rows");
    Ok(match (how, stream_is_left) {
        ("inner", _) => {
            stream.apply(id, StaticJoin::inner(&table)).map(&rows, move |(_, (s, t))| together(s, t))
        }
        ("left_outer", true) | ("right_outer", false) => {
            let width = if stream_is_left { right.columns.len() } else { left.columns.len() };
            let nulls = vec![Cell::Null; width];
            stream
                .apply(id, StaticJoin::outer(&table))
                .map(&rows, move |(_, (s, t)): (Row, (Row, Option<Row>))| {
                    together(s, t.unwrap_or_else(|| nulls.clone()))
                })
        }
        ("left_semi", true) => stream.apply(id, StaticJoin::semi(&table)).map(&rows, |(_, s)| s),
        ("left_anti", true) => stream.apply(id, StaticJoin::anti(&table)).map(&rows, |(_, s)| s),
        _ => {
            return Err(format!(
                "there is no {how} join of a stream with a table on the {}: it would give rows of the table that have no \
                 partner, or depend on rows to come",
                if stream_is_left { "right" } else { "left" }
            ));
        }
    })
}
