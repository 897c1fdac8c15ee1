//! What watermark estimators cost a record.

use std::{
    hint::black_box,
    io::{self, Write as _},
    time::Instant,
};

use purlin_sdk::{
    Duration, SystemClock, Timestamp,
    sdf::{
        BoundedOutOfOrderness, IdlenessState, Monotonic, SourceWatermark, SourceWatermarkState,
        TimestampObserving, WatermarkEstimator, WithIdleness,
    },
};

const RECORDS: usize = 1 << 20;
const ROUNDS: usize = 7;

/// Timestamps 10 ms apart, each behind by what `jitter` says.
fn times(mut jitter: impl FnMut(usize) -> i64) -> Vec<Timestamp> {
    let at = |i: usize| Timestamp::saturating_from_millis(1_700_000_000_000 + 10 * i as i64 - jitter(i));
    (0..RECORDS).map(at).collect()
}

/// The median of the nanoseconds a record, where the watermark is asked for once in `every` records.
fn cost<E: TimestampObserving>(make: impl Fn() -> E, times: &[Timestamp], every: usize) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let mut estimator = make();
            let begun = Instant::now();
            for chunk in times.chunks(every) {
                chunk.iter().for_each(|ts| estimator.observe_timestamp(*ts));
                black_box(estimator.current_watermark());
            }
            begun.elapsed().as_secs_f64() * 1e9 / times.len() as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn main() -> io::Result<()> {
    // A linear congruential generator: the same numbers each time.
    let mut seed = 1_u64;
    let mut random = move |below: i64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as i64 % below
    };
    let ordered = times(|_| 0);
    let near = times(|_| random(1000));
    let wide = times(|_| random(60_000));
    let bursts = times(|i| if i / 10_000 % 2 == 0 { random(100) } else { random(1_000_000) });
    let mut out = io::stdout().lock();
    writeln!(out, "ns a record, median of {ROUNDS} rounds of {RECORDS} records")?;
    for (name, times) in [
        ("in order", &ordered),
        ("1 s of jitter", &near),
        ("60 s", &wide),
        ("100 ms and 1000 s in turn", &bursts),
    ] {
        let source = || SourceWatermark::new(SourceWatermarkState::default());
        let bounded = || BoundedOutOfOrderness::new(Timestamp::MIN, Duration::from_secs(5));
        let idleness = || {
            let state = IdlenessState::new(Timestamp::MIN, &SystemClock);
            let clock = std::sync::Arc::new(SystemClock);
            WithIdleness::new(state, Duration::from_secs(5), clock, Monotonic::new)
        };
        let asked_often = cost(source, times, 1);
        let asked_seldom = cost(source, times, 1024);
        let bounded = cost(bounded, times, 1024);
        let idleness = cost(idleness, times, 1024);
        writeln!(
            out,
            "{name}: SourceWatermark {asked_seldom:.1} (asked after each record {asked_often:.1}), \
             BoundedOutOfOrderness {bounded:.1}, WithIdleness<Monotonic> {idleness:.1}"
        )?;
    }
    let mut estimator = SourceWatermark::new(SourceWatermarkState::default());
    wide.iter().for_each(|ts| estimator.observe_timestamp(*ts));
    let begun = Instant::now();
    for _ in 0..1000 {
        estimator = SourceWatermark::new(black_box(estimator.state()));
    }
    writeln!(out, "SourceWatermark saved and made again: {:.1} us", begun.elapsed().as_secs_f64() * 1e3)
}
