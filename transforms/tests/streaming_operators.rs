//! Operators of streaming queries, on both runners.

use std::sync::{Arc, Mutex};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{Apply, Duration, ManualClock, PCollection, Pipeline, Runner, Timestamp};
use purlin_transforms::{
    CountFn, SumFn,
    streaming::{
        AndLateRows, DropDuplicates, JoinSide, Limit, MemoryStream, OutputMode, QueryProgress, QueryTrigger,
        ReadStream, SortBy, StaticJoin, StreamAggregate, StreamJoin, TimeWindow, TimeWindows, WithWatermark,
        WriteStream,
    },
};

/// A row: minutes since 1970, a key, a number.
type Event = (i64, String, i64);

fn event(minute: i64, key: &str, n: i64) -> Event {
    (minute, key.to_owned(), n)
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_secs(60 * minute)
}

fn runners() -> Vec<Box<dyn Runner>> {
    let direct = (0..3).map(|seed| Box::new(DirectRunner::new().seed(seed)) as Box<dyn Runner>);
    let threaded = [1, 2, 16].map(|n| Box::new(ThreadedRunner::new().parallelism(n)) as Box<dyn Runner>);
    direct.chain(threaded).collect()
}

fn watermarked(p: &Pipeline, events: &MemoryStream<Event>, delay: &str) -> PCollection<Event> {
    p.apply("Events", ReadStream::from(events.clone()))
        .apply("EventTime", WithWatermark::of(|e: &Event| at(e.0), delay))
}

