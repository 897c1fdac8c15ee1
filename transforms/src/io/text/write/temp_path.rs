//! Temporary files that go with the elements that name them.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use purlin_sdk::Result;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::io::files::{FileError, FileErrorKind, FinishedShard};

/// The name of a temporary file, which is removed when the last clone of the name is dropped.
///
/// So the outputs of a bundle that failed, and what a run that failed still held, take their files with them. Once the
/// name was encoded somebody else may hold it (a checkpoint, another process), and the file stays until it is removed by
/// name. A name that was decoded never removes its file.
#[derive(Clone)]
pub(super) struct TempPath(Arc<Guard>);

struct Guard {
    path: String,
    removes: AtomicBool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.removes.load(Ordering::Relaxed) {
            // A file that is gone was renamed or removed already; any other error has nobody to hear of it here, and
            // `clean_leftovers` knows the name.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl TempPath {
    /// Takes charge of the temporary file of `finished`.
    pub(super) fn of(finished: FinishedShard) -> Result<TempPath> {
        let path = finished.temp.into_os_string().into_string().map_err(|name| {
            let name = PathBuf::from(name);
            let text = format!("the name of the temporary file `{}` is not UTF-8", name.display());
            FileError::new(FileErrorKind::Options, name, text)
        })?;
        Ok(TempPath(Arc::new(Guard { path, removes: AtomicBool::new(true) })))
    }

    pub(super) fn path(&self) -> &Path {
        Path::new(&self.0.path)
    }
}

impl fmt::Debug for TempPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.path)
    }
}

impl Serialize for TempPath {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.removes.store(false, Ordering::Relaxed);
        self.0.path.serialize(s)
    }
}

impl<'de> Deserialize<'de> for TempPath {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<TempPath, D::Error> {
        let path = String::deserialize(d).map_err(D::Error::custom)?;
        Ok(TempPath(Arc::new(Guard { path, removes: AtomicBool::new(false) })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::files::{ShardWriter, WriteOptions};

    fn temp(folder: &Path) -> TempPath {
        let writer = ShardWriter::create(folder.join("a"), &WriteOptions::default()).unwrap();
        TempPath::of(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn the_file_goes_with_the_last_clone() {
        let folder = tempfile::tempdir().unwrap();
        let first = temp(folder.path());
        let (path, second) = (first.path().to_owned(), first.clone());
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_encoded_stays() {
        let folder = tempfile::tempdir().unwrap();
        let first = temp(folder.path());
        let path = first.path().to_owned();
        let json = serde_json::to_string(&first).unwrap();
        drop(first);
        drop(serde_json::from_str::<TempPath>(&json).unwrap());
        assert!(path.exists());
    }
}
