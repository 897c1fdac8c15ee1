//! The error of user code: anything that implements [`std::error::Error`], by `?`.

use std::{error::Error, fmt};

/// What the methods of a DoFn return.
pub type Result<T = (), E = DoFnError> = std::result::Result<T, E>;

/// An error from user code, one word wide.
///
/// `?` turns every error into one. The runner adds the transform's path, the phase and the source line.
///
/// ```
/// use purlin_sdk::{DoFnError, Result};
/// fn parse(text: &str) -> Result<i32> { Ok(text.trim().parse()?) }
/// assert!(parse("seven").unwrap_err().to_string().contains("invalid digit"));
/// assert!(DoFnError::msg("the service is busy").retryable().is_retryable());
/// ```
pub struct DoFnError(Box<Inner>);

struct Inner {
    cause: Box<dyn Error + Send + Sync>,
    retryable: bool,
}

impl DoFnError {
    /// An error with a message and no further cause.
    pub fn msg(message: impl fmt::Display) -> DoFnError {
        DoFnError::from_boxed(message.to_string().into())
    }

    /// An error with this cause.
    pub fn from_boxed(cause: Box<dyn Error + Send + Sync>) -> DoFnError {
        DoFnError(Box::new(Inner { cause, retryable: false }))
    }

    /// Says that the same bundle may well succeed when it is tried again. Only such errors are retried, and only
    /// when the run was started with retries on.
    #[must_use]
    pub fn retryable(mut self) -> DoFnError {
        self.0.retryable = true;
        self
    }

    /// Whether [`DoFnError::retryable`] was called on it.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// The error that it was made from.
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0.cause
    }

    /// The error that it was made from, by value.
    pub fn into_cause(self) -> Box<dyn Error + Send + Sync> {
        self.0.cause
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for DoFnError {
    fn from(cause: E) -> DoFnError {
        DoFnError::from_boxed(Box::new(cause))
    }
}

impl fmt::Display for DoFnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_chain(f, self.cause())
    }
}

impl fmt::Debug for DoFnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes an error and its sources, skipping a source whose text the one above it already ends with.
pub(crate) fn write_chain(f: &mut fmt::Formatter<'_>, error: &(dyn Error + 'static)) -> fmt::Result {
    let mut said = error.to_string();
    f.write_str(&said)?;
    let mut source = error.source();
    while let Some(e) = source {
        let text = e.to_string();
        if !said.ends_with(&text) {
            write!(f, ": {text}")?;
        }
        said = text;
        source = e.source();
    }
    Ok(())
}
