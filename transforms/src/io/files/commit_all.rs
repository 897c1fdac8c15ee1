//! From temporary names to the final ones, all or none.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{FileError, FileErrorKind, commit::sync_folder, naming::temp_path};

/// Gives each temporary file its final name, or none of them. Files that had the names are replaced.
///
/// The names are looked at before the first file is renamed. Should a rename fail all the same, those before it are
/// undone: the files have their temporary names again, and what they replaced is back. (On a file system without hard
/// links what was replaced is not kept.) It may be called again after it succeeded: a temporary file that is gone while
/// the final one is there was renamed.
///
/// # Errors
/// [`NotAFile`](FileErrorKind::NotAFile) where a folder, a pipe or a device has one of the names;
/// [`Io`](FileErrorKind::Io) where a file cannot be renamed.
pub(crate) fn commit_all<F: AsRef<Path>>(files: &[(&Path, F)]) -> Result<(), FileError> {
    for (_, to) in files {
        check_target(to.as_ref())?;
    }
    rename_all(files)
}

/// A final name is free, or a file's.
fn check_target(to: &Path) -> Result<(), FileError> {
    let text = match fs::symlink_metadata(to) {
        Ok(found) if found.is_dir() => {
            format!(
                "cannot write the file `{0}`: `{0}` is a directory; remove it or write elsewhere",
                to.display()
            )
        }
        Ok(found) if !found.is_file() && !found.is_symlink() => {
            format!("cannot write the file `{0}`: `{0}` is a pipe or a device; write elsewhere", to.display())
        }
        _ => return Ok(()),
    };
    Err(FileError::new(FileErrorKind::NotAFile, to, text))
}

/// One rename that was done.
struct Done<'a> {
    temp: &'a Path,
    to: &'a Path,
    /// Another name of the file that was replaced.
    replaced: Option<PathBuf>,
}

fn rename_all<F: AsRef<Path>>(files: &[(&Path, F)]) -> Result<(), FileError> {
    let mut done: Vec<Done<'_>> = Vec::with_capacity(files.len());
    for (temp, to) in files {
        let (temp, to) = (*temp, to.as_ref());
        let replaced = keep(to);
        match fs::rename(temp, to) {
            Ok(()) => done.push(Done { temp, to, replaced }),
            Err(e) => {
                let was_done = e.kind() == io::ErrorKind::NotFound && to.is_file();
                forget(replaced);
                if was_done {
                    continue;
                }
                let mut text = format!("cannot rename `{}` to `{}`", temp.display(), to.display());
                for failed in done.into_iter().rev().filter_map(|done| undo(done).err()) {
                    text.push_str(&format!(" ({failed})"));
                }
                return Err(FileError::io(to, text, e));
            }
        }
    }
    done.iter().for_each(|done| sync_folder(done.to));
    done.into_iter().for_each(|done| forget(done.replaced));
    Ok(())
}

/// Gives the file that is about to be replaced a second, hidden name, where there is one and the file system can.
fn keep(to: &Path) -> Option<PathBuf> {
    let hidden = temp_path(to);
    fs::hard_link(to, &hidden).ok().map(|()| hidden)
}

/// Lets go of a second name. Should it stay, it is one that `clean_leftovers` finds.
fn forget(replaced: Option<PathBuf>) {
    if let Some(hidden) = replaced {
        let _ = fs::remove_file(hidden);
    }
}

fn undo(done: Done<'_>) -> Result<(), String> {
    let said = |what: &str, e: io::Error| format!("and `{}` cannot be {what}: {e}", done.to.display());
    fs::rename(done.to, done.temp).map_err(|e| said("taken back", e))?;
    match &done.replaced {
        Some(hidden) => fs::rename(hidden, done.to).map_err(|e| said("put back as it was", e)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_renamed_before_one_that_fails_is_undone() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path();
        let path = |name: &str| folder.join(name);
        for (name, text) in [("1", "new 1"), ("2", "new 2"), ("3", "new 3"), ("a", "old a")] {
            fs::write(path(name), text).unwrap();
        }
        // As if it were made after the targets were looked at.
        fs::create_dir(path("c")).unwrap();
        let (one, two, three) = (path("1"), path("2"), path("3"));
        let files = [(&*one, path("a")), (&*two, path("b")), (&*three, path("c"))];
        let error = rename_all(&files).unwrap_err();
        assert_eq!(error.path(), path("c"));
        assert_eq!(names(folder), ["1", "2", "3", "a", "c"]);
        for (name, text) in [("1", "new 1"), ("2", "new 2"), ("a", "old a")] {
            assert_eq!(fs::read_to_string(path(name)).unwrap(), text);
        }
        let error = commit_all(&files).unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::NotAFile);

        fs::remove_dir(path("c")).unwrap();
        for _ in 0..2 {
            // The second time there is nothing left to do.
            commit_all(&files).unwrap();
            assert_eq!(names(folder), ["a", "b", "c"]);
            assert_eq!(fs::read_to_string(path("a")).unwrap(), "new 1");
        }
        fs::remove_file(path("b")).unwrap();
        assert_eq!(commit_all(&files).unwrap_err().kind(), FileErrorKind::Io);
    }
}
