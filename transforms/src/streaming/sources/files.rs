//! New files in a folder.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    marker::PhantomData,
    path::{Path, PathBuf},
    time::SystemTime,
};

use purlin_sdk::{DoFnError, Element, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::streaming::{Offset, ReadUpTo, StreamSource};

/// The files that come into a folder, each read once. Source: Spark's file source.
///
/// Put files in place by renaming them: one that is read while it is written is read as it is then. Names that begin with
/// `.` or `_` are left out. Files come in the order of their times, then of their names. The options are those of
/// Spark's: `max_files_per_trigger`, `max_bytes_per_trigger`, `latest_first`, `max_file_age`, `file_name_only`,
/// a pattern for the names.
pub struct FileStream<T> {
    dir: PathBuf,
    pattern: glob::Pattern,
    wrong: Option<String>,
    most_files: Option<usize>,
    most_bytes: Option<u64>,
    latest_first: bool,
    max_age: std::time::Duration,
    by_name: bool,
    parse: fn(&str) -> Result<Option<T>>,
    element: PhantomData<fn(T)>,
}

/// Which files were given, and when the newest of them was changed.
///
/// An offset names all files that were given and are not too old to be looked at again, so that it can be read by
/// whoever has nothing else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Given {
    /// How many were given.
    count: u64,
    /// The files of the last step that led here, in order.
    last: Vec<String>,
    /// Names and times, in ms since 1970.
    seen: BTreeMap<String, u64>,
    /// Files older than this are not looked at.
    from: u64,
}

#[derive(Clone, Debug)]
struct Found {
    path: String,
    time: u64,
    bytes: u64,
}

impl FileStream<String> {
    /// Lines of text.
    pub fn text(dir: impl Into<PathBuf>) -> FileStream<String> {
        FileStream::of(dir, |line| Ok(Some(line.to_owned())))
    }
}

impl<T: DeserializeOwned> FileStream<T> {
    /// Lines of JSON, a row each. Empty lines are left out.
    pub fn json(dir: impl Into<PathBuf>) -> FileStream<T> {
        FileStream::of(dir, |line| {
            if line.trim().is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(line)?)) }
        })
    }
}

impl<T> FileStream<T> {
    fn of(dir: impl Into<PathBuf>, parse: fn(&str) -> Result<Option<T>>) -> FileStream<T> {
        FileStream {
            dir: dir.into(),
            pattern: glob::Pattern::new("*").unwrap_or_default(),
            wrong: None,
            most_files: None,
            most_bytes: None,
            latest_first: false,
            max_age: std::time::Duration::from_secs(7 * 24 * 60 * 60),
            by_name: false,
            parse,
            element: PhantomData,
        }
    }

    /// Only files whose names match, such as `*.json`.
    #[must_use]
    pub fn pattern(mut self, pattern: &str) -> FileStream<T> {
        match glob::Pattern::new(pattern) {
            Ok(pattern) => self.pattern = pattern,
            Err(e) => self.wrong = Some(format!("`{pattern}` is no pattern for file names: {e}")),
        }
        self
    }

    /// How many files an epoch takes at most.
    #[must_use]
    pub fn max_files_per_trigger(mut self, files: usize) -> FileStream<T> {
        self.most_files = Some(files.max(1));
        self
    }

    /// How many bytes an epoch takes at most, but one file at least.
    #[must_use]
    pub fn max_bytes_per_trigger(mut self, bytes: u64) -> FileStream<T> {
        self.most_bytes = Some(bytes);
        self
    }

    /// Takes the newest files first.
    #[must_use]
    pub fn latest_first(mut self, on: bool) -> FileStream<T> {
        self.latest_first = on;
        self
    }

    /// How much older than the newest file one may be to be looked at; a week unless said otherwise. Names are
    /// remembered for as long.
    #[must_use]
    pub fn max_file_age(mut self, age: std::time::Duration) -> FileStream<T> {
        self.max_age = age;
        self
    }

