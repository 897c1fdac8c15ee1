//! Reading text in pipelines.

mod pipelines;

use std::{fs, path::Path};

use pipelines::{elements, runners, try_run};
use purlin_runner_direct::DirectRunner;
use purlin_sdk::{Phase, Runner};
use purlin_transforms::io::{
    TextIo,
    files::EmptyMatch,
    text::{Lines, Pattern, TextRead},
};

fn sorted(lines: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    let mut all: Vec<_> = lines.into_iter().map(Into::into).collect();
    all.sort();
    all
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn read(runner: &dyn Runner, source: TextRead<Pattern, Lines>) -> Vec<String> {
    elements(runner, |p| p.apply("Read", source))
}

/// What the run fails with.
fn error(runner: &dyn Runner, source: TextRead<Pattern, Lines>) -> String {
    let failed = try_run(runner, |p| {
        p.apply("Read", source);
    });
    let error = failed.expect_err("the run should fail");
    assert_eq!(error.phase(), Some(Phase::Process), "{error}");
    error.to_string()
}

#[cfg(feature = "gzip")]
fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn b181_crlf_at_the_end_of_a_buffer_and_at_a_split() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "crlf.txt");
    // Lines of 5 bytes up to 8,189, one of 3 whose CR is byte 8191, then the rest.
    let mut text = "x".repeat(4) + "\r\n";
    while text.len() < 8190 {
        let left = 8190 - text.len();
        text += &format!("{}\r\n", "y".repeat(if left < 6 { left.saturating_sub(2) } else { 1 }));
    }
    text += "z\r\n";
    while text.matches('\n').count() < 3000 {
        text += &format!("{}\r\n", text.len());
    }
    assert_eq!(text.as_bytes()[8191], b'\r');
    fs::write(&file, &text).unwrap();
    let expected = sorted(text.lines());
    assert_eq!(expected.len(), 3000);
    for runner in runners() {
        for min_split in [1, 8190, 1 << 20] {
            let lines = read(&*runner, TextIo::read(&file).min_split(min_split));
            assert_eq!(lines, expected, "{runner:?} {min_split}");
        }
    }
}

#[test]
fn b181_every_seed_splits_a_small_file_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "small.txt");
    let text = "a\r\n\r\nbc\n\rd\r\r\n\n\ne";
    fs::write(&file, text).unwrap();
    let expected = sorted(["a", "", "bc", "\rd\r", "", "", "e"]);
    for seed in 0..200 {
        let lines = read(&DirectRunner::new().seed(seed), TextIo::read(&file).min_split(1));
        assert_eq!(lines, expected, "seed {seed}");
    }
}

#[test]
fn b182_delimiters_that_are_cut_in_half() {
    let folder = tempfile::tempdir().unwrap();
    let whole = path(folder.path(), "whole.txt");
    let mut bytes = vec![b'x'; 16_400];
    bytes[8190..8193].copy_from_slice(b"ABC");
    fs::write(&whole, &bytes).unwrap();
    let tricky = path(folder.path(), "tricky.txt");
    fs::write(&tricky, "aaab").unwrap();
    let overlapping = path(folder.path(), "overlapping.txt");
    fs::write(&overlapping, "1aaa2aaaaa3").unwrap();
    for runner in runners() {
        let one = read(&*runner, TextIo::read(&whole).delimiter("ABCDE").min_split(1));
        assert_eq!(one, [String::from_utf8(bytes.clone()).unwrap()], "{runner:?}");
        let a = read(&*runner, TextIo::read(&tricky).delimiter("aab").min_split(1));
        assert_eq!(a, ["a"], "{runner:?}");
        let three = read(&*runner, TextIo::read(&overlapping).delimiter("aa").min_split(1));
        assert_eq!(three, ["", "1", "a2", "a3"], "{runner:?}");
    }
}

