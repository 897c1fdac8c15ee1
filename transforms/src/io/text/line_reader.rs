//! Records of a range of a file, one after the other.

use std::{
    fmt,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use super::{
    delimiter::Delimiter,
    options::TextOptions,
    sync::{BOM, search_from},
};
use crate::io::files::{Compression, FileError, FileErrorKind, Input};

/// Bytes of a record that an error shows.
const SHOWN: usize = 60;

/// A record: its bytes without the delimiter, and where it starts.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The place of its first byte in the file, or in the decompressed data. The first record starts at 0, also where
    /// a byte-order mark stands before its bytes.
    pub offset: u64,
    /// What is in it.
    pub bytes: &'a [u8],
    name: &'a Path,
    packed: bool,
}

impl<'a> Record<'a> {
    /// The record as text.
    ///
    /// # Errors
    /// [`NotText`](FileErrorKind::NotText) where it is not UTF-8, with the file, the place and how the record begins.
    #[inline]
    pub fn text(&self) -> Result<&'a str, FileError> {
        std::str::from_utf8(self.bytes).map_err(|e| self.not_text(e.valid_up_to()))
    }

    #[cold]
    fn not_text(&self, at: usize) -> FileError {
        let (name, offset) = (self.name.display(), self.offset);
        let of = if self.packed { " of the decompressed data" } else { "" };
        let byte = self.bytes.get(at).copied().unwrap_or_default();
        let begins = String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(SHOWN)]);
        let text = format!(
            "`{name}`: the record at byte {offset}{of} is not UTF-8: byte {byte:#04x}, {at} bytes into it; it begins \
             {begins:?}; convert the file (`iconv -f LATIN1 -t UTF-8`), or take the records as bytes \
             (`TextIo::read_bytes`) and decode them"
        );
        FileError::new(FileErrorKind::NotText, self.name, text)
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} {:?})", self.offset, String::from_utf8_lossy(self.bytes))
    }
}

/// Reads the records whose first byte lies in a range of a file, or all records of any [`Read`].
///
/// Reading goes in two steps, so that a restriction tracker can claim a record before it is read, and a runner can take
/// the rest away in between: [`next_offset`](LineReader::next_offset) says where the next record starts,
/// [`next_record`](LineReader::next_record) reads it.
///
/// - Lines end in LF; a CR directly before it is no part of the line; a lone CR is data, also at the end of the file.
///   A given delimiter is taken byte for byte. The last record needs none.
/// - A UTF-8 byte-order mark at the very front of the file belongs to no record.
/// - The buffer is used again for each record, and grows for one that is longer, up to
///   [`max_record`](TextOptions::max_record).
/// - After an error every further call fails, so that an error never looks like the end of the file.
///
/// ```
/// use purlin_transforms::io::text::{LineReader, TextOptions};
/// let file = tempfile::NamedTempFile::new()?;
/// std::fs::write(&file, "to be\r\nor not\nto be")?;
/// let mut lines = LineReader::open(file.path(), 3..u64::MAX, &TextOptions::default())?;
/// assert_eq!(lines.next_offset()?, Some(7)); // "to be" starts before the range
/// let record = lines.next_record()?.expect("it has an offset");
/// assert_eq!((record.offset, record.text()?), (7, "or not"));
/// assert_eq!(lines.next_record()?.map(|r| r.offset), Some(14));
/// assert!(lines.next_record()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LineReader<R = Input> {
    source: R,
    name: PathBuf,
    packed: bool,
    delimiter: Delimiter,
    max_record: usize,
    /// Of `buf`, `..filled` is data, whose first byte is byte `base` of the file; the next record begins at `pos`, and
    /// no delimiter begins in `pos..scanned`.
    buf: Vec<u8>,
    pos: usize,
    scanned: usize,
    filled: usize,
    base: u64,
    /// Bytes of the byte-order mark before `pos`.
    bom: usize,
    /// The front of the file was not looked at.
    fresh: bool,
    /// Records from here on are another range's.
    end: u64,
    failed: Option<(FileErrorKind, String)>,
}

