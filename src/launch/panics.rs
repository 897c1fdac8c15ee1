//! Panics in a pipeline are errors of the run, so the panic hook does not print them too.

use std::{
    backtrace::Backtrace,
    cell::Cell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::{Mutex, Once, PoisonError},
    thread,
};

use purlin_sdk::PipelineError;

/// Panics of which the place is remembered; the first one ends the run, and further ones come from its last bundles.
const REMEMBERED: usize = 64;

/// What the error of a panic says that carried something else than text.
const NO_TEXT: &str = "a panic whose payload is no text";

/// How runners begin the names of their threads.
const THREADS: &str = "purlin-";

struct Panic {
    message: String,
    place: String,
}

static PANICS: Mutex<Vec<Panic>> = Mutex::new(Vec::new());

thread_local! {
    static BUILDING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `build`, which makes a pipeline; a panic in it is an error, and remembered and not printed.
pub(super) fn caught<R>(build: impl FnOnce() -> R) -> Result<R, PipelineError> {
    BUILDING.set(true);
    // What is half built is not looked at again.
    let built = panic::catch_unwind(AssertUnwindSafe(build));
    BUILDING.set(false);
    built.map_err(|payload| PipelineError::panic(None, None, &*payload))
}

/// From now on a panic on a runner's thread is remembered and not printed; those of other threads are the business of
/// the hook that was there.
pub(super) fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if BUILDING.get() || thread::current().name().is_some_and(|name| name.starts_with(THREADS)) {
                remember(info);
            } else {
                previous(info);
            }
        }));
    });
}

fn remember(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| NO_TEXT.to_owned());
    let at = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let mut place = format!("the panic was at {at}");
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v == "full") {
        place = format!("{place}\n{}", Backtrace::force_capture());
    }
    let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
    if panics.len() < REMEMBERED {
        panics.push(Panic { message, place });
    }
}

/// Where the panic was that ended in an error with this text.
pub(super) fn place_of(error: &str) -> Option<String> {
    let panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
    panics.iter().find(|p| !p.message.is_empty() && error.ends_with(&p.message)).map(|p| p.place.clone())
}
