//! Threads that count for themselves and merge per window: what crosses between them is one map a window, not every event.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::windows::{Counts, Windows, closed_by, results};
use super::{Source, all_closed, on_threads};
use crate::generate::Generator;
use crate::{Params, checksum};

/// A window that some threads have passed.
#[derive(Debug, Default)]
struct Passed {
    /// How many threads have passed it.
    threads: usize,
    /// How many maps there are of it, here and in the hands of threads.
    maps: usize,
    /// A map that waits for another.
    waiting: Option<Counts>,
}

#[derive(Debug, Default)]
struct Shared {
    passed: HashMap<i64, Passed>,
    /// Empty maps that have their size already.
    spare: Vec<Counts>,
}

/// Counts, and returns the checksum.
pub(super) fn run(params: &Params) -> u64 {
    let claims = AtomicU64::new(0);
    let shared = Mutex::new(Shared::default());
    checksum::of(on_threads(params.threads, |_| {
        let mut source = Source::new(params);
        let mut windows = Windows::new();
        let mut sum = 0_u64;
        let mut pass = |window: i64, counts: &mut Counts| {
            sum = sum.wrapping_add(pass(&shared, params.threads, window, counts));
        };
        while let Some(batch) = source.claim(&claims) {
            for event in source.fill(batch.clone()) {
                windows.count(event.key, event.ts);
            }
            // This thread's next batch lies after this one, wherever the others are.
            windows.close(closed_by(Generator::watermark(batch.end)), &mut pass);
        }
        windows.close(all_closed(&source), &mut pass);
        sum
    }))
}

/// Takes note that a thread has passed a window, merges its map with those that wait, and returns the results' checksum
/// if it was the last one; 0 otherwise. Merging is done outside the lock.
fn pass(shared: &Mutex<Shared>, threads: usize, window: i64, counts: &mut Counts) -> u64 {
    let mut state = lock(shared);
    let replacement = state.spare.pop().unwrap_or_default();
    let mut mine = mem::replace(counts, replacement);
    let passed = state.passed.entry(window).or_default();
    passed.threads += 1;
    passed.maps += 1;
    loop {
        let passed = state.passed.entry(window).or_default();
        if let Some(mut other) = passed.waiting.take() {
            drop(state);
            if other.len() > mine.len() {
                mem::swap(&mut other, &mut mine);
            }
            for (key, count) in other.drain() {
                *mine.entry(key).or_insert(0) += count;
            }
            state = lock(shared);
            state.spare.push(other);
            state.passed.entry(window).or_default().maps -= 1;
        } else if passed.threads == threads && passed.maps == 1 {
            state.passed.remove(&window);
            drop(state);
            let sum = results(window, &mut mine);
            lock(shared).spare.push(mine);
            return sum;
        } else {
            passed.waiting = Some(mine);
            return 0;
        }
    }
}

/// A thread that panicked ends the run anyway, so what it left behind is not looked at.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
