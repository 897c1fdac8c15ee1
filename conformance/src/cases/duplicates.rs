//! Repeats that are dropped: `Deduplicate` and `Distinct`. Beam's `DeduplicateTest` and `DistinctTest`.

use purlin_sdk::{
    Duration, Element, PCollection, Runner, WindowInto,
    testing::TestStream,
    window::{FixedWindows, Sessions, Trigger},
};
use purlin_transforms::{Count, Deduplicate, Distinct, Max, Min, Sum, ToList};

use super::support::{Log, assert_says, at, build_errors, collect, run, secs, span};

fn texts(texts: &str) -> Vec<String> {
    texts.split(' ').map(str::to_owned).collect()
}

/// Elements `name@second`, apart by blanks; `|n` moves the watermark to second `n`, `+n` the clock by `n` seconds.
fn script(events: &str) -> TestStream<String> {
    let number = |text: &str| text.parse::<i64>().expect("a number of seconds");
    events.split(' ').fold(TestStream::new(), |stream, event| {
        if let Some(to) = event.strip_prefix('|') {
            return stream.advance_watermark_to(at(number(to)));
        }
        if let Some(by) = event.strip_prefix('+') {
            return stream.advance_processing_time(secs(number(by)));
        }
        let (name, second) = event.split_once('@').expect("an element and its second");
        stream.element_at(name.to_owned(), at(number(second)))
    })
}

/// What came of a script in the order in which it came, as `name@second`.
fn passed<T: Element>(
    r: &dyn Runner,
    events: &str,
    build: impl FnOnce(PCollection<String>) -> PCollection<T>,
    name: fn(T) -> String,
) -> String {
    let log = Log::default();
    run(r, |p| {
        let out = build(p.apply("Stream", script(events)));
        let out =
            out.map_cx("Time", move |x, cx| Ok(format!("{}@{}", name(x), cx.timestamp().as_millis() / 1000)));
        log.note("Collect", &out);
    });
    log.take().join(" ")
}

fn by_event_time(r: &dyn Runner, events: &str) -> String {
    passed(r, events, |pc| pc.apply("Once", Deduplicate::values().event_time(secs(10))), |x| x)
}

fn by_processing_time(r: &dyn Runner, events: &str) -> String {
    passed(r, events, |pc| pc.apply("Once", Deduplicate::values().processing_time(secs(10))), |x| x)
}

/// An older repeat does not end the time earlier; time counts from the element that passed, and not from its repeats. What
/// decides are timestamps, not when the watermark moves between two elements in order.
pub fn b086_repeats_out_of_order(r: &dyn Runner) {
    assert_eq!(by_event_time(r, "|0 a@10 a@1 |12 a@12"), "a@10");
    assert_eq!(by_event_time(r, "|0 a@1 a@10 |12 a@12"), "a@1 a@12");
    assert_eq!(by_event_time(r, "|0 a@1 a@10 a@12 |12"), "a@1 a@12");
    assert_eq!(by_event_time(r, "|0 a@1 a@10 |11 a@11 a@12 |13 a@20 a@21"), "a@1 a@11 a@21");
}

/// In event time: others are others, and what comes when the time is over is new.
pub fn repeats_in_event_time(r: &dyn Runner) {
    assert_eq!(by_event_time(r, "|0 a@0 b@3 a@5 |9 b@12 a@9 |60 a@70 b@70"), "a@0 b@3 a@70 b@70");
    // One that comes too late is new again, since what has passed is forgotten by then; its own repeats are none.
    assert_eq!(by_event_time(r, "a@0 |60 a@5 a@5 |70 a@4 |71 a@6"), "a@0 a@5 a@6");
}

/// In processing time: timestamps do not matter.
pub fn repeats_in_processing_time(r: &dyn Runner) {
    assert_eq!(
        by_processing_time(r, "a@0 +9 a@500 b@1 +1 a@2 a@3 +10 a@4 |600 +11 b@700"),
        "a@0 b@1 a@2 a@4 b@700"
    );
}