/// Runs a query over steps of rows, each worked off before the next one comes: the rows of each epoch, sorted, and the
/// progress.
fn epochs<O, F>(mode: OutputMode, steps: &[&[Event]], build: F) -> (Vec<Vec<O>>, Vec<QueryProgress>)
where
    O: purlin_sdk::Element + Ord + std::fmt::Debug,
    F: Fn(&Pipeline, &MemoryStream<Event>) -> PCollection<O>,
{
    let mut first: Option<(Vec<Vec<O>>, Vec<QueryProgress>)> = None;
    for (i, runner) in runners().into_iter().enumerate() {
        let (p, events) = (Pipeline::new(), MemoryStream::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = seen.clone();
        let query = build(&p, &events)
            .write_stream()
            .output_mode(mode)
            .for_each_batch(move |mut rows: Vec<O>, _| {
                rows.sort();
                told.lock().unwrap().push(rows);
                Ok(())
            })
            .start(&*runner)
            .unwrap();
        for step in steps {
            events.add(step.to_vec());
            query.process_all_available().unwrap();
        }
        query.stop();
        let seen = seen.lock().unwrap().clone();
        let first = first.get_or_insert_with(|| (seen.clone(), query.recent_progress()));
        assert_eq!(first.0, seen, "runner {i}");
    }
    first.unwrap()
}

fn by_key(events: &PCollection<Event>) -> PCollection<(String, i64)> {
    events.map("ByKey", |(_, key, n)| (key, n))
}

fn window(start: i64, end: i64) -> purlin_transforms::streaming::TimeWindow {
    purlin_transforms::streaming::TimeWindow { start: at(start), end: at(end) }
}

#[test]
fn windows_come_out_as_the_mode_says_and_are_forgotten() {
    let steps: [&[Event]; 3] = [
        &[event(1, "a", 1), event(2, "b", 2)],
        &[event(4, "a", 10), event(17, "a", 3)],
        &[event(3, "a", 100)],
    ];
    let counts = |p: &Pipeline, events: &MemoryStream<Event>| {
        let tumbling = TimeWindows::tumbling(Duration::from_minutes(10));
        by_key(&watermarked(p, events, "5 minutes"))
            .apply("Sum", StreamAggregate::windowed(tumbling, SumFn::<i64>::new()))
    };
    let row = |key: &str, start, n: i64| ((key.to_owned(), window(start, start + 10)), n);
    let (append, progress) = epochs(OutputMode::Append, &steps, counts);
    // The watermark is at 12 after the second step: an epoch without rows closes what ended at 10, and 3 is late.
    assert_eq!(append, [vec![], vec![], vec![row("a", 0, 11), row("b", 0, 2)], vec![]]);
    let state: Vec<_> = progress.iter().flat_map(|p| &p.state_operators).collect();
    let of = |f: fn(&purlin_transforms::streaming::StateOperatorProgress) -> u64| {
        state.iter().map(|s| f(s)).collect::<Vec<_>>()
    };
    assert_eq!(of(|s| s.num_rows_total), [2, 3, 1, 1]);
    assert_eq!(of(|s| s.num_rows_updated), [2, 2, 0, 0]);
    assert_eq!(of(|s| s.num_rows_removed), [0, 0, 2, 0]);
    assert_eq!(of(|s| s.num_rows_dropped_by_watermark), [0, 0, 0, 1]);
    assert_eq!(state[0].operator_name, "stateStoreSave");
    let (update, _) = epochs(OutputMode::Update, &steps, counts);
    let first = vec![row("a", 0, 1), row("b", 0, 2)];
    assert_eq!(update, [first.clone(), vec![row("a", 0, 11), row("a", 10, 3)], vec![], vec![]]);
    let (complete, _) = epochs(OutputMode::Complete, &steps, counts);
    let last = vec![row("a", 0, 111), row("a", 10, 3), row("b", 0, 2)];
    assert_eq!(complete, [first, vec![row("a", 0, 11), row("a", 10, 3), row("b", 0, 2)], last]);
}

#[test]
fn late_rows_are_an_output() {
    let steps: [&[Event]; 2] =
        [&[event(1, "a", 1), event(31, "a", 2)], &[event(8, "a", 3), event(19, "a", 4)]];
    let late = |p: &Pipeline, events: &MemoryStream<Event>| {
        // 8 is in [0, 10) and [5, 15), both over at 15; 19 is in [10, 20), which is over at 21, and [15, 25).
        let sliding = TimeWindows::sliding(Duration::from_minutes(10), Duration::from_minutes(5));
        let sums = StreamAggregate::windowed(sliding, SumFn::<i64>::new());
        by_key(&watermarked(p, events, "10 minutes")).apply("Sum", AndLateRows(sums)).1
    };
    let (rows, _) = epochs(OutputMode::Append, &steps, late);
    assert_eq!(rows, [vec![], vec![], vec![("a".to_owned(), 3)]]);
}

#[test]
fn a_global_result_is_there_without_rows() {
    let count = |p: &Pipeline, events: &MemoryStream<Event>| {
        watermarked(p, events, "0 seconds").apply("Count", StreamAggregate::globally(CountFn::<Event>::new()))
    };
    let steps: [&[Event]; 3] = [&[], &[event(1, "a", 1), event(2, "a", 1)], &[]];
    let (update, _) = epochs(OutputMode::Update, &steps, count);
    // The third is the epoch that the watermark brings about.
    assert_eq!(update, [[0], [2], [2], [2]]);
    let (complete, _) = epochs(OutputMode::Complete, &steps, count);
    assert_eq!(complete, [[0], [2], [2]]);
}

#[test]
fn a_table_is_sorted_and_cut() {
    let steps: [&[Event]; 2] =
        [&[event(1, "a", 1), event(1, "b", 5), event(1, "c", 3)], &[event(1, "c", 4), event(1, "d", 6)]];
    for runner in runners() {
        let (p, events) = (Pipeline::new(), MemoryStream::new());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = seen.clone();
        let query = by_key(&p.apply("Events", ReadStream::from(events.clone())))
            .apply("Sum", StreamAggregate::per_key(SumFn::<i64>::new()))
            .apply("Most", SortBy::of(|a: &(String, i64), b: &(String, i64)| b.1.cmp(&a.1)))
            .apply("Two", Limit::of(2))
            .map("Key", |(key, _)| key)
            .write_stream()
            .output_mode(OutputMode::Complete)
            .for_each_batch(move |rows, _| {
                told.lock().unwrap().push(rows.concat());
                Ok(())
            })
            .start(&*runner)
            .unwrap();
        for step in steps {
            events.add(step.to_vec());
            query.process_all_available().unwrap();
        }
        query.stop();
        assert_eq!(*seen.lock().unwrap(), ["bc", "cd"]);
    }
}

#[test]
fn first_is_what_arrived_first() {
    // Many rows of one key, which many workers see at once.
    let rows: Vec<Event> = (0..400).map(|n| event(100, if n % 2 == 0 { "a" } else { "b" }, n)).collect();
    let steps: [&[Event]; 2] = [&rows, &[event(100, "a", -1), event(100, "c", -2)]];
    let first = |p: &Pipeline, events: &MemoryStream<Event>| {
        watermarked(p, events, "1 minute")
            .map("Same", |event| event)
            .apply("First", DropDuplicates::by(|e: &Event| e.1.clone()).and_event_time())
            .map("Number", |e| e.2)
    };
    let (passed, _) = epochs(OutputMode::Append, &steps, first);
    assert_eq!(passed, [vec![0, 1], vec![], vec![-2]]);
    let limited = |p: &Pipeline, events: &MemoryStream<Event>| {
        watermarked(p, events, "1 minute").apply("Limit", Limit::of(401)).map("Number", |e| e.2)
    };
    let (passed, _) = epochs(OutputMode::Append, &steps, limited);
    assert_eq!((passed[0].len(), &passed[1]), (400, &vec![-1]));
}

#[test]
fn deduplication_forgets_what_cannot_come_again() {
    let steps: [&[Event]; 3] =
        [&[event(1, "a", 1)], &[event(4, "a", 2), event(30, "b", 3)], &[event(26, "a", 4)]];
    let within = |p: &Pipeline, events: &MemoryStream<Event>| {
        watermarked(p, events, "5 minutes")
            .apply("Once", DropDuplicates::within_watermark(|e: &Event| e.1.clone()))
            .map("Number", |e| e.2)
    };
    let (passed, progress) = epochs(OutputMode::Append, &steps, within);
    // The first is remembered until the watermark has come to 6, and the repeat does not change that.
    assert_eq!(passed, [vec![1], vec![3], vec![], vec![4]]);
    let left: Vec<u64> = progress.iter().map(|p| p.state_operators[0].num_rows_total).collect();
    assert_eq!(left, [1, 2, 1, 2]);
}

type Pairs = PCollection<(String, i64)>;

/// Rows of both sides come from one stream: those with a number below zero are the right ones.
fn sides(events: &PCollection<Event>) -> (Pairs, Pairs) {
    (
        by_key(&events.filter("Left", |e| e.2 > 0)),
        events.filter("Right", |e| e.2 < 0).map("ByKeyToo", |(_, key, n)| (key, n)),
    )
}

#[test]
fn joins_give_rows_without_a_partner_when_none_can_come() {
    let steps: [&[Event]; 3] = [
        &[event(100, "a", 1), event(103, "a", -1), event(100, "b", 2)],
        &[event(105, "b", -2), event(109, "c", -3)],
        &[event(130, "z", 9)],
    ];
    let outer = |p: &Pipeline, events: &MemoryStream<Event>| {
        sides(&watermarked(p, events, "1 minute"))
            .apply("Join", StreamJoin::full_outer().within(Duration::ZERO, Duration::from_minutes(4)))
    };
    let (rows, progress) = epochs(OutputMode::Append, &steps, outer);
    let row = |key: &str, left: Option<i64>, right: Option<i64>| (key.to_owned(), (left, right));
    assert_eq!(
        rows,
        [
            vec![row("a", Some(1), Some(-1))],
            vec![],
            vec![],
            // Up to 108: left rows before 104 and right ones before 108 are over. 105 is too late for b by a minute.
            vec![row("b", None, Some(-2)), row("b", Some(2), None)],
            vec![],
            vec![row("c", None, Some(-3))],
        ]
    );
    let left: Vec<u64> = progress.iter().map(|p| p.state_operators[0].num_rows_total).collect();
    assert_eq!(left, [3, 3, 5, 1, 2, 1]);
    let late = |p: &Pipeline, events: &MemoryStream<Event>| {
        let join = StreamJoin::inner().within(Duration::ZERO, Duration::from_minutes(4));
        let (left, right) = sides(&watermarked(p, events, "1 minute"));
        (left, right).apply("Join", AndLateRows(join)).1.map("Text", |(key, row)| match row {
            JoinSide::Left(n) => format!("left {key} {n}"),
            JoinSide::Right(n) => format!("right {key} {n}"),
        })
    };
    let steps: [&[Event]; 2] = [&[event(100, "a", 1)], &[event(99, "a", 2), event(99, "a", -2)]];
    let (rows, _) = epochs(OutputMode::Append, &steps, late);
    assert_eq!(rows, [vec![], vec![], vec!["left a 2".to_owned(), "right a -2".to_owned()]]);
}

#[test]
fn a_semi_join_gives_a_row_once() {
    let steps: [&[Event]; 2] = [
        &[event(100, "a", 1), event(101, "a", -1), event(102, "a", -2), event(100, "b", 2)],
        &[event(101, "b", -3), event(101, "b", -4), event(101, "a", -5)],
    ];
    let semi = |p: &Pipeline, events: &MemoryStream<Event>| {
        sides(&watermarked(p, events, "10 minutes"))
            .apply("Join", StreamJoin::left_semi().within(Duration::ZERO, Duration::from_minutes(4)))
    };
    let (rows, _) = epochs(OutputMode::Update, &steps, semi);
    assert_eq!(rows, [vec![("a".to_owned(), 1)], vec![], vec![("b".to_owned(), 2)]]);
}

#[test]
fn an_aggregation_waits_for_the_join_before_it() {
    let steps: [&[Event]; 3] =
        [&[event(100, "a", 1), event(100, "a", -1)], &[event(116, "b", 1)], &[event(121, "b", 2)]];
    let counts = |p: &Pipeline, events: &MemoryStream<Event>| {
        let hours = TimeWindows::tumbling(Duration::from_minutes(10));
        sides(&watermarked(p, events, "0 seconds"))
            .apply("Join", StreamJoin::left_outer().within(Duration::ZERO, Duration::from_minutes(10)))
            .map("Pairs", |(key, (_, right))| (key, right.is_some()))
            .apply("Count", StreamAggregate::windowed(hours, CountFn::<bool>::new()))
    };
    let (rows, _) = epochs(OutputMode::Append, &steps, counts);
    // A left row of 109 may come out without a partner until the watermark is at 119 and a millisecond: 116 is not
    // enough for [100, 110).
    let row = (("a".to_owned(), window(100, 110)), 1);
    assert_eq!(rows, [vec![], vec![], vec![], vec![], vec![], vec![row]]);
}

#[test]
fn aggregations_follow_each_other() {
    let steps: [&[Event]; 3] = [
        &[event(101, "a", 1), event(106, "a", 1), event(107, "b", 1)],
        &[event(112, "a", 1)],
        &[event(125, "a", 1)],
    ];
    let counts = |p: &Pipeline, events: &MemoryStream<Event>| {
        let (five, ten) = (Duration::from_minutes(5), Duration::from_minutes(10));
        by_key(&watermarked(p, events, "0 seconds"))
            .apply("Five", StreamAggregate::windowed(TimeWindows::tumbling(five), CountFn::<i64>::new()))
            .map("ByKeyAgain", |((key, _), n)| (key, n))
            .apply("Ten", StreamAggregate::windowed(TimeWindows::tumbling(ten), SumFn::<u64>::new()))
    };
    let (rows, _) = epochs(OutputMode::Append, &steps, counts);
    let row = |key: &str, start, n: u64| ((key.to_owned(), window(start, start + 10)), n);
    let first = vec![row("a", 100, 2), row("b", 100, 1)];
    assert_eq!(rows, [vec![], vec![], vec![], first, vec![], vec![row("a", 110, 1)]]);
}

#[test]
fn a_table_is_looked_up() {
    let steps: [&[Event]; 1] = [&[event(1, "a", 1), event(1, "b", 2), event(1, "c", 3)]];
    fn table(p: &Pipeline) -> PCollection<(String, String)> {
        p.create("Table", [("a", "A"), ("b", "B"), ("b", "BB")].map(|(k, v)| (k.to_owned(), v.to_owned())))
    }
    let stream = |p: &Pipeline, events: &MemoryStream<Event>| {
        by_key(&p.apply("Events", ReadStream::from(events.clone())))
    };
    let outer = |p: &Pipeline, events: &MemoryStream<Event>| {
        let rows = stream(p, events).apply("Outer", StaticJoin::outer(&table(p)));
        rows.map("Text", |(_, (n, name))| format!("{n}{}", name.unwrap_or_default()))
    };
    assert_eq!(epochs(OutputMode::Append, &steps, outer).0, [["1A", "2B", "2BB", "3"]]);
    let anti = |p: &Pipeline, events: &MemoryStream<Event>| {
        stream(p, events).apply("Anti", StaticJoin::anti(&table(p)))
    };
    assert_eq!(epochs(OutputMode::Update, &steps, anti).0, [[("c".to_owned(), 3)]]);
}

#[test]
fn in_real_time_a_row_comes_out_for_each_row() {
    for runner in runners() {
        let (p, events, clock) = (Pipeline::new(), MemoryStream::new(), ManualClock::at(at(0)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = seen.clone();
        let query = by_key(&watermarked(&p, &events, "1 minute"))
            .apply("Once", DropDuplicates::by(|row: &(String, i64)| row.clone()))
            .apply("Count", StreamAggregate::per_key(CountFn::<i64>::new()))
            .write_stream()
            .output_mode(OutputMode::Update)
            .trigger(QueryTrigger::real_time("5 seconds").unwrap())
            .clock(clock.handle())
            .for_each(move |(_, n): (String, u64)| {
                told.lock().unwrap().push(n);
                Ok(())
            })
            .start(&*runner)
            .unwrap();
        events.add([event(1, "a", 1), event(1, "a", 2), event(1, "a", 2), event(1, "a", 3)]);
        query.process_all_available().unwrap();
        let mut rows = seen.lock().unwrap().clone();
        rows.sort_unstable();
        // The epoch is not over.
        assert_eq!(rows, [1, 2, 3]);
        query.stop();
    }
}

#[test]
fn in_real_time_an_epoch_lasts_as_long_as_it_says() {
    for runner in runners() {
        let (p, events, clock) = (Pipeline::new(), MemoryStream::new(), ManualClock::at(at(0)));
        let shown: Arc<Mutex<Vec<(i64, u64)>>> = Arc::default();
        let told = shown.clone();
        let ten = TimeWindows::tumbling(Duration::from_minutes(10));
        let query = by_key(&watermarked(&p, &events, "1 minute"))
            .apply("Count", StreamAggregate::windowed(ten, CountFn::<i64>::new()))
            .map("Row", |((_, window), n): ((String, TimeWindow), u64)| {
                (window.start.as_millis() / 60_000, n)
            })
            .write_stream()
            .output_mode(OutputMode::Update)
            .trigger(QueryTrigger::real_time("5 seconds").unwrap())
            .clock(clock.handle())
            .for_each(move |row| {
                told.lock().unwrap().push(row);
                Ok(())
            })
            .start(&*runner)
            .unwrap();
        let taken = || std::mem::take(&mut *shown.lock().unwrap());
        let send = |minute| {
            events.add([event(minute, "a", 1)]);
            query.process_all_available().unwrap();
        };
        // What comes within five seconds is one epoch, and is shown at once. The watermark moves when it ends: nothing is
        // late in it.
        send(1);
        send(25);
        clock.advance(Duration::from_secs(4));
        send(2);
        assert!(query.last_progress().is_none(), "no epoch is over");
        assert_eq!(taken(), [(0, 1), (20, 1), (0, 2)]);
        clock.advance(Duration::from_secs(1));
        query.process_all_available().unwrap();
        // The first window is over with this epoch; so as elsewhere, its rows are late from the next one on.
        send(3);
        send(26);
        clock.advance(Duration::from_secs(5));
        query.process_all_available().unwrap();
        send(4);
        clock.advance(Duration::from_secs(5));
        query.process_all_available().unwrap();
        query.stop();
        let progress = query.recent_progress();
        let epochs: Vec<_> = progress
            .iter()
            .map(|p| (p.batch_id, p.num_input_rows, p.state_operators[0].num_rows_dropped_by_watermark))
            .take(3)
            .collect();
        assert_eq!(epochs, [(0, 3, 0), (1, 2, 0), (2, 1, 1)]);
        assert_eq!(taken(), [(0, 3), (20, 2)]);
    }
}
