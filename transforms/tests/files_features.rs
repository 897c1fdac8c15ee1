//! A build without a compression says so, and names the feature.
#![cfg(not(all(feature = "gzip", feature = "zstd", feature = "bzip2")))]

use std::fs;

use purlin_transforms::io::files::{Compression, FileErrorKind, Input, ShardWriter, WriteOptions};

#[test]
fn a_compression_that_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    for (on, name, mark, feature) in [
        (cfg!(feature = "gzip"), "a.gz", &[0x1f, 0x8b][..], "`gzip`"),
        (cfg!(feature = "zstd"), "a.zst", &[0x28, 0xb5, 0x2f, 0xfd], "`zstd`"),
        (cfg!(feature = "bzip2"), "a.bz2", b"BZh9", "`bzip2`"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, mark).unwrap();
        let read = Input::open(&path, Compression::Auto).map(|_| ());
        let write = ShardWriter::create(&path, &WriteOptions::default()).map(|_| ());
        if on {
            assert!(read.is_ok() && write.is_ok());
            continue;
        }
        for error in [read.unwrap_err(), write.unwrap_err()] {
            assert_eq!(error.kind(), FileErrorKind::Options);
            assert!(error.to_string().contains(feature), "{error}");
        }
        // No temporary file either.
        assert_eq!(fs::read_dir(&folder).unwrap().filter(|e| e.as_ref().unwrap().path() != path).count(), 0);
        fs::remove_file(&path).unwrap();
    }
}
