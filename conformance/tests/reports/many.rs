//! Cases of the table that are run many times, or on fewer runners than the table has, since they take long.

use purlin_conformance::{
    cases::{costs, failure, lifecycle, pending_timers, splittable, timers},
    runners::{for_each_parallel_runner, for_each_runner_with},
};
use purlin_runner_direct::DirectRunner;
use purlin_runner_threaded::ThreadedRunner;

#[test]
fn b167_teardown_after_a_failure_with_retries() {
    for_each_runner_with(2, lifecycle::b167_teardown_after_a_failure);
    for_each_runner_with(2, lifecycle::b167_teardown_of_keyed_dofns_after_a_failure);
}

#[test]
fn b170_ten_thousand_tiny_runs_end() {
    let runner = ThreadedRunner::new().parallelism(4);
    (0..10_000).for_each(|_| failure::a_tiny_run(&runner));
}

#[test]
fn b033_a_split_does_not_swallow_a_failure() {
    for _ in 0..100 {
        for_each_parallel_runner(splittable::b033_a_split_does_not_swallow_a_failure);
    }
}

/// A million firings each: on one runner of a kind.
#[test]
fn b073_a_timer_that_sets_itself_for_ever_is_an_error() {
    let case = timers::b073_a_timer_that_sets_itself_for_ever_is_an_error;
    case(&DirectRunner::new().seed(0));
    case(&ThreadedRunner::new().parallelism(2));
}

/// A million lines: on one runner, for its time. What an element costs is what it costs among ten thousand.
#[test]
fn b177_a_million_lines() {
    let runner = ThreadedRunner::new().parallelism(2);
    let (few, many) = (costs::cost(&runner, 10_000), costs::cost(&runner, 1_000_000));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= few + few / 50 + 10, "in thousandths of an operation: {few} of few, {many} of many");
    }
}

#[test]
fn b073_pending_timers_without_an_end_are_an_error() {
    let case = pending_timers::b073_pending_timers_without_an_end_are_an_error;
    case(&DirectRunner::new().seed(0));
    case(&ThreadedRunner::new().parallelism(2));
}
