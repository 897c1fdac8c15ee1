//! Writing text in pipelines.

mod pipelines;

use std::{fs, path::Path};

use pipelines::{elements, run, runners, try_run};
use purlin_sdk::{
    Duration, Pipeline, Timestamp,
    window::{FixedWindows, Sessions},
};
use purlin_transforms::{GenerateSequence, io::TextIo};

/// All names in a folder, hidden ones too, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn prefix(folder: &Path) -> String {
    folder.join("out").to_str().unwrap().to_owned()
}

/// The names of a set of shards.
fn set(n: usize, suffix: &str) -> Vec<String> {
    (0..n).map(|i| format!("out-{i:05}-of-{n:05}{suffix}")).collect()
}

/// All lines of all files, sorted.
fn lines(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for name in names(folder) {
        all.extend(fs::read_to_string(folder.join(name)).unwrap().lines().map(str::to_owned));
    }
    all.sort();
    all
}

#[test]
fn b189_an_empty_collection_and_one_element_write_all_shards() {
    for runner in runners() {
        for (shards, elements) in [(None, 0), (Some(1), 0), (Some(3), 0), (Some(3), 1)] {
            let folder = tempfile::tempdir().unwrap();
            run(&*runner, |p| {
                let mut write =
                    TextIo::write(prefix(folder.path())).suffix(".txt").header("head").footer("foot");
                if let Some(shards) = shards {
                    write = write.shards(shards);
                }
                p.create("Lines", vec!["one".to_owned(); elements]).apply("Write", write);
            });
            let expected = set(shards.unwrap_or(4) as usize, ".txt");
            assert_eq!(names(folder.path()), expected, "{runner:?}");
            let texts: Vec<_> =
                expected.iter().map(|name| fs::read_to_string(folder.path().join(name)).unwrap()).collect();
            for text in &texts {
                assert!(
                    ["head\nfoot\n", "head\none\nfoot\n"].contains(&text.as_str()),
                    "{runner:?} {text:?}"
                );
            }
            assert_eq!(texts.concat().matches("one").count(), elements, "{runner:?}");
        }
    }
}

#[test]
fn every_line_is_in_one_shard_and_the_names_come_out() {
    for runner in runners() {
        let folder = tempfile::tempdir().unwrap();
        let out = elements(&*runner, |p| {
            p.apply("Numbers", GenerateSequence::from(0).to(5000))
                .map("Format", |n| n.to_string())
                .apply("Write", TextIo::write(prefix(folder.path())))
        });
        assert_eq!(names(folder.path()), set(4, ""), "{runner:?}");
        let expected: Vec<_> =
            set(4, "").iter().map(|name| folder.path().join(name).to_str().unwrap().to_owned()).collect();
        assert_eq!(out, expected, "{runner:?}");
        let mut numbers: Vec<i64> = lines(folder.path()).iter().map(|l| l.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..5000), "{runner:?}");
        for name in out {
            assert!(fs::metadata(&name).unwrap().len() > 2000, "{runner:?} {name} is too short");
        }
    }
}

#[cfg(all(feature = "gzip", feature = "zstd", feature = "bzip2"))]
#[test]
fn what_is_written_compressed_is_read_back() {
    for suffix in [".gz", ".zst", ".bz2"] {
        for runner in runners() {
            let folder = tempfile::tempdir().unwrap();
            let prefix = prefix(folder.path());
            run(&*runner, |p| {
                p.apply("Numbers", GenerateSequence::from(0).to(300))
                    .map("Format", |n| n.to_string())
                    .apply("Write", TextIo::write(&prefix).suffix(suffix).header("head").shards(2));
            });
            assert_eq!(names(folder.path()), set(2, suffix), "{runner:?}");
            let mut back = elements(&*runner, |p| {
                p.apply("Read", TextIo::read(format!("{prefix}*")).skip_header_lines(1))
                    .map("Parse", |line: String| line.parse::<i64>().unwrap_or(-1))
            });
            back.sort_unstable();
            assert!(back.iter().copied().eq(0..300), "{runner:?} {suffix} {back:?}");
        }
    }
}

