//! A user's function, to be cloned for each kernel.

use std::sync::{Mutex, PoisonError};

/// Keeps a value that need not be `Sync` where threads can clone it.
#[derive(Debug)]
pub(crate) struct Proto<F>(Mutex<F>);

impl<F: Clone> Proto<F> {
    pub(crate) fn new(value: F) -> Proto<F> {
        Proto(Mutex::new(value))
    }

    pub(crate) fn get(&self) -> F {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
