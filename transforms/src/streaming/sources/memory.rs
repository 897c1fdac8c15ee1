//! Rows that the program adds.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use purlin_sdk::{DoFnError, Element, Result};

use crate::streaming::{Offset, ReadUpTo, StreamSource};

/// A source whose rows the program adds while the query runs: for tests. Cheap to clone; all clones are one stream.
///
/// What was added together stays together. It is kept until it is dropped, so that another query can read it from a
/// checkpoint.
pub struct MemoryStream<T> {
    chunks: Arc<Mutex<Vec<Vec<T>>>>,
    /// How many additions an epoch takes at most.
    most: Option<usize>,
}

impl<T> MemoryStream<T> {
    /// An empty stream.
    pub fn new() -> MemoryStream<T> {
        MemoryStream::default()
    }

    /// How many additions an epoch takes at most; all there are unless said otherwise. It holds for this clone.
    #[must_use]
    pub fn max_additions_per_epoch(self, most: usize) -> MemoryStream<T> {
        MemoryStream { most: Some(most.max(1)), ..self }
    }

    /// Adds rows; none are an addition too, which an epoch runs for.
    pub fn add(&self, rows: impl IntoIterator<Item = T>) {
        let rows = rows.into_iter().collect();
        self.lock().push(rows);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<T>>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for MemoryStream<T> {
    fn default() -> MemoryStream<T> {
        MemoryStream { chunks: Arc::default(), most: None }
    }
}

impl<T> Clone for MemoryStream<T> {
    fn clone(&self) -> MemoryStream<T> {
        MemoryStream { chunks: self.chunks.clone(), most: self.most }
    }
}

/// How many additions lie before the offset.
fn additions(offset: &Offset) -> Result<usize> {
    let n = offset.as_u64().and_then(|n| usize::try_from(n).ok());
    n.ok_or_else(|| DoFnError::msg(format!("`{offset}` is no offset of a MemoryStream: those are numbers")))
}

impl<T: Element> StreamSource for MemoryStream<T> {
    type Row = T;

    fn description(&self) -> String {
        "MemoryStream".into()
    }

    fn initial_offset(&mut self) -> Result<Offset> {
        Ok(0.into())
    }

    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>> {
        let from = additions(from)?;
        let mut to = self.lock().len();
        if let Some(end) = up_to.end {
            to = to.min(additions(end)?);
        }
        if let Some(most) = self.most.filter(|_| up_to.limited) {
            to = to.min(from.saturating_add(most));
        }
        Ok((to > from).then(|| to.into()))
    }

    fn read(&mut self, from: &Offset, to: &Offset) -> Result<Vec<T>> {
        let (from, to) = (additions(from)?, additions(to)?);
        let chunks = self.lock();
        let read = chunks.get(from..to).ok_or_else(|| {
            DoFnError::msg(format!(
                "additions {from} to {to} are wanted and there are {}: the stream that the checkpoint is of is gone",
                chunks.len()
            ))
        })?;
        Ok(read.concat())
    }
}

impl<T> fmt::Debug for MemoryStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStream of {} additions", self.lock().len())
    }
}
