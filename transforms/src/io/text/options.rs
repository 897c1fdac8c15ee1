//! How text is read and into what ranges a file is cut.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::io::files::{Compression, EmptyMatch, FileError, FileErrorKind};

/// The least bytes of a range: 1 MiB.
///
/// A range costs an open, a seek and up to two buffers (64 KiB each) read beyond its ends, so one of 1 MiB wastes a
/// few per cent at most; and at some 1 GB/s it is about 1 ms of work, the least that is worth handing to a worker.
pub const DEFAULT_MIN_SPLIT: u64 = 1 << 20;

/// The longest record that is read unless [`TextOptions::max_record`] says otherwise: 256 MiB.
pub const DEFAULT_MAX_RECORD: usize = 256 << 20;

/// Bytes that a reader asks the file for at once: 64 KiB.
pub const DEFAULT_BUFFER_SIZE: usize = 64 << 10;

/// How text is read. The defaults are those of Beam's `TextIO.read`
/// (<https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/io/TextIO.html>), but a lone CR ends no line.
///
/// ```
/// use purlin_transforms::io::text::TextOptions;
/// let options = TextOptions { header_lines: 1, ..TextOptions::default() };
/// options.validate("orders.csv")?;
/// # Ok::<(), purlin_transforms::io::files::FileError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TextOptions {
    /// What ends a record. `None`, the default: LF, and a CR directly before it is no part of the record. Given bytes
    /// are taken as they are (so `b"\n"` keeps a CR) and searched from the front of the file without overlap. A last
    /// record needs no delimiter.
    pub delimiter: Option<Vec<u8>>,
    /// Records to pass over at the start of each file, none by default. They keep belonging to the start, however the
    /// file is split.
    pub header_lines: u64,
    /// How the file is compressed.
    pub compression: Compression,
    /// What a pattern that names no file means.
    pub empty_match: EmptyMatch,
    /// The longest record, in bytes without its delimiter; a longer one is an error, not a full memory.
    pub max_record: usize,
    /// Bytes asked for at once; the buffer grows when a record is longer. For tests; leave it otherwise.
    pub buffer_size: usize,
    /// The least bytes of a range that [`split_ranges`] makes.
    pub min_split: u64,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions {
            delimiter: None,
            header_lines: 0,
            compression: Compression::Auto,
            empty_match: EmptyMatch::Disallow,
            max_record: DEFAULT_MAX_RECORD,
            buffer_size: DEFAULT_BUFFER_SIZE,
            min_split: DEFAULT_MIN_SPLIT,
        }
    }
}

impl TextOptions {
    /// The defaults for patterns that come as elements: one with a wildcard may match nothing.
    pub fn read_all() -> TextOptions {
        TextOptions { empty_match: EmptyMatch::AllowIfWildcard, ..TextOptions::default() }
    }

    /// Checks the options for reading `path`, which the error names. Every reader does so when it is opened; a pipeline
    /// does it when it is built.
    ///
    /// # Errors
    /// [`Options`](FileErrorKind::Options) for an empty delimiter, and for a longest record of 0 bytes.
    pub fn validate(&self, path: &str) -> Result<(), FileError> {
        match self.problem() {
            Some(problem) => {
                Err(FileError::new(FileErrorKind::Options, path, format!("cannot read `{path}`: {problem}")))
            }
            None => Ok(()),
        }
    }

    /// What is wrong with them, whatever is read.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.delimiter.as_ref().is_some_and(Vec::is_empty) {
            return Some(
                "the delimiter is empty, which would end a record everywhere; give it a byte, or none for lines",
            );
        }
        (self.max_record == 0).then_some(
            "the longest record is one of 0 bytes, so that there could be nothing in any; give it 1 byte or more",
        )
    }
}

/// Cuts a file of `size` bytes into up to `desired` ranges of nearly the same length, none below `min` bytes unless
/// the file is.
///
/// The ranges follow each other from 0 to `size`; there is always at least one. For an even load ask for about four
/// ranges a worker. (A compressed file is not cut: read it as `0..u64::MAX`.)
///
/// ```
/// # use purlin_transforms::io::text::split_ranges;
/// assert_eq!(split_ranges(10, 3, 1), [0..3, 3..6, 6..10]);
/// assert_eq!(split_ranges(10, 8, 4), [0..5, 5..10]);
/// assert_eq!(split_ranges(0, 8, 4), [0..0]);
/// ```
pub fn split_ranges(size: u64, desired: usize, min: u64) -> Vec<Range<u64>> {
    let pieces = (desired as u64).min(size / min.max(1)).max(1);
    // In 128 bits, as `size * i` may not fit in 64.
    let at = |i: u64| (u128::from(size) * u128::from(i) / u128::from(pieces)) as u64;
    (0..pieces).map(|i| at(i)..at(i + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_cover_the_file(size in prop_oneof![0..200u64, any::<u64>()], desired in 0..40usize, min in 0..50u64) {
            let ranges = split_ranges(size, desired, min);
            prop_assert!(ranges.len() <= desired.max(1));
            prop_assert_eq!(ranges.first().map(|r| r.start), Some(0));
            prop_assert_eq!(ranges.last().map(|r| r.end), Some(size));
            for pair in ranges.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
            }
            let lengths = || ranges.iter().map(|r| r.end - r.start);
            prop_assert!(ranges.len() == 1 || lengths().all(|length| length >= min));
            prop_assert!(lengths().max().unwrap_or(0) - lengths().min().unwrap_or(0) <= 1);
        }
    }
}