impl LineReader<Input> {
    /// Opens `path` for the records that start in `range`; `0..u64::MAX` is all.
    ///
    /// The range may end behind the file. While records are read its end may come closer (a split), which is the
    /// caller's to watch. In a compressed file places count decompressed bytes, and a start above 0 costs decompressing
    /// what lies before; so it is for going on where a reader stopped, not for splitting.
    ///
    /// # Errors
    /// As [`Input::open`]; [`Options`](FileErrorKind::Options) as [`TextOptions::validate`]; and as
    /// [`next_record`](LineReader::next_record), since it reads up to the first record.
    pub fn open(path: &Path, range: Range<u64>, options: &TextOptions) -> Result<LineReader, FileError> {
        let input = Input::open(path, options.compression)?;
        let packed = input.compression() != Compression::None;
        let mut reader = LineReader::new(input, path.into(), packed, options)?;
        let floor = match options.header_lines {
            0 => 0,
            n => reader.skip_records(n)?,
        };
        if range.is_empty() {
            reader.end = 0;
        } else if range.start > floor {
            reader.go_to(range.start, floor, range.end)?;
        }
        reader.end = reader.end.min(range.end);
        Ok(reader)
    }

    /// Goes to the first record at or after `start`, unless it is clear before that none starts before `end`.
    fn go_to(&mut self, start: u64, floor: u64, end: u64) -> Result<(), FileError> {
        let Some(file) = self.source.plain() else {
            while self.next_offset()?.is_some_and(|offset| offset < start) {
                self.next_record()?;
            }
            return Ok(());
        };
        let at = search_from(file, &self.delimiter, start, floor)
            .and_then(|at| file.seek(SeekFrom::Start(at)))
            .map_err(|e| self.io_error(e))?;
        (self.base, self.pos, self.scanned, self.filled) = (at, 0, 0, 0);
        (self.bom, self.fresh) = (0, false);
        // Once at least: after a byte-order mark the search begins at or behind `start`, but in the first record.
        loop {
            if !self.skip_past_delimiter(end)? {
                self.end = 0;
                break;
            }
            if self.base.saturating_add(self.pos as u64) >= start {
                break;
            }
        }
        Ok(())
    }
}

impl<R: Read> LineReader<R> {
    /// Reads all records of `source`, which is called `name` in errors. Its bytes are taken as they are: of
    /// `options`, the compression is not looked at.
    ///
    /// # Errors
    /// As [`LineReader::open`].
    pub fn from_reader(
        source: R,
        name: impl Into<PathBuf>,
        options: &TextOptions,
    ) -> Result<LineReader<R>, FileError> {
        let mut reader = LineReader::new(source, name.into(), false, options)?;
        reader.skip_records(options.header_lines)?;
        Ok(reader)
    }

    fn new(
        source: R,
        name: PathBuf,
        packed: bool,
        options: &TextOptions,
    ) -> Result<LineReader<R>, FileError> {
        options.validate(&name.to_string_lossy())?;
        Ok(LineReader {
            source,
            name,
            packed,
            delimiter: Delimiter::new(options.delimiter.as_deref()),
            max_record: options.max_record,
            buf: vec![0; options.buffer_size.max(1)],
            pos: 0,
            scanned: 0,
            filled: 0,
            base: 0,
            bom: 0,
            fresh: true,
            end: u64::MAX,
            failed: None,
        })
    }

    /// Where the next record starts; `None` if no further record starts in the range. A tracker whose range ends
    /// later is then claimed to its end.
    ///
    /// # Errors
    /// As [`next_record`](LineReader::next_record).
    #[inline]
    pub fn next_offset(&mut self) -> Result<Option<u64>, FileError> {
        if (self.fresh || self.pos == self.filled || self.failed.is_some()) && !self.find_first_byte()? {
            return Ok(None);
        }
        let offset = self.offset();
        Ok((offset < self.end).then_some(offset))
    }

    /// Reads the next record; `None` if no further record starts in the range.
    ///
    /// # Errors
    /// [`Io`](FileErrorKind::Io), [`Corrupt`](FileErrorKind::Corrupt) for damaged compressed data,
    /// [`TooLong`](FileErrorKind::TooLong).
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, FileError> {
        let Some(offset) = self.next_offset()? else { return Ok(None) };
        let (length, delimited) = match self.delimiter.find(&self.buf[self.scanned..self.filled]) {
            Some(found) => (self.scanned + found - self.pos, true),
            None => self.find_end()?,
        };
        let (begin, mut end) = (self.pos, self.pos + length);
        let next = if delimited {
            let whole = end;
            end = begin + self.delimiter.trim(&self.buf[begin..end]).len();
            whole + self.delimiter.len()
        } else {
            end
        };
        if end - begin > self.max_record {
            return Err(self.too_long());
        }
        (self.pos, self.scanned, self.bom) = (next, next, 0);
        let bytes = &self.buf[begin..end];
        Ok(Some(Record { offset, bytes, name: &self.name, packed: self.packed }))
    }

