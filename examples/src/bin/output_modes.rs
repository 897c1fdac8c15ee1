//! Counts words in sliding windows, and shows the result as Spark's documentation does: what each trigger gives in append,
//! update and complete mode. The watermark is ten minutes behind the latest event time.
//!
//! ```console
//! $ cargo run -p purlin-examples --bin output_modes -- --mode=update
//! ```

use clap::Parser;
use purlin::{
    prelude::*,
    streaming::{
        ConsoleSink, MemoryStream, OutputMode, ReadStream, StreamAggregate, TimeWindow, TimeWindows,
        WithWatermark, WriteStream,
    },
    transforms::CountFn,
};

#[derive(Parser)]
struct Options {
    /// What each trigger shows: append, update or complete
    #[arg(long, default_value = "append")]
    mode: OutputMode,
    #[command(flatten)]
    run: purlin::RunOptions,
}

/// A word, and when it was said: a time of the first day of 2024.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Word {
    at: Timestamp,
    word: String,
}

/// A row of the result.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Count {
    window: String,
    word: String,
    count: u64,
}

/// What comes between two triggers.
const ARRIVALS: [&str; 5] = [
    "12:07 dog, 12:08 owl",
    "12:14 dog, 12:09 cat",
    "12:15 cat, 12:08 dog, 12:13 owl, 12:21 owl",
    "12:04 donkey, 12:17 owl",
    "12:26 owl",
];

fn words(arrival: &str) -> Vec<Word> {
    let parsed = arrival.split(", ").filter_map(|row| {
        let (time, word) = row.split_once(' ')?;
        let at = format!("2024-01-01T{time}:00Z").parse().ok()?;
        Some(Word { at, word: word.to_owned() })
    });
    parsed.collect()
}

fn time_of_day(at: Timestamp) -> String {
    at.to_string().chars().skip("2024-01-01T".len()).take("12:00".len()).collect()
}

fn show(((word, window), count): ((String, TimeWindow), u64)) -> Count {
    let window = format!("{}-{}", time_of_day(window.start), time_of_day(window.end));
    Count { window, word, count }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    let (p, arrivals) = (Pipeline::new(), MemoryStream::new());
    let windows = TimeWindows::sliding(Duration::from_minutes(10), Duration::from_minutes(5));
    let query = p
        .apply("Words", ReadStream::from(arrivals.clone()))
        .apply("Watermark", WithWatermark::of(|word: &Word| word.at, "10 minutes"))
        .map("Key", |word| (word.word, ()))
        .apply("Count", StreamAggregate::windowed(windows, CountFn::new()))
        .map("Show", show)
        .write_stream()
        .output_mode(options.mode)
        .sink(ConsoleSink::new().sorted())
        .start(&*options.run.runner()?)?;
    for arrival in ARRIVALS {
        println!("arrives: {arrival}");
        arrivals.add(words(arrival));
        query.process_all_available()?;
    }
    query.stop();
    if let Some(last) = query.last_progress().and_then(|progress| progress.event_time) {
        println!("the last watermark in force: {}", last.watermark);
    }
    Ok(())
}
