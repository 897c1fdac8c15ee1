//! W7: all values of each key together, with little memory.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::Pipeline;

use super::{
    answers::add_up,
    partitions,
    source::{Events, Times},
};
use crate::hand::w7::answer;
use crate::{Failure, Outcome, Params};

/// The memory that the runner may use, in bytes.
const BUDGET: usize = 512_000_000;

/// By `group_by_key`.
pub fn grouped(params: &Params) -> Result<Outcome, Failure> {
    let total = Arc::new(AtomicU64::new(0));
    let p = Pipeline::new();
    let groups = Events::read(&p, params.keys, params.n, partitions(params), Times::Constant)
        .map("Record", |e| (e.key, e.price as u32))
        .group_by_key("Group")
        .map("Sum", |(key, values)| {
            let (mut count, mut sum) = (0_u64, 0_u64);
            for value in values {
                count += 1;
                sum += u64::from(value);
            }
            (key, count, sum)
        });
    add_up(&groups, |(key, count, sum), _| answer(*key, *count, *sum), &total);
    p.run_on(&ThreadedRunner::new().parallelism(params.threads).memory_budget(BUDGET))?.wait()?;
    Ok(Outcome::new(total.load(Ordering::Relaxed), params.n))
}
