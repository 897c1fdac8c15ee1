//! Writing shards: whole under the final name, or not there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use purlin_transforms::io::{
    files::{
        Compression, EmptyMatch, FileErrorKind, FinishedShard, ShardWriter, WriteOptions, clean_leftovers,
        commit, expand, shard_name,
    },
    text::{LineReader, TextOptions},
};

fn shard(path: impl Into<PathBuf>, options: &WriteOptions, records: &[&str]) -> FinishedShard {
    let mut writer = ShardWriter::create(path, options).unwrap();
    for record in records {
        writer.write_record(record.as_bytes()).unwrap();
    }
    assert_eq!(writer.records(), records.len() as u64);
    writer.finish().unwrap()
}

/// All names in a folder, hidden ones too, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A name for each format that this build has.
fn every_format() -> impl Iterator<Item = &'static str> {
    let packed = [
        (cfg!(feature = "gzip"), "a.gz"),
        (cfg!(feature = "zstd"), "a.zst"),
        (cfg!(feature = "bzip2"), "a.bz2"),
    ];
    ["a.txt"].into_iter().chain(packed.into_iter().filter(|(on, _)| *on).map(|(_, name)| name))
}

fn with_header() -> WriteOptions {
    WriteOptions { header: Some(b"head".to_vec()), footer: Some(b"foot".to_vec()), ..WriteOptions::default() }
}

#[test]
fn b189_empty_write() {
    for (shards, records) in [(1, &[][..]), (3, &[]), (3, &["one"])] {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("out").to_str().unwrap().to_owned();
        let finished: Vec<_> = (0..shards)
            .map(|i| {
                let records = if i == 1 || shards == 1 { records } else { &[] };
                shard(shard_name(&prefix, ".txt", i, shards), &with_header(), records)
            })
            .collect();
        for each in &finished {
            each.commit().unwrap();
        }
        let expected: Vec<_> = (0..shards).map(|i| format!("out-{i:05}-of-{shards:05}.txt")).collect();
        assert_eq!(names(folder.path()), expected);
        let texts: Vec<_> =
            expected.iter().map(|name| fs::read_to_string(folder.path().join(name)).unwrap()).collect();
        assert!(texts.iter().all(|text| text.starts_with("head\n") && text.ends_with("foot\n")), "{texts:?}");
        assert_eq!(texts.concat().lines().count(), 2 * shards + records.len());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out-00000-of-00001");
    shard(&path, &WriteOptions::default(), &[]).commit().unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), 0);
}

/// Two bundles write five records for each of 300 destinations. Above 20 open writers the one that was begun first is
/// finished; what it holds becomes one more shard of its destination.
#[test]
fn b190_many_destinations() {
    let folder = tempfile::tempdir().unwrap();
    let mut finished: Vec<Vec<FinishedShard>> = vec![Vec::new(); 300];
    for bundle in 0..2 {
        let mut open: std::collections::VecDeque<(usize, ShardWriter)> = Default::default();
        for destination in 0..300 {
            if open.len() == 20 {
                let (of, oldest) = open.pop_front().unwrap();
                finished[of].push(oldest.finish().unwrap());
            }
            let path = folder.path().join(format!("d{destination}"));
            let mut writer = ShardWriter::create(path, &WriteOptions::default()).unwrap();
            for i in 0..5 {
                writer.write_record(format!("{destination} {bundle} {i}").as_bytes()).unwrap();
            }
            open.push_back((destination, writer));
        }
        for (of, writer) in open {
            finished[of].push(writer.finish().unwrap());
        }
    }
    assert_eq!(finished.iter().flatten().map(|s| s.records).sum::<u64>(), 3000);
    // The number of shards is known now only, so they get other names than they were begun under.
    for (destination, shards) in finished.iter().enumerate() {
        let prefix = folder.path().join(format!("d{destination}")).to_str().unwrap().to_owned();
        for (i, shard) in shards.iter().enumerate() {
            commit(&shard.temp, shard_name(&prefix, "", i, shards.len()).as_ref()).unwrap();
        }
    }
    let names = names(folder.path());
    assert_eq!(names.len(), 600);
    assert!(names.iter().all(|name| !name.starts_with('.')), "no temporary file stays");
    let text: String =
        names.iter().map(|name| fs::read_to_string(folder.path().join(name)).unwrap()).collect();
    assert_eq!(text.lines().collect::<std::collections::BTreeSet<_>>().len(), 3000);
}

#[test]
fn nothing_is_seen_before_the_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not/yet/there/out.txt");
    let all = folder.path().join("**/*").to_str().unwrap().to_owned();
    let finished = shard(&path, &WriteOptions::default(), &["a", "b"]);
    assert_eq!(expand(&all, EmptyMatch::Allow).unwrap(), []);
    assert_eq!(finished.temp.parent(), path.parent(), "a rename must stay on the file system");
    finished.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
    // Again, as a bundle that is retried does; the data travelled in between.
    let text = serde_json::to_string(&finished).unwrap();
    serde_json::from_str::<FinishedShard>(&text).unwrap().commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
    // A second attempt replaces the file.
    shard(&path, &WriteOptions::default(), &["c"]).commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "c\n");
    assert_eq!(names(path.parent().unwrap()), ["out.txt"]);
}

