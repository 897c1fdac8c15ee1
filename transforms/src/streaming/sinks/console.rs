//! Tables on a terminal.

use std::{
    fmt,
    io::{self, Write},
    marker::PhantomData,
};

use comfy_table::{Table, presets::ASCII_FULL_CONDENSED};
use indexmap::IndexMap;
use purlin_sdk::{Element, Result};
use serde::Serialize;
use serde_json::Value;

use crate::streaming::{OutputMode, StreamSink};

/// Prints the result of each epoch as a table with a column for each field, for looking at a query.
///
/// Rows are shown as they serialise: the fields of a struct are columns, so are the parts of a tuple, and anything else
/// is one column. At most 20 rows an epoch, each cell cut at 20 characters, unless said otherwise.
pub struct ConsoleSink<T> {
    rows: usize,
    truncate: usize,
    to: Box<dyn Write + Send>,
    columns: Vec<String>,
    sorted: bool,
    element: PhantomData<fn(T)>,
}

impl<T> ConsoleSink<T> {
    /// Prints to standard output.
    pub fn new() -> ConsoleSink<T> {
        ConsoleSink::to(io::stdout())
    }

    /// Prints to `to`.
    pub fn to(to: impl Write + Send + 'static) -> ConsoleSink<T> {
        ConsoleSink {
            rows: 20,
            truncate: 20,
            to: Box::new(to),
            columns: Vec::new(),
            sorted: false,
            element: PhantomData,
        }
    }

    /// How many rows of an epoch are shown.
    #[must_use]
    pub fn rows(self, rows: usize) -> ConsoleSink<T> {
        ConsoleSink { rows, ..self }
    }

    /// How many characters of a cell are shown; 0 for all.
    #[must_use]
    pub fn truncate(self, characters: usize) -> ConsoleSink<T> {
        ConsoleSink { truncate: characters, ..self }
    }

    /// Names the columns, in place of the names of the fields.
    #[must_use]
    pub fn columns<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> ConsoleSink<T> {
        ConsoleSink { columns: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Shows the rows of an epoch in the order of their texts: a table that is the same every time.
    #[must_use]
    pub fn sorted(self) -> ConsoleSink<T> {
        ConsoleSink { sorted: true, ..self }
    }

    fn cell(&self, value: &Value) -> String {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => "NULL".to_owned(),
            other => other.to_string(),
        };
        match self.truncate {
            0 => text,
            n if text.chars().count() <= n => text,
            n if n <= 3 => text.chars().take(n).collect(),
            n => text.chars().take(n - 3).chain("...".chars()).collect(),
        }
    }
}

impl<T> Default for ConsoleSink<T> {
    fn default() -> ConsoleSink<T> {
        ConsoleSink::new()
    }
}

impl<T: Element> StreamSink<T> for ConsoleSink<T> {
    fn description(&self) -> String {
        "ConsoleSink".into()
    }

    fn add(&mut self, epoch: u64, rows: Vec<T>, _: OutputMode) -> Result {
        let line = "-".repeat(43);
        writeln!(self.to, "{line}\nBatch: {epoch}\n{line}")?;
        let mut table = Table::new();
        table.load_preset(ASCII_FULL_CONDENSED);
        let more = rows.len().saturating_sub(self.rows);
        let mut header: Vec<String> = self.columns.clone();
        let mut lines = Vec::new();
        let shown = if self.sorted { rows.len() } else { self.rows };
        for row in rows.iter().take(shown) {
            let (names, cells) = columns(row)?;
            if header.is_empty() {
                header = names;
            }
            lines.push(cells.iter().map(|cell| self.cell(cell)).collect::<Vec<_>>());
        }
        if self.sorted {
            lines.sort();
            lines.truncate(self.rows);
        }
        for line in lines {
            table.add_row(line);
        }
        table.set_header(header);
        writeln!(self.to, "{table}")?;
        if more > 0 {
            writeln!(self.to, "only showing top {} rows, and {more} more", self.rows)?;
        }
        writeln!(self.to)?;
        self.to.flush()?;
        Ok(())
    }
}

/// The columns of a row: their names, in the order of its fields, and what is in them.
fn columns(row: &impl Serialize) -> serde_json::Result<(Vec<String>, Vec<Value>)> {
    let text = serde_json::to_string(row)?;
    // A map of JSON values would have its fields in the order of the alphabet.
    if let Ok(fields) = serde_json::from_str::<IndexMap<String, Value>>(&text) {
        return Ok(fields.into_iter().unzip());
    }
    Ok(match serde_json::from_str(&text)? {
        Value::Array(parts) => ((1..=parts.len()).map(|n| format!("_{n}")).collect(), parts),
        other => (vec!["value".to_owned()], vec![other]),
    })
}

impl<T> fmt::Debug for ConsoleSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConsoleSink")
    }
}
