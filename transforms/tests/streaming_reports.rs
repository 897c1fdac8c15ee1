//! Faults that streaming queries of other systems had, each with the right outcome.

use std::sync::{Arc, Mutex};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{Duration, ManualClock, PCollection, Pipeline, PipelineError, Runner, Timestamp};
use purlin_transforms::{
    CountFn, MaxFn,
    streaming::{
        MemoryStream, OutputMode, QueryTrigger, ReadStream, StreamAggregate, StreamWriter, StreamingQuery,
        TimeWindow, TimeWindows, WithWatermark, WriteStream,
    },
};

fn runners() -> Vec<Box<dyn Runner>> {
    let mut all: Vec<Box<dyn Runner>> =
        (0..3).map(|seed| Box::new(DirectRunner::new().seed(seed)) as Box<dyn Runner>).collect();
    all.extend([1, 2, 16].map(|n| Box::new(ThreadedRunner::new().parallelism(n)) as Box<dyn Runner>));
    all
}

fn tumbling(secs: i64) -> TimeWindows {
    TimeWindows::tumbling(Duration::from_secs(secs))
}

fn seconds(p: &Pipeline, events: &MemoryStream<i64>, delay: i64) -> PCollection<i64> {
    let watermark = WithWatermark::of(|secs: &i64| Timestamp::from_secs(*secs), Duration::from_secs(delay));
    p.apply("Events", ReadStream::from(events.clone())).apply("Watermark", watermark)
}

type Counts = PCollection<((String, TimeWindow), u64)>;

fn counts(events: &PCollection<i64>, window: i64) -> Counts {
    let all = events.map("All", |_| (String::new(), ()));
    all.apply("Count", StreamAggregate::windowed(tumbling(window), CountFn::new()))
}

/// Rows of epochs that have any: the start of a window in seconds, and a number.
type Epochs = Arc<Mutex<Vec<Vec<(i64, u64)>>>>;

fn told(
    epochs: &Epochs,
    writer: StreamWriter<((String, TimeWindow), u64)>,
) -> StreamWriter<((String, TimeWindow), u64)> {
    let epochs = epochs.clone();
    writer.for_each_batch(move |rows, _| {
        let mut rows: Vec<_> = rows.into_iter().map(|((_, w), n)| (w.start.as_millis() / 1000, n)).collect();
        rows.sort();
        epochs.lock().unwrap().push(rows);
        Ok(())
    })
}

fn shown(epochs: &Epochs) -> Vec<Vec<(i64, u64)>> {
    epochs.lock().unwrap().drain(..).filter(|rows| !rows.is_empty()).collect()
}

