//! Queries from sources to sinks, on both runners.

use std::sync::{Arc, Mutex};

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{DoFnError, Duration, ManualClock, PCollection, Pipeline, Runner, Timestamp};
use purlin_transforms::streaming::{
    FileSink, FileStream, MemoryStream, MemoryTable, QueryTrigger, RateStream, ReadStream, WriteStream,
};

/// Every runner, the parallel one with several numbers of threads.
fn runners() -> Vec<Box<dyn Runner>> {
    let mut all: Vec<Box<dyn Runner>> =
        vec![Box::new(DirectRunner::new()), Box::new(DirectRunner::new().seed(7))];
    all.extend([1, 2, 16].map(|n| Box::new(ThreadedRunner::new().parallelism(n)) as Box<dyn Runner>));
    all
}

fn doubled(p: &Pipeline, numbers: &MemoryStream<i64>) -> PCollection<i64> {
    p.apply("Numbers", ReadStream::from(numbers.clone())).map("Double", |n| 2 * n)
}

#[test]
fn epochs_run_as_long_as_there_is_data() {
    for runner in runners() {
        let (p, numbers) = (Pipeline::new(), MemoryStream::new());
        let epochs = Arc::new(Mutex::new(Vec::new()));
        let seen = epochs.clone();
        let query = doubled(&p, &numbers)
            .write_stream()
            .for_each_batch(move |rows, epoch| {
                seen.lock().unwrap().push((epoch, rows));
                Ok(())
            })
            .start(&*runner)
            .unwrap();
        query.process_all_available().unwrap();
        numbers.add([1, 2, 3]);
        query.process_all_available().unwrap();
        numbers.add([]);
        query.process_all_available().unwrap();
        numbers.add([4]);
        query.process_all_available().unwrap();
        query.stop();
        assert_eq!(*epochs.lock().unwrap(), [(0, vec![2, 4, 6]), (1, vec![]), (2, vec![8])]);
        let rows: Vec<u64> = query.recent_progress().iter().map(|p| p.num_input_rows).collect();
        assert_eq!(rows, [3, 0, 1]);
        assert!(!query.is_active() && query.exception().is_none());
        query.await_termination().unwrap();
    }
}

#[test]
fn once_takes_all_and_available_now_goes_by_limits() {
    for runner in runners() {
        for (trigger, epochs) in [
            (QueryTrigger::Once, vec![vec![2, 4, 6, 8]]),
            (QueryTrigger::AvailableNow, vec![vec![2, 4], vec![6], vec![8]]),
        ] {
            let (p, numbers) = (Pipeline::new(), MemoryStream::new().max_additions_per_epoch(1));
            numbers.add([1, 2]);
            numbers.add([3]);
            numbers.add([4]);
            let (seen, late) = (Arc::new(Mutex::new(Vec::new())), numbers.clone());
            let told = seen.clone();
            let query = doubled(&p, &numbers)
                .write_stream()
                .trigger(trigger)
                .for_each_batch(move |rows, _| {
                    // What comes while it runs is left for the next run.
                    late.add([100]);
                    told.lock().unwrap().push(rows);
                    Ok(())
                })
                .start(&*runner)
                .unwrap();
            query.await_termination().unwrap();
            assert_eq!(*seen.lock().unwrap(), epochs);
        }
    }
}

#[test]
fn a_run_that_finds_nothing_says_so() {
    for runner in runners() {
        for trigger in [QueryTrigger::Once, QueryTrigger::AvailableNow] {
            let (p, numbers) = (Pipeline::new(), MemoryStream::new());
            let query = doubled(&p, &numbers)
                .write_stream()
                .trigger(trigger)
                .for_each_batch(|_, epoch| panic!("epoch {epoch} is none"))
                .start(&*runner)
                .unwrap();
            query.await_termination().unwrap();
            let told: Vec<_> =
                query.recent_progress().into_iter().map(|p| (p.batch_id, p.num_input_rows)).collect();
            assert_eq!(told, [(0, 0)]);
        }
    }
}

