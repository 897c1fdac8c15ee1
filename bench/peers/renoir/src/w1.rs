//! Word count in the best form known: each replica counts into a map of its own (`fold_assoc`), the maps merge at the end.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use purlin_bench_common::checksum::word_count;
use purlin_bench_common::{Failure, Outcome, Params};
use renoir::prelude::*;

use crate::{BATCH, context};

pub fn counted(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let counts = env
        .stream(FileSource::new(params.input.clone()))
        .batch_mode(BatchMode::fixed(BATCH))
        .fold_assoc(
            HashMap::<String, u64, FixedState>::default(),
            |counts, mut line| {
                line.make_ascii_lowercase();
                for word in line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
                    match counts.get_mut(word) {
                        Some(count) => *count += 1,
                        None => {
                            counts.insert(word.to_owned(), 1);
                        }
                    }
                }
            },
            |all, counts| {
                for (word, count) in counts {
                    *all.entry(word).or_insert(0) += count;
                }
            },
        )
        .collect_vec();
    env.execute_blocking();
    let counts = counts.get().ok_or("renoir gave no result")?;
    Ok(counts.iter().flatten().fold(Outcome::default(), |sum, (word, &count)| {
        Outcome::new(sum.checksum.wrapping_add(word_count(word, count)), sum.events + count)
    }))
}
