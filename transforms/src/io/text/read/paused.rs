//! Readers that stopped in the middle of a file.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::sdf::OffsetRange;

use crate::io::text::LineReader;

/// Open files that are kept; each has a buffer too.
const KEPT: usize = 16;

/// Readers whose rest was given back to the runner, so that whoever goes on need not open the file again, nor
/// decompress it from its front. It is only there for speed: what is not found here is opened.
#[derive(Clone, Default)]
pub(super) struct Paused(Arc<Mutex<VecDeque<Entry>>>);

struct Entry {
    path: String,
    /// Where the rest begins. The reader stands at the first record at or after it.
    start: i64,
    /// The end of the range that the reader was opened for.
    end: i64,
    reader: LineReader,
}

impl Paused {
    pub(super) fn put(&self, path: &str, rest: OffsetRange, reader: LineReader) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= KEPT {
            entries.pop_front();
        }
        entries.push_back(Entry { path: path.to_owned(), start: rest.start, end: rest.end, reader });
    }

    /// The reader to go on with, and the end of the range that it was opened for.
    pub(super) fn take(&self, path: &str, range: OffsetRange) -> Option<(LineReader, i64)> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = entries
            .iter()
            .position(|e| e.start == range.start && e.end >= range.end && e.path == path)
            .and_then(|at| entries.remove(at))?;
        Some((found.reader, found.end))
    }

    /// Closes all files, at the end of a run.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl fmt::Debug for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Paused")
    }
}