    fn offset(&self) -> u64 {
        self.base.saturating_add(self.pos as u64).saturating_sub(self.bom as u64)
    }

    /// Makes sure that there is a byte at `pos`; the byte-order mark does not count.
    #[cold]
    fn find_first_byte(&mut self) -> Result<bool, FileError> {
        if let Some((kind, text)) = &self.failed {
            return Err(FileError::new(*kind, &self.name, format!("reading failed before: {text}")));
        }
        if self.fresh {
            while self.filled < BOM.len() && BOM.starts_with(&self.buf[..self.filled]) && self.fill()? {}
            if self.buf[..self.filled].starts_with(BOM) {
                (self.pos, self.scanned, self.bom) = (BOM.len(), BOM.len(), BOM.len());
            }
            self.fresh = false;
        }
        Ok(self.pos < self.filled || self.fill()?)
    }

    /// The length of a record of which no end is in the buffer yet, and whether a delimiter follows it.
    #[cold]
    fn find_end(&mut self) -> Result<(usize, bool), FileError> {
        let d = self.delimiter.len();
        // What may yet turn out to be no part of the record: half a delimiter, or the CR of a line.
        let open = if matches!(self.delimiter, Delimiter::Line) { 1 } else { d - 1 };
        loop {
            if (self.filled - self.pos).saturating_sub(open) > self.max_record {
                return Err(self.too_long());
            }
            self.scanned = self.scanned.max((self.filled + 1).saturating_sub(d));
            if !self.fill()? {
                return Ok((self.filled - self.pos, false));
            }
            if let Some(found) = self.delimiter.find(&self.buf[self.scanned..self.filled]) {
                return Ok((self.scanned + found - self.pos, true));
            }
        }
    }

    /// Goes behind the next delimiter; `false` if none ends before `end`. Keeps nothing of what it passes over.
    fn skip_past_delimiter(&mut self, end: u64) -> Result<bool, FileError> {
        let d = self.delimiter.len();
        loop {
            if let Some(found) = self.delimiter.find(&self.buf[self.scanned..self.filled]) {
                self.scanned += found + d;
                self.pos = self.scanned;
                return Ok(true);
            }
            self.scanned = self.scanned.max((self.filled + 1).saturating_sub(d));
            self.pos = self.scanned;
            // A delimiter that begins here or later ends at or after `end`.
            if self.base.saturating_add((self.pos + d) as u64) >= end || !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Passes over up to `n` records; where the next one starts, or would.
    fn skip_records(&mut self, n: u64) -> Result<u64, FileError> {
        for _ in 0..n {
            if self.next_record()?.is_none() {
                break;
            }
        }
        Ok(self.next_offset()?.unwrap_or(u64::MAX))
    }

    /// Reads more bytes behind `filled`; `false` at the end of the data. Bytes before `pos` may go.
    fn fill(&mut self) -> Result<bool, FileError> {
        if self.filled == self.buf.len() {
            self.buf.copy_within(self.pos..self.filled, 0);
            self.base = self.base.saturating_add(self.pos as u64);
            self.scanned -= self.pos;
            self.filled -= self.pos;
            self.pos = 0;
            // Less than half free would mean many small reads.
            if self.filled > self.buf.len() / 2 {
                self.buf.resize(self.buf.len().saturating_mul(2), 0);
            }
        }
        loop {
            match self.source.read(&mut self.buf[self.filled..]) {
                Ok(n) => {
                    self.filled += n;
                    return Ok(n > 0);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.io_error(e)),
            }
        }
    }

    #[cold]
    fn io_error(&mut self, cause: io::Error) -> FileError {
        let at = self.base.saturating_add(self.filled as u64);
        let of = if self.packed { " of the decompressed data" } else { "" };
        let error = FileError::io(
            &self.name,
            format!("cannot read `{}` at byte {at}{of}", self.name.display()),
            cause,
        );
        self.failed = Some((error.kind(), error.to_string()));
        error
    }

    #[cold]
    fn too_long(&mut self) -> FileError {
        let (name, offset, max) = (self.name.display(), self.offset(), self.max_record);
        let text = format!(
            "`{name}`: the record at byte {offset} is longer than {max} bytes; check the delimiter and the compression, \
             or raise `max_record`"
        );
        self.failed = Some((FileErrorKind::TooLong, text.clone()));
        FileError::new(FileErrorKind::TooLong, &self.name, text)
    }
}

impl<R> fmt::Debug for LineReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader")
            .field("name", &self.name)
            .field("at", &self.base.saturating_add(self.pos as u64))
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
