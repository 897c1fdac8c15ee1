//! The chain, and the chain with an exchange by key.

use purlin_bench_common::generate::{kept, repriced};
use purlin_bench_common::{Failure, Outcome, Params};

use crate::{context, events, sum};

fn add(sum: &mut u64, x: u64) {
    *sum = sum.wrapping_add(x);
}

pub fn chain(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let total = events(&env, params)
        .map(repriced)
        .filter(kept)
        .map(|e| e.price)
        .fold_assoc(0, add, add)
        .collect_vec();
    sum(env, total, params.n)
}

pub fn exchanged(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let total = events(&env, params)
        .map(repriced)
        .filter(kept)
        .group_by(|e| e.key)
        .map(|(_, e)| e.price)
        .drop_key()
        .fold_assoc(0, add, add)
        .collect_vec();
    sum(env, total, params.n)
}
