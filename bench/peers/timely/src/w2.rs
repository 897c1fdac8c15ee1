//! The chain, and the chain with an exchange by key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purlin_bench_common::generate::{Event, Generator, kept, repriced};
use purlin_bench_common::{Failure, Outcome, Params};
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::{Filter, Map};
use timely::dataflow::operators::{Exchange, ToStream};

use crate::run;

pub fn chain(params: &Params, exchange: bool) -> Result<Outcome, Failure> {
    let (n, events) = (params.n, Generator::new(params.keys));
    let sum = run(params, move |worker, total| {
        let (index, peers) = (worker.index() as u64, worker.peers());
        worker.dataflow::<u64, _, _>(|scope| {
            let kept = (index..n)
                .step_by(peers)
                .map(move |i| events.event(i))
                .to_stream(scope)
                .container::<Vec<Event>>()
                .map(repriced)
                .filter(kept);
            let kept = if exchange { kept.exchange(|e: &Event| e.key) } else { kept };
            let mut sum = Sum::of(total);
            kept.map(|e| e.price).sink(Pipeline, "Sum", move |(input, _)| {
                input.for_each_stamp(|_, data| {
                    for price in data.flatten() {
                        sum.add(*price);
                    }
                });
            });
        });
    })?;
    Ok(Outcome::new(sum, params.n))
}

/// A worker's sum; adds itself to the total when its operator is done.
pub struct Sum {
    sum: u64,
    total: Arc<AtomicU64>,
}

impl Sum {
    pub fn of(total: Arc<AtomicU64>) -> Sum {
        Sum { sum: 0, total }
    }

    #[inline]
    pub fn add(&mut self, x: u64) {
        self.sum = self.sum.wrapping_add(x);
    }
}

impl Drop for Sum {
    fn drop(&mut self) {
        self.total.fetch_add(self.sum, Ordering::Relaxed);
    }
}
