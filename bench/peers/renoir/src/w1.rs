//! Word count in the best form known: each replica counts into a map of its own (`fold_assoc`), the maps merge at the end.
//! Words are elements, as in renoir's examples; or the whole of the work is in the fold, where no word is an element.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use purlin_bench_common::checksum::word_count;
use purlin_bench_common::{Failure, Outcome, Params};
use renoir::prelude::*;

use crate::{BATCH, context};

type Counts = HashMap<String, u64, FixedState>;

/// Lines to words, words into the fold.
pub fn words(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let counts = env
        .stream(FileSource::new(params.input.clone()))
        .batch_mode(BatchMode::fixed(BATCH))
        .flat_map(|mut line: String| {
            line.make_ascii_lowercase();
            words_of(&line).map(str::to_owned).collect::<Vec<_>>()
        })
        .fold_assoc(Counts::default(), |counts, word| *counts.entry(word).or_insert(0) += 1, merge)
        .collect_vec();
    env.execute_blocking();
    Ok(outcome(&counts.get().ok_or("renoir gave no result")?))
}

/// Lines into the fold.
pub fn lines(params: &Params) -> Result<Outcome, Failure> {
    let env = context(params)?;
    let counts = env
        .stream(FileSource::new(params.input.clone()))
        .batch_mode(BatchMode::fixed(BATCH))
        .fold_assoc(
            Counts::default(),
            |counts, mut line| {
                line.make_ascii_lowercase();
                for word in words_of(&line) {
                    match counts.get_mut(word) {
                        Some(count) => *count += 1,
                        None => {
                            counts.insert(word.to_owned(), 1);
                        }
                    }
                }
            },
            merge,
        )
        .collect_vec();
    env.execute_blocking();
    Ok(outcome(&counts.get().ok_or("renoir gave no result")?))
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}

fn merge(all: &mut Counts, counts: Counts) {
    for (word, count) in counts {
        *all.entry(word).or_insert(0) += count;
    }
}

fn outcome(counts: &[Counts]) -> Outcome {
    counts.iter().flatten().fold(Outcome::default(), |sum, (word, &count)| {
        Outcome::new(sum.checksum.wrapping_add(word_count(word, count)), sum.events + count)
    })
}