    /// A file counts as the same when its name is, whatever folder it is in.
    #[must_use]
    pub fn file_name_only(mut self, on: bool) -> FileStream<T> {
        self.by_name = on;
        self
    }

    fn key(&self, path: &str) -> String {
        match Path::new(path).file_name() {
            Some(name) if self.by_name => name.to_string_lossy().into_owned(),
            _ => path.to_owned(),
        }
    }

    /// The files that were not given before, in the order in which they are read.
    fn new_files(&self, given: &Given) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with(['.', '_']) || !self.pattern.matches(name) {
                continue;
            }
            let meta = entry.metadata()?;
            if !meta.is_file() {
                continue;
            }
            let time = meta.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            let path = entry.path().to_string_lossy().into_owned();
            if time >= given.from && !given.seen.contains_key(&self.key(&path)) {
                found.push(Found { path, time, bytes: meta.len() });
            }
        }
        found.sort_by(|a, b| (a.time, &a.path).cmp(&(b.time, &b.path)));
        if self.latest_first {
            found.reverse();
        }
        Ok(found)
    }

    fn failed(&self, why: impl fmt::Display) -> DoFnError {
        DoFnError::msg(format!("the folder {} cannot be read: {why}", self.dir.display()))
    }
}

fn given(offset: &Offset) -> Result<Given> {
    serde_json::from_value(offset.clone())
        .map_err(|e| DoFnError::msg(format!("`{offset}` is no offset of a FileStream: {e}")))
}

impl<T: Element> StreamSource for FileStream<T> {
    type Row = T;

    fn description(&self) -> String {
        format!("FileStream[{}]", self.dir.display())
    }

    fn initial_offset(&mut self) -> Result<Offset> {
        if let Some(wrong) = &self.wrong {
            return Err(DoFnError::msg(wrong));
        }
        fs::read_dir(&self.dir).map_err(|e| self.failed(e))?;
        Ok(serde_json::to_value(Given::default())?)
    }

    fn latest_offset(&mut self, from: &Offset, up_to: ReadUpTo<'_>) -> Result<Option<Offset>> {
        let from = given(from)?;
        let end = up_to.end.map(given).transpose()?;
        let mut files = self.new_files(&from).map_err(|e| self.failed(e))?;
        if let Some(end) = &end {
            files.retain(|file| end.seen.contains_key(&self.key(&file.path)));
        }
        if up_to.limited {
            files.truncate(self.most_files.unwrap_or(usize::MAX));
            if let Some(most) = self.most_bytes {
                let mut bytes = 0_u64;
                let fit = files.iter().take_while(|file| {
                    let first = bytes == 0;
                    bytes = bytes.saturating_add(file.bytes);
                    first || bytes <= most
                });
                let fit = fit.count();
                files.truncate(fit.max(1));
            }
        }
        if files.is_empty() {
            return Ok(None);
        }
        let mut to = from;
        to.count += files.len() as u64;
        to.last = files.iter().map(|file| file.path.clone()).collect();
        to.seen.extend(files.iter().map(|file| (self.key(&file.path), file.time)));
        let newest = to.seen.values().copied().max().unwrap_or(0);
        if !self.latest_first {
            let age = u64::try_from(self.max_age.as_millis()).unwrap_or(u64::MAX);
            to.from = to.from.max(newest.saturating_sub(age));
            let oldest = to.from;
            to.seen.retain(|_, time| *time >= oldest);
        }
        Ok(Some(serde_json::to_value(to)?))
    }

    fn read(&mut self, _: &Offset, to: &Offset) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        for path in given(to)?.last {
            let text = fs::read_to_string(&path)
                .map_err(|e| DoFnError::msg(format!("the file {path} cannot be read: {e}")))?;
            for (number, line) in text.lines().enumerate() {
                let row = (self.parse)(line)
                    .map_err(|e| DoFnError::msg(format!("line {} of {path}: {e}", number + 1)))?;
                rows.extend(row);
            }
        }
        Ok(rows)
    }
}

impl<T> fmt::Debug for FileStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStream").field("dir", &self.dir).finish_non_exhaustive()
    }
}
