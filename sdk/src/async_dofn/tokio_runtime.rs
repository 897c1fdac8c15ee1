//! A tokio runtime for those who need its reactor.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use tokio::runtime::{Builder, Handle, Runtime};

static SHARED: Mutex<Option<Runtime>> = Mutex::new(None);

/// The runtime that this is called in, otherwise one that the process shares.
pub(crate) fn handle() -> io::Result<Handle> {
    if let Ok(handle) = Handle::try_current() {
        return Ok(handle);
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = &*shared {
        return Ok(runtime.handle().clone());
    }
    // Futures run on the threads of their bundles; this one only has the reactor and the timers.
    let runtime =
        Builder::new_multi_thread().worker_threads(1).enable_all().thread_name("purlin-tokio").build()?;
    let handle = runtime.handle().clone();
    *shared = Some(runtime);
    Ok(handle)
}