#[cfg(feature = "gzip")]
#[test]
fn b184_a_byte_order_mark_belongs_to_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, Vec<u8>, &[&str]); 4] = [
        ("front.txt", b"\xef\xbb\xbfa\r\nb".to_vec(), &["a", "b"]),
        ("only.txt", b"\xef\xbb\xbf".to_vec(), &[]),
        ("middle.txt", b"a\n\xef\xbb\xbfb\n".to_vec(), &["a", "\u{feff}b"]),
        ("packed.gz", gzip(b"\xef\xbb\xbfa\r\nb"), &["a", "b"]),
    ];
    for (name, bytes, expected) in cases {
        let file = path(folder.path(), name);
        fs::write(&file, bytes).unwrap();
        for runner in runners() {
            let lines = read(&*runner, TextIo::read(&file).min_split(1));
            assert_eq!(lines, expected, "{runner:?} {name}");
        }
    }
}

#[cfg(feature = "gzip")]
#[test]
fn b186_all_members_of_a_gzip_file() {
    let folder = tempfile::tempdir().unwrap();
    let both = [gzip(b"a\nb\n"), gzip(b""), gzip(b"c\n")].concat();
    let padded = [both.clone(), vec![0; 512]].concat();
    let good: [(&str, Vec<u8>, &[&str]); 3] = [
        ("both.gz", both.clone(), &["a", "b", "c"]),
        ("padded.gz", padded, &["a", "b", "c"]),
        ("empty.gz", vec![], &[]),
    ];
    let rubbish = [both.clone(), b"rubbish".to_vec()].concat();
    let cut = both[..both.len() - 3].to_vec();
    for runner in runners() {
        for (name, bytes, expected) in &good {
            let file = path(folder.path(), name);
            fs::write(&file, bytes).unwrap();
            assert_eq!(read(&*runner, TextIo::read(&file)), *expected, "{runner:?} {name}");
        }
        for (name, bytes) in [("rubbish.gz", &rubbish), ("cut.gz", &cut), ("plain.gz", &b"plain".to_vec())] {
            let file = path(folder.path(), name);
            fs::write(&file, bytes).unwrap();
            let error = error(&*runner, TextIo::read(&file));
            assert!(error.contains(name) && error.contains("Read/Read"), "{runner:?} {error}");
        }
        let plain = path(folder.path(), "plain.gz");
        assert_eq!(
            read(&*runner, TextIo::read(plain).compression(purlin_transforms::io::files::Compression::None)),
            ["plain"]
        );
    }
}

#[test]
fn b187_patterns_that_match_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let wildcard = path(folder.path(), "*.none");
    let literal = path(folder.path(), "missing.txt");
    let directory = path(folder.path(), "");
    for runner in runners() {
        for pattern in [&wildcard, &literal, &directory] {
            let error = error(&*runner, TextIo::read(pattern));
            assert!(error.contains(pattern.trim_end_matches('/')) && error.contains("Read/Match"), "{error}");
        }
        for pattern in [&wildcard, &literal] {
            let none = read(&*runner, TextIo::read(pattern).empty_match(EmptyMatch::Allow));
            assert!(none.is_empty(), "{runner:?}");
        }
        let if_wildcard = |pattern| TextIo::read(pattern).empty_match(EmptyMatch::AllowIfWildcard);
        assert!(read(&*runner, if_wildcard(&wildcard)).is_empty(), "{runner:?}");
        assert!(error(&*runner, if_wildcard(&literal)).contains("missing.txt"));
        // The same for patterns that are elements, of which one with a wildcard may match nothing.
        let all =
            elements(&*runner, |p| p.create("Files", [wildcard.clone()]).apply("Read", TextIo::read_all()));
        assert!(all.is_empty());
        let missing = try_run(&*runner, |p| {
            p.create("Files", [literal.clone()]).apply("Read", TextIo::read_all());
        });
        assert!(missing.unwrap_err().to_string().contains("missing.txt"));
    }
}

