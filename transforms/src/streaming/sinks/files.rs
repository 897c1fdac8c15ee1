//! Files, exactly once.

use std::{fmt, fs, io::Write, marker::PhantomData, path::PathBuf};

use purlin_sdk::{DoFnError, Element, Result};
use serde::{Deserialize, Serialize};

use crate::streaming::{OutputMode, QueryTrigger, StreamSink, whole_file::write_whole};

/// The folder beside the files that says which of them belong to the result.
const LOG: &str = "_purlin_metadata";

/// How a row is written in a file.
pub trait RowFormat<T>: Send + 'static {
    /// What the names of the files end in.
    fn extension(&self) -> &str;

    /// Writes a row.
    ///
    /// # Errors
    /// When the row cannot be written.
    fn write(&self, row: &T, to: &mut dyn Write) -> Result;
}

/// A row a line, as JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonLines;

impl<T: Serialize> RowFormat<T> for JsonLines {
    fn extension(&self) -> &str {
        "json"
    }

    fn write(&self, row: &T, to: &mut dyn Write) -> Result {
        serde_json::to_writer(&mut *to, row)?;
        Ok(to.write_all(b"\n")?)
    }
}

/// A row a line, as it displays. A row with a line break in it is an error: it would be read as two.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextLines;

impl<T: fmt::Display> RowFormat<T> for TextLines {
    fn extension(&self) -> &str {
        "txt"
    }

    fn write(&self, row: &T, to: &mut dyn Write) -> Result {
        let line = row.to_string();
        if line.contains(['\n', '\r']) {
            return Err(DoFnError::msg(format!("the row {line:?} has a line break in it; write it as JSON")));
        }
        Ok(writeln!(to, "{line}")?)
    }
}

/// Writes a file for each epoch that has rows.
///
/// A file is written under another name, synced, and renamed; then the epoch is noted in the folder's
/// `_purlin_metadata`. So a file is whole or not there, and an epoch that is given again is not written again: exactly
/// once. Append mode only, since what is in a file does not change.
pub struct FileSink<T, F> {
    dir: PathBuf,
    format: F,
    element: PhantomData<fn(T)>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    epoch: u64,
    files: Vec<String>,
}

impl<T> FileSink<T, JsonLines> {
    /// Lines of JSON, in files of the folder `dir`.
    pub fn json(dir: impl Into<PathBuf>) -> FileSink<T, JsonLines> {
        FileSink::of(dir, JsonLines)
    }
}

impl<T> FileSink<T, TextLines> {
    /// Lines of text, in files of the folder `dir`.
    pub fn text(dir: impl Into<PathBuf>) -> FileSink<T, TextLines> {
        FileSink::of(dir, TextLines)
    }
}

impl<T, F> FileSink<T, F> {
    /// Files of the folder `dir` in a format of your own.
    pub fn of(dir: impl Into<PathBuf>, format: F) -> FileSink<T, F> {
        FileSink { dir: dir.into(), format, element: PhantomData }
    }

    fn log(&self, epoch: u64) -> PathBuf {
        self.dir.join(LOG).join(epoch.to_string())
    }
}

impl<T: Element, F: RowFormat<T>> StreamSink<T> for FileSink<T, F> {
    fn description(&self) -> String {
        format!("FileSink[{}]", self.dir.display())
    }

    fn refuses(&self, mode: OutputMode, trigger: QueryTrigger) -> Option<String> {
        if mode != OutputMode::Append {
            return Some(format!(
                "files are written once and not changed, which {mode} mode would need: use append mode, or another sink \
                 such as `for_each_batch`"
            ));
        }
        matches!(trigger, QueryTrigger::Continuous(_) | QueryTrigger::RealTime(_)).then(|| {
            "a file is written when an epoch is done, and under a continuous or real-time trigger rows come before that: \
             use `for_each`, or another trigger"
                .to_owned()
        })
    }

    fn open(&mut self) -> Result {
        fs::create_dir_all(self.dir.join(LOG))?;
        Ok(())
    }

    fn add(&mut self, epoch: u64, rows: Vec<T>, _: OutputMode) -> Result {
        let log = self.log(epoch);
        if log.exists() {
            // It was written before a restart.
            return Ok(());
        }
        let mut files = Vec::new();
        if !rows.is_empty() {
            let name = format!("part-{epoch:05}.{}", self.format.extension());
            write_whole(&self.dir.join(&name), |to| {
                rows.iter().try_for_each(|row| self.format.write(row, to))
            })?;
            files.push(name);
        }
        let written = serde_json::to_vec(&Written { epoch, files })?;
        write_whole(&log, |to| Ok(to.write_all(&written)?))
    }
}

impl<T, F> fmt::Debug for FileSink<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSink").field("dir", &self.dir).finish_non_exhaustive()
    }
}