fn started(query: Result<StreamingQuery, PipelineError>) -> StreamingQuery {
    query.unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn b194_output_of_one_aggregation_is_not_late_for_the_next() {
    for runner in runners() {
        let (p, events, epochs) = (Pipeline::new(), MemoryStream::new(), Epochs::default());
        let per_five = counts(&seconds(&p, &events, 0), 5).map("Number", |((key, _), n)| (key, n));
        let most: PCollection<((String, TimeWindow), Option<u64>)> =
            per_five.apply("Most", StreamAggregate::windowed(tumbling(10), MaxFn::new()));
        let most = most.map("Some", |(window, n)| (window, n.unwrap_or(0)));
        let query = started(told(&epochs, most.write_stream()).start(&*runner));
        for at in [1, 4, 7, 12, 25] {
            events.add([at]);
            query.process_all_available().unwrap();
        }
        query.stop();
        let rows: Vec<_> = shown(&epochs).into_iter().flatten().collect();
        assert_eq!(rows, [(0, 2), (10, 1)], "{runner:?}");
    }
}

#[test]
fn b195_the_watermark_is_kept_between_runs() {
    for runner in runners() {
        let (dir, events, epochs) = (tempfile::tempdir().unwrap(), MemoryStream::new(), Epochs::default());
        let mut runs = Vec::new();
        for at in [5, 20, 40] {
            events.add([at]);
            let p = Pipeline::new();
            let writer = counts(&seconds(&p, &events, 5), 10).write_stream();
            let writer = writer.trigger(QueryTrigger::AvailableNow).checkpoint_location(dir.path());
            started(told(&epochs, writer).start(&*runner)).await_termination().unwrap();
            runs.push(shown(&epochs).into_iter().flatten().collect::<Vec<_>>());
        }
        assert_eq!(runs, [vec![], vec![(0, 1)], vec![(20, 1)]], "{runner:?}");
    }
}

#[test]
fn b197_available_now_ends_with_what_was_there() {
    for runner in runners() {
        let (p, numbers) = (Pipeline::new(), MemoryStream::new().max_additions_per_epoch(1));
        (0..3).for_each(|n| numbers.add([n]));
        let (seen, more) = (Arc::new(Mutex::new(Vec::new())), numbers.clone());
        let told = seen.clone();
        let writer = p.apply("Numbers", ReadStream::from(numbers)).write_stream();
        let writer = writer.trigger(QueryTrigger::AvailableNow).for_each_batch(move |rows: Vec<i64>, _| {
            // It grows as fast as it is read.
            more.add([100]);
            told.lock().unwrap().extend(rows);
            Ok(())
        });
        started(writer.start(&*runner)).await_termination().unwrap();
        assert_eq!(*seen.lock().unwrap(), [0, 1, 2], "{runner:?}");
    }
}

#[test]
fn b199_modes_are_checked_when_a_query_is_built() {
    let refused = |mode: OutputMode, build: fn(&Pipeline, &MemoryStream<i64>) -> Counts| {
        let (p, events) = (Pipeline::new(), MemoryStream::new());
        let writer = build(&p, &events).write_stream().output_mode(mode);
        writer
            .for_each(|_| Ok(()))
            .start(&DirectRunner::new())
            .map(|query| query.stop())
            .map_err(|e| e.to_string())
    };
    let plain = |p: &Pipeline, events: &MemoryStream<i64>| {
        let window = TimeWindow { start: Timestamp::EPOCH, end: Timestamp::EPOCH };
        let read = p.apply("Events", ReadStream::from(events.clone()));
        read.map("Row", move |_| ((String::new(), window), 1))
    };
    let without_watermark = |p: &Pipeline, events: &MemoryStream<i64>| {
        counts(&p.apply("Events", ReadStream::from(events.clone())), 10)
    };
    let sessions = |p: &Pipeline, events: &MemoryStream<i64>| {
        let all = seconds(p, events, 10).map("All", |_| (String::new(), ()));
        all.apply("Count", StreamAggregate::sessions(Duration::from_secs(5), CountFn::new()))
    };
    let windowed = |p: &Pipeline, events: &MemoryStream<i64>| counts(&seconds(p, events, 10), 10);
    for (found, why) in [
        (refused(OutputMode::Complete, plain), "aggregation"),
        (refused(OutputMode::Append, without_watermark), "watermark"),
        (refused(OutputMode::Update, sessions), "session"),
    ] {
        let error = found.unwrap_err();
        assert!(error.contains(why) && error.contains("mode"), "{error}");
    }
    for mode in [OutputMode::Update, OutputMode::Complete, OutputMode::Append] {
        refused(mode, windowed).unwrap();
    }
}

#[test]
fn b201_append_waits_for_the_delay_too() {
    for runner in runners() {
        let (p, events, epochs) = (Pipeline::new(), MemoryStream::new(), Epochs::default());
        let writer = counts(&seconds(&p, &events, 10), 10).write_stream();
        let query = started(told(&epochs, writer).start(&*runner));
        events.add([5, 15]);
        query.process_all_available().unwrap();
        assert!(shown(&epochs).is_empty());
        events.add([20]);
        query.process_all_available().unwrap();
        query.stop();
        assert_eq!(shown(&epochs), [[(0, 1)]], "{runner:?}");
    }
}

/// Of queries that go on from a checkpoint: the epochs' times by the progress.
#[test]
fn the_clock_of_a_query_that_goes_on_is_the_query_s_clock() {
    for runner in runners() {
        let dir = tempfile::tempdir().unwrap();
        let start = Timestamp::from_secs(1_767_225_600);
        let clock = ManualClock::at(start);
        for n in 0..4 {
            let (p, events) = (Pipeline::new(), MemoryStream::new());
            (0..=n).for_each(|n| events.add([n]));
            let writer = counts(&seconds(&p, &events, 1), 10).write_stream().output_mode(OutputMode::Update);
            let writer = writer.trigger(QueryTrigger::AvailableNow).clock(clock.handle());
            let writer = writer.checkpoint_location(dir.path()).for_each_batch(|_, _| Ok(()));
            let query = started(writer.start(&*runner));
            query.await_termination().unwrap();
            let now = purlin_sdk::Clock::now(&clock);
            for progress in query.recent_progress() {
                assert_eq!(progress.timestamp, now.to_string(), "{runner:?}");
            }
            clock.advance(Duration::from_secs(1));
        }
        let log = std::fs::read_to_string(dir.path().join("commits/3")).unwrap();
        assert!(log.contains("\"clock\":\"2026-01-01T00:00:0"), "{runner:?}: {log}");
    }
}

#[test]
fn a_sink_may_stop_its_query_and_not_wait_for_it() {
    for runner in runners() {
        let (p, events) = (Pipeline::new(), MemoryStream::new().max_additions_per_epoch(1));
        (0..5).for_each(|n| events.add([n]));
        let slot: Arc<Mutex<Option<StreamingQuery>>> = Arc::default();
        let (own, seen) = (slot.clone(), Arc::new(Mutex::new(Vec::new())));
        let told = seen.clone();
        let clock = ManualClock::at(Timestamp::EPOCH);
        let writer = p.apply("Events", ReadStream::from(events)).write_stream().clock(clock.handle());
        let writer = writer.trigger(QueryTrigger::ProcessingTime(Duration::from_secs(1)));
        let query = started(
            writer
                .for_each_batch(move |_: Vec<i64>, epoch| {
                    let own = own.lock().unwrap().clone();
                    let Some(own) = own else { return Ok(()) };
                    for waited in [
                        own.process_all_available(),
                        own.await_termination(),
                        own.await_idle(),
                        own.await_termination_for(std::time::Duration::ZERO).map(drop),
                    ] {
                        told.lock().unwrap().push((epoch, waited.unwrap_err().to_string()));
                    }
                    own.stop();
                    Ok(())
                })
                .start(&*runner),
        );
        // The first epoch is before anybody could tell the sink.
        query.await_idle().unwrap();
        *slot.lock().unwrap() = Some(query.clone());
        clock.set(Timestamp::from_secs(1));
        query.await_termination().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 4, "{runner:?}: {seen:?}");
        assert!(seen.iter().all(|(epoch, why)| *epoch == 1 && why.contains("wait for itself")), "{seen:?}");
    }
}

