//! What is wrong with a pipeline before it runs; all of it at once.

use std::{error::Error, fmt};

use super::Step;

/// One thing that is wrong with a pipeline, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    step: Step,
    message: String,
}

impl BuildError {
    /// `message` says what is wrong at `step`, why, and the way out.
    pub fn new(step: Step, message: impl Into<String>) -> BuildError {
        BuildError { step, message: message.into() }
    }

    /// The transform that is wrong.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// What is wrong and the way out.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.message)
    }
}

impl Error for BuildError {}

/// Everything that is wrong with a pipeline.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildErrors(Vec<BuildError>);

impl BuildErrors {
    /// `Ok` when there is none.
    ///
    /// # Errors
    /// When `errors` is not empty.
    pub fn check(errors: Vec<BuildError>) -> Result<(), BuildErrors> {
        if errors.is_empty() { Ok(()) } else { Err(BuildErrors(errors)) }
    }

    /// The errors in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, BuildError> {
        self.0.iter()
    }
}

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("the pipeline cannot be built")?,
            n => write!(f, "the pipeline cannot be built, for {n} reasons")?,
        }
        for e in &self.0 {
            write!(f, "\n  {e}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for BuildErrors {}