#[cfg(feature = "gzip")]
#[test]
fn an_empty_compressed_shard_is_a_file_of_its_format() {
    let folder = tempfile::tempdir().unwrap();
    run(&*runners()[0], |p| {
        p.create("Lines", Vec::<String>::new())
            .apply("Write", TextIo::write(prefix(folder.path())).suffix(".gz"));
    });
    for name in set(4, ".gz") {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes[..2], [0x1f, 0x8b]);
    }
}

#[test]
fn a_failed_run_leaves_nothing_under_the_final_names() {
    for runner in runners() {
        let folder = tempfile::tempdir().unwrap();
        let failed = try_run(&*runner, |p| {
            p.apply("Numbers", GenerateSequence::from(0).to(3000))
                .map_cx("Fail", |n, _| {
                    if n == 2999 { Err(purlin_sdk::DoFnError::msg("out of luck")) } else { Ok(n.to_string()) }
                })
                .apply("Write", TextIo::write(prefix(folder.path())));
        });
        assert!(failed.unwrap_err().to_string().contains("out of luck"));
        assert_eq!(names(folder.path()), [""; 0], "{runner:?}");
    }
}

/// One final name is a folder's: no shard has its name then, and what was there stays.
#[test]
fn a_name_that_cannot_be_had_leaves_all_as_it_was() {
    for runner in runners() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("out-00000-of-00004"), "earlier").unwrap();
        fs::create_dir(folder.path().join("out-00002-of-00004")).unwrap();
        let failed = try_run(&*runner, |p| {
            p.apply("Numbers", GenerateSequence::from(0).to(3000))
                .map("Format", |n| n.to_string())
                .apply("Write", TextIo::write(prefix(folder.path())));
        });
        let error = failed.unwrap_err();
        assert_eq!(error.step().map(|s| s.path()), Some("Write/Publish"));
        assert!(error.to_string().contains("out-00002-of-00004` is a directory"), "{error}");
        assert_eq!(names(folder.path()), ["out-00000-of-00004", "out-00002-of-00004"], "{runner:?}");
        assert_eq!(fs::read_to_string(folder.path().join("out-00000-of-00004")).unwrap(), "earlier");
    }
}

#[test]
fn files_of_an_earlier_run_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for runner in runners() {
        run(&*runner, |p| {
            p.create("Lines", ["a".to_owned(), "b".to_owned()])
                .apply("Write", TextIo::write(prefix(folder.path())).shards(2));
        });
        assert_eq!(lines(folder.path()), ["a", "b"], "{runner:?}");
        assert_eq!(names(folder.path()), set(2, ""), "{runner:?}");
    }
}

/// The second would replace what the first wrote.
#[test]
fn two_writes_to_the_same_names_are_a_build_error() {
    let folder = tempfile::tempdir().unwrap();
    let (prefix, other_way) =
        (prefix(folder.path()), folder.path().join("./none/../out").to_str().unwrap().to_owned());
    for second in [&prefix, &other_way] {
        let p = Pipeline::new();
        let lines = p.create("Lines", ["a".to_owned()]);
        lines.apply("One", TextIo::write(&prefix));
        lines.apply("Two", TextIo::write(second));
        let error = p.build().unwrap_err().to_string();
        for part in
            ["`Two` (built at ", "as `One` (built at ", "text_io_write.rs", "prefix or suffix", "flatten"]
        {
            assert!(error.contains(part), "`{part}` is not said in: {error}");
        }
    }
    let p = Pipeline::new();
    let lines = p.create("Lines", ["a".to_owned()]);
    lines.apply("One", TextIo::write(&prefix));
    lines.apply("Suffix", TextIo::write(&prefix).suffix(".txt"));
    lines.apply("Shards", TextIo::write(&prefix).shards(2));
    lines.apply("Prefix", TextIo::write(format!("{prefix}put")));
    p.build().unwrap();
}

