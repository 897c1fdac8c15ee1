//! Checkpoints on disk.
//!
//! A checkpoint is two files: `checkpoint-NNNNNNNNNN.segments` and `checkpoint-NNNNNNNNNN.manifest`. The segments are
//! written and synced, then the manifest under another name, which is synced and renamed; so there is no manifest
//! without all that it speaks of, whenever the process or the machine goes down. The two newest are kept, since a disk
//! may lose what it has said is safe.

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use purlin_sdk::{PipelineError, Timestamp};

use super::{
    Segment, Snapshot,
    manifest::{Entry, Manifest},
};

/// Checkpoints that are kept.
const KEPT: usize = 2;

const HEAD: &str = "checkpoint-";
const MANIFEST: &str = ".manifest";
const SEGMENTS: &str = ".segments";
const LOCK: &str = "lock";

/// A directory with the checkpoints of one run, which no other process may use at the same time.
#[derive(Debug)]
pub struct CheckpointDir {
    path: PathBuf,
    /// The number of the next one.
    next: u64,
    /// Numbers of those that are there, oldest first.
    there: Vec<u64>,
    // Locked until it is dropped, or the process ends in whatever way.
    _lock: File,
}

/// A checkpoint that was read, and what was wrong with newer ones.
#[derive(Debug)]
pub struct Found {
    /// Which one it is.
    pub number: u64,
    /// When it was made, by the wall clock.
    pub made_at: Timestamp,
    /// What is in it.
    pub snapshot: Snapshot,
    /// Newer checkpoints that are damaged, each with what is wrong with it.
    pub damaged: Vec<String>,
}

