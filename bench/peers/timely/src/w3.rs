//! Counts per key and window, as operators on timely's exchange and frontier: a map per window (or pane of a second),
//! closed when the frontier has passed its end. Times are the watermark, moved so that none lies below 0.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use purlin_bench_common::checksum::window_count;
use purlin_bench_common::generate::{BATCH, Generator, JITTER_MS};
use purlin_bench_common::{Failure, Outcome, Params};
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::{Operator, source};

use crate::run;
use crate::w2::Sum;

type Counts = HashMap<u64, u64, FixedState>;

/// How windows count and close.
trait Windows: 'static {
    fn count(&mut self, key: u64, ts: i64);

    /// Closes all windows that end at or before a time, and returns what they add to the checksum.
    fn close(&mut self, watermark: i64) -> u64;
}

pub fn tumbling(params: &Params) -> Result<Outcome, Failure> {
    windows(params, || Tumbling { open: VecDeque::new(), spare: Vec::new(), first: -1 })
}

pub fn sliding(params: &Params) -> Result<Outcome, Failure> {
    windows(params, || Sliding {
        panes: VecDeque::new(),
        spare: Vec::new(),
        first: -15,
        merged: Counts::default(),
    })
}

fn windows<W: Windows>(
    params: &Params,
    open: impl Fn() -> W + Send + Sync + 'static,
) -> Result<Outcome, Failure> {
    let (n, events) = (params.n, Generator::new(params.keys));
    let sum = run(params, move |worker, total| {
        let (index, peers) = (worker.index() as u64, worker.peers() as u64);
        worker.dataflow::<u64, _, _>(|scope| {
            let (mut windows, mut sum) = (open(), Sum::of(total));
            source(scope, "Events", |capability, info| {
                let activator = scope.activator_for(info.address);
                let mut capability = Some(capability);
                // Batches in turn, as a partitioned log would have them.
                let mut next = index * BATCH;
                move |output| {
                    let Some(now) = capability.as_mut() else { return };
                    if next >= n {
                        capability = None;
                        return;
                    }
                    output.session(&now).give_iterator((next..n.min(next + BATCH)).map(|i| {
                        let event = events.event(i);
                        (event.key, event.ts)
                    }));
                    next += peers * BATCH;
                    now.downgrade(&((Generator::watermark(next) + JITTER_MS) as u64));
                    activator.activate();
                }
            })
            .container::<Vec<(u64, i64)>>()
            .sink(
                Exchange::new(|record: &(u64, i64)| record.0),
                "Windows",
                move |(input, frontier)| {
                    input.for_each_stamp(|_, data| {
                        for (key, ts) in data.flatten() {
                            windows.count(*key, *ts);
                        }
                    });
                    let watermark = match frontier.frontier().first() {
                        Some(time) => *time as i64 - JITTER_MS,
                        None => i64::MAX,
                    };
                    sum.add(windows.close(watermark));
                },
            );
        });
    })?;
    Ok(Outcome::new(sum, params.n))
}

fn results(counts: &mut Counts, start: i64) -> u64 {
    counts.drain().fold(0, |sum, (key, count)| sum.wrapping_add(window_count(key, start, count)))
}

/// Windows of 10 s.
struct Tumbling {
    open: VecDeque<Counts>,
    spare: Vec<Counts>,
    first: i64,
}

impl Windows for Tumbling {
    #[inline]
    fn count(&mut self, key: u64, ts: i64) {
        let at = (ts.div_euclid(10_000) - self.first) as usize;
        while self.open.len() <= at {
            self.open.push_back(self.spare.pop().unwrap_or_default());
        }
        *self.open[at].entry(key).or_insert(0) += 1;
    }

    fn close(&mut self, watermark: i64) -> u64 {
        let mut sum = 0_u64;
        while !self.open.is_empty() && self.first < watermark.div_euclid(10_000) {
            if let Some(mut counts) = self.open.pop_front() {
                sum = sum.wrapping_add(results(&mut counts, self.first * 10_000));
                self.spare.push(counts);
            }
            self.first += 1;
        }
        sum
    }
}

/// Windows of 10 s that start every second, by panes of a second. `first` is the first pane of the next window to close.
struct Sliding {
    panes: VecDeque<Counts>,
    spare: Vec<Counts>,
    first: i64,
    merged: Counts,
}

impl Windows for Sliding {
    #[inline]
    fn count(&mut self, key: u64, ts: i64) {
        let at = (ts.div_euclid(1_000) - self.first) as usize;
        while self.panes.len() <= at {
            self.panes.push_back(self.spare.pop().unwrap_or_default());
        }
        *self.panes[at].entry(key).or_insert(0) += 1;
    }

    fn close(&mut self, watermark: i64) -> u64 {
        let mut sum = 0_u64;
        while !self.panes.is_empty() && self.first + 10 <= watermark.div_euclid(1_000) {
            for pane in self.panes.iter().take(10) {
                for (key, count) in pane {
                    *self.merged.entry(*key).or_insert(0) += count;
                }
            }
            sum = sum.wrapping_add(results(&mut self.merged, self.first * 1_000));
            if let Some(mut counts) = self.panes.pop_front() {
                counts.clear();
                self.spare.push(counts);
            }
            self.first += 1;
        }
        sum
    }
}
