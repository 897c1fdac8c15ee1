//! timely on the works. It has no windows, so those are operators written for this on its exchange and frontiers.

mod w1;
mod w2;
mod w3;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mimalloc::MiMalloc;
use purlin_bench_common::{Ask, Failure, Params, measured, print};
use timely::Config;
use timely::worker::Worker;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> Result<(), Failure> {
    let ask = Ask::parse(std::env::args().skip(1))?;
    let params = &ask.params;
    print(&match ask.work.as_str() {
        "W1" => measured(|| w1::counted(params)),
        "W2" => measured(|| w2::chain(params, false)),
        "W2x" => measured(|| w2::chain(params, true)),
        "W3" | "W3m" => measured(|| w3::tumbling(params)),
        "W3s" => measured(|| w3::sliding(params)),
        work => Err(format!("timely does not do {work}").into()),
    }?)
}

/// Builds the same dataflow on each worker, runs it to its end, and gives what the workers added up.
fn run(
    params: &Params,
    build: impl Fn(&mut Worker, Arc<AtomicU64>) + Send + Sync + 'static,
) -> Result<u64, Failure> {
    let config = if params.threads < 2 { Config::thread() } else { Config::process(params.threads) };
    let total = Arc::new(AtomicU64::new(0));
    let sum = Arc::clone(&total);
    let workers = timely::execute(config, move |worker| build(worker, Arc::clone(&sum)))?;
    for result in workers.join() {
        result?;
    }
    Ok(total.load(Ordering::Relaxed))
}
