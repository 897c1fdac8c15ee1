//! renoir on the works, as its own examples use it: fixed batches of 16384, keyed streams by `group_by`, event-time
//! streams by `add_timestamps` and, where events are out of order, `reorder`.

mod aligned;
mod w1;
mod w2;
mod w3;

use mimalloc::MiMalloc;
use purlin_bench_common::generate::{Event, Generator};
use purlin_bench_common::{Ask, Failure, Outcome, Params, measured, print};
use renoir::operator::Operator;
use renoir::operator::sink::StreamOutput;
use renoir::prelude::*;
use renoir::Stream;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The batch size of renoir's own Nexmark.
const BATCH: usize = 16 << 10;

fn main() -> Result<(), Failure> {
    let ask = Ask::parse(std::env::args().skip(1))?;
    let params = &ask.params;
    print(&match ask.work.as_str() {
        "W1" => measured(|| w1::counted(params)),
        "W2" => measured(|| w2::chain(params)),
        "W2x" => measured(|| w2::exchanged(params)),
        "W3" | "W3m" => measured(|| w3::windows(params, 10_000, 10_000)),
        "W3s" => measured(|| w3::windows(params, 10_000, 1_000)),
        work => Err(format!("renoir does not do {work}").into()),
    }?)
}

fn context(params: &Params) -> Result<StreamContext, Failure> {
    Ok(StreamContext::new(RuntimeConfig::local(params.threads as u64)?))
}

/// The generated events; each replica makes its share.
fn events(env: &StreamContext, params: &Params) -> Stream<impl Operator<Out = Event> + use<>> {
    let (n, events) = (params.n, Generator::new(params.keys));
    env.stream_par_iter(move |index, replicas| {
        (index..n).step_by(replicas as usize).map(move |i| events.event(i))
    })
    .batch_mode(BatchMode::fixed(BATCH))
}

/// Runs, and gives the one sum that came out.
fn sum(env: StreamContext, sum: StreamOutput<Vec<u64>>, events: u64) -> Result<Outcome, Failure> {
    env.execute_blocking();
    let sums = sum.get().ok_or("renoir gave no result")?;
    Ok(Outcome::new(sums.into_iter().fold(0, u64::wrapping_add), events))
}
