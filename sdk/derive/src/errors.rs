//! Errors that are told together.

use syn::{Error, Result};

#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    pub(crate) fn none_or_all(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
