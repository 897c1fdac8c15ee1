//! Text: records split by a delimiter, read from any part of a file.
//!
//! [`TextIo`] is the way in: what reads and writes text in a pipeline. Below it lie the parts that know no pipeline:
//! [`LineReader`], [`TextOptions`], [`split_ranges`].
//!
//! A record belongs to the range in which its first byte lies. So whatever way a file is cut into ranges, their
//! records, put one after the other, are the records of the file: each once. This is Beam's rule for splittable
//! files (<https://beam.apache.org/documentation/io/developing-io-java/>).

mod delimiter;
mod line_reader;
mod options;
mod read;
mod sync;
mod text_io;
mod write;

pub use line_reader::{LineReader, Record};
pub use options::{DEFAULT_BUFFER_SIZE, DEFAULT_MAX_RECORD, DEFAULT_MIN_SPLIT, TextOptions, split_ranges};
pub use read::{Bytes, Each, Lines, Pattern, RecordFormat, TextRead, WithFileName};
pub use text_io::TextIo;
pub use write::TextWrite;
