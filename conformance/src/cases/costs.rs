//! What elements cost, by what is asked of them, and reads that end by time.

use std::{
    hash::{Hash, Hasher},
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Mutex, PoisonError},
};

use purlin_sdk::{DoFnError, Duration, RunState, Runner, Timestamp, sdf::Continuation, sdf::Manual};
use serde::{Deserialize, Serialize};

use super::support::{Log, Sum, collect};
use crate::{
    Meeting, OffsetSource,
    runners::{end_of, start},
};

static CLONES: AtomicU64 = AtomicU64::new(0);
static HASHES: AtomicU64 = AtomicU64::new(0);
static COMPARISONS: AtomicU64 = AtomicU64::new(0);
/// The counters are of all keys there are, so that one run at a time uses them.
static RUNS: Mutex<()> = Mutex::new(());

/// A key that counts what is asked of it.
#[derive(Debug, Serialize, Deserialize)]
struct Counted(i64);

impl Clone for Counted {
    fn clone(&self) -> Counted {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Counted(self.0)
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        COMPARISONS.fetch_add(1, Ordering::Relaxed);
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        HASHES.fetch_add(1, Ordering::Relaxed);
        self.0.hash(state);
    }
}

/// Clones, hashes and comparisons per element, in thousandths, of splitting lines, keying and summing.
pub fn cost(r: &dyn Runner, lines: i64) -> [u64; 3] {
    let _one = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let counters = [&CLONES, &HASHES, &COMPARISONS];
    counters.iter().for_each(|c| c.store(0, Ordering::Relaxed));
    let sums = collect(r, |p| {
        p.create("Lines", 0..lines)
            .map("Line", |i| format!("{},{i}", i % 100))
            .map("Split", |line| {
                let mut parts = line.split(',').map(|part| part.parse::<i64>().unwrap_or(-1));
                (Counted(parts.next().unwrap_or(-1)), parts.next().unwrap_or(-1))
            })
            .combine_per_key("Sum", Sum)
            .map("Value", |(_, sum)| sum)
    });
    assert_eq!(sums.iter().sum::<i64>(), lines * (lines - 1) / 2);
    counters.map(|c| c.load(Ordering::Relaxed) * 1000 / lines as u64)
}

/// The cost of an element stays flat however many there are. What it is in time, the benchmarks say.
pub fn b177_the_cost_of_an_element_is_flat(r: &dyn Runner) {
    let (few, many) = (cost(r, 2_000), cost(r, 20_000));
    for (what, (few, many)) in ["clones", "hashes", "comparisons"].iter().zip(few.into_iter().zip(many)) {
        assert!(
            many <= few + few / 20 + 50,
            "{what} an element, in thousandths: {few} of few, {many} of many"
        );
    }
}

/// Floats are no keys, which rustc says; by their bits they are, in one way: each bit pattern is a key.
pub fn b144_floats_by_their_bits(r: &dyn Runner) {
    let other = f64::from_bits(f64::NAN.to_bits() | 1);
    let floats = [f64::NAN, -f64::NAN, other, 0.0, -0.0, f64::NAN, 0.0, 1.5];
    let counts = collect(r, |p| {
        p.create("Floats", floats).map("Bits", |f| (f.to_bits(), 1_i64)).combine_per_key("Count", Sum)
    });
    let mut expected: Vec<(u64, i64)> =
        [(f64::NAN, 2), (-f64::NAN, 1), (other, 1), (0.0, 2), (-0.0, 1), (1.5, 1)]
            .iter()
            .map(|(f, n)| (f.to_bits(), *n))
            .collect();
    expected.sort_unstable();
    assert_eq!(counts, expected);
    // Or canonical, as SQL has it: one NaN, one zero.
    let canonical = |f: f64| (if f.is_nan() { f64::NAN } else { f + 0.0 }).to_bits();
    let groups = collect(r, |p| {
        p.create("Floats", floats)
            .map("Canonical", move |f| (canonical(f), ()))
            .group_by_key("Group")
            .map("Size", |(_, group)| group.len())
    });
    assert_eq!(groups, [1, 3, 4]);
}

/// Polls every 50 ms; each poll takes what is there, up to the limit, and the read is over by its end in processing
/// time, however little came.
fn bounded_read(r: &dyn Runner, available: i64, most: i64, blocks: bool) -> (Vec<i64>, i64) {
    let limit = Duration::from_millis(200);
    let last = Arc::new(Mutex::new((None::<Timestamp>, Timestamp::MIN)));
    let noted = last.clone();
    let meeting = Meeting::of(2);
    let poll = meeting.clone();
    let source = OffsetSource::<Manual, Vec<u8>, i64, _>::endless(move |_: &Vec<u8>, offsets, cx, out| {
        let now = cx.now();
        let over = {
            let mut times = noted.lock().map_err(|_| DoFnError::msg("a test panicked"))?;
            if blocks && times.0.is_none() {
                poll.attend()?;
            }
            let first = *times.0.get_or_insert(now);
            times.1 = now;
            now >= first + limit
        };
        let first = offsets.range().start;
        for i in first..available.min(most) {
            if !offsets.try_claim(i) {
                return Ok(Continuation::Stop);
            }
            out.emit(i);
        }
        if over || offsets.range().start >= most {
            // All that is left is claimed, so that nothing of it is undone.
            while offsets.try_claim(i64::MAX) {}
            return Ok(Continuation::Stop);
        }
        Ok(Continuation::Resume(Duration::from_millis(50)))
    });
    let log = Log::default();
    let handle = start(r, |p| {
        log.note("Collect", &p.impulse("Impulse").par_do_splittable("Read", source));
    })
    .unwrap_or_else(|e| panic!("it did not start: {e}"));
    if blocks {
        assert_eq!(handle.state(), RunState::Running);
        if let Err(e) = meeting.attend() {
            panic!("the source was not polled: {e}");
        }
    }
    if let Err(e) = end_of(&handle) {
        panic!("it failed: {e}");
    }
    let times = last.lock().unwrap_or_else(PoisonError::into_inner);
    let took = times.0.map_or(0, |first| times.1.as_millis() - first.as_millis());
    (log.take_sorted(), took)
}

/// A read of an unbounded source that is bounded by time ends by time: with nothing, and with less than was asked for.
pub fn b204_reads_bounded_by_time_end(r: &dyn Runner) {
    assert_eq!(bounded_read(r, 0, 5, false), (vec![], 200));
    assert_eq!(bounded_read(r, 3, 5, false), (vec![0, 1, 2], 200));
}

/// A poll that blocks is waited for, since nothing can call it off: the read ends by time when it has come back.
pub fn b204_a_poll_that_blocks(r: &dyn Runner) {
    assert_eq!(bounded_read(r, 0, 5, true), (vec![], 200));
    assert_eq!(bounded_read(r, 3, 5, true), (vec![0, 1, 2], 200));
}