/// Beam's own cases, with the ten minutes that it has when nothing else is said.
pub fn repeats_within_ten_minutes(r: &dyn Runner) {
    let first = "|0 k1@0 k2@10 k3@20 maybe@59";
    let again = "k1@30 k2@40 k3@50";
    let minutes = Duration::from_minutes(10);
    let by_watermark = format!("{first} |60 {again} |660 maybe@59");
    let out =
        passed(r, &by_watermark, |pc| pc.apply("Once", Deduplicate::values().event_time(minutes)), |x| x);
    assert_eq!(out, "k1@0 k2@10 k3@20 maybe@59 maybe@59");
    let by_clock = format!("{first} +60 {again} +600 maybe@59");
    let out = passed(r, &by_clock, |pc| pc.apply("Once", Deduplicate::values()), |x| x);
    assert_eq!(out, "k1@0 k2@10 k3@20 maybe@59 maybe@59");
    let by_clock = format!("{first} +60 {again} +539 maybe@59");
    let out = passed(r, &by_clock, |pc| pc.apply("Once", Deduplicate::values()), |x| x);
    assert_eq!(out, "k1@0 k2@10 k3@20 maybe@59");
}

/// Windows know nothing of each other.
pub fn repeats_in_different_windows(r: &dyn Runner) {
    let out = collect(r, |p| {
        let values = texts("k1 k2 k3 k1 k2 k3 k4 k5 k6 k4").into_iter().enumerate();
        p.create_timestamped("Values", values.map(|(i, k)| (k, at(10 * i as i64))))
            .window_into("Windows", FixedWindows::of(secs(30)))
            .apply("Once", Deduplicate::values())
            .map_cx("Window", |x, cx| Ok((span(&cx.window()).0, x)))
    });
    let expected = [(0, "k1 k2 k3"), (30, "k1 k2 k3"), (60, "k4 k5 k6"), (90, "k4")];
    let expected =
        expected.into_iter().flat_map(|(start, ks)| texts(ks).into_iter().map(move |k| (start, k)));
    assert_eq!(out, expected.collect::<Vec<_>>());
}

/// Pairs by their keys, and elements by what a closure says of them.
pub fn repeats_of_keys_and_representatives(r: &dyn Runner) {
    let pairs = |pc: PCollection<String>| pc.map("Pair", |x| (x[..1].to_owned(), x));
    let keyed = |pc| pairs(pc).apply("Once", Deduplicate::keyed_values());
    assert_eq!(passed(r, "a1@0 b1@1 a2@2 +600 a3@3", keyed, |(_, x)| x), "a1@0 b1@1 a3@3");
    let lengths = |pc: PCollection<String>| pc.apply("Once", Deduplicate::with_representative(String::len));
    assert_eq!(passed(r, "aa@0 b@1 cc@2 d@3 eee@4", lengths, |x| x), "aa@0 b@1 eee@4");
}

/// What cannot be is told when the pipeline is built.
pub fn repeats_that_cannot_be_told(_: &dyn Runner) {
    let text = build_errors(|p| {
        let values = p.create("Values", ["a".to_owned()]);
        values.apply("Never", Deduplicate::values().event_time(Duration::ZERO));
        let sessions = values.window_into("Sessions", Sessions::with_gap(secs(1)));
        sessions.apply("Merging", Deduplicate::values());
    });
    assert_says(&text, &["`Never`", "which is nothing", "`Merging/First`", "merge"]);
}

fn windows(trigger: Trigger, lateness: i64) -> WindowInto {
    WindowInto::of(FixedWindows::of(secs(60))).trigger(trigger).allowed_lateness(secs(lateness))
}

/// Under a trigger each element is in the first of its panes only, whether panes accumulate or not.
pub fn distinct_under_a_trigger(r: &dyn Runner) {
    let delayed = || Trigger::repeatedly(Trigger::after_processing_time().delay(secs(30)));
    let counted = || Trigger::after_watermark().early(Trigger::after_count(1)).late(Trigger::after_count(1));
    let events = "|0 k1@0 k2@10 k3@20 +60 k1@30 k2@40 k3@50 +60 k4@55 |70 k1@1 k5@2 |100";
    for (trigger, lateness) in [(delayed(), 20), (counted(), 20)] {
        for windows in
            [windows(trigger.clone(), lateness).accumulating(), windows(trigger, lateness).discarding()]
        {
            let log = Log::<String>::default();
            run(r, |p| {
                let values = p.apply("Stream", script(events)).window_into("Windows", windows);
                log.note("Collect", &values.apply("Once", Distinct));
            });
            assert_eq!(log.take_sorted(), texts("k1 k2 k3 k4 k5"));
        }
    }
    let log = Log::<(i64, String)>::default();
    run(r, |p| {
        let values = p.apply("Stream", script("|0 k1@0 k2@10 k3@20 +60 k1@30 k2@40 k3@50"));
        let pairs = values.map("Pair", |k| (k[1..].parse().unwrap_or(0), k));
        let once = Distinct::with_representative(|(n, _): &(i64, String)| *n);
        log.note(
            "Collect",
            &pairs.window_into("Windows", windows(delayed(), 0).accumulating()).apply("Once", once),
        );
    });
    assert_eq!(log.take_sorted(), [1, 2, 3].map(|n| (n, format!("k{n}"))));
}

