//! Files that a query reads: a chunk of rows each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use purlin_sdk::{DoFnError, Result};
use purlin_transforms::streaming::{Offset, ReadUpTo, StreamSource};

use super::cells::Row;

/// The files of all sources of a case.
#[derive(Clone, Default)]
pub(super) struct Files(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    files: HashMap<String, Vec<Vec<Row>>>,
    /// How many there were of each source when the first of them was looked at last: sources are looked at one after
    /// another, and files that come in between belong together.
    seen: HashMap<String, usize>,
}

impl Files {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts files in place, at one instant.
    pub(super) fn add(&self, files: impl IntoIterator<Item = (String, Vec<Row>)>) {
        let mut state = self.lock();
        for (source, rows) in files {
            state.files.entry(source).or_default().push(rows);
        }
    }

    /// The files of one source; the `first` of a query looks for all.
    pub(super) fn source(&self, id: &str, first: bool, max_files: Option<usize>) -> FileSource {
        FileSource { files: self.clone(), id: id.to_owned(), first, max_files }
    }
}

/// The files of one source.
pub(super) struct FileSource {
    files: Files,
    id: String,
    first: bool,
    max_files: Option<usize>,
}

fn number(offset: &Offset) -> Result<usize> {
    let n = offset.as_u64().and_then(|n| usize::try_from(n).ok());
    n.ok_or_else(|| DoFnError::msg(format!("{offset} is no number of files")))
}

impl StreamSource for FileSource {
    type Row = Row;

    fn description(&self) -> String {
        format!("files of {}", self.id)
    }

    fn initial_offset(&mut self) -> Result<Offset> {
        Ok(0.into())
    }

    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>> {
        let from = number(from)?;
        let mut state = self.files.lock();
        if self.first {
            let seen = state.files.iter().map(|(id, files)| (id.clone(), files.len())).collect();
            state.seen = seen;
        }
        let mut to = state.seen.get(&self.id).copied().unwrap_or(0);
        if let Some(max) = self.max_files.filter(|_| up_to.limited) {
            to = to.min(from + max);
        }
        if let Some(end) = up_to.end {
            to = to.min(number(end)?);
        }
        Ok((to > from).then(|| to.into()))
    }

    fn read(&mut self, from: &Offset, to: &Offset) -> Result<Vec<Row>> {
        let (from, to) = (number(from)?, number(to)?);
        let state = self.files.lock();
        let files = state.files.get(&self.id).and_then(|files| files.get(from..to));
        let files = files.ok_or_else(|| DoFnError::msg(format!("there are no files {from} to {to}")))?;
        Ok(files.concat())
    }
}
