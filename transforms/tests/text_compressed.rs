//! Compressed files: every member is read, and what is damaged is an error.
#![cfg(all(feature = "gzip", feature = "zstd", feature = "bzip2"))]

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use purlin_transforms::io::{
    files::{Compression, FileError, FileErrorKind, Input},
    text::{LineReader, TextOptions},
};

const PACKED: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::Bzip2];

fn pack(compression: Compression, text: &[u8]) -> Vec<u8> {
    match compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(text, 1).unwrap(),
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        _ => text.to_vec(),
    }
}

fn extension(compression: Compression) -> &'static str {
    match compression {
        Compression::Gzip => "gz",
        Compression::Zstd => "zst",
        Compression::Bzip2 => "bz2",
        _ => "txt",
    }
}

struct Case {
    folder: tempfile::TempDir,
    compression: Compression,
}

impl Case {
    fn new(compression: Compression) -> Case {
        Case { folder: tempfile::tempdir().unwrap(), compression }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("in").with_extension(extension(self.compression))
    }

    fn lines(&self, content: &[u8]) -> Result<Vec<String>, FileError> {
        fs::write(self.path(), content).unwrap();
        lines(&self.path(), &TextOptions::default())
    }

    fn fails(&self, content: &[u8], what: &str) -> String {
        let error = self.lines(content).expect_err(what);
        assert_eq!(error.kind(), FileErrorKind::Corrupt, "{what}: {error}");
        let text = error.to_string();
        assert!(text.contains(self.path().to_str().unwrap()), "{what}: {text}");
        text
    }
}

fn lines(path: &Path, options: &TextOptions) -> Result<Vec<String>, FileError> {
    let mut reader = LineReader::open(path, 0..u64::MAX, options)?;
    let mut lines = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some(record)) => lines.push(record.text()?.to_owned()),
            Ok(None) => return Ok(lines),
            Err(e) => {
                // An error is not followed by what looks like the end of the file.
                assert_eq!(reader.next_record().unwrap_err().kind(), e.kind());
                assert!(reader.next_offset().is_err());
                return Err(e);
            }
        }
    }
}

#[test]
fn b186_concatenated_members() {
    for compression in PACKED {
        let case = Case::new(compression);
        let (a, b, none) = (pack(compression, b"a\n"), pack(compression, b"b\n"), pack(compression, b""));
        assert_eq!(case.lines(&[&a[..], &b].concat()).unwrap(), ["a", "b"]);
        assert_eq!(case.lines(&[&a[..], &none, &b].concat()).unwrap(), ["a", "b"]);
        assert_eq!(case.lines(&[&none[..], &a].concat()).unwrap(), ["a"]);
        // A record may lie across members.
        assert_eq!(case.lines(&[&pack(compression, b"x")[..], &a].concat()).unwrap(), ["xa"]);
        assert!(case.lines(&none).unwrap().is_empty());
        assert!(case.lines(b"").unwrap().is_empty());
    }
}

#[test]
fn b186_zero_padding_after_the_last_gzip_member() {
    let case = Case::new(Compression::Gzip);
    let a = pack(Compression::Gzip, b"a\n");
    for zeros in [1, 511, 200_000] {
        let padded = [&a[..], &a, &vec![0; zeros]].concat();
        assert_eq!(case.lines(&padded).unwrap(), ["a", "a"]);
        case.fails(&[&padded[..], b"x"].concat(), "data after the padding");
        case.fails(&[&padded[..], &a].concat(), "a member after the padding");
    }
}

#[test]
fn b186_rubbish_after_a_member() {
    for compression in PACKED {
        let case = Case::new(compression);
        let a = pack(compression, b"a\n");
        for rubbish in
            [&b"x"[..], b"xy", b"xyz", b"rubbish", b"\x1f", b"\x1f\x8b", b"B", b"BZh", b"\x28\xb5\x2f"]
        {
            let text = case.fails(&[&a[..], rubbish].concat(), &format!("{compression:?} {rubbish:?}"));
            // What begins as a member does may be one that is cut off.
            if rubbish.starts_with(b"x") || rubbish.starts_with(b"r") {
                assert!(text.contains("something else follows it"), "{compression:?} {rubbish:?}: {text}");
                assert!(!text.contains("cut off"), "{compression:?} {rubbish:?}: {text}");
            }
        }
        if compression != Compression::Gzip {
            case.fails(&[&a[..], &[0; 16]].concat(), "zeros are padding for gzip only");
        }
    }
}

