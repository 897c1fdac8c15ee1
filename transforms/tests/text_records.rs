//! What one reader does: lengths, texts, errors.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use purlin_sdk::DoFnError;
use purlin_transforms::io::{
    files::FileErrorKind,
    text::{LineReader, TextOptions},
};

/// Gives its bytes in pieces of `step`, with an interruption before each, and fails at the end if told to.
struct Slow {
    bytes: &'static [u8],
    step: usize,
    interrupted: bool,
    broken: bool,
}

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.bytes.is_empty() && std::mem::take(&mut self.broken) {
            return Err(io::Error::other("the line is dead"));
        }
        let n = self.step.min(self.bytes.len()).min(into.len());
        into[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

fn max(max_record: usize) -> TextOptions {
    TextOptions { max_record, ..TextOptions::default() }
}

#[test]
fn any_reader_in_any_pieces() {
    for step in 1..12 {
        let source =
            Slow { bytes: b"\xef\xbb\xbfhead\r\none\r\ntwo", step, interrupted: false, broken: false };
        let options = TextOptions { header_lines: 1, buffer_size: 4, ..TextOptions::default() };
        let mut reader = LineReader::from_reader(source, "socket", &options).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap().bytes, b"one");
        let last = reader.next_record().unwrap().unwrap();
        assert_eq!((last.offset, last.bytes), (14, &b"two"[..]));
        assert!(reader.next_record().unwrap().is_none());
    }
}

/// The error comes once from the source, which then says it is at its end.
#[test]
fn an_error_is_never_taken_for_the_end() {
    let source = Slow { bytes: b"one\ntw", step: 9, interrupted: false, broken: true };
    let mut reader = LineReader::from_reader(source, "socket", &TextOptions::default()).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().bytes, b"one");
    for _ in 0..3 {
        let error = reader.next_record().unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::Io);
        assert!(error.to_string().contains("`socket` at byte 6: the line is dead"), "{error}");
    }
}

/// The same answer with every buffer, though a long record is noticed at other moments.
#[test]
fn a_record_above_the_greatest_length_is_an_error() {
    for buffer_size in [1, 2, 7, 8192] {
        for (content, delimiter) in
            [("12345\n1234\r\n12345\r\n12345", None), ("12345ABC1234ABC12345ABC12345", Some(b"ABC".to_vec()))]
        {
            let options = TextOptions { buffer_size, delimiter: delimiter.clone(), ..max(5) };
            let mut reader = LineReader::from_reader(content.as_bytes(), "in", &options).unwrap();
            for length in [5, 4, 5, 5] {
                assert_eq!(
                    reader.next_record().unwrap().unwrap().bytes.len(),
                    length,
                    "buffer {buffer_size}"
                );
            }
            let options = TextOptions { buffer_size, delimiter, ..max(4) };
            let mut reader = LineReader::from_reader(content.as_bytes(), "in", &options).unwrap();
            let error = reader.next_record().unwrap_err();
            assert_eq!(error.kind(), FileErrorKind::TooLong);
            assert!(error.to_string().contains("the record at byte 0 is longer than 4 bytes"), "{error}");
            assert_eq!(reader.next_record().unwrap_err().kind(), FileErrorKind::TooLong);
        }
    }
}

/// The end never comes: the buffer must not grow on.
#[test]
fn an_endless_record_is_given_up() {
    let mut reader = LineReader::from_reader(io::repeat(b'x'), "endless", &max(1 << 20)).unwrap();
    assert_eq!(reader.next_record().unwrap_err().kind(), FileErrorKind::TooLong);
}

#[test]
fn a_record_far_longer_than_the_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.txt");
    let long = "xy".repeat(500_000);
    fs::write(&path, format!("a\n{long}\r\nb")).unwrap();
    let options = TextOptions { buffer_size: 16, ..TextOptions::default() };
    let mut reader = LineReader::open(&path, 0..u64::MAX, &options).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().bytes, b"a");
    assert_eq!(reader.next_record().unwrap().unwrap().bytes, long.as_bytes());
    assert_eq!(reader.next_record().unwrap().unwrap().offset, 1_000_004);
    assert!(reader.next_record().unwrap().is_none());
}

#[test]
fn a_record_that_is_no_text() {
    let mut reader =
        LineReader::from_reader(&b"ok\ncaf\xe9 au lait\nok"[..], "menu.txt", &TextOptions::default())
            .unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().text().unwrap(), "ok");
    let error = reader.next_record().unwrap().unwrap().text().unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::NotText);
    let text = DoFnError::from(error).to_string();
    for part in ["menu.txt", "byte 3 ", "0xe9", "3 bytes into it", "caf\u{fffd} au lait", "iconv"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // It is an error of the record, not of the reader.
    assert_eq!(reader.next_record().unwrap().unwrap().text().unwrap(), "ok");
}

#[test]
fn an_empty_delimiter_is_refused() {
    let options = TextOptions { delimiter: Some(Vec::new()), ..TextOptions::default() };
    let error = LineReader::from_reader(&b"abc"[..], "in.txt", &options).unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::Options);
    assert!(error.to_string().contains("in.txt"), "{error}");
}

#[test]
fn a_file_that_is_not_there() {
    let error = LineReader::open(Path::new("nowhere/in.txt"), 0..1, &TextOptions::default()).unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::Io);
    let text = DoFnError::from(error).to_string();
    assert!(text.starts_with("cannot open `nowhere/in.txt`: "), "{text}");
    assert_eq!(text.matches("os error 2").count(), 1, "the cause is said once: {text}");
}

#[test]
fn options_travel() {
    let options = TextOptions { delimiter: Some(b"\0".to_vec()), header_lines: 2, ..TextOptions::read_all() };
    let text = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<TextOptions>(&text).unwrap(), options);
}