impl CheckpointDir {
    /// Opens a directory, which is made if it is not there, and locks it.
    ///
    /// # Errors
    /// When it cannot be made or read, or when another process has it.
    pub fn open(path: impl Into<PathBuf>) -> Result<CheckpointDir, PipelineError> {
        let path = path.into();
        let failed = |what: &str, e: io::Error| {
            PipelineError::runner(format!("the checkpoint directory `{}` {what}: {e}", path.display()))
        };
        fs::create_dir_all(&path).map_err(|e| failed("cannot be made", e))?;
        let lock = File::create(path.join(LOCK)).map_err(|e| failed("cannot be written to", e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(PipelineError::runner(format!(
                    "the checkpoint directory `{}` is in use by another process: wait until that has ended, or give \
                     this one a directory of its own",
                    path.display()
                )));
            }
            Err(TryLockError::Error(e)) => return Err(failed("cannot be locked", e)),
        }
        let mut there = Vec::new();
        for entry in fs::read_dir(&path).map_err(|e| failed("cannot be read", e))? {
            let name = entry.map_err(|e| failed("cannot be read", e))?.file_name();
            there.extend(name.to_str().and_then(|name| number_of(name, MANIFEST)));
        }
        there.sort_unstable();
        let next = there.last().map_or(1, |n| n + 1);
        Ok(CheckpointDir { path, next, there, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is no checkpoint in it.
    pub fn is_empty(&self) -> bool {
        self.there.is_empty()
    }

    /// Writes a checkpoint; when this returns it is on disk, and older ones but one are gone. Returns its number.
    ///
    /// # Errors
    /// When it cannot be written. Those before it are still there then.
    pub fn write(&mut self, snapshot: &Snapshot) -> Result<u64, PipelineError> {
        let number = self.next;
        self.write_files(number, snapshot).map_err(|e| {
            PipelineError::runner(format!(
                "checkpoint {number} cannot be written to `{}`: {e}. The one before it is still there: put it right and \
                 go on from there",
                self.path.display()
            ))
        })?;
        self.next += 1;
        self.there.push(number);
        self.remove_old();
        Ok(number)
    }

    fn write_files(&self, number: u64, snapshot: &Snapshot) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(self.file(number, SEGMENTS))?);
        let mut segments = Vec::with_capacity(snapshot.segments().len());
        let mut bytes = 0;
        for Segment { name, bytes: content } in snapshot.segments() {
            file.write_all(content)?;
            let len = content.len() as u64;
            bytes += len;
            segments.push(Entry { name: name.clone(), bytes: len, crc32: crc32fast::hash(content) });
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        let manifest = Manifest { number, made_at: Timestamp::now(), bytes, segments };
        let text = manifest.to_text().map_err(io::Error::other)?;
        let temp = self.path.join(format!(".{HEAD}{number:010}{MANIFEST}.tmp"));
        let mut file = File::create(&temp)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temp, self.file(number, MANIFEST))?;
        // The names too, before anybody goes by them.
        File::open(&self.path)?.sync_all()
    }

    /// Removes all but the newest, and what was begun and never became one. What cannot be removed is in nobody's way.
    fn remove_old(&mut self) {
        let gone = self.there.len().saturating_sub(KEPT);
        for number in self.there.drain(..gone) {
            // The manifest first: without it the rest means nothing.
            let removed = fs::remove_file(self.path.join(name(number, MANIFEST)));
            if let Err(e) = removed.and_then(|()| fs::remove_file(self.path.join(name(number, SEGMENTS)))) {
                tracing::warn!("checkpoint {number} in `{}` cannot be removed: {e}", self.path.display());
            }
        }
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let file = entry.file_name();
            let Some(text) = file.to_str() else { continue };
            let number = number_of(text, MANIFEST).or_else(|| number_of(text, SEGMENTS));
            let abandoned = number.is_some_and(|n| !self.there.contains(&n))
                || (text.starts_with(&format!(".{HEAD}")) && text.ends_with(".tmp"));
            if abandoned {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// The newest checkpoint that is whole; nothing when there is none at all.
    ///
    /// # Errors
    /// When there are checkpoints and all are damaged: what is wrong with each.
    pub fn newest(&self) -> Result<Option<Found>, PipelineError> {
        let mut damaged = Vec::new();
        for number in self.there.iter().rev() {
            match self.read(*number) {
                Ok((made_at, snapshot)) => {
                    return Ok(Some(Found { number: *number, made_at, snapshot, damaged }));
                }
                Err(what) => damaged.push(format!("checkpoint {number}: {what}")),
            }
        }
        if damaged.is_empty() {
            return Ok(None);
        }
        Err(PipelineError::runner(format!(
            "no checkpoint in `{}` can be read:\n  {}\nGo on from a copy of the directory if there is one, or begin anew \
             in another",
            self.path.display(),
            damaged.join("\n  ")
        )))
    }

    /// Counts checkpoints after `number` no longer among those that are kept: they are damaged, and go with the next write.
    pub(super) fn pass_over_after(&mut self, number: u64) {
        self.there.retain(|n| *n <= number);
    }

    fn read(&self, number: u64) -> Result<(Timestamp, Snapshot), String> {
        let manifest = self.file(number, MANIFEST);
        let of = |path: &Path, e: &dyn std::fmt::Display| format!("`{}`: {e}", path.display());
        let text = fs::read_to_string(&manifest).map_err(|e| of(&manifest, &e))?;
        let Manifest { number: said, made_at, bytes, segments } =
            Manifest::parse(&text).map_err(|e| of(&manifest, &e))?;
        if said != number {
            return Err(of(&manifest, &format!("it is the manifest of checkpoint {said}")));
        }
        let file = self.file(number, SEGMENTS);
        let all = fs::read(&file).map_err(|e| of(&file, &e))?;
        if all.len() as u64 != bytes {
            return Err(of(&file, &format!("it has {} bytes instead of {bytes}", all.len())));
        }
        let mut rest = &all[..];
        let mut read = Vec::with_capacity(segments.len());
        for Entry { name, bytes, crc32 } in segments {
            let len = usize::try_from(bytes).unwrap_or(usize::MAX);
            let (content, behind) = rest.split_at_checked(len).ok_or_else(|| of(&file, &"it is cut off"))?;
            if crc32fast::hash(content) != crc32 {
                return Err(of(&file, &format!("the checksum of {name} does not match: it is damaged")));
            }
            read.push(Segment { name, bytes: content.to_vec() });
            rest = behind;
        }
        Ok((made_at, Snapshot::from_segments(read)))
    }

    fn file(&self, number: u64, end: &str) -> PathBuf {
        self.path.join(name(number, end))
    }
}

fn name(number: u64, end: &str) -> String {
    format!("{HEAD}{number:010}{end}")
}

/// The number in the name of a file that ends like this.
fn number_of(name: &str, end: &str) -> Option<u64> {
    name.strip_prefix(HEAD)?.strip_suffix(end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SegmentName, SegmentPart};

    fn snapshot(n: u8) -> Snapshot {
        let segment = |part, bytes: &[u8]| Segment {
            name: SegmentName { stage: "Group".into(), part },
            bytes: bytes.to_vec(),
        };
        Snapshot::from_segments(vec![
            segment(SegmentPart::Items, &[n; 9]),
            segment(SegmentPart::KeyGroup(0), b""),
            segment(SegmentPart::KeyGroup(1), b"key"),
        ])
    }

    fn files(path: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_two_newest_are_kept_and_numbers_go_on() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("new/checkpoints");
        let mut dir = CheckpointDir::open(&path).unwrap();
        assert!(dir.is_empty() && dir.newest().unwrap().is_none());
        for n in 1..=3 {
            assert_eq!(dir.write(&snapshot(n)).unwrap(), u64::from(n));
        }
        // What a process that was killed may leave behind.
        fs::write(path.join("checkpoint-0000000004.segments"), "half").unwrap();
        fs::write(path.join(".checkpoint-0000000004.manifest.tmp"), "half").unwrap();
        drop(dir);
        let mut dir = CheckpointDir::open(&path).unwrap();
        let found = dir.newest().unwrap().unwrap();
        assert_eq!((found.number, &found.snapshot), (3, &snapshot(3)));
        assert_eq!(dir.write(&snapshot(9)).unwrap(), 4);
        assert_eq!(
            files(&path),
            [
                "checkpoint-0000000003.manifest",
                "checkpoint-0000000003.segments",
                "checkpoint-0000000004.manifest",
                "checkpoint-0000000004.segments",
                "lock"
            ]
        );
    }

    #[test]
    fn a_damaged_one_is_named_and_the_one_before_it_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let mut dir = CheckpointDir::open(temp.path()).unwrap();
        dir.write(&snapshot(1)).unwrap();
        dir.write(&snapshot(2)).unwrap();
        let (manifest, segments) = (dir.file(2, MANIFEST), dir.file(2, SEGMENTS));
        let damage = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| {
            let whole = fs::read(path).unwrap();
            let mut bytes = whole.clone();
            change(&mut bytes);
            fs::write(path, bytes).unwrap();
            let found = dir.newest().unwrap().unwrap();
            assert_eq!((found.number, found.snapshot), (1, snapshot(1)));
            fs::write(path, whole).unwrap();
            assert_eq!(dir.newest().unwrap().unwrap().number, 2);
            found.damaged.concat()
        };
        let told = damage(&segments, &|bytes| bytes[10] ^= 1);
        assert!(
            told.contains("checkpoint 2") && told.contains("checksum of key group 1 of `Group`"),
            "{told}"
        );
        let told = damage(&segments, &|bytes| bytes.truncate(5));
        assert!(told.contains("5 bytes instead of 12") && told.contains(".segments"), "{told}");
        let told = damage(&manifest, &|bytes| bytes.truncate(60));
        assert!(told.contains(".manifest") && told.contains("cut off or damaged"), "{told}");
        fs::remove_file(segments).unwrap();
        assert!(dir.newest().unwrap().unwrap().damaged[0].contains("checkpoint 2"));
        fs::write(dir.file(1, SEGMENTS), "").unwrap();
        let told = dir.newest().unwrap_err().to_string();
        assert!(told.contains("checkpoint 1") && told.contains("checkpoint 2"), "{told}");
    }

    #[test]
    fn a_damaged_one_is_not_kept_in_the_place_of_one_that_is_whole() {
        let temp = tempfile::tempdir().unwrap();
        let mut dir = CheckpointDir::open(temp.path()).unwrap();
        dir.write(&snapshot(1)).unwrap();
        dir.write(&snapshot(2)).unwrap();
        fs::write(dir.file(2, SEGMENTS), "").unwrap();
        let found = dir.newest().unwrap().unwrap();
        dir.pass_over_after(found.number);
        assert_eq!(dir.write(&snapshot(3)).unwrap(), 3);
        fs::write(dir.file(3, SEGMENTS), "").unwrap();
        assert_eq!(dir.newest().unwrap().unwrap().number, 1);
        assert!(!dir.file(2, MANIFEST).exists());
    }

    #[test]
    fn two_processes_do_not_share_one() {
        let temp = tempfile::tempdir().unwrap();
        let first = CheckpointDir::open(temp.path()).unwrap();
        let told = CheckpointDir::open(temp.path()).unwrap_err().to_string();
        assert!(told.contains("in use by another process"), "{told}");
        drop(first);
        CheckpointDir::open(temp.path()).unwrap();
    }

    #[test]
    fn a_file_in_its_place_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "").unwrap();
        assert!(CheckpointDir::open(&path).unwrap_err().to_string().contains("cannot be made"));
    }
}