#[test]
fn b186_a_cut_member_at_every_byte() {
    for compression in PACKED {
        let case = Case::new(compression);
        let one = pack(compression, b"some text\nand a second line\n");
        for cut in 1..one.len() {
            let text = case.fails(&one[..cut], &format!("{compression:?} cut at {cut}"));
            assert!(text.contains("cut off"), "{text}");
            case.fails(&[&one[..], &one[..cut]].concat(), &format!("{compression:?} second cut at {cut}"));
        }
    }
}

/// The checksum stands at the end, so damaged bytes may come out first; the error must come with the end.
#[test]
fn b186_a_flipped_bit_is_an_error() {
    for compression in [Compression::Gzip, Compression::Bzip2] {
        let case = Case::new(compression);
        let mut packed = pack(compression, b"some text\nand a second line\n");
        let middle = packed.len() / 2;
        packed[middle] ^= 0x10;
        fs::write(case.path(), packed).unwrap();
        let mut input = Input::open(&case.path(), Compression::Auto).unwrap();
        let error = input.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
        assert!(error.to_string().contains("damaged"), "{error}");
    }
}

#[test]
fn b186_a_plain_file_with_a_compressed_name() {
    for compression in PACKED {
        let case = Case::new(compression);
        let text = case.fails(b"plain\ntext\n", "plain");
        assert!(text.contains("Compression::None"), "{text}");
        let plain = TextOptions { compression: Compression::None, ..TextOptions::default() };
        assert_eq!(lines(&case.path(), &plain).unwrap(), ["plain", "text"]);
    }
}

#[test]
fn b184_bom_in_a_compressed_file() {
    for compression in PACKED {
        let case = Case::new(compression);
        let bom = "\u{feff}a\r\n\u{feff}b\r\n";
        assert_eq!(case.lines(&pack(compression, bom.as_bytes())).unwrap(), ["a", "\u{feff}b"]);
        // Stripped at the front of the data, not of each member.
        let twice = pack(compression, bom.as_bytes()).repeat(2);
        assert_eq!(case.lines(&twice).unwrap(), ["a", "\u{feff}b", "\u{feff}a", "\u{feff}b"]);
    }
}

/// Going on where a reader stopped: places count decompressed bytes.
#[test]
fn a_compressed_file_is_entered_anywhere() {
    for compression in PACKED {
        let case = Case::new(compression);
        let text = b"a\nbb\r\n\nccc";
        fs::write(case.path(), pack(compression, text)).unwrap();
        let (plain_folder, options) = (tempfile::tempdir().unwrap(), TextOptions::default());
        let plain = plain_folder.path().join("in.txt");
        fs::write(&plain, text).unwrap();
        let offsets = |path: &Path, start| {
            let mut reader = LineReader::open(path, start..9, &options).unwrap();
            std::iter::from_fn(|| reader.next_record().unwrap().map(|r| r.offset)).collect::<Vec<_>>()
        };
        for start in 0..12 {
            assert_eq!(offsets(&case.path(), start), offsets(&plain, start), "{compression:?} from {start}");
        }
    }
}

/// Much more than any buffer, decompressed through [`Input`] itself.
#[test]
fn large_content_comes_out_whole() {
    let text: Vec<u8> = (0..300_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    for compression in PACKED {
        let case = Case::new(compression);
        fs::write(case.path(), pack(compression, &text).repeat(2)).unwrap();
        let mut out = Vec::new();
        Input::open(&case.path(), Compression::Auto).unwrap().read_to_end(&mut out).unwrap();
        assert!(out == text.repeat(2), "{compression:?}");
    }
}
