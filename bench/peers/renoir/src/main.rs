//! renoir on the works, as its own examples use it: fixed batches of 16384, keyed streams by `group_by`, event-time
//! streams by `add_timestamps` and, where events are out of order, `reorder`.

mod aligned;
mod w1;
mod w2;
mod w3;
mod w4;

use std::hint::black_box;

use mimalloc::MiMalloc;
use purlin_bench_common::generate::{Event, Generator};
use purlin_bench_common::{Ask, Failure, Outcome, Params, measured, print};
use renoir::Stream;
use renoir::operator::Operator;
use renoir::operator::sink::StreamOutput;
use renoir::prelude::*;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The batch size of renoir's own Nexmark.
const BATCH: usize = 16 << 10;

fn main() -> Result<(), Failure> {
    let mut ask = Ask::parse(std::env::args().skip(1))?;
    let work = ask.work.clone();
    if work.starts_with("W4") {
        ask.params.preload();
    }
    let params = &ask.params;
    print(&match work.as_str() {
        "W1" => measured(|| w1::words(params)),
        "W1-lines" => measured(|| w1::lines(params)),
        "W2" => measured(|| w2::chain(params)),
        "W2x" => measured(|| w2::exchanged(params)),
        "W3" | "W3m" => measured(|| w3::windows(params, 10_000, 10_000)),
        "W3s" => measured(|| w3::windows(params, 10_000, 1_000)),
        work if work.starts_with("W4") => {
            let query = w4::query(work)?;
            measured(|| query(params))
        }
        work => Err(format!("renoir does not do {work}").into()),
    }?)
}

fn context(params: &Params) -> Result<StreamContext, Failure> {
    Ok(StreamContext::new(RuntimeConfig::local(params.threads as u64)?))
}

/// The generated events; each replica makes its share.
fn events(env: &StreamContext, params: &Params) -> Stream<impl Operator<Out = Event> + use<>> {
    let (n, events) = (params.n, Generator::new(params.keys));
    env.stream_par_iter(move |next, step| Share { events, next, step, n }).batch_mode(BatchMode::fixed(BATCH))
}

/// Every `step`th event.
struct Share {
    events: Generator,
    next: u64,
    step: u64,
    n: u64,
}

impl Iterator for Share {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        if self.next >= self.n {
            return None;
        }
        // Stored once, as all sources do here; a loop in which it stays in registers is taken apart by the compiler in
        // ways that cost five times as much.
        let event = black_box(self.events.event(self.next));
        self.next += self.step;
        Some(event)
    }
}

/// Runs, and gives the one sum that came out.
fn sum(env: StreamContext, sum: StreamOutput<Vec<u64>>, events: u64) -> Result<Outcome, Failure> {
    env.execute_blocking();
    let sums = sum.get().ok_or("renoir gave no result")?;
    Ok(Outcome::new(sums.into_iter().fold(0, u64::wrapping_add), events))
}
