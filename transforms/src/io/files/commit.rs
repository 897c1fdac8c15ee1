//! From a temporary name to the final one.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::FileError;

/// A shard that is whole and on disk, still under its temporary name.
///
/// It is plain data, so that it can travel through a pipeline to the step that commits; dropping it removes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use = "a finished shard is seen by readers only after `commit`"]
pub struct FinishedShard {
    /// Where it is.
    pub temp: PathBuf,
    /// The name that it was created for. Where the number of shards is known only at the end, the step that commits
    /// chooses another in the same folder and calls [`commit`] with it.
    pub final_path: PathBuf,
    /// Records in it, header and footer not counted.
    pub records: u64,
}

impl FinishedShard {
    /// [`commit`]s it under the name that it was created for.
    ///
    /// # Errors
    /// As [`commit`].
    pub fn commit(&self) -> Result<(), FileError> {
        commit(&self.temp, &self.final_path)
    }

    /// [`abandon`]s it.
    ///
    /// # Errors
    /// As [`abandon`].
    pub fn abandon(&self) -> Result<(), FileError> {
        abandon(&self.temp)
    }
}

/// Gives a finished shard its final name, in one step and for good. A file that had the name is replaced.
///
/// A second call does nothing, so a bundle that failed after its commits can be run again: a temporary file that is
/// gone while the final one is there was committed.
///
/// # Errors
/// [`Io`](super::FileErrorKind::Io) where the file cannot be renamed, or where neither name is there.
pub fn commit(temp: &Path, final_path: &Path) -> Result<(), FileError> {
    match fs::rename(temp, final_path) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound && final_path.is_file() => return Ok(()),
        Err(e) => {
            let text = format!("cannot rename `{}` to `{}`", temp.display(), final_path.display());
            return Err(FileError::io(final_path, text, e));
        }
    }
    sync_folder(final_path);
    Ok(())
}

/// Makes the new name survive a power cut. Not every file system offers it, and the data are safe already (a name
/// that is lost is committed again or left over), so a refusal is no error.
pub(super) fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Removes the temporary file of a shard that is not wanted. One that is gone is no error.
///
/// # Errors
/// [`Io`](super::FileErrorKind::Io) where it cannot be removed.
pub fn abandon(temp: &Path) -> Result<(), FileError> {
    match fs::remove_file(temp) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(FileError::io(temp, format!("cannot remove `{}`", temp.display()), e))
        }
        _ => Ok(()),
    }
}
