//! Counts words per minute, from files that come into a folder to files in another one, exactly once: kill it at any
//! moment, start it again, and the output is as if it had never been killed.
//!
//! ```console
//! $ cargo run -p purlin-examples --bin query_files -- --input=/tmp/in --output=/tmp/out --checkpoint=/tmp/checkpoint
//! ```
//! A file has lines such as `{"at":"2024-01-01T12:07:00Z","word":"dog"}`; put it in place by renaming it.

use std::path::PathBuf;

use purlin::{
    prelude::*,
    streaming::{
        FileSink, FileStream, QueryTrigger, ReadStream, StreamAggregate, TimeWindow, TimeWindows,
        WithWatermark, WriteStream,
    },
    transforms::CountFn,
};

/// Counts the words of each minute, from files to files
#[derive(clap::Args, Clone)]
struct Options {
    /// The folder to read
    #[arg(long)]
    input: PathBuf,
    /// The folder to write
    #[arg(long)]
    output: PathBuf,
    /// Where the query writes down what it has done
    #[arg(long)]
    checkpoint: PathBuf,
    /// Waits for more files when all are read, in place of ending
    #[arg(long)]
    keep_going: bool,
}

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Word {
    at: Timestamp,
    word: String,
}

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Count {
    minute: Timestamp,
    word: String,
    count: u64,
}

fn build(p: &Pipeline, options: &Options) {
    let words =
        p.apply("Read", ReadStream::from(FileStream::<Word>::json(&options.input).max_files_per_trigger(1)));
    let late = Duration::from_secs(30);
    let minutes = TimeWindows::tumbling(Duration::from_minutes(1));
    let trigger = if options.keep_going { QueryTrigger::default() } else { QueryTrigger::AvailableNow };
    words
        .apply("Watermark", WithWatermark::of(|word: &Word| word.at, late))
        .map("Key", |word| (word.word, ()))
        .apply("Count", StreamAggregate::windowed(minutes, CountFn::new()))
        .map("Row", |((word, window), count): ((String, TimeWindow), u64)| Count {
            minute: window.start,
            word,
            count,
        })
        .write_stream()
        .trigger(trigger)
        .query_name("words per minute")
        .checkpoint_location(&options.checkpoint)
        .sink(FileSink::json(&options.output))
        .declare();
}

fn main() -> ExitCode {
    purlin::launch::<Options>(build)
}
