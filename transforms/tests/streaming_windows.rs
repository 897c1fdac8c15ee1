//! The worked example of watermarks in all output modes, and what a restart keeps of it.

use std::sync::{Arc, Mutex};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{Duration, PCollection, PTransform, Pipeline, Runner, Timestamp};
use purlin_transforms::{
    CountFn,
    streaming::{
        MemoryStream, OutputMode, QueryTrigger, ReadStream, StreamAggregate, TimeWindow, TimeWindows,
        WithWatermark, WriteStream,
    },
};

/// Every runner, the parallel one with several numbers of threads.
fn runners() -> Vec<Box<dyn Runner>> {
    let mut all: Vec<Box<dyn Runner>> =
        (0..5).map(|seed| Box::new(DirectRunner::new().seed(seed)) as Box<dyn Runner>).collect();
    all.extend([1, 2, 16].map(|n| Box::new(ThreadedRunner::new().parallelism(n)) as Box<dyn Runner>));
    all
}

type Row = (String, String);

/// 12:04 on the first day of 2024 is `at("12:04")`.
fn at(time: &str) -> Timestamp {
    format!("2024-01-01T{time}:00Z").parse().unwrap()
}

fn rows(text: &str) -> Vec<Row> {
    let rows = text.split(", ").filter(|row| !row.is_empty());
    rows.map(|row| row.split_once(' ').map(|(time, word)| (time.to_owned(), word.to_owned())).unwrap())
        .collect()
}

/// Counts of words in windows of ten minutes that slide by five, ten minutes behind the latest.
struct Counts;

impl PTransform<PCollection<Row>> for Counts {
    type Out = PCollection<((String, TimeWindow), u64)>;

    fn expand(self, rows: PCollection<Row>) -> Self::Out {
        let minutes = Duration::from_minutes;
        rows.apply("Watermark", WithWatermark::of(|(time, _): &Row| at(time), "10 minutes"))
            .map("Word", |(_, word)| (word, ()))
            .apply(
                "Count",
                StreamAggregate::windowed(TimeWindows::sliding(minutes(10), minutes(5)), CountFn::new()),
            )
    }
}

/// `12:00-12:10 cat 1, ...`, sorted.
fn table(counts: Vec<((String, TimeWindow), u64)>) -> String {
    let clock = |at: Timestamp| at.to_string()[11..16].to_owned();
    let row = |((word, window), n): ((String, TimeWindow), u64)| {
        format!("{}-{} {word} {n}", clock(window.start), clock(window.end))
    };
    let mut rows: Vec<String> = counts.into_iter().map(row).collect();
    rows.sort();
    rows.join(", ")
}

const TRIGGERS: [&str; 5] = [
    "12:07 dog, 12:08 owl",
    "12:14 dog, 12:09 cat",
    "12:15 cat, 12:08 dog, 12:13 owl, 12:21 owl",
    "12:04 donkey, 12:17 owl",
    "12:26 owl",
];

/// What came out in each epoch, and the watermark in force.
fn run(runner: &dyn Runner, mode: OutputMode) -> Vec<(String, String)> {
    let (p, lines) = (Pipeline::new(), MemoryStream::new());
    let shown = Arc::new(Mutex::new(Vec::new()));
    let told = shown.clone();
    let query = p
        .apply("Lines", ReadStream::from(lines.clone()))
        .apply("Counts", Counts)
        .write_stream()
        .output_mode(mode)
        .for_each_batch(move |counts, _| {
            told.lock().unwrap().push(table(counts));
            Ok(())
        })
        .start(runner)
        .unwrap();
    for trigger in TRIGGERS {
        lines.add(rows(trigger));
        query.process_all_available().unwrap();
    }
    query.stop();
    let watermarks =
        query.recent_progress().into_iter().map(|p| p.event_time.unwrap().watermark[11..16].to_owned());
    watermarks.zip(shown.lock().unwrap().drain(..)).collect()
}

