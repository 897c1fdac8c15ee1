//! A table in memory.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::Result;

use crate::streaming::{OutputMode, StreamSink};

/// What a query has written to a [`MemorySink`]. Cheap to clone; all clones are one table.
pub struct MemoryTable<T>(Arc<Mutex<Table<T>>>);

struct Table<T> {
    rows: Vec<T>,
    /// The last epoch that is in it.
    epoch: Option<u64>,
}

impl<T> MemoryTable<T> {
    /// An empty table.
    pub fn new() -> MemoryTable<T> {
        MemoryTable::default()
    }

    /// A sink that writes to this table.
    pub fn sink(&self) -> MemorySink<T> {
        MemorySink(self.clone())
    }

    fn with<R>(&self, f: impl FnOnce(&mut Table<T>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its rows now.
    pub fn rows(&self) -> Vec<T>
    where
        T: Clone,
    {
        self.with(|table| table.rows.clone())
    }

    /// How many rows it has now.
    pub fn len(&self) -> usize {
        self.with(|table| table.rows.len())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for MemoryTable<T> {
    fn default() -> MemoryTable<T> {
        MemoryTable(Arc::new(Mutex::new(Table { rows: Vec::new(), epoch: None })))
    }
}

impl<T> Clone for MemoryTable<T> {
    fn clone(&self) -> MemoryTable<T> {
        MemoryTable(self.0.clone())
    }
}

impl<T> fmt::Debug for MemoryTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table of {} rows", self.len())
    }
}

/// Writes to a [`MemoryTable`], for tests and for looking at results. In append and update mode rows are added, in
/// complete mode the table is what the last epoch gave.
#[derive(Debug)]
pub struct MemorySink<T>(MemoryTable<T>);

impl<T: Send + 'static> StreamSink<T> for MemorySink<T> {
    fn description(&self) -> String {
        "MemorySink".into()
    }

    fn add(&mut self, epoch: u64, rows: Vec<T>, mode: OutputMode) -> Result {
        self.0.with(|table| {
            if mode == OutputMode::Complete {
                table.rows = rows;
            } else {
                table.rows.extend(rows);
            }
            table.epoch = Some(epoch);
        });
        Ok(())
    }
}
