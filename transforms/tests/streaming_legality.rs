//! Which queries there can be: what is refused when they are built, and what is said.

use purlin_runner_direct::DirectRunner;
use purlin_sdk::{Apply, Duration, PCollection, Pipeline, Timestamp};
use purlin_transforms::{
    Count, CountFn,
    streaming::{
        DropDuplicates, Limit, MemoryStream, OutputMode, QueryTrigger, ReadStream, SortBy, StreamAggregate,
        StreamJoin, TimeWindows, WithWatermark, WriteStream,
    },
};

type Event = (Timestamp, String);

fn events(p: &Pipeline, name: &str) -> PCollection<Event> {
    p.apply(name, ReadStream::from(MemoryStream::new()))
}

fn watermarked(p: &Pipeline, name: &str) -> PCollection<Event> {
    let time = WithWatermark::of(|e: &Event| e.0, "5 minutes");
    events(p, name).apply(&format!("{name}Time"), time)
}

fn pairs(events: &PCollection<Event>, name: &str) -> PCollection<(String, u64)> {
    events.map(name, |(_, key)| (key, 1))
}

fn minutes(n: i64) -> TimeWindows {
    TimeWindows::tumbling(Duration::from_minutes(n))
}

/// What is said when the query is started; nothing when it is legal.
#[track_caller]
fn said<O: purlin_sdk::Element>(
    mode: OutputMode,
    trigger: QueryTrigger,
    build: impl Fn(&Pipeline) -> PCollection<O>,
) -> Option<String> {
    let p = Pipeline::new();
    let writer = build(&p).write_stream().output_mode(mode).trigger(trigger);
    match writer.for_each_batch(|_, _| Ok(())).start(&DirectRunner::new()) {
        Ok(query) => {
            query.stop();
            None
        }
        Err(e) => Some(e.to_string()),
    }
}

