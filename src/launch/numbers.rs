//! Numbers on the command line, with errors that say what is wanted.

use std::num::NonZeroUsize;

use purlin_sdk::Duration;

/// A number of bundles at once.
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| {
        "it is no number of bundles to run at once: write a whole number from 1, such as 4, or leave the option out for \
         as many as there are cores"
            .to_owned()
    })
}

/// A seed.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("it is no seed: write a whole number from 0 to {}", u64::MAX))
}

/// How often a bundle is tried again.
pub(super) fn retries(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        format!("it is no number of times to try again: write a whole number from 0 (never) to {}", u32::MAX)
    })
}

/// A length of time above zero.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    match text.parse::<Duration>() {
        Ok(period) if period > Duration::ZERO => Ok(period),
        _ => Err(
            "it is no length of time above zero: write a number with its unit, such as 500ms, 30s or 5min"
                .to_owned(),
        ),
    }
}