/// The size says 0 of every file in `/proc`.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_says_it_is_empty_is_read_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let empty = path(folder.path(), "empty.txt");
    fs::write(&empty, "").unwrap();
    let version = fs::read_to_string("/proc/version").unwrap();
    assert_eq!(fs::metadata("/proc/version").unwrap().len(), 0);
    for runner in runners() {
        assert_eq!(read(&*runner, TextIo::read("/proc/version")), sorted(version.lines()), "{runner:?}");
        assert_eq!(read(&*runner, TextIo::read(&empty)), [""; 0], "{runner:?}");
    }
}

#[test]
fn a_line_that_is_no_text_fails_with_its_place_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "latin1.txt");
    fs::write(&file, b"good\nb\xe4d\n").unwrap();
    for runner in runners() {
        let error = error(&*runner, TextIo::read(&file));
        for part in ["latin1.txt", "record at byte 5", "1 bytes into it", "TextIo::read_bytes", "Read/Read"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let bytes = elements(&*runner, |p| p.apply("Read", TextIo::read_bytes(&file)));
        assert_eq!(bytes, [b"b\xe4d".to_vec(), b"good".to_vec()]);
    }
}

#[cfg(feature = "gzip")]
#[test]
fn file_names_come_with_the_lines_and_headers_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (path(folder.path(), "a.csv"), path(folder.path(), "b.csv.gz"));
    fs::write(&a, "head\n1\n2\n3").unwrap();
    fs::write(&b, gzip(b"head\n4\n")).unwrap();
    let pairs = [(&a, "1"), (&a, "2"), (&a, "3"), (&b, "4")].map(|(f, l)| (f.clone(), l.to_owned()));
    for runner in runners() {
        let source =
            TextIo::read(path(folder.path(), "*")).skip_header_lines(1).min_split(1).with_file_names();
        assert_eq!(elements(&*runner, |p| p.apply("Read", source)), pairs, "{runner:?}");
        let all = elements(&*runner, |p| {
            p.create("Files", [a.clone(), b.clone()])
                .apply("Read", TextIo::read_all().skip_header_lines(1).with_file_names())
        });
        assert_eq!(all, pairs, "{runner:?}");
    }
}

#[cfg(feature = "gzip")]
#[test]
fn a_compressed_file_of_many_bundles_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "many.gz");
    let text: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    fs::write(&file, gzip(text.as_bytes())).unwrap();
    let expected = sorted(text.lines());
    for runner in runners() {
        assert!(read(&*runner, TextIo::read(&file)) == expected, "{runner:?}");
    }
}

#[test]
fn lines_have_the_timestamp_of_the_element_that_named_the_file() {
    use purlin_sdk::Timestamp;
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "a.txt");
    fs::write(&file, "a\nb").unwrap();
    let at = Timestamp::from_secs(7);
    for runner in runners() {
        let times = elements(&*runner, |p| {
            p.create_timestamped("Files", [(file.clone(), at)])
                .apply("Read", TextIo::read_all())
                .map_cx("Time", |line, cx| Ok((line, cx.timestamp().as_millis())))
        });
        assert_eq!(times, [("a".to_owned(), 7000), ("b".to_owned(), 7000)], "{runner:?}");
    }
}

/// Elements are encoded, and paths in them are text; so such a file is named, and others beside it are read.
#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_not_utf8_is_named() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "a\n").unwrap();
    fs::write(folder.path().join(OsStr::from_bytes(b"caf\xe9.csv")), "b\n").unwrap();
    let pattern = |end: &str| folder.path().join(end).to_str().unwrap().to_owned();
    for runner in runners() {
        assert_eq!(elements(&*runner, |p| p.apply("Read", TextIo::read(pattern("*.txt")))), ["a"]);
        let failed = try_run(&*runner, |p| drop(p.apply("Read", TextIo::read(pattern("*")))));
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("caf\\xE9.csv\" is not UTF-8; rename it"), "{runner:?} {error}");
    }
}
