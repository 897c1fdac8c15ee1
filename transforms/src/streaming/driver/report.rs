//! Progress.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use purlin_sdk::Timestamp;

use super::Driver;
use crate::streaming::{
    EventTime, EventTimeProgress, QueryProgress, SinkProgress, SourceProgress, checkpoint::EpochLog,
};

/// How long the parts of an epoch took.
pub(super) struct Took {
    triggered: Timestamp,
    started: Instant,
    parts: BTreeMap<&'static str, Duration>,
}

impl Took {
    pub(super) fn new(triggered: Timestamp) -> Took {
        Took { triggered, started: Instant::now(), parts: BTreeMap::new() }
    }

    pub(super) fn time<R>(&mut self, part: &'static str, work: impl FnOnce() -> R) -> R {
        let started = Instant::now();
        let done = work();
        self.add(part, started.elapsed());
        done
    }

    pub(super) fn add(&mut self, part: &'static str, took: Duration) {
        *self.parts.entry(part).or_default() += took;
    }
}

impl<T: Send + 'static> Driver<T> {
    /// A start that ends by itself and found nothing to do says so, with the number that the next epoch will have: as in
    /// Spark.
    pub(super) fn report_nothing(&mut self) {
        if self.at.ran || self.is_ending() {
            return;
        }
        let now = self.settings.clock.now();
        let log = EpochLog {
            epoch: self.at.next,
            from: self.at.offsets.clone(),
            to: self.at.offsets.clone(),
            watermark: self.at.watermark,
            late: self.at.before,
            no_data: true,
            policy: self.settings.policy,
            began: now,
        };
        let none = vec![0; self.feeds.len()];
        self.report(&log, &none, 0, &None, Took::new(now));
    }

    pub(super) fn report(
        &mut self,
        log: &EpochLog,
        counts: &[u64],
        output: usize,
        seen: &Option<EventTime>,
        took: Took,
    ) {
        let total = took.started.elapsed();
        let since_last = self.at.last_trigger.map(|last| (took.triggered - last).to_std());
        self.at.last_trigger = Some(took.triggered);
        let input_rate = |rows: u64| since_last.map_or(0.0, |since| rate(rows, since));
        let sources = self.feeds.iter().enumerate().map(|(i, feed)| SourceProgress {
            description: feed.source.description(),
            start_offset: Some(log.from[i].clone()),
            end_offset: Some(log.to[i].clone()),
            latest_offset: Some(log.to[i].clone()),
            num_input_rows: counts[i],
            input_rows_per_second: input_rate(counts[i]),
            processed_rows_per_second: rate(counts[i], total),
        });
        let rows = counts.iter().sum();
        let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        let mut duration_ms: BTreeMap<String, u64> =
            took.parts.into_iter().map(|(part, took)| (part.to_owned(), millis(took))).collect();
        duration_ms.insert("triggerExecution".into(), millis(total));
        let event_time = self.cx.has_watermark().then(|| {
            let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
            EventTimeProgress {
                watermark: log.watermark.to_string(),
                min: text(seen.and_then(|s| s.min)),
                max: text(seen.and_then(|s| s.max)),
                avg: text(seen.and_then(|s| s.mean())),
            }
        });
        let progress = QueryProgress {
            id: self.query.id.clone(),
            run_id: self.query.run_id.clone(),
            name: self.query.name.clone(),
            timestamp: took.triggered.to_string(),
            batch_id: log.epoch,
            batch_duration: millis(total),
            num_input_rows: rows,
            input_rows_per_second: input_rate(rows),
            processed_rows_per_second: rate(rows, total),
            duration_ms,
            event_time,
            state_operators: self.cx.state_operators(),
            sources: sources.collect(),
            sink: SinkProgress {
                description: self.sink.description(),
                num_output_rows: i64::try_from(output).unwrap_or(i64::MAX),
            },
        };
        self.query.report(progress);
    }
}

fn rate(rows: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { rows as f64 / seconds } else { 0.0 }
}
