//! The watermark never passes work that is open.

use std::collections::BTreeMap;

use purlin_sdk::{
    Duration, PCollection, Pipeline, Runner, Timestamp,
    metrics::DROPPED_DUE_TO_LATENESS,
    sdf::{Continuation, Manual, OffsetRange},
    window::FixedWindows,
};

use super::sources::Sum;
use crate::{Committed, OffsetSource, runners::run};

/// How a pipeline of [`b174_nothing_on_time_is_late`] is put together.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How far the timestamps go up, by element.
    pub steps: Vec<i64>,
    /// How many elements are emitted between two pauses.
    pub per_pause: usize,
    /// How many keys there are.
    pub keys: i64,
    /// How long the windows of the three stages are, in seconds.
    pub sizes: [i64; 3],
    /// After which of the stages there is a reshuffle.
    pub reshuffles: [bool; 3],
}

/// A source that is on time, and three stages of windows and sums: no element is late, and each window is complete and
/// comes out once.
pub fn b174_nothing_on_time_is_late(runner: &dyn Runner, shape: &Shape) {
    let times: Vec<i64> = shape
        .steps
        .iter()
        .scan(0, |t, step| {
            *t += step;
            Some(*t)
        })
        .collect();
    let out = Committed::new();
    let outcome = run(runner, |p| {
        let mut pc = source(p, times.clone(), shape);
        for (i, (size, reshuffle)) in shape.sizes.into_iter().zip(shape.reshuffles).enumerate() {
            if reshuffle {
                pc = pc.reshuffle(&format!("Reshuffle {i}"));
            }
            pc = pc
                .window_into(&format!("Window {i}"), FixedWindows::of(Duration::from_secs(size)))
                .combine_per_key(&format!("Sum {i}"), Sum);
        }
        out.collect("Collect", &pc);
    })
    .expect("the run fails");
    assert_eq!(outcome.metrics.committed.counter_total(DROPPED_DUE_TO_LATENESS), 0, "{shape:?}");

    // A sum lies at its window's end, so each stage moves timestamps on.
    let mut expected: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for (n, t) in times.iter().enumerate() {
        let last = shape.sizes.iter().fold(t * 1000, |ms, size| {
            let size = size * 1000;
            ms.div_euclid(size) * size + size - 1
        });
        *expected.entry((last, n as i64 % shape.keys)).or_default() += 1;
    }
    let mut seen: Vec<_> =
        out.seen().iter().map(|s| ((s.timestamp.as_millis(), s.value.0), s.value.1)).collect();
    seen.sort();
    assert_eq!(seen, expected.into_iter().collect::<Vec<_>>(), "{shape:?}");
}

fn source(p: &Pipeline, times: Vec<i64>, shape: &Shape) -> PCollection<(i64, i64)> {
    let (keys, per_pause) = (shape.keys, shape.per_pause);
    let all = OffsetRange::new(0, times.len() as i64);
    let source = OffsetSource::<Manual, _, _, _>::new(all, move |_: &Vec<u8>, at, _, out| {
        let first = at.range().start;
        for n in first..first.saturating_add(per_pause as i64) {
            if !at.try_claim(n) {
                return Ok(Continuation::Stop);
            }
            let time = Timestamp::from_secs(times[n as usize]);
            out.emit_at((n % keys, 1), time);
            // All that come later are not earlier than this one.
            at.set_watermark(time)?;
        }
        Ok(Continuation::Resume(Duration::from_millis(1)))
    });
    p.impulse("Impulse").par_do_splittable("Read", source)
}