#[test]
fn epochs_begin_at_multiples_of_the_interval() {
    for runner in runners() {
        let (p, numbers) = (Pipeline::new(), MemoryStream::new());
        let clock = ManualClock::at(Timestamp::from_secs(12));
        let (epochs, now) = (Arc::new(Mutex::new(Vec::new())), clock.clone());
        let seen = epochs.clone();
        let query = doubled(&p, &numbers)
            .write_stream()
            .trigger(QueryTrigger::ProcessingTime(Duration::from_secs(5)))
            .clock(clock.handle())
            .for_each_batch(move |rows, _| {
                let at = purlin_sdk::Clock::now(&now);
                seen.lock().unwrap().push((at.as_millis() / 1000, rows));
                if at == Timestamp::from_secs(20) {
                    // It overruns: two ticks are missed, and one epoch comes for both.
                    now.set(Timestamp::from_secs(31));
                }
                Ok(())
            })
            .start(&*runner)
            .unwrap();
        query.await_idle().unwrap();
        numbers.add([1]);
        clock.set(Timestamp::from_secs(14));
        query.await_idle().unwrap();
        assert!(epochs.lock().unwrap().is_empty());
        clock.set(Timestamp::from_secs(15));
        query.await_idle().unwrap();
        numbers.add([2]);
        clock.set(Timestamp::from_secs(20));
        // Until the epoch has moved the clock on and the one that follows has looked.
        query.await_idle().unwrap();
        numbers.add([3]);
        clock.set(Timestamp::from_secs(34));
        query.await_idle().unwrap();
        clock.set(Timestamp::from_secs(35));
        query.await_idle().unwrap();
        query.stop();
        assert_eq!(*epochs.lock().unwrap(), [(15, vec![2]), (20, vec![4]), (35, vec![6])]);
    }
}

#[test]
fn rows_flow_under_a_continuous_trigger() {
    for runner in runners() {
        let (p, numbers) = (Pipeline::new(), MemoryStream::new());
        let clock = ManualClock::at(Timestamp::from_secs(100));
        let table = MemoryTable::new();
        let query = doubled(&p, &numbers)
            .write_stream()
            .trigger(QueryTrigger::Continuous(Duration::from_secs(5)))
            .clock(clock.handle())
            .sink(table.sink())
            .start(&*runner)
            .unwrap();
        numbers.add([1]);
        query.process_all_available().unwrap();
        numbers.add([2]);
        query.process_all_available().unwrap();
        // Both came out, and no epoch is over.
        assert_eq!(table.rows(), [2, 4]);
        assert!(query.last_progress().is_none());
        clock.set(Timestamp::from_secs(105));
        query.process_all_available().unwrap();
        query.stop();
        assert_eq!(query.recent_progress()[0].num_input_rows, 2);
    }
}

#[test]
fn a_failing_dofn_and_a_failing_sink_end_the_query_with_their_errors() {
    for runner in runners() {
        let (p, numbers) = (Pipeline::new(), MemoryStream::new());
        numbers.add([1]);
        let query = p
            .apply("Numbers", ReadStream::from(numbers))
            .map("Fail", |n: i64| if n == 1 { panic!("one is not allowed") } else { n })
            .write_stream()
            .for_each(|_| Ok(()))
            .start(&*runner);
        let error = query.unwrap().await_termination().unwrap_err().to_string();
        assert!(error.contains("Fail"), "{error}");

        let (p, numbers) = (Pipeline::new(), MemoryStream::new());
        numbers.add([1]);
        let query = doubled(&p, &numbers)
            .write_stream()
            .for_each(|n: i64| Err(DoFnError::msg(format!("no room for {n}"))))
            .start(&*runner)
            .unwrap();
        let error = query.process_all_available().unwrap_err().to_string();
        assert!(error.contains("WriteStream") && error.contains("no room for 2"), "{error}");
        assert_eq!(query.status().message, "Terminated with exception");
    }
}

