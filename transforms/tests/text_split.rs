//! Whatever way a file is cut into ranges, each record is read once.

use std::{fs, ops::Range, path::Path};

use proptest::prelude::*;
use purlin_transforms::io::text::{LineReader, TextOptions};
use tempfile::TempDir;

const BUFFERS: [usize; 4] = [1, 2, 7, 8192];

/// Offset and bytes of each record.
type Records = Vec<(u64, Vec<u8>)>;

fn file(content: &[u8]) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.txt");
    fs::write(&path, content).unwrap();
    (folder, path)
}

fn read(path: &Path, range: Range<u64>, options: &TextOptions) -> Records {
    let mut reader = LineReader::open(path, range.clone(), options).unwrap();
    let mut records = Vec::new();
    while let Some(offset) = reader.next_offset().unwrap() {
        assert!(range.contains(&offset), "{offset} is not in {range:?}");
        // Asking twice changes nothing.
        assert_eq!(reader.next_offset().unwrap(), Some(offset));
        let record = reader.next_record().unwrap().expect("it has an offset");
        assert_eq!(record.offset, offset);
        records.push((offset, record.bytes.to_vec()));
    }
    assert!(reader.next_record().unwrap().is_none());
    records
}

/// The rule, byte by byte.
fn naive(content: &[u8], options: &TextOptions) -> Records {
    let delimiter = options.delimiter.as_deref().unwrap_or(b"\n");
    let mut records = Vec::new();
    let mut at = if content.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut offset = 0;
    while at < content.len() {
        let found = (at..content.len()).find(|&i| content[i..].starts_with(delimiter));
        let mut bytes = &content[at..found.unwrap_or(content.len())];
        if options.delimiter.is_none() && found.is_some() {
            bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        }
        records.push((offset as u64, bytes.to_vec()));
        at = found.map_or(content.len(), |i| i + delimiter.len());
        offset = at;
    }
    records.drain(..records.len().min(options.header_lines as usize));
    records
}

/// Reads `content` cut at every place, with every buffer.
fn every_split(content: &[u8], options: &TextOptions) {
    let (_folder, path) = file(content);
    let expected = naive(content, options);
    for buffer_size in BUFFERS {
        let options = TextOptions { buffer_size, ..options.clone() };
        assert_eq!(read(&path, 0..u64::MAX, &options), expected, "whole, buffer {buffer_size}");
        for cut in 0..=content.len() as u64 + 1 {
            let mut both = read(&path, 0..cut, &options);
            both.extend(read(&path, cut..u64::MAX, &options));
            assert_eq!(both, expected, "cut at {cut}, buffer {buffer_size}");
        }
    }
}

fn lines() -> TextOptions {
    TextOptions::default()
}

fn by(delimiter: &[u8]) -> TextOptions {
    TextOptions { delimiter: Some(delimiter.to_vec()), ..lines() }
}

fn texts(records: &Records) -> Vec<&str> {
    records.iter().map(|(_, bytes)| std::str::from_utf8(bytes).unwrap()).collect()
}

#[test]
fn every_split_of_small_files() {
    for content in [
        "",
        "\n",
        "\r\n",
        "\r",
        "a",
        "a\n",
        "a\r\nb",
        "\n\n\n",
        "\r\r\n\n\r",
        "a\nbb\r\n\r\nccc\n\nd\r",
        "\u{feff}",
        "\u{feff}\n",
        "\u{feff}a\r\nb",
        "a\n\u{feff}b\n",
        "\u{feff}\u{feff}a\nb",
    ] {
        every_split(content.as_bytes(), &lines());
        for header_lines in [1, 2, 5] {
            every_split(content.as_bytes(), &TextOptions { header_lines, ..lines() });
        }
        every_split(content.as_bytes(), &by(b"\n"));
        every_split(content.as_bytes(), &by(b"\r\n"));
        every_split(content.as_bytes(), &by("\u{feff}".as_bytes()));
        every_split(content.as_bytes(), &by(b"\xbfa"));
    }
}

/// `aa` in `aaa` is found once, from the front; a range that begins inside must come to the same records.
#[test]
fn every_split_with_delimiters_that_overlap_themselves() {
    for content in
        ["aaa", "aaaaaaab", "xaaay", "abababababa", "xababaxaba", "a\n\n\nb\n\n\n\nc\n\n", "\u{feff}aaaaa"]
    {
        for delimiter in ["aa", "aaa", "aba", "abab", "\n\n", "\u{feff}a\u{feff}"] {
            every_split(content.as_bytes(), &by(delimiter.as_bytes()));
        }
    }
}

/// A chain of overlapping delimiters that is longer than one step backwards.
#[test]
fn a_long_chain_of_overlapping_delimiters() {
    for extra in 0..3 {
        let mut content = vec![b'x'; 3];
        content.extend(vec![b'\n'; 200_000 + extra]);
        content.push(b'y');
        let (_folder, path) = file(&content);
        let expected = naive(&content, &by(b"\n\n"));
        for cut in [1, 3, 4, 5, 65_536, 65_537, 131_074, 150_000, 150_001, 200_002, 200_003, 200_004] {
            let mut both = read(&path, 0..cut, &by(b"\n\n"));
            both.extend(read(&path, cut..u64::MAX, &by(b"\n\n")));
            assert_eq!(both, expected, "cut at {cut}, {extra} more");
        }
    }
}