#[test]
fn each_window_has_its_files() {
    for runner in runners() {
        let folder = tempfile::tempdir().unwrap();
        let at = |secs| Timestamp::from_secs(secs);
        run(&*runner, |p| {
            p.create_timestamped(
                "Lines",
                [("a".to_owned(), at(5)), ("b".to_owned(), at(65)), ("c".to_owned(), at(6))],
            )
            .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
            .apply("Write", TextIo::write(prefix(folder.path())).suffix(".txt").shards(1));
        });
        let first = "out-1970-01-01T00-00-00Z-1970-01-01T00-01-00Z-00000-of-00001.txt";
        let second = "out-1970-01-01T00-01-00Z-1970-01-01T00-02-00Z-00000-of-00001.txt";
        assert_eq!(names(folder.path()), [first, second], "{runner:?}");
        assert_eq!(fs::read_to_string(folder.path().join(first)).unwrap().len(), 4);
        assert_eq!(fs::read_to_string(folder.path().join(second)).unwrap(), "b\n");
    }
}

#[test]
fn b190_more_windows_in_a_bundle_than_files_are_kept_open() {
    for runner in runners() {
        let folder = tempfile::tempdir().unwrap();
        run(&*runner, |p| {
            p.create_timestamped(
                "Lines",
                (0..300).map(|n| (format!("{n}"), Timestamp::from_secs(60 * (n % 60)))).collect::<Vec<_>>(),
            )
            .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
            .apply("Write", TextIo::write(prefix(folder.path())).shards(1));
        });
        assert_eq!(names(folder.path()).len(), 60, "{runner:?}");
        assert_eq!(lines(folder.path()).len(), 300, "{runner:?}");
        for name in names(folder.path()) {
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap().lines().count(), 5);
        }
    }
}

#[test]
fn each_session_has_its_files() {
    for runner in runners() {
        let folder = tempfile::tempdir().unwrap();
        run(&*runner, |p| {
            p.create_timestamped(
                "Lines",
                [0, 20, 40, 300].map(|secs| (secs.to_string(), Timestamp::from_secs(secs))),
            )
            .window_into("Sessions", Sessions::with_gap(Duration::from_secs(30)))
            .apply("Write", TextIo::write(prefix(folder.path())).shards(1));
        });
        let expected = [
            "out-1970-01-01T00-00-00Z-1970-01-01T00-01-10Z-00000-of-00001",
            "out-1970-01-01T00-05-00Z-1970-01-01T00-05-30Z-00000-of-00001",
        ];
        assert_eq!(names(folder.path()), expected, "{runner:?}");
        assert_eq!(lines(folder.path()), ["0", "20", "300", "40"], "{runner:?}");
    }
}

#[test]
fn a_bundle_that_is_run_again_leaves_no_line_twice() {
    use purlin_runner_direct::DirectRunner;
    use purlin_runner_threaded::ThreadedRunner;
    use purlin_sdk::{DoFnError, Runner};
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };
    let mut all: Vec<Box<dyn Runner>> = Vec::new();
    for seed in 0..8 {
        all.push(Box::new(DirectRunner::new().seed(seed).retries(4)));
    }
    for parallelism in [1, 2, 16] {
        all.push(Box::new(ThreadedRunner::new().parallelism(parallelism).retries(4)));
    }
    for runner in all {
        let folder = tempfile::tempdir().unwrap();
        let failures = Arc::new(AtomicU32::new(0));
        let count = failures.clone();
        run(&*runner, |p| {
            p.create("Numbers", 0..500_i64)
                .map_cx("Fail", move |n, _| {
                    // Twice, after lines of the same bundle were written.
                    if n % 100 == 99 && count.fetch_add(1, Ordering::SeqCst) < 2 {
                        return Err(DoFnError::msg("try again").retryable());
                    }
                    Ok(format!("{n}"))
                })
                .apply("Write", TextIo::write(prefix(folder.path())).shards(3));
        });
        assert!(failures.load(Ordering::SeqCst) > 2, "{runner:?}");
        assert_eq!(names(folder.path()), set(3, ""), "{runner:?}");
        let mut numbers: Vec<i64> = lines(folder.path()).iter().map(|l| l.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..500), "{runner:?}");
    }
}
