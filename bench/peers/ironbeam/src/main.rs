//! ironbeam on the works. It is a batch system: its input is a `Vec` that is there before the clock starts.

use ironbeam::combiners::Sum;
use ironbeam::{PCollection, Pipeline, Timestamped, from_vec};
use mimalloc::MiMalloc;
use purlin_bench_common::checksum::{self, window_count, word_count};
use purlin_bench_common::generate::{Event, Generator, kept, repriced};
use purlin_bench_common::{Ask, Failure, Outcome, Params, Sample, measured, print};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Windows start at or after time 0 in ironbeam; the first events lie up to 5 s before it.
const SHIFT: i64 = 10_000;

fn main() -> Result<(), Failure> {
    let ask = Ask::parse(std::env::args().skip(1))?;
    print(&match ask.work.as_str() {
        "W1" => w1(&ask.params),
        "W2" => w2(&ask.params),
        "W3" | "W3m" => w3(&ask.params),
        work => Err(format!("ironbeam does not do {work}").into()),
    }?)
}

fn collect<T: ironbeam::Element>(pc: PCollection<T>, threads: usize) -> Result<Vec<T>, Failure> {
    Ok(if threads < 2 { pc.collect_seq()? } else { pc.collect_par(Some(threads), None)? })
}

fn events(params: &Params) -> Vec<Event> {
    let events = Generator::new(params.keys);
    (0..params.n).map(|i| events.event(i)).collect()
}

fn w1(params: &Params) -> Result<Sample, Failure> {
    let text = std::fs::read_to_string(&params.input)?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    drop(text);
    measured(|| {
        let counts = from_vec(&Pipeline::default(), lines)
            .flat_map(|line: &String| {
                let line = line.to_lowercase();
                let words = line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
                words.map(str::to_owned).collect::<Vec<_>>()
            })
            .count_per_element();
        Ok(collect(counts, params.threads)?.iter().fold(Outcome::default(), |sum, (word, count)| {
            Outcome::new(sum.checksum.wrapping_add(word_count(word, *count)), sum.events + count)
        }))
    })
}

fn w2(params: &Params) -> Result<Sample, Failure> {
    let events = events(params);
    measured(|| {
        let sum = from_vec(&Pipeline::default(), events)
            .map(|e: &Event| repriced(*e))
            .filter(kept)
            .map(|e: &Event| e.price)
            .combine_globally(Sum::<u64>::default(), None);
        Ok(Outcome::new(checksum::of(collect(sum, params.threads)?), params.n))
    })
}

fn w3(params: &Params) -> Result<Sample, Failure> {
    let events = events(params);
    measured(|| {
        let counts = from_vec(&Pipeline::default(), events)
            .map(|e: &Event| (e.key, Timestamped::new((e.ts + SHIFT) as u64, ())))
            .count_per_key_and_window(10_000, 0);
        let results = collect(counts, params.threads)?;
        let results =
            results.iter().map(|((key, window), n)| window_count(*key, window.start as i64 - SHIFT, *n));
        Ok(Outcome::new(checksum::of(results), params.n))
    })
}