#[track_caller]
fn refused<O: purlin_sdk::Element>(
    mode: OutputMode,
    build: impl Fn(&Pipeline) -> PCollection<O>,
    parts: &[&str],
) {
    let text = said(mode, QueryTrigger::Once, build).expect("it is legal");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[track_caller]
fn legal<O: purlin_sdk::Element>(mode: OutputMode, build: impl Fn(&Pipeline) -> PCollection<O>) {
    assert_eq!(said(mode, QueryTrigger::Once, build), None);
}

#[test]
fn the_reason_is_told_and_the_legal_modes() {
    let counts = |p: &Pipeline| {
        pairs(&events(p, "Clicks"), "Pairs").apply("Count", StreamAggregate::per_key(CountFn::<u64>::new()))
    };
    refused(
        OutputMode::Append,
        counts,
        &["`Count`", "streaming_legality.rs", "without a watermark none ever is", "update or complete mode"],
    );
    let plain = |p: &Pipeline| pairs(&watermarked(p, "Clicks"), "Pairs");
    refused(OutputMode::Complete, plain, &["without an aggregation", "append or update mode"]);
    let by_key = |p: &Pipeline| {
        pairs(&watermarked(p, "Clicks"), "Pairs")
            .apply("Count", StreamAggregate::per_key(CountFn::<u64>::new()))
    };
    refused(OutputMode::Append, by_key, &["not by event time", "event_time_in_key"]);
    let other_time = |p: &Pipeline| {
        let windowed = StreamAggregate::windowed(minutes(1), CountFn::<u64>::new());
        pairs(&watermarked(p, "Clicks"), "Pairs").apply("Count", windowed.time(|_| Timestamp::EPOCH))
    };
    refused(OutputMode::Append, other_time, &["not by event time"]);
    legal(OutputMode::Update, other_time);
    let sessions = |p: &Pipeline| {
        let sessions = StreamAggregate::sessions(Duration::from_minutes(1), CountFn::<u64>::new());
        pairs(&watermarked(p, "Clicks"), "Pairs").apply("Sessions", sessions)
    };
    refused(OutputMode::Update, sessions, &["sessions merge", "append or complete mode"]);
}

#[test]
fn transforms_of_the_model_that_keep_state_are_for_append_mode() {
    let grouped = |p: &Pipeline| {
        use purlin_sdk::window::{FixedWindows, GlobalWindows};
        pairs(&watermarked(p, "Clicks"), "Pairs")
            .window_into("Minutes", FixedWindows::of(Duration::from_minutes(1)))
            .apply("Count", Count::per_key())
            .window_into("Global", GlobalWindows)
    };
    legal(OutputMode::Append, grouped);
    refused(OutputMode::Update, grouped, &["keeps state in its own way", "StreamAggregate", "append mode"]);
}

#[test]
fn chains_are_for_append_mode() {
    let twice = |p: &Pipeline| {
        let count = || StreamAggregate::windowed(minutes(1), CountFn::<u64>::new());
        pairs(&watermarked(p, "Clicks"), "Pairs")
            .apply("Minutes", count())
            .map("Key", |((key, _), n)| (key, n))
            .apply("Again", count())
    };
    legal(OutputMode::Append, twice);
    refused(OutputMode::Update, twice, &["`Again`", "follows an aggregation", "append mode"]);
    let then_once = |and_event_time: bool| {
        move |p: &Pipeline| {
            let once = DropDuplicates::by(|((key, _), _): &((String, _), u64)| key.clone());
            pairs(&watermarked(p, "Clicks"), "Pairs")
                .apply("Minutes", StreamAggregate::windowed(minutes(1), CountFn::<u64>::new()))
                .apply("Once", if and_event_time { once.and_event_time() } else { once })
        }
    };
    legal(OutputMode::Complete, then_once(false));
    refused(OutputMode::Complete, then_once(true), &["`Once`"]);
}

#[test]
fn joins_must_know_when_it_is_over() {
    let sides = |p: &Pipeline| (pairs(&watermarked(p, "A"), "As"), pairs(&watermarked(p, "B"), "Bs"));
    let hour = Duration::from_hours(1);
    let outer = move |p: &Pipeline| sides(p).apply("Join", StreamJoin::left_outer().not_after(hour));
    legal(OutputMode::Append, outer);
    refused(OutputMode::Update, outer, &["left outer join", "only be in append mode"]);
    let unbounded = move |p: &Pipeline| sides(p).apply("Join", StreamJoin::left_outer().not_before(hour));
    refused(OutputMode::Append, unbounded, &["no partner can come any more", "within"]);
    let inner = move |p: &Pipeline| sides(p).apply("Join", StreamJoin::inner());
    legal(OutputMode::Update, inner);
    refused(OutputMode::Complete, inner, &["inner join"]);
    let again = move |told: bool| {
        move |p: &Pipeline| {
            let once = DropDuplicates::by(|(key, _): &(String, (u64, u64))| key.clone());
            let joined = sides(p).apply("Join", StreamJoin::inner());
            joined.apply("Once", if told { once.event_time(|_| Timestamp::EPOCH) } else { once })
        }
    };
    legal(OutputMode::Append, again(true));
    refused(OutputMode::Append, again(false), &["two event times", "event_time"]);
    let backwards =
        move |p: &Pipeline| sides(p).apply("Join", StreamJoin::inner().within(hour, Duration::ZERO));
    refused(OutputMode::Append, backwards, &["turn the two around"]);
}

#[test]
fn orders_limits_unions_and_watermarks() {
    let sorted = |p: &Pipeline| {
        pairs(&events(p, "A"), "Pairs").apply("Sort", SortBy::of(|a: &(String, u64), b: &_| a.cmp(b)))
    };
    refused(OutputMode::Append, sorted, &["its rows have no order"]);
    let limited = |p: &Pipeline| events(p, "A").apply("Limit", Limit::of(3));
    legal(OutputMode::Append, limited);
    refused(OutputMode::Update, limited, &["no first ones", "append mode"]);
    let mixed = |p: &Pipeline| {
        let table = p.create("Table", [(Timestamp::EPOCH, "a".to_owned())]);
        events(p, "A").flatten_with("Both", [table])
    };
    refused(OutputMode::Append, mixed, &["`Both`", "something that has an end"]);
    let twice =
        |p: &Pipeline| watermarked(p, "A").apply("Again", WithWatermark::of(|e: &Event| e.0, "1 minute"));
    refused(OutputMode::Append, twice, &["`Again`", "have a watermark already"]);
    let within =
        |p: &Pipeline| events(p, "A").apply("Once", DropDuplicates::within_watermark(|e: &Event| e.clone()));
    refused(OutputMode::Append, within, &["its input has none"]);
    let windows = |p: &Pipeline| {
        let windows = minutes(1).starting_at(Duration::from_minutes(2));
        let counts = StreamAggregate::windowed(windows, CountFn::<u64>::new());
        pairs(&watermarked(p, "A"), "Pairs").apply("Count", counts)
    };
    refused(OutputMode::Append, windows, &["not less than their distance"]);
}

#[test]
fn flowing_triggers_are_for_few_operators() {
    let continuous = QueryTrigger::continuous("1 second").unwrap();
    let maps = |p: &Pipeline| events(p, "A").filter("Some", |_| true);
    let text = said(OutputMode::Append, continuous, |p: &Pipeline| watermarked(p, "A")).unwrap();
    assert!(text.contains("`ATime`") && text.contains("only maps and filters"), "{text}");
    let both = |p: &Pipeline| events(p, "A").flatten_with("Both", [events(p, "B")]);
    assert!(said(OutputMode::Append, continuous, both).unwrap().contains("`Both`"));
    let real_time = QueryTrigger::real_time("5 seconds").unwrap();
    assert!(said(OutputMode::Append, real_time, maps).unwrap().contains("only update mode"));
    let short = QueryTrigger::real_time("1 second").unwrap();
    assert!(said(OutputMode::Update, short, maps).unwrap().contains("shorter than 5s"));
    let limited = |p: &Pipeline| events(p, "A").apply("Limit", Limit::of(3));
    assert!(said(OutputMode::Update, real_time, limited).unwrap().contains("real-time"));
    let again = |p: &Pipeline| {
        let a = events(p, "A");
        a.map("Same", |e| e).flatten_with("Both", [a])
    };
    assert!(said(OutputMode::Update, real_time, again).unwrap().contains("different sources"));
}

#[test]
fn a_watermark_that_is_not_the_query_s_is_refused() {
    let own = |p: &Pipeline| {
        events(p, "A")
            .with_watermark("Own", |(at, _)| *at, Duration::from_minutes(5))
            .map("Key", |(_, key)| key)
    };
    refused(OutputMode::Append, own, &["`Own`", "streaming::WithWatermark"]);
}
