//! What one bundle wrote for one window.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::temp_path::TempPath;
use crate::io::files::{Compression, FileError, FileErrorKind, ShardWriter, WriteOptions};

/// Places that are kept for cutting a part; beyond, every second one is forgotten.
const MAX_MARKS: usize = 64;

/// Bytes copied at once.
const CHUNK: usize = 64 << 10;

/// A temporary file with the records of one bundle and window, its delimiters and its compression as in the shards.
///
/// It is not synced, which would cost more than the writing. Its length is checked when it is read again, so that a
/// machine that went down in between loses the run and not some lines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) temp: TempPath,
    /// Where it may be cut, each after a record, in rising order; the last is its length.
    pub(super) marks: Vec<u64>,
}

/// Some of the bytes of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) temp: TempPath,
    pub(super) from: u64,
    pub(super) to: u64,
    /// The length of the whole part.
    pub(super) total: u64,
}

impl Piece {
    /// Hands the bytes to `write`, in pieces.
    pub(super) fn copy(
        &self,
        mut write: impl FnMut(&[u8]) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let path = self.temp.path();
        let failed =
            |e| FileError::io(path, format!("cannot read the temporary file `{}`", path.display()), e);
        let mut file = File::open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        if found != self.total {
            let text = format!(
                "the temporary file `{}` has {found} bytes instead of {}: it was changed, or its end was lost when the \
                 machine went down; run the pipeline again from its sources",
                path.display(),
                self.total
            );
            return Err(FileError::new(FileErrorKind::Corrupt, path, text));
        }
        file.seek(SeekFrom::Start(self.from)).map_err(failed)?;
        let mut left = file.take(self.to - self.from);
        let mut chunk = vec![0; CHUNK];
        loop {
            match left.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(n) => write(&chunk[..n])?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }
}

/// Writes a part. What is not finished is removed.
#[derive(Debug)]
pub(super) struct PartWriter {
    writer: ShardWriter,
    delimiter: u64,
    marks: Marks,
    cuttable: bool,
}

impl PartWriter {
    /// `base` is a name in the folder of the final files; the compression of `options` is resolved.
    pub(super) fn create(base: &str, options: &WriteOptions) -> Result<PartWriter, FileError> {
        let inner = WriteOptions { header: None, footer: None, ..options.clone() };
        Ok(PartWriter {
            writer: ShardWriter::create(base, &inner)?,
            delimiter: options.delimiter.len() as u64,
            marks: Marks::default(),
            // Compressed data can be parted only where they end.
            cuttable: options.compression == Compression::None,
        })
    }

    #[inline]
    pub(super) fn write(&mut self, record: &[u8]) -> Result<(), FileError> {
        self.writer.write_record(record)?;
        if self.cuttable {
            self.marks.record(record.len() as u64 + self.delimiter);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> purlin_sdk::Result<Part> {
        let finished = self.writer.finish_unsynced()?;
        let length = length_of(&finished.temp)?;
        let temp = TempPath::of(finished)?;
        Ok(Part { temp, marks: self.marks.up_to(length) })
    }
}

fn length_of(path: &Path) -> Result<u64, FileError> {
    std::fs::metadata(path).map(|found| found.len()).map_err(|e| {
        FileError::io(path, format!("cannot look at the temporary file `{}`", path.display()), e)
    })
}

/// Ends of records, ever further apart the more there are.
#[derive(Debug)]
struct Marks {
    at: Vec<u64>,
    bytes: u64,
    /// Records between two marks.
    every: u64,
    /// Records up to the next mark.
    left: u64,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks { at: Vec::new(), bytes: 0, every: 1, left: 1 }
    }
}

impl Marks {
    #[inline]
    fn record(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.left -= 1;
        if self.left == 0 {
            self.mark();
        }
    }

    fn mark(&mut self) {
        if self.at.len() == MAX_MARKS {
            let mut index = 0;
            self.at.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.every = self.every.saturating_mul(2);
        }
        self.at.push(self.bytes);
        self.left = self.every;
    }

    /// The marks of a file of `length` bytes.
    fn up_to(mut self, length: u64) -> Vec<u64> {
        if self.at.last() != Some(&length) {
            self.at.push(length);
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_lie_behind_records_and_stay_few() {
        for n in [0_u64, 1, 2, 63, 64, 65, 129, 1000, 100_000] {
            let mut marks = Marks::default();
            (0..n).for_each(|_| marks.record(3));
            let marks = marks.up_to(3 * n);
            assert_eq!(marks.last(), Some(&(3 * n)), "{n}");
            assert!(marks.len() <= MAX_MARKS + 1 && marks.len() as u64 >= n.min(32), "{n}: {}", marks.len());
            assert!(marks.iter().all(|m| m % 3 == 0) && marks.is_sorted(), "{n}: {marks:?}");
        }
    }
}