/// An element that comes again in another window is distinct there.
pub fn distinct_in_windows(r: &dyn Runner) {
    let out = collect(r, |p| {
        let values = [(1, at(1)), (1, at(5)), (2, at(6)), (1, at(61))];
        p.create_timestamped("Values", values)
            .window_into("Minutes", windows(Trigger::default(), 60))
            .apply("Once", Distinct)
            .map_cx("Window", |x, cx| Ok((span(&cx.window()).0, x)))
    });
    assert_eq!(out, [(0, 1), (0, 2), (60, 1)]);
}

/// The panes of other aggregations: accumulating ones hold all so far, discarding ones what is new, and a pane with nothing
/// new in it has the value for nothing, where there is one.
pub fn aggregations_under_a_trigger(r: &dyn Runner) {
    let trigger = Trigger::after_watermark().early(Trigger::after_count(2)).late(Trigger::after_count(1));
    let stream = [(5, 1), (3, 2), (9, 3), (1, 4)]
        .into_iter()
        .fold(TestStream::new(), |s, (x, t)| s.element_at(((), x), at(t)))
        .advance_watermark_to(at(60))
        .element_at(((), 7), at(5))
        .advance_watermark_to(at(200));
    let panes = |windows: WindowInto| {
        let log = Log::<(&str, i64, Vec<i64>)>::default();
        run(r, |p| {
            let values = p.apply("Stream", stream.clone()).window_into("Windows", windows);
            let note = |name: &'static str, pc: &PCollection<((), Vec<i64>)>| {
                let log = log.clone();
                let index = move |((), mut x): ((), Vec<i64>), cx: &purlin_sdk::ProcessContext<'_>| {
                    x.sort_unstable();
                    log.push((name, cx.pane().index, x));
                    Ok(())
                };
                pc.map_cx(name, index);
            };
            let one = |pc: PCollection<((), i64)>, name| pc.map(name, |((), x)| ((), vec![x]));
            note(
                "count",
                &one(values.apply("Count", Count::per_key()).map("N", |(k, n)| (k, n as i64)), "1"),
            );
            note("sum", &one(values.apply("Sum", Sum::per_key()), "2"));
            note("max", &one(values.apply("Max", Max::per_key()), "3"));
            note("min", &one(values.apply("Min", Min::per_key()), "4"));
            note("list", &values.apply("List", ToList::per_key()));
        });
        let mut all = log.take();
        all.sort();
        all
    };
    let lines = |all: Vec<(&str, i64, Vec<i64>)>| -> Vec<String> {
        all.into_iter().map(|(name, index, x)| format!("{name} {index} {x:?}")).collect()
    };
    let accumulating = lines(panes(windows(trigger.clone(), 60).accumulating()));
    assert_eq!(
        accumulating,
        [
            "count 0 [2]",
            "count 1 [4]",
            "count 2 [4]",
            "count 3 [5]",
            "list 0 [3, 5]",
            "list 1 [1, 3, 5, 9]",
            "list 2 [1, 3, 5, 9]",
            "list 3 [1, 3, 5, 7, 9]",
            "max 0 [5]",
            "max 1 [9]",
            "max 2 [9]",
            "max 3 [9]",
            "min 0 [3]",
            "min 1 [1]",
            "min 2 [1]",
            "min 3 [1]",
            "sum 0 [8]",
            "sum 1 [18]",
            "sum 2 [18]",
            "sum 3 [25]",
        ]
    );
    let discarding = lines(panes(windows(trigger, 60).discarding()));
    assert_eq!(
        discarding,
        [
            "count 0 [2]",
            "count 1 [2]",
            "count 2 [0]",
            "count 3 [1]",
            "list 0 [3, 5]",
            "list 1 [1, 9]",
            "list 2 []",
            "list 3 [7]",
            "max 0 [5]",
            "max 1 [9]",
            "max 3 [7]",
            "min 0 [3]",
            "min 1 [1]",
            "min 3 [7]",
            "sum 0 [8]",
            "sum 1 [10]",
            "sum 2 [0]",
            "sum 3 [7]",
        ]
    );
}
