//! Writing one shard: to a hidden file first, seen under its final name when it is whole.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::{Compression, FileError, FinishedShard, compress::Output, naming::temp_path};

/// Records are gathered to this many bytes before the encoder or the operating system sees them.
const BUFFER: usize = 64 << 10;

/// What each shard of a write has in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WriteOptions {
    /// Written before the first record of each shard, the delimiter after it. An empty shard has it too.
    pub header: Option<Vec<u8>>,
    /// Written after the last record of each shard, the delimiter after it.
    pub footer: Option<Vec<u8>>,
    /// Written after each record, the last included; `\n` unless changed.
    pub delimiter: Vec<u8>,
    /// `Auto` (the default) goes by the final name.
    pub compression: Compression,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions { header: None, footer: None, delimiter: b"\n".to_vec(), compression: Compression::Auto }
    }
}

/// Writes one shard to a temporary file beside its final name.
///
/// Nothing appears under the final name before [`commit`](super::commit); what was not [finished](ShardWriter::finish) is removed
/// when the writer is dropped, also while a panic unwinds. A process that is killed leaves the temporary file, which
/// [`clean_leftovers`](super::clean_leftovers) removes.
///
/// # A full disk, a limit on file size
/// Both are errors with the final name and the cause. But beyond `ulimit -f` the kernel sends `SIGXFSZ`, which ends
/// the process unless it is ignored or handled. A program that wants the error (`EFBIG`) instead registers a handler
/// when it is launched, such as `signal_hook::flag::register(SIGXFSZ, ..)`, or is started under `trap '' XFSZ`. This
/// crate sets no handlers.
///
/// ```
/// use purlin_transforms::io::files::{ShardWriter, WriteOptions};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("counts-00000-of-00001.txt");
/// let options = WriteOptions { header: Some(b"word,count".to_vec()), ..WriteOptions::default() };
/// let mut shard = ShardWriter::create(&path, &options)?;
/// shard.write_record(b"to,2")?;
/// let finished = shard.finish()?;
/// assert!(!path.exists());
/// finished.commit()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "word,count\nto,2\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardWriter {
    // Before `guard`, so that the file is closed when it is removed.
    writer: BufWriter<Output>,
    guard: Guard,
    final_path: PathBuf,
    delimiter: Vec<u8>,
    footer: Option<Vec<u8>>,
    records: u64,
}

/// The temporary file, removed on drop unless it was finished.
#[derive(Debug)]
struct Guard {
    temp: PathBuf,
    keep: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.keep {
            // Nobody is left to hear of an error here; the name is one that `clean_leftovers` finds.
            let _ = fs::remove_file(&self.temp);
        }
    }
}

impl ShardWriter {
    /// Begins the shard that is to become `final_path`. Folders that are not there are created.
    ///
    /// # Errors
    /// [`Io`](super::FileErrorKind::Io) where the folder or the temporary file cannot be created or written;
    /// [`Options`](super::FileErrorKind::Options) for a path that ends in no name, or where this build leaves the
    /// compression out.
    pub fn create(final_path: impl Into<PathBuf>, options: &WriteOptions) -> Result<ShardWriter, FileError> {
        let final_path = final_path.into();
        if final_path.file_name().is_none() {
            let text = format!("`{}` ends in no file name; give the shard one", final_path.display());
            return Err(FileError::new(super::FileErrorKind::Options, final_path, text));
        }
        if let Some(folder) = final_path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|e| {
                let text =
                    format!("cannot create the folder `{}` for `{}`", folder.display(), final_path.display());
                FileError::io(&final_path, text, e)
            })?;
        }
        let temp = temp_path(&final_path);
        let file = OpenOptions::new().write(true).create_new(true).open(&temp).map_err(|e| {
            let text = format!("cannot create `{}` for `{}`", temp.display(), final_path.display());
            FileError::io(&final_path, text, e)
        })?;
        let guard = Guard { temp, keep: false };
        let output = Output::new(file, options.compression.resolve(&final_path), &final_path)?;
        let mut shard = ShardWriter {
            writer: BufWriter::with_capacity(BUFFER, output),
            guard,
            final_path,
            delimiter: options.delimiter.clone(),
            footer: options.footer.clone(),
            records: 0,
        };
        if let Some(header) = &options.header {
            shard.put(header)?;
        }
        Ok(shard)
    }

    /// Writes a record and the delimiter.
    ///
    /// # Errors
    /// [`Io`](super::FileErrorKind::Io), such as a full disk. The shard is then lost: drop the writer.
    #[inline]
    pub fn write_record(&mut self, record: &[u8]) -> Result<(), FileError> {
        self.put(record)?;
        self.records += 1;
        Ok(())
    }

    /// Records written so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes the footer and what ends the compression, and waits until all of it is on disk.
    ///
    /// # Errors
    /// [`Io`](super::FileErrorKind::Io); the temporary file is then removed.
    pub fn finish(self) -> Result<FinishedShard, FileError> {
        self.end(true)
    }

    /// Like [`finish`](Self::finish), but does not wait for the disk: for a file that is read again and not kept.
    pub(crate) fn finish_unsynced(self) -> Result<FinishedShard, FileError> {
        self.end(false)
    }

    fn end(mut self, sync: bool) -> Result<FinishedShard, FileError> {
        if let Some(footer) = self.footer.take() {
            self.put(&footer)?;
        }
        let ShardWriter { writer, mut guard, final_path, records, .. } = self;
        writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(Output::finish)
            .and_then(|file| if sync { file.sync_all() } else { Ok(()) })
            .map_err(|e| failed(&guard, &final_path, e))?;
        guard.keep = true;
        Ok(FinishedShard { temp: guard.temp.clone(), final_path, records })
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.writer
            .write_all(bytes)
            .and_then(|()| self.writer.write_all(&self.delimiter))
            .map_err(|e| failed(&self.guard, &self.final_path, e))
    }
}

#[cold]
fn failed(guard: &Guard, final_path: &std::path::Path, cause: io::Error) -> FileError {
    let text = format!(
        "cannot write `{}` (so far the temporary file `{}`, which is removed)",
        final_path.display(),
        guard.temp.display()
    );
    FileError::io(final_path, text, cause)
}
