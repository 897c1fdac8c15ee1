//! What a record becomes.

use std::{fmt, marker::PhantomData};

use purlin_sdk::Element;

use crate::io::{files::FileError, text::Record};

/// What a record becomes: [`Lines`], [`Bytes`], or one of the two [with its file](WithFileName).
///
/// It is not for others to implement.
pub trait RecordFormat: sealed::Make {}

impl<F: sealed::Make> RecordFormat for F {}

mod sealed {
    use super::{Element, FileError, Record};

    /// Makes an element of a record.
    pub trait Make: 'static {
        /// The element.
        type Item: Element;

        /// The element that `record` of the file `path` is.
        ///
        /// # Errors
        /// When the record's bytes are not what the element needs.
        fn make(path: &str, record: &Record<'_>) -> Result<Self::Item, FileError>;
    }
}

/// Records as strings; one that is not UTF-8 fails the run.
#[derive(Clone, Copy, Debug)]
pub struct Lines;

impl sealed::Make for Lines {
    type Item = String;

    #[inline]
    fn make(_: &str, record: &Record<'_>) -> Result<String, FileError> {
        record.text().map(str::to_owned)
    }
}

/// Records as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bytes;

impl sealed::Make for Bytes {
    type Item = Vec<u8>;

    #[inline]
    fn make(_: &str, record: &Record<'_>) -> Result<Vec<u8>, FileError> {
        Ok(record.bytes.to_vec())
    }
}

/// Pairs of the file's path and the record.
pub struct WithFileName<F>(PhantomData<fn() -> F>);

impl<F: sealed::Make> sealed::Make for WithFileName<F> {
    type Item = (String, F::Item);

    fn make(path: &str, record: &Record<'_>) -> Result<(String, F::Item), FileError> {
        Ok((path.to_owned(), F::make(path, record)?))
    }
}

impl<F> fmt::Debug for WithFileName<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WithFileName")
    }
}
