//! W1: count words.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_sdk::{Emitter, ProcessContext, Result};
use purlin_transforms::{Count, io::TextIo};

use super::{direct, run};
use crate::{Failure, Outcome, Params, checksum::word_count};

/// Counts the words of the text as the word count example does.
///
/// # Errors
/// When the run fails.
pub fn counted(params: &Params) -> Result<Outcome, Failure> {
    let (checksum, events) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    run(params, |p| {
        let (sum, words) = (checksum.clone(), events.clone());
        p.apply("Read", TextIo::read(params.input.display().to_string()))
            .flat_map_cx("Split", split)
            .apply("Count", Count::per_element())
            .map("Result", move |(word, n): (String, u64)| {
                sum.fetch_add(word_count(&word, n), Ordering::Relaxed);
                words.fetch_add(n, Ordering::Relaxed);
            });
    })?;
    Ok(Outcome::new(checksum.load(Ordering::Relaxed), events.load(Ordering::Relaxed)))
}

/// The same on the direct runner.
///
/// # Errors
/// When the run fails.
pub fn counted_direct(params: &Params) -> Result<Outcome, Failure> {
    counted(&direct(params))
}

/// Emits the words of a line.
fn split(mut line: String, _: &ProcessContext<'_>, out: &mut Emitter<'_, String>) -> Result {
    if line.is_ascii() {
        line.make_ascii_lowercase();
        let words = line.split(|c: char| !c.is_ascii_lowercase());
        out.emit_all(words.filter(|word| !word.is_empty()).map(str::to_owned));
    } else {
        let words = line.split(|c: char| !c.is_alphabetic());
        out.emit_all(words.filter(|word| !word.is_empty()).map(str::to_lowercase));
    }
    Ok(())
}
