//! The error of everything that touches a file.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

/// Which of the ways to fail it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// No file has the name, or none matches the pattern.
    NoMatch,
    /// The pattern is not a glob.
    Pattern,
    /// It is a directory, a pipe or a device where a regular file is needed.
    NotAFile,
    /// The operating system refused: permission, full disk, a broken link, ...
    Io,
    /// Compressed data that is cut off, damaged or followed by something else.
    Corrupt,
    /// A record that is not UTF-8.
    NotText,
    /// A record above the greatest length allowed.
    TooLong,
    /// Options that cannot work, or a feature that this build leaves out.
    Options,
}

/// An error with the file, the cause and what to do about it, one word wide. `?` turns it into a
/// [`DoFnError`](purlin_sdk::DoFnError).
///
/// ```
/// use purlin_transforms::io::files::{EmptyMatch, FileErrorKind, expand};
/// let error = expand("no such folder/*.txt", EmptyMatch::Disallow).unwrap_err();
/// assert_eq!(error.kind(), FileErrorKind::NoMatch);
/// assert!(error.to_string().contains("no such folder/*.txt"));
/// ```
pub struct FileError(Box<Inner>);

struct Inner {
    kind: FileErrorKind,
    path: PathBuf,
    text: String,
    cause: Option<io::Error>,
}

impl FileError {
    pub(crate) fn new(kind: FileErrorKind, path: impl Into<PathBuf>, text: impl Into<String>) -> FileError {
        FileError(Box::new(Inner { kind, path: path.into(), text: text.into(), cause: None }))
    }

    /// `text` says what was tried; the cause is written after it. Damaged data keeps a kind of its own.
    pub(crate) fn io(path: impl Into<PathBuf>, text: impl Into<String>, cause: io::Error) -> FileError {
        let kind = match cause.kind() {
            io::ErrorKind::InvalidData => FileErrorKind::Corrupt,
            io::ErrorKind::Unsupported => FileErrorKind::Options,
            _ => FileErrorKind::Io,
        };
        FileError(Box::new(Inner { kind, path: path.into(), text: text.into(), cause: Some(cause) }))
    }

    /// Which of the ways to fail it was.
    pub fn kind(&self) -> FileErrorKind {
        self.0.kind
    }

    /// The file or the pattern.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What the operating system or the decoder said, where one of them failed.
    pub fn cause(&self) -> Option<&io::Error> {
        self.0.cause.as_ref()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)?;
        match &self.0.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileError({:?}: {self})", self.0.kind)
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}