fn shown(mode: OutputMode, expected: &[(&str, &str)]) {
    for runner in runners() {
        let found = run(&*runner, mode);
        let found: Vec<(&str, &str)> = found.iter().map(|(w, t)| (w.as_str(), t.as_str())).collect();
        assert_eq!(found, expected, "{runner:?}");
    }
}

#[test]
fn append_shows_a_window_once_it_is_final() {
    shown(
        OutputMode::Append,
        &[
            ("00:00", ""),
            ("11:58", ""),
            ("11:58", ""),
            ("12:04", ""),
            ("12:04", ""),
            ("12:11", "12:00-12:10 cat 1, 12:00-12:10 dog 2, 12:00-12:10 owl 1"),
            ("12:11", ""),
            ("12:11", ""),
            ("12:16", "12:05-12:15 cat 1, 12:05-12:15 dog 3, 12:05-12:15 owl 2"),
        ],
    );
}

#[test]
fn update_shows_what_changed() {
    shown(
        OutputMode::Update,
        &[
            ("00:00", "12:00-12:10 dog 1, 12:00-12:10 owl 1, 12:05-12:15 dog 1, 12:05-12:15 owl 1"),
            ("11:58", ""),
            ("11:58", "12:00-12:10 cat 1, 12:05-12:15 cat 1, 12:05-12:15 dog 2, 12:10-12:20 dog 1"),
            ("12:04", ""),
            (
                "12:04",
                "12:00-12:10 dog 2, 12:05-12:15 dog 3, 12:05-12:15 owl 2, 12:10-12:20 cat 1, 12:10-12:20 owl 1, \
                 12:15-12:25 cat 1, 12:15-12:25 owl 1, 12:20-12:30 owl 1",
            ),
            ("12:11", ""),
            ("12:11", "12:10-12:20 owl 2, 12:15-12:25 owl 2"),
            ("12:11", "12:20-12:30 owl 2, 12:25-12:35 owl 1"),
            ("12:16", ""),
        ],
    );
}

#[test]
fn complete_shows_everything_and_drops_nothing() {
    for runner in runners() {
        let found = run(&*runner, OutputMode::Complete);
        assert_eq!(found.len(), 5, "{found:?}");
        let (_, last) = found.last().unwrap();
        for count in
            ["11:55-12:05 donkey 1", "12:00-12:10 donkey 1", "12:05-12:15 dog 3", "12:25-12:35 owl 1"]
        {
            assert!(last.contains(count), "{last}");
        }
    }
}

#[test]
fn a_query_goes_on_with_its_windows_and_watermarks() {
    for runner in runners() {
        let dir = tempfile::tempdir().unwrap();
        let lines = MemoryStream::new().max_additions_per_epoch(1);
        let shown = Arc::new(Mutex::new(Vec::new()));
        for trigger in TRIGGERS {
            // A run for each trigger: everything between is in the checkpoint.
            lines.add(rows(trigger));
            let (p, told) = (Pipeline::new(), shown.clone());
            p.apply("Lines", ReadStream::from(lines.clone()))
                .apply("Counts", Counts)
                .write_stream()
                .trigger(QueryTrigger::AvailableNow)
                .checkpoint_location(dir.path())
                .for_each_batch(move |counts, epoch| {
                    told.lock().unwrap().push((epoch, table(counts)));
                    Ok(())
                })
                .start(&*runner)
                .unwrap()
                .await_termination()
                .unwrap();
        }
        let shown: Vec<_> = shown.lock().unwrap().drain(..).filter(|(_, table)| !table.is_empty()).collect();
        let tables: Vec<&str> = shown.iter().map(|(_, table)| table.as_str()).collect();
        assert_eq!(
            tables,
            [
                "12:00-12:10 cat 1, 12:00-12:10 dog 2, 12:00-12:10 owl 1",
                "12:05-12:15 cat 1, 12:05-12:15 dog 3, 12:05-12:15 owl 2"
            ],
            "{runner:?}"
        );
    }
}
