//! Where DoFns meet that only a parallel run lets in at once.

use std::{
    fmt,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use purlin_sdk::{DoFnError, Result};

/// A place that lets nobody through before a number of visitors are there. Later visitors pass, which is what a
/// barrier does not do. Clones are one place.
#[derive(Clone)]
pub struct Meeting(Arc<Place>);

struct Place {
    needed: usize,
    arrived: Mutex<usize>,
    complete: Condvar,
}

impl Meeting {
    /// A place that `needed` must come to.
    pub fn of(needed: usize) -> Meeting {
        Meeting(Arc::new(Place { needed, arrived: Mutex::new(0), complete: Condvar::new() }))
    }

    /// Comes, and stays until all are there.
    ///
    /// # Errors
    /// When the others do not come within a minute, so that a test ends that no parallel run saves.
    pub fn attend(&self) -> Result {
        let mut arrived = self.0.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        *arrived += 1;
        self.0.complete.notify_all();
        let here = |n: &mut usize| *n < self.0.needed;
        let (arrived, waited) = self
            .0
            .complete
            .wait_timeout_while(arrived, Duration::from_secs(60), here)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(DoFnError::msg(format!("only {arrived} of {} came", self.0.needed)));
        }
        Ok(())
    }
}

impl fmt::Debug for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "meeting of {}", self.0.needed)
    }
}
