//! Temporary files that go with the elements that name them.

use std::{
    collections::HashMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
};

use purlin_sdk::{Result, coder::bincode::is_measuring};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::io::files::{FileError, FileErrorKind, FinishedShard};

/// The name of a temporary file, which is removed when the last clone of the name is dropped.
///
/// So the outputs of a bundle that failed, and what a run that failed still held, take their files with them. A name
/// that is decoded in the process that made it is one more clone. While there are bytes of it that nobody decoded yet,
/// somebody else may hold it (a checkpoint, another process), and the file stays until it is removed by name. A name of
/// another process never removes its file.
#[derive(Clone)]
pub(super) struct TempPath(Arc<Guard>);

struct Guard {
    path: String,
    /// Whether the file was made here.
    ours: bool,
    /// How often the name was encoded and not decoded again.
    away: AtomicU32,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.ours {
            names().remove(&self.path);
            if self.away.load(Ordering::Relaxed) == 0 {
                // A file that is gone was renamed or removed already; any other error has nobody to hear of it here,
                // and `clean_leftovers` knows the name.
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}

/// The names of this process that are held by somebody.
fn names() -> MutexGuard<'static, HashMap<String, Weak<Guard>>> {
    static NAMES: OnceLock<Mutex<HashMap<String, Weak<Guard>>>> = OnceLock::new();
    NAMES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

impl TempPath {
    /// Takes charge of the temporary file of `finished`.
    pub(super) fn of(finished: FinishedShard) -> Result<TempPath> {
        let path = finished.temp.into_os_string().into_string().map_err(|name| {
            let name = PathBuf::from(name);
            let text = format!("the name of the temporary file `{}` is not UTF-8", name.display());
            FileError::new(FileErrorKind::Options, name, text)
        })?;
        let guard = Arc::new(Guard { path, ours: true, away: AtomicU32::new(0) });
        names().insert(guard.path.clone(), Arc::downgrade(&guard));
        Ok(TempPath(guard))
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
        if !is_measuring() {
            self.0.away.fetch_add(1, Ordering::Relaxed);
        }
        self.0.path.serialize(s)
    }
}

impl<'de> Deserialize<'de> for TempPath {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<TempPath, D::Error> {
        let path = String::deserialize(d).map_err(D::Error::custom)?;
        let known = names().get(&path).and_then(Weak::upgrade);
        if let Some(guard) = known {
            let back = |away: u32| away.checked_sub(1);
            // Bytes that are decoded a second time were counted when they were the first time.
            let _ = guard.away.fetch_update(Ordering::Relaxed, Ordering::Relaxed, back);
            return Ok(TempPath(guard));
        }
        Ok(TempPath(Arc::new(Guard { path, ours: false, away: AtomicU32::new(0) })))
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
    fn what_is_decoded_here_is_one_more_clone() {
        let folder = tempfile::tempdir().unwrap();
        let first = temp(folder.path());
        let path = first.path().to_owned();
        let second: TempPath = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_encoded_and_not_decoded_stays() {
        let folder = tempfile::tempdir().unwrap();
        let first = temp(folder.path());
        let path = first.path().to_owned();
        let json = serde_json::to_string(&first).unwrap();
        drop(first);
        assert!(path.exists());
        // As in another process: the name is not known there.
        drop(serde_json::from_str::<TempPath>(&json).unwrap());
        assert!(path.exists());
    }
}
