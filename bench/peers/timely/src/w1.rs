//! Word count: each worker counts the words of its part of the file, and the counts go to the owners of the words.

use std::fs::File;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use purlin_bench_common::checksum::word_count;
use purlin_bench_common::{Failure, Outcome, Params};
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::ToStream;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Map;

use crate::run;
use crate::w2::Sum;

type Counts = HashMap<String, u64, FixedState>;

pub fn counted(params: &Params) -> Result<Outcome, Failure> {
    let words = Arc::new(AtomicU64::new(0));
    let (input, all) = (params.input.clone(), Arc::clone(&words));
    let length = std::fs::metadata(&input)?.len();
    let checksum = run(params, move |worker, total| {
        let (index, peers) = (worker.index() as u64, worker.peers() as u64);
        let lines = lines(input.clone(), length * index / peers, length * (index + 1) / peers);
        let (mut sum, mut events) = (Sum::of(total), Sum::of(Arc::clone(&all)));
        worker.dataflow::<u64, _, _>(|scope| {
            lines
                .to_stream(scope)
                .container::<Vec<String>>()
                .flat_map(|mut line: String| {
                    line.make_ascii_lowercase();
                    let words = line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
                    words.map(str::to_owned).collect::<Vec<_>>()
                })
                .unary_frontier(Pipeline, "Count", |capability, _| {
                    let mut counts = Counts::default();
                    let mut capability = Some(capability);
                    move |(input, frontier), output| {
                        input.for_each_stamp(|_, data| {
                            for word in data.flat_map(|batch| batch.drain(..)) {
                                *counts.entry(word).or_insert(0) += 1;
                            }
                        });
                        if frontier.is_empty()
                            && let Some(capability) = capability.take()
                        {
                            output.session(&capability).give_iterator(counts.drain());
                        }
                    }
                })
                .container::<Vec<(String, u64)>>()
                .unary_frontier::<timely::container::CapacityContainerBuilder<Vec<()>>, _, _, _>(
                    Exchange::new(|(word, _): &(String, u64)| FixedState::default().hash_one(word)),
                    "Merge",
                    |_, _| {
                        let mut counts = Counts::default();
                        move |(input, frontier), _| {
                            input.for_each_stamp(|_, data| {
                                for (word, count) in data.flat_map(|batch| batch.drain(..)) {
                                    *counts.entry(word).or_insert(0) += count;
                                }
                            });
                            if frontier.is_empty() {
                                for (word, count) in counts.drain() {
                                    sum.add(word_count(&word, count));
                                    events.add(count);
                                }
                            }
                        }
                    },
                );
        });
    })?;
    Ok(Outcome::new(checksum, words.load(Ordering::Relaxed)))
}

/// The lines that start within a part of a file.
fn lines(path: PathBuf, start: u64, end: u64) -> impl Iterator<Item = String> {
    let mut reader = BufReader::new(File::open(path).expect("the text is there"));
    let mut at = start.saturating_sub(1);
    reader.seek(SeekFrom::Start(at)).expect("the text can be read");
    if start > 0 {
        at += reader.skip_until(b'\n').expect("the text can be read") as u64;
    }
    std::iter::from_fn(move || {
        let mut line = String::new();
        if at >= end {
            return None;
        }
        let read = reader.read_line(&mut line).expect("the text can be read");
        at += read as u64;
        (read > 0).then_some(line)
    })
}
