//! The paths that a pattern matches.
//!
//! The glob crate matches names, but does not walk the folders: it panics on a name that is not UTF-8.

use std::{
    fs, io,
    path::{Path, PathBuf, is_separator},
};

use glob::{MatchOptions, Pattern};

use super::{FileError, FileErrorKind, pattern::is_absent};

const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// What one name of a path must be.
enum Part {
    /// This one.
    Name(String),
    /// One that matches.
    Match(Pattern),
    /// Any number of folders: `**`.
    Folders,
}

/// Everything that is there and that `pattern` matches, in any order, also several times.
pub(super) fn walk(pattern: &str) -> Result<Vec<PathBuf>, FileError> {
    let parts = parts(pattern)?;
    // An absolute pattern begins at the root, any other in the working directory, whose path is empty.
    let root = if pattern.starts_with(is_separator) { PathBuf::from("/") } else { PathBuf::new() };
    let mut found = Vec::new();
    let mut open = vec![(root, 0)];
    while let Some((path, at)) = open.pop() {
        match parts.get(at) {
            None => found.push(path),
            Some(Part::Name(name)) => {
                let next = path.join(name);
                match fs::symlink_metadata(&next) {
                    Ok(_) => open.push((next, at + 1)),
                    Err(e) if is_absent(&e) => {}
                    Err(e) => {
                        let text = format!("cannot look at `{}` for the pattern `{pattern}`", next.display());
                        return Err(FileError::io(next, text, e));
                    }
                }
            }
            Some(Part::Match(part)) => {
                for name in names(&path, pattern)? {
                    if part.matches_with(&name.to_string_lossy(), OPTIONS) {
                        open.push((path.join(name), at + 1));
                    }
                }
            }
            Some(Part::Folders) => {
                for name in names(&path, pattern)? {
                    let next = path.join(&name);
                    if !name.as_encoded_bytes().starts_with(b".") && next.is_dir() {
                        open.push((next, at));
                    }
                }
                open.push((path, at + 1));
            }
        }
    }
    Ok(found)
}

fn parts(pattern: &str) -> Result<Vec<Part>, FileError> {
    // The whole pattern is looked at too: only there is `a**` wrong.
    Pattern::new(pattern).map_err(|e| wrong(pattern, &e))?;
    let mut parts = Vec::new();
    for name in pattern.split(is_separator).filter(|name| !name.is_empty()) {
        parts.push(match name {
            "**" if matches!(parts.last(), Some(Part::Folders)) => continue,
            "**" => Part::Folders,
            name if name.contains(['*', '?', '[']) => {
                Part::Match(Pattern::new(name).map_err(|e| wrong(pattern, &e))?)
            }
            name => Part::Name(name.to_owned()),
        });
    }
    Ok(parts)
}

fn wrong(pattern: &str, e: &glob::PatternError) -> FileError {
    let text = format!(
        "`{pattern}` is not a pattern: {} at byte {}; a bracket that belongs to the name is written `[[]`",
        e.msg, e.pos
    );
    FileError::new(FileErrorKind::Pattern, pattern, text)
}

/// The names in a folder; none in what is no folder.
fn names(folder: &Path, pattern: &str) -> Result<Vec<std::ffi::OsString>, FileError> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let listed: io::Result<Vec<_>> = match fs::read_dir(here) {
        Err(e) if is_absent(&e) => return Ok(Vec::new()),
        listing => listing.and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect()),
    };
    listed.map_err(|e| {
        let text = format!("cannot list `{}` for the pattern `{pattern}`", here.display());
        FileError::io(here, text, e)
    })
}
