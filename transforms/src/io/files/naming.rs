//! Names of shards and of the temporary files that they are written to.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::FileError;

const HEAD: &str = ".purlin-";
const TAIL: &str = ".tmp";
/// Hexadecimal digits of the random part.
const DIGITS: usize = 16;
/// The longest name that common file systems take, in bytes.
const LONGEST: usize = 255;

/// The name of shard `i` of `n`: `PREFIX-00000-of-00004SUFFIX`, Beam's default template `-SSSSS-of-NNNNN`
/// (<https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/io/ShardNameTemplate.html>). Numbers above
/// 99,999 take as many digits as they need.
///
/// ```
/// # use purlin_transforms::io::files::shard_name;
/// assert_eq!(shard_name("out/counts", ".txt", 0, 4), "out/counts-00000-of-00004.txt");
/// ```
pub fn shard_name(prefix: &str, suffix: &str, i: usize, n: usize) -> String {
    format!("{prefix}-{i:05}-of-{n:05}{suffix}")
}

/// A hidden name in the folder of `path`, which no pattern without a leading dot matches.
///
/// Such names are unique, so a retry never writes to the file of an attempt that may still run.
pub(super) fn temp_path(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy()).unwrap_or_default();
    // A name that leaves no room is cut: it stays unique, but `clean_leftovers` no longer knows it.
    let mut room = LONGEST - HEAD.len() - 1 - DIGITS - TAIL.len();
    while !name.is_char_boundary(room.min(name.len())) {
        room -= 1;
    }
    let name = &name[..room.min(name.len())];
    path.with_file_name(format!("{HEAD}{name}-{:0width$x}{TAIL}", fastrand::u64(..), width = DIGITS))
}

/// The final name that a temporary file is for.
fn final_name(temp: &str) -> Option<&str> {
    let inner = temp.strip_prefix(HEAD)?.strip_suffix(TAIL)?;
    let cut = inner.len().checked_sub(DIGITS + 1)?;
    let (name, random) = (inner.get(..cut)?, inner.get(cut..)?.strip_prefix('-')?);
    random.bytes().all(|b| b.is_ascii_hexdigit()).then_some(name)
}

/// Whether `name` is what [`shard_name`] makes of `prefix` and `suffix` for some shard, or the two with no shard.
fn is_shard_of(name: &str, prefix: &str, suffix: &str) -> bool {
    let Some(middle) = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)) else {
        return false;
    };
    let number = |digits: &str| digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit());
    middle.is_empty()
        || middle
            .strip_prefix('-')
            .and_then(|rest| rest.split_once("-of-"))
            .is_some_and(|(i, n)| number(i) && number(n))
}

/// Removes the temporary files that a run which was killed left for the shards of `prefix` and `suffix`; says how
/// many. Those of other names, and final files, stay. A folder that is not there holds none.
///
/// Call it while no other run writes to the same names: before the first shard is begun or after the last is
/// committed. (A final name above 226 bytes is cut in its temporary name; a leftover of such a name is not found.)
///
/// # Errors
/// [`Io`](super::FileErrorKind::Io) where the folder cannot be listed or a file cannot be removed.
///
/// ```
/// use purlin_transforms::io::files::{ShardWriter, WriteOptions, clean_leftovers};
/// let folder = tempfile::tempdir()?;
/// let prefix = folder.path().join("counts");
/// let killed = ShardWriter::create(prefix.with_file_name("counts-00000-of-00001.txt"), &WriteOptions::default())?;
/// std::mem::forget(killed);
/// assert_eq!(clean_leftovers(&prefix.to_string_lossy(), ".txt")?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn clean_leftovers(prefix: &str, suffix: &str) -> Result<usize, FileError> {
    let (folder, name) = match prefix.rfind('/') {
        Some(cut) => (Path::new(&prefix[..=cut]), &prefix[cut + 1..]),
        None => (Path::new("."), prefix),
    };
    let failed = |e| FileError::io(folder, format!("cannot list `{}`", folder.display()), e);
    let listing = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        listing => listing.map_err(failed)?,
    };
    let mut removed = 0;
    for entry in listing {
        let entry = entry.map_err(failed)?;
        let file = entry.file_name();
        if file.to_str().and_then(final_name).is_some_and(|of| is_shard_of(of, name, suffix)) {
            super::abandon(&entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_name_tells_its_final_name() {
        for name in ["a", "counts-00001-of-00004.txt", "ü-00000-of-00001", "a-0123456789abcdef.tmp"] {
            let temp = temp_path(&Path::new("folder").join(name));
            assert_eq!(temp.parent(), Some(Path::new("folder")));
            assert_eq!(final_name(temp.file_name().unwrap().to_str().unwrap()), Some(name));
        }
        assert_eq!(final_name(".purlin-a-0123.tmp"), None);
        assert_eq!(final_name(".purlin-a-012345678901234x.tmp"), None);
        assert_eq!(final_name("a-0123456789abcdef.tmp"), None);
    }

    #[test]
    fn a_long_name_still_has_a_temporary_name() {
        for name in ["ü".repeat(127), "x".repeat(255), format!("x{}", "ü".repeat(127))] {
            let temp = temp_path(Path::new(&name));
            let length = temp.as_os_str().len();
            assert!((254..=255).contains(&length), "{length}");
            assert_ne!(temp, temp_path(Path::new(&name)));
        }
    }

    #[test]
    fn shards_of_a_prefix() {
        assert!(is_shard_of("out-00000-of-00004.txt", "out", ".txt"));
        assert!(is_shard_of("out-123456-of-200000.txt", "out", ".txt"));
        assert!(is_shard_of("out.txt", "out", ".txt"));
        assert!(!is_shard_of("output-00000-of-00004.txt", "out", ".txt"));
        assert!(!is_shard_of("out-00000-of-00004.csv", "out", ".txt"));
        assert!(!is_shard_of("out-000-of-00004.txt", "out", ".txt"));
        assert!(!is_shard_of("out-x-00000-of-00004.txt", "out", ".txt"));
        // Prefix and suffix may not share bytes.
        assert!(!is_shard_of("aba", "ab", "ba"));
    }
}
