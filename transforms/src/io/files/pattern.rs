//! From a path or a glob to the files that it names.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{FileError, FileErrorKind, walk::walk};

/// What a pattern that names no file means. Beam's `EmptyMatchTreatment`
/// (<https://beam.apache.org/releases/javadoc/current/org/apache/beam/sdk/io/fs/EmptyMatchTreatment.html>).
///
/// Reading one pattern starts from [`Disallow`](EmptyMatch::Disallow), reading patterns that come as elements from
/// [`AllowIfWildcard`](EmptyMatch::AllowIfWildcard), as in Beam.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EmptyMatch {
    /// No file is no records, also where the pattern is the name of one file.
    Allow,
    /// No file is an error.
    #[default]
    Disallow,
    /// No file is an error for the name of one file, and no records for a pattern with `*`, `?` or `[`.
    AllowIfWildcard,
}

/// A file and how long it was when it was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileEntry {
    /// Where it is; relative to the working directory if the pattern was.
    pub path: PathBuf,
    /// Its length in bytes, compressed if it is.
    pub size: u64,
}

/// The files that `pattern` names, sorted by path, each once.
///
/// - A file that has exactly this name is taken literally, also one called `[1].txt`.
/// - Otherwise `?` stands for one character, `*` for any within a name, `[a-c]` and `[!a]` for one of a set, and `**`
///   for any folders. A wildcard does not match a leading dot (so temporary files stay unseen), and what it matches is
///   read only where it is a regular file: folders are passed over.
/// - There are no alternatives (`{a,b}`, lists with commas).
/// - A name that is not UTF-8 is matched with `\u{fffd}` for what is not.
/// - A relative pattern starts at the working directory of the process.
///
/// # Errors
/// [`NoMatch`](FileErrorKind::NoMatch) as `empty` says; [`NotAFile`](FileErrorKind::NotAFile) for the name of a
/// folder, a pipe or a device; [`Io`](FileErrorKind::Io) where a folder cannot be listed or a matched file cannot be
/// looked at: a file is never left out in silence.
///
/// ```
/// use purlin_transforms::io::files::{EmptyMatch, expand};
/// let found = expand("src/*.rs", EmptyMatch::Disallow)?;
/// assert!(found.iter().any(|file| file.path.ends_with("lib.rs") && file.size > 0));
/// assert!(expand("src/*.none", EmptyMatch::AllowIfWildcard)?.is_empty());
/// # Ok::<(), purlin_transforms::io::files::FileError>(())
/// ```
pub fn expand(pattern: &str, empty: EmptyMatch) -> Result<Vec<FileEntry>, FileError> {
    let wildcard = pattern.contains(['*', '?', '[']);
    match fs::metadata(pattern) {
        Ok(found) if found.is_file() => {
            return Ok(vec![FileEntry { path: pattern.into(), size: found.len() }]);
        }
        Ok(found) => return Err(not_a_file(pattern, found.is_dir())),
        Err(cause) if !wildcard && !is_absent(&cause) => {
            return Err(FileError::io(pattern, format!("cannot look at `{pattern}`"), cause));
        }
        // A dangling link is there, so it is not a missing file.
        Err(cause) if !wildcard && fs::symlink_metadata(pattern).is_ok() => {
            let text = format!("cannot look at `{pattern}`, a link whose target is not there");
            return Err(FileError::io(pattern, text, cause));
        }
        Err(_) => {}
    }
    let (files, folders) = if wildcard { match_all(pattern)? } else { (Vec::new(), 0) };
    let allowed = match empty {
        EmptyMatch::Allow => true,
        EmptyMatch::Disallow => false,
        EmptyMatch::AllowIfWildcard => wildcard,
    };
    if files.is_empty() && !allowed {
        return Err(no_match(pattern, wildcard, folders));
    }
    Ok(files)
}

/// Whether the name is absent, as opposed to out of reach. `a/b` where `a` is a file is absent as well.
pub(super) fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The regular files that match, and how many folders did.
fn match_all(pattern: &str) -> Result<(Vec<FileEntry>, usize), FileError> {
    let (mut files, mut folders) = (Vec::new(), 0);
    for path in walk(pattern)? {
        let found = fs::metadata(&path).map_err(|e| {
            let text = format!("cannot look at `{}`, which `{pattern}` matches", path.display());
            FileError::io(&path, text, e)
        })?;
        match (found.is_file(), found.is_dir()) {
            (true, _) => files.push(FileEntry { path, size: found.len() }),
            (_, true) => folders += 1,
            _ => return Err(not_a_file(&path.to_string_lossy(), false)),
        }
    }
    files.sort_unstable();
    files.dedup();
    Ok((files, folders))
}

fn not_a_file(path: &str, folder: bool) -> FileError {
    let text = if folder {
        let inside = path.trim_end_matches('/');
        format!("`{path}` is a directory; to read the files in it, add `/*`: `{inside}/*`")
    } else {
        format!("`{path}` is a pipe or a device, which has no length to split; copy its data to a file first")
    };
    FileError::new(FileErrorKind::NotAFile, path, text)
}

fn no_match(pattern: &str, wildcard: bool, folders: usize) -> FileError {
    let mut text = if wildcard {
        format!("no file matches `{pattern}`")
    } else {
        format!("there is no file `{pattern}`")
    };
    if Path::new(pattern).is_relative() {
        match std::env::current_dir() {
            Ok(dir) => text.push_str(&format!(" (in the working directory `{}`)", dir.display())),
            Err(e) => text.push_str(&format!(" (in the working directory, which is out of reach: {e})")),
        }
    }
    match folders {
        0 if pattern.contains(['{', ',']) => text.push_str(
            "; a pattern has no alternatives, neither `{a,b}` nor `a,b`: use wildcards, or give the patterns as the \
             elements of a collection to `TextIo::read_all`",
        ),
        0 => text.push_str("; correct the pattern, or allow an empty match with EmptyMatch::Allow"),
        n => text.push_str(&format!("; it matches {n} folders: to read the files in them, add `/*`")),
    }
    FileError::new(FileErrorKind::NoMatch, pattern, text)
}