#[test]
fn from_files_to_files_and_on_from_the_checkpoint() {
    for runner in runners() {
        let dir = tempfile::tempdir().unwrap();
        let (input, output) = (dir.path().join("in"), dir.path().join("out"));
        std::fs::create_dir(&input).unwrap();
        let run = || {
            let p = Pipeline::new();
            let query = p
                .apply("Lines", ReadStream::from(FileStream::text(&input).max_files_per_trigger(1)))
                .map("Shout", |line: String| line.to_uppercase())
                .write_stream()
                .trigger(QueryTrigger::AvailableNow)
                .checkpoint_location(dir.path().join("checkpoint"))
                .sink(FileSink::text(&output))
                .start(&*runner)
                .unwrap();
            query.await_termination().unwrap();
            let epochs = query.recent_progress().into_iter().filter(|p| p.num_input_rows > 0);
            (query.id().to_owned(), epochs.count())
        };
        let put = |name: &str, text: &str| std::fs::write(input.join(name), text).unwrap();
        put("a", "to\nbe\n");
        put("b", "or\n\nnot\n");
        let (first, epochs) = run();
        assert_eq!(epochs, 2);
        put("c", "to be");
        let (second, epochs) = run();
        assert_eq!((second, epochs), (first, 1));
        assert_eq!(run().1, 0);
        let read = |n: usize| std::fs::read_to_string(output.join(format!("part-{n:05}.txt"))).unwrap();
        assert_eq!(read(0) + &read(1), "TO\nBE\nOR\n\nNOT\n");
        assert_eq!(read(2), "TO BE\n");
    }
}

#[test]
fn an_epoch_whose_sink_failed_is_given_again_with_its_number_and_rows() {
    for runner in runners() {
        let dir = tempfile::tempdir().unwrap();
        let numbers = MemoryStream::new().max_additions_per_epoch(1);
        [1, 2, 3].into_iter().for_each(|n| numbers.add([n]));
        let given = Arc::new(Mutex::new(Vec::new()));
        let run = |fails: bool| {
            let (p, seen) = (Pipeline::new(), given.clone());
            doubled(&p, &numbers)
                .write_stream()
                .trigger(QueryTrigger::AvailableNow)
                .checkpoint_location(dir.path())
                .for_each_batch(move |rows, epoch| {
                    seen.lock().unwrap().push((epoch, rows));
                    if fails && epoch == 1 { Err(DoFnError::msg("the disk is full")) } else { Ok(()) }
                })
                .start(&*runner)
                .unwrap()
                .await_termination()
        };
        assert!(run(true).is_err());
        run(false).unwrap();
        assert_eq!(*given.lock().unwrap(), [(0, vec![2]), (1, vec![4]), (1, vec![4]), (2, vec![6])]);
    }
}

#[test]
fn numbers_at_a_rate() {
    for runner in runners() {
        let clock = ManualClock::at(Timestamp::from_secs(50));
        let (p, table) = (Pipeline::new(), MemoryTable::new());
        let query = p
            .apply("Rate", ReadStream::from(RateStream::rows_per_second(2).clock(clock.handle())))
            .write_stream()
            .clock(clock.handle())
            .sink(table.sink())
            .start(&*runner)
            .unwrap();
        query.process_all_available().unwrap();
        clock.advance(Duration::from_secs(2));
        query.process_all_available().unwrap();
        query.stop();
        let rows: Vec<(i64, u64)> =
            table.rows().iter().map(|row| (row.timestamp.as_millis(), row.value)).collect();
        assert_eq!(rows, [(50_000, 0), (50_500, 1), (51_000, 2), (51_500, 3)]);
    }
}

#[test]
fn a_streaming_source_without_a_query_is_refused() {
    let p = Pipeline::new();
    doubled(&p, &MemoryStream::new());
    let error = p.build().unwrap_err().to_string();
    assert!(error.contains("Numbers") && error.contains("write_stream"), "{error}");

    let p = Pipeline::new();
    let error = doubled(&p, &MemoryStream::new()).write_stream().start(&DirectRunner::new()).unwrap_err();
    assert!(error.to_string().contains("no sink"), "{error}");

    let (p, numbers) = (Pipeline::new(), MemoryStream::new());
    let result = doubled(&p, &numbers);
    result.write_stream().for_each(|_| Ok(())).declare();
    let again = result.map("Again", |n| n).write_stream().for_each(|_| Ok(())).start(&DirectRunner::new());
    assert!(again.unwrap_err().to_string().contains("has a streaming query already"));
}
