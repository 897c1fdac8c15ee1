//! Why a value did not encode or bytes did not decode.

use std::{any::type_name, error::Error, fmt};

/// What could not be encoded or decoded, why, and at which byte where that is known. One word wide.
///
/// ```
/// use purlin_sdk::coder::{default_coder, from_bytes};
/// let error = from_bytes(&*default_coder::<(bool, u8)>()?, &[1, 0x80, 2]).unwrap_err();
/// assert_eq!(error.to_string(), "these bytes are no `(bool, u8)`: 256 is no u8 (at byte 1)");
/// assert_eq!((error.type_name(), error.offset()), (Some("(bool, u8)"), Some(1)));
/// # Ok::<(), purlin_sdk::coder::CoderError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CoderError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    what: String,
    doing: Option<(Doing, &'static str)>,
    at: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Writing,
    Reading,
    Tracing,
}

impl CoderError {
    /// An error that says `what` went wrong.
    pub fn msg(what: impl fmt::Display) -> CoderError {
        CoderError(Box::new(Inner { what: what.to_string(), doing: None, at: None }))
    }

    pub(super) fn left_over(bytes: usize, at: usize) -> CoderError {
        let (s, are) = if bytes == 1 { ("", "is") } else { ("s", "are") };
        CoderError::msg(format_args!("{bytes} byte{s} {are} left over")).at(at)
    }

    /// The Rust type that was encoded or decoded, once it is known.
    pub fn type_name(&self) -> Option<&'static str> {
        self.0.doing.map(|(_, name)| name)
    }

    /// How many bytes into the encoding the error was found, when decoding.
    pub fn offset(&self) -> Option<usize> {
        self.0.at
    }

    /// What went wrong, without what was being done.
    pub(super) fn what(&self) -> &str {
        &self.0.what
    }

    /// Found `offset` bytes into the encoding; an offset that is there already is nearer the cause and stays.
    #[must_use]
    pub fn at(mut self, offset: usize) -> CoderError {
        self.0.at.get_or_insert(offset);
        self
    }

    /// The same error in a value that begins `bytes` into the whole.
    pub(super) fn shifted(mut self, bytes: usize) -> CoderError {
        self.0.at = self.0.at.map(|at| at.saturating_add(bytes));
        self
    }

    pub(super) fn writing<T: ?Sized>(self) -> CoderError {
        self.doing(Doing::Writing, type_name::<T>())
    }

    pub(super) fn reading<T: ?Sized>(self) -> CoderError {
        self.doing(Doing::Reading, type_name::<T>())
    }

    pub(super) fn tracing<T: ?Sized>(self) -> CoderError {
        self.doing(Doing::Tracing, type_name::<T>())
    }

    fn doing(mut self, doing: Doing, name: &'static str) -> CoderError {
        self.0.doing.get_or_insert((doing, name));
        self
    }
}

impl fmt::Display for CoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.doing {
            Some((Doing::Writing, name)) => write!(f, "`{name}` does not encode: ")?,
            Some((Doing::Reading, name)) => write!(f, "these bytes are no `{name}`: ")?,
            Some((Doing::Tracing, name)) => write!(f, "`{name}` would not come back from its encoding: ")?,
            None => {}
        }
        f.write_str(&self.0.what)?;
        match self.0.at {
            Some(at) => write!(f, " (at byte {at})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for CoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for CoderError {}

impl serde::ser::Error for CoderError {
    fn custom<M: fmt::Display>(what: M) -> CoderError {
        CoderError::msg(what)
    }
}

impl serde::de::Error for CoderError {
    fn custom<M: fmt::Display>(what: M) -> CoderError {
        CoderError::msg(what)
    }
}
