//! Several test streams under one script.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use purlin_sdk::{
    Element, PCollection, Runner, Tag, Timestamp,
    testing::{TestStream, TestStreams},
    window::FixedWindows,
};

use super::support::{Log, assert_says, at, build_errors, run, secs};

const CLICKS: Tag<i64> = Tag::new("clicks");
const PRICES: Tag<String> = Tag::new("prices");

/// Counts the marks of a script, and notes with each element how many there were.
#[derive(Clone, Default)]
struct Steps(Arc<AtomicI64>);

impl Steps {
    fn step(&self) -> impl Fn() + Send + Sync + 'static {
        let steps = self.0.clone();
        move || {
            steps.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn note<T: Element>(&self, pc: &PCollection<T>) -> PCollection<(i64, T)> {
        let steps = self.0.clone();
        pc.map("Note", move |x| (steps.load(Ordering::SeqCst), x))
    }
}

/// What happens in one stream happens between what happens in the others, and each has a watermark of its own.
pub fn streams_of_one_script_share_its_order(r: &dyn Runner) {
    let (steps, log) = (Steps::default(), Log::default());
    run(r, |p| {
        let streams = p.apply(
            "Streams",
            TestStreams::new()
                .stream(CLICKS)
                .stream(PRICES)
                .elements(CLICKS, [(1, at(1)), (2, at(12))])
                .elements(PRICES, [("a".to_owned(), at(2))])
                .mark(steps.step())
                .advance_watermark_to(CLICKS, at(10))
                .mark(steps.step())
                .advance_watermark_to(PRICES, at(10))
                .mark(steps.step())
                .end(PRICES)
                .mark(steps.step())
                .elements(CLICKS, [(3, at(13))])
                .advance_watermark_to(CLICKS, at(20))
                .mark(steps.step()),
        );
        let clicks = streams.tagged(CLICKS).map("Text", |n| n.to_string());
        let both = clicks.flatten_with("Both", [streams.tagged(PRICES)]);
        for (name, pc) in [("Of clicks", clicks), ("Of both", both)] {
            pc.composite(name, |pc| {
                let windowed = pc.window_into("Window", FixedWindows::of(secs(10)));
                let grouped = windowed.key_by("Key", |_| ()).group_by_key("Group");
                let sorted = grouped.map("Sorted", move |((), texts)| {
                    let mut texts = texts.into_vec();
                    texts.sort();
                    (name.to_owned(), texts.concat())
                });
                log.note("Log", &steps.note(&sorted));
            });
        }
    });
    let mut seen = log.take();
    seen.sort();
    let expected =
        [(1, "Of clicks", "1"), (2, "Of both", "1a"), (4, "Of both", "23"), (4, "Of clicks", "23")];
    assert_eq!(seen, expected.map(|(n, name, text)| (n, (name.to_owned(), text.to_owned()))));
}

/// A mark is told when everything before it has been worked off, also behind a reshuffle.
pub fn marks_come_at_rest(r: &dyn Runner) {
    let (steps, log) = (Steps::default(), Log::default());
    run(r, |p| {
        let stream = (0..5_i64).fold(TestStream::new(), |s, n| {
            s.elements((0..20).map(|i| (n * 100 + i, at(n)))).mark(steps.step())
        });
        log.note("Log", &steps.note(&p.apply("Stream", stream).reshuffle("Reshuffle")));
    });
    let seen = log.take();
    assert_eq!(seen.len(), 100);
    assert!(seen.iter().all(|(step, n)| n / 100 == *step), "{seen:?}");
}

/// A stream that counts as bounded may be grouped in the global window.
pub fn a_bounded_test_stream(r: &dyn Runner) {
    let log = Log::default();
    run(r, |p| {
        let stream = TestStream::new().element_at((1_i64, 2_i64), at(1)).bounded();
        let sizes =
            p.apply("Stream", stream).group_by_key("Group").map("Size", |(k, values)| (k, values.len()));
        log.note("Log", &sizes);
    });
    assert_eq!(log.take(), [(1, 1)]);
}

/// What a script cannot do is told before anything runs.
pub fn impossible_scripts(_: &dyn Runner) {
    const OTHER: Tag<i64> = Tag::new("other");
    const WRONG: Tag<bool> = Tag::new("clicks");
    let text = build_errors(|p| {
        let script = TestStreams::new().stream(CLICKS).stream(CLICKS).elements(OTHER, [(1, at(1))]);
        p.apply("Names", script);
        let back = TestStreams::new()
            .stream(CLICKS)
            .advance_watermark_to(CLICKS, at(5))
            .advance_watermark_to(CLICKS, at(4))
            .elements(WRONG, [(true, at(1))]);
        p.apply("Back", back);
        let ended = TestStreams::new().stream(CLICKS).end(CLICKS).elements(CLICKS, [(1, at(1))]);
        let ended = p.apply("Ended", ended.end(CLICKS).advance_processing_time(secs(0)));
        ended.tagged(PRICES);
        ended.tagged(WRONG);
        p.apply("Late", TestStreams::new().stream(CLICKS).elements(CLICKS, [(1, Timestamp::MAX)]));
    });
    assert_says(&text, &["`Names/Script`", "the stream `clicks` is there twice", "no stream `other`"]);
    assert_says(&text, &["`Back/Script`", "cannot go back", "has elements of another type"]);
    assert_says(&text, &["`Ended/Script`", "a stream that has ended", "ends only once", "go forward"]);
    assert_says(&text, &["the stream `prices` is not in the script", "`Late/Script`", "time ends there"]);
}
