//! Functions over the rows of a group.

use std::collections::BTreeSet;

use purlin_sdk::CombineFn;
use serde::{Deserialize, Serialize};

use super::cells::{Cell, Column, Row, Type, double, position};
use crate::golden::Datum;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    /// Of rows.
    CountAll,
    /// Of values.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    CountDistinct,
    CollectSorted,
}

/// The functions of an aggregation, each with its column.
#[derive(Clone, Debug)]
pub(super) struct Functions(Vec<(Function, usize)>);

impl Functions {
    /// Those of `aggs`, and the columns that they give.
    pub(super) fn of(aggs: &[Datum], input: &[Column]) -> Result<(Functions, Vec<Column>), String> {
        let mut functions = Vec::new();
        let mut columns = Vec::new();
        for agg in aggs {
            let column = agg.get("column").map(|column| position(input, column.to_text()?)).transpose()?;
            let name = agg.need("fn")?.to_text()?;
            let function = match (name, column) {
                ("count", None) => Function::CountAll,
                ("count", Some(_)) => Function::Count,
                ("sum", Some(_)) => Function::Sum,
                ("avg", Some(_)) => Function::Avg,
                ("min", Some(_)) => Function::Min,
                ("max", Some(_)) => Function::Max,
                ("approx_count_distinct", Some(_)) => Function::CountDistinct,
                ("collect_sorted", Some(_)) => Function::CollectSorted,
                ("count_distinct", Some(_)) => {
                    return Err(
                        "a stream has no exact number of distinct values: all would be kept".to_owned()
                    );
                }
                _ => return Err(format!("{agg} is no function that is known")),
            };
            let of = column.map_or(Type::Long, |at| input[at].ty.clone());
            let ty = match function {
                Function::CountAll | Function::Count | Function::CountDistinct => Type::Long,
                Function::Avg => Type::Double,
                Function::Sum | Function::Min | Function::Max => of,
                Function::CollectSorted => Type::List(Box::new(of)),
            };
            functions.push((function, column.unwrap_or(0)));
            columns.push(Column { name: agg.need("as")?.to_text()?.to_owned(), ty, event_time: false });
        }
        Ok((Functions(functions), columns))
    }
}

/// What is kept of the values of a function.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    rows: i64,
    longs: i64,
    doubles: Option<f64>,
    least: Option<Cell>,
    greatest: Option<Cell>,
    all: Vec<Cell>,
    distinct: BTreeSet<Cell>,
}

impl Kept {
    fn add(&mut self, function: Function, cell: &Cell) {
        if cell.is_null() && function != Function::CountAll {
            return;
        }
        self.rows += 1;
        match (function, cell) {
            (Function::Sum | Function::Avg, Cell::Long(n)) => self.longs = self.longs.wrapping_add(*n),
            (Function::Sum | Function::Avg, Cell::Double(x)) => {
                self.doubles = Some(self.doubles.unwrap_or(0.0) + x.get());
            }
            (Function::Min, cell) => {
                self.least = self.least.take().into_iter().chain([cell.clone()]).min();
            }
            (Function::Max, cell) => {
                self.greatest = self.greatest.take().into_iter().chain([cell.clone()]).max();
            }
            (Function::CountDistinct, cell) => {
                self.distinct.insert(cell.clone());
            }
            (Function::CollectSorted, cell) => self.all.push(cell.clone()),
            _ => {}
        }
    }

    fn merge(&mut self, other: Kept) {
        self.rows += other.rows;
        self.longs = self.longs.wrapping_add(other.longs);
        self.doubles = match (self.doubles, other.doubles) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.least = self.least.take().into_iter().chain(other.least).min();
        self.greatest = self.greatest.take().into_iter().chain(other.greatest).max();
        self.all.extend(other.all);
        self.distinct.extend(other.distinct);
    }

    fn result(self, function: Function) -> Cell {
        let some = |cell: Option<Cell>| cell.unwrap_or(Cell::Null);
        match function {
            Function::CountAll | Function::Count => Cell::Long(self.rows),
            Function::CountDistinct => Cell::Long(self.distinct.len() as i64),
            Function::Min => some(self.least),
            Function::Max => some(self.greatest),
            Function::CollectSorted => {
                let mut all = self.all;
                all.sort();
                Cell::List(all)
            }
            Function::Sum | Function::Avg if self.rows == 0 => Cell::Null,
            Function::Sum => self.doubles.map_or(Cell::Long(self.longs), double),
            Function::Avg => double(self.doubles.unwrap_or(self.longs as f64) / self.rows as f64),
        }
    }
}

impl CombineFn for Functions {
    type Input = Row;
    type Accumulator = Vec<Kept>;
    type Output = Row;

    fn create(&self) -> Vec<Kept> {
        vec![Kept::default(); self.0.len()]
    }

    fn add_input(&self, kept: &mut Vec<Kept>, row: Row) {
        for (kept, (function, at)) in kept.iter_mut().zip(&self.0) {
            kept.add(*function, row.get(*at).unwrap_or(&Cell::Null));
        }
    }

    fn merge(&self, kept: &mut Vec<Kept>, other: Vec<Kept>) {
        for (kept, other) in kept.iter_mut().zip(other) {
            kept.merge(other);
        }
    }

    fn extract(&self, kept: Vec<Kept>) -> Row {
        kept.into_iter().zip(&self.0).map(|(kept, (function, _))| kept.result(*function)).collect()
    }
}