#[test]
fn windows_that_change_are_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let start = |window: i64| {
        let (p, events) = (Pipeline::new(), MemoryStream::new());
        events.add([1]);
        let writer = counts(&seconds(&p, &events, 1), window).write_stream().output_mode(OutputMode::Update);
        let writer = writer.trigger(QueryTrigger::AvailableNow).checkpoint_location(dir.path());
        let query = writer.for_each_batch(|_, _| Ok(())).start(&DirectRunner::new())?;
        query.await_termination()
    };
    start(10).unwrap();
    let told = start(20).unwrap_err().to_string();
    assert!(told.contains("10s") && told.contains("20s") && told.contains("changed: `"), "{told}");
    start(10).unwrap();
}

#[test]
fn a_checkpoint_location_is_for_one_query_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let start = |name: &str| {
        let (p, events) = (Pipeline::new(), MemoryStream::<i64>::new());
        events.add([1]);
        let writer = p.apply("Events", ReadStream::from(events)).write_stream().query_name(name);
        writer.checkpoint_location(dir.path()).for_each_batch(|_, _| Ok(())).start(&DirectRunner::new())
    };
    let first = start("first").unwrap();
    first.process_all_available().unwrap();
    let told = start("second").unwrap().await_termination().unwrap_err().to_string();
    assert!(told.contains("is in use by another query"), "{told}");
    first.stop();
    let third = start("third").unwrap();
    third.process_all_available().unwrap();
    third.stop();
}

#[test]
fn a_panic_of_a_sink_is_told_as_the_sink_s() {
    for runner in runners() {
        let (p, events) = (Pipeline::new(), MemoryStream::new());
        events.add([1_i64]);
        let writer = p.apply("Events", ReadStream::from(events)).write_stream();
        let query = started(writer.for_each_batch(|_, _| panic!("ouch")).start(&*runner));
        let told = query.await_termination().unwrap_err().to_string();
        assert!(told.contains("WriteStream") && told.contains("ouch") && told.contains("sink"), "{told}");
    }
}

#[test]
fn intervals_and_gaps_that_make_no_sense_are_refused() {
    let (p, events) = (Pipeline::new(), MemoryStream::<i64>::new());
    let writer = p.apply("Events", ReadStream::from(events)).write_stream();
    let writer = writer.trigger(QueryTrigger::ProcessingTime(Duration::from_secs(-5)));
    let told = writer.for_each_batch(|_, _| Ok(())).start(&DirectRunner::new()).unwrap_err().to_string();
    assert!(told.contains("below zero"), "{told}");

    let (p, events) = (Pipeline::new(), MemoryStream::new());
    seconds(&p, &events, 1)
        .map("Key", |n| ((), n))
        .apply("Sessions", StreamAggregate::sessions(Duration::ZERO, CountFn::new()));
    let told = p.build().unwrap_err().to_string();
    assert!(told.contains("a gap of") && told.contains("more than zero"), "{told}");
}