#[test]
fn a_shard_that_is_gone_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    let finished = shard(&path, &WriteOptions::default(), &["a"]);
    finished.abandon().unwrap();
    finished.abandon().unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
    let error = finished.commit().unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::Io);
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for name in every_format() {
        let mut writer = ShardWriter::create(folder.path().join(name), &with_header()).unwrap();
        writer.write_record(&[b'x'; 100_000]).unwrap();
        assert_eq!(names(folder.path()).len(), 1);
        drop(writer);
        assert_eq!(names(folder.path()), [""; 0]);
    }
    let path = folder.path().join("e");
    let unwound = std::panic::catch_unwind(|| {
        let _writer = ShardWriter::create(path, &with_header()).unwrap();
        panic!("in user code");
    });
    assert!(unwound.is_err());
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn what_is_written_compressed_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<String> = (0..20_000).map(|i| format!("record {i}")).collect();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    for name in every_format() {
        let path = folder.path().join(name);
        shard(&path, &WriteOptions { delimiter: b"\r\n".to_vec(), ..with_header() }, &records)
            .commit()
            .unwrap();
        let options = TextOptions { header_lines: 1, ..TextOptions::default() };
        let mut reader = LineReader::open(&path, 0..u64::MAX, &options).unwrap();
        for expected in records.iter().chain([&"foot"]) {
            assert_eq!(reader.next_record().unwrap().unwrap().text().unwrap(), *expected);
        }
        assert!(reader.next_record().unwrap().is_none());
    }
    let path = folder.path().join("plain.gz");
    let plain = WriteOptions { compression: Compression::None, ..WriteOptions::default() };
    shard(&path, &plain, &["a"]).commit().unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "a\n");
}

#[test]
fn leftovers_of_one_prefix_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["out-00000-of-00002.txt", "out-00001-of-00002.txt", "output-00000-of-00002.txt", "out.txt"] {
        // As a process that is killed.
        std::mem::forget(ShardWriter::create(prefix(name), &WriteOptions::default()).unwrap());
    }
    shard(prefix("out-00000-of-00002.txt"), &WriteOptions::default(), &[]).commit().unwrap();
    fs::write(prefix(".purlin-own notes.tmp"), "").unwrap();
    assert_eq!(clean_leftovers(&prefix("out"), ".csv").unwrap(), 0);
    assert_eq!(clean_leftovers(&prefix("out"), ".txt").unwrap(), 3);
    assert_eq!(clean_leftovers(&prefix("out"), ".txt").unwrap(), 0);
    let left = names(folder.path());
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left[0].starts_with(".purlin-output-00000"), "{left:?}");
    assert_eq!(left[1], ".purlin-own notes.tmp");
    assert_eq!(left[2], "out-00000-of-00002.txt");
    assert_eq!(clean_leftovers(&prefix("nowhere/out"), "").unwrap(), 0);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let path = folder.path().join("file/out.txt");
    let error = ShardWriter::create(&path, &WriteOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.path()), (FileErrorKind::Io, &*path));
    assert!(error.to_string().contains("os error"), "{error}");
    for path in ["", "/", ".."] {
        let error = ShardWriter::create(path, &WriteOptions::default()).unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::Options, "{error}");
    }
    // A folder that has the final name is not replaced.
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    let finished = shard(&taken, &WriteOptions::default(), &["a"]);
    assert_eq!(finished.commit().unwrap_err().kind(), FileErrorKind::Io);
    finished.abandon().unwrap();
    assert_eq!(names(folder.path()), ["file", "taken"]);
}

const LIMITED: &str = "PURLIN_TEST_LIMITED_FOLDER";

/// A limit on file size stands in for a full disk: both are errors of `write`. The limit holds for a process, so the
/// test runs itself again under one, with the signal ignored, as the docs of `ShardWriter` say.
#[cfg(unix)]
#[test]
fn a_write_beyond_the_limit_leaves_nothing() {
    if let Some(folder) = std::env::var_os(LIMITED) {
        return write_too_much(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact a_write_beyond_the_limit_leaves_nothing",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(LIMITED, folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(names(folder.path()), ["ran"], "neither final nor temporary files");
}

#[cfg(unix)]
fn write_too_much(folder: &Path) {
    // Noise, so that compression does not make it fit.
    let record: Vec<u8> =
        (0..200_000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    for name in every_format() {
        let path = folder.join(name);
        let mut writer = ShardWriter::create(&path, &WriteOptions::default()).unwrap();
        let error = (0..20)
            .try_for_each(|_| writer.write_record(&record))
            .and_then(|()| writer.finish().map(|_| ()))
            .expect_err(name);
        assert_eq!(error.kind(), FileErrorKind::Io);
        assert_eq!(error.cause().map(io::Error::kind), Some(io::ErrorKind::FileTooLarge), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
    // A short shard is held back until it is finished, and fails there.
    let mut writer = ShardWriter::create(folder.join("b.txt"), &WriteOptions::default()).unwrap();
    writer.write_record(&record[..60_000]).unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), FileErrorKind::Io);
    fs::write(folder.join("ran"), "").unwrap();
}