#[test]
fn b181_crlf_across_buffer_and_split() {
    let mut content = Vec::new();
    let mut expected = Vec::new();
    while expected.len() < 3000 {
        // Lines that bring a CR to byte 8191.
        let left = 8191usize.checked_sub(content.len());
        let length = match left {
            Some(left) if left <= 4 => left,
            _ => expected.len() % 3,
        };
        let line = vec![b'a' + (expected.len() % 26) as u8; length];
        content.extend_from_slice(&line);
        content.extend_from_slice(b"\r\n");
        expected.push(line);
    }
    assert_eq!(&content[8191..8193], b"\r\n");
    let (_folder, path) = file(&content);
    let expected = naive(&content, &lines());
    assert_eq!(expected.len(), 3000);
    assert!(expected.iter().all(|(_, line)| !line.contains(&b'\r')));
    for buffer_size in BUFFERS {
        let options = TextOptions { buffer_size, ..lines() };
        assert_eq!(read(&path, 0..u64::MAX, &options), expected);
        for cut in 0..=content.len() as u64 {
            // What a cut changes is near it: the last records before, and the first after.
            let first = expected.partition_point(|(offset, _)| *offset < cut);
            let low = first.checked_sub(2).map_or(0, |i| expected[i].0);
            let before = read(&path, low..cut, &options);
            assert_eq!(
                before,
                expected[first.saturating_sub(2)..first],
                "before {cut}, buffer {buffer_size}"
            );
            let high = expected.get(first + 2).map_or(u64::MAX, |(offset, _)| *offset);
            let after = read(&path, cut..high, &options);
            assert_eq!(after, expected[first..3000.min(first + 2)], "after {cut}, buffer {buffer_size}");
        }
    }
}

#[test]
fn b182_partial_delimiter_match() {
    let mut content = vec![b'x'; 16_400];
    content[8190..8192].copy_from_slice(b"AB");
    content[8192] = b'C';
    let (_folder, path) = file(&content);
    for buffer_size in BUFFERS {
        let options = TextOptions { buffer_size, ..by(b"ABCDE") };
        assert_eq!(read(&path, 0..u64::MAX, &options), [(0, content.clone())]);
        assert_eq!(read(&path, 8191..u64::MAX, &options), []);
    }
    every_split(b"aaab", &by(b"aab"));
    let (_folder, path) = file(b"aaab");
    assert_eq!(texts(&read(&path, 0..4, &by(b"aab"))), ["a"]);
    // A delimiter of five over buffers of two: it lies in three of them.
    every_split(b"oneABCDEtwoABCDABCDEABCDE3", &by(b"ABCDE"));
}

#[test]
fn b184_bom_and_crlf() {
    let (_folder, path) = file(b"\xef\xbb\xbfa\r\nb");
    for buffer_size in BUFFERS {
        let options = TextOptions { buffer_size, ..lines() };
        assert_eq!(read(&path, 0..u64::MAX, &options), [(0, b"a".to_vec()), (6, b"b".to_vec())]);
        // Bytes 3..6 hold the first line, which starts before them.
        assert_eq!(texts(&read(&path, 3..u64::MAX, &options)), ["b"]);
    }
    let (_folder, path) = file(b"\xef\xbb\xbf");
    assert_eq!(read(&path, 0..u64::MAX, &lines()), []);
    let (_folder, path) = file("a\n\u{feff}b\nc\u{feff}\n".as_bytes());
    assert_eq!(texts(&read(&path, 0..u64::MAX, &lines())), ["a", "\u{feff}b", "c\u{feff}"]);
    assert_eq!(texts(&read(&path, 2..u64::MAX, &lines())), ["\u{feff}b", "c\u{feff}"]);
}

/// Header lines are the file's, also where a range begins inside them.
#[test]
fn header_lines_are_skipped_once() {
    let (_folder, path) = file(b"h1\nh2\na\nb\n");
    let options = TextOptions { header_lines: 2, ..lines() };
    let per_range: Vec<_> =
        [0..1, 1..4, 4..6, 6..7, 7..9, 9..20].map(|r| read(&path, r, &options).len()).into();
    assert_eq!(per_range, [0, 0, 0, 1, 1, 0]);
}

#[test]
fn a_range_within_a_record_is_empty() {
    let mut content = vec![b'x'; 1 << 20];
    content.push(b'\n');
    let (_folder, path) = file(&content);
    for range in [1..2, 1000..2000, 500_000..(1 << 20), 500_000..(1 << 20) + 1, (1 << 20) + 1..u64::MAX] {
        assert_eq!(read(&path, range, &lines()), []);
    }
    assert_eq!(read(&path, 0..1, &lines()).len(), 1);
}

/// It must not look for the record's end: in this file of 1 TiB, all of it a hole, that would take minutes a range.
#[test]
fn a_range_within_a_record_reads_no_further_than_itself() {
    let (_folder, path) = file(b"");
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    for start in (1..1 << 40).step_by(1 << 31) {
        assert_eq!(read(&path, start..start + 1000, &lines()), []);
    }
}

fn any_content(alphabet: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(alphabet), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_files_as_the_naive_splitter(
        content in any_content(b"ab\r\n\xef\xbb\xbf"),
        delimiter in prop::option::of(prop::collection::vec(prop::sample::select(&b"ab\r\n"[..]), 1..4)),
        bom in any::<bool>(),
        header_lines in 0..3u64,
        buffer_size in prop::sample::select(&BUFFERS[..]),
        mut cuts in prop::collection::vec(0..70u64, 0..6),
    ) {
        let content = if bom { [b"\xef\xbb\xbf", &content[..]].concat() } else { content };
        let (_folder, path) = file(&content);
        let options = TextOptions { delimiter, header_lines, buffer_size, ..lines() };
        cuts.extend([0, 80]);
        cuts.sort_unstable();
        let read: Records = cuts.windows(2).flat_map(|w| read(&path, w[0]..w[1], &options)).collect();
        prop_assert_eq!(read, naive(&content, &options));
    }
}
