//! Live streams that are fed the wrong way.

use std::sync::Arc;

use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;
use purlin_sdk::{
    Pipeline, Runner, Timestamp,
    batch::{Batch, Meta, Row},
    live::{LiveEvent, LiveScript},
};

fn runners() -> [Box<dyn Runner>; 2] {
    [Box::new(DirectRunner::new()), Box::new(ThreadedRunner::new().parallelism(2))]
}

/// A script that gives one element to the stream `number`, and ends.
fn script(number: usize) -> Arc<LiveScript> {
    let script = LiveScript::without_driver(Timestamp::EPOCH);
    let told = script.clone();
    script.drive(move |_| {
        let mut batch = Batch::default();
        batch.push(1_i64, Row::of(&Meta::default(), 0));
        told.tell(LiveEvent::Elements(number, Box::new(batch)));
        told.settle();
        told.tell(LiveEvent::Stop);
    });
    script
}

#[test]
fn elements_for_a_stream_that_is_not_there_fail_the_run() {
    for runner in runners() {
        let p = Pipeline::new();
        p.live_stream::<i64>("Live", &script(3), 0);
        let error = p.run_on(&*runner).unwrap().wait().unwrap_err().to_string();
        assert!(error.contains("live stream 3"), "{error}");
    }
}

#[test]
fn streams_have_numbers_and_not_places() {
    for runner in runners() {
        let p = Pipeline::new();
        p.live_stream::<i64>("Live", &script(3), 3);
        p.run_on(&*runner).unwrap().wait().unwrap();
    }
}

#[test]
fn two_scripts_and_two_streams_of_one_number_are_refused() {
    for runner in runners() {
        let (p, one) = (Pipeline::new(), script(0));
        p.live_stream::<i64>("Live", &one, 0);
        p.live_stream::<i64>("Same", &one, 0);
        p.live_stream::<i64>("Other", &script(0), 1);
        let error = p.run_on(&*runner).unwrap_err().to_string();
        assert!(error.contains("`Same`") && error.contains("number, 0"), "{error}");
        assert!(error.contains("`Other`") && error.contains("another script"), "{error}");
    }
}
