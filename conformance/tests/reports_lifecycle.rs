//! Field reports on lifecycle, bundles and failure, on every runner.

use purlin_conformance::{
    cases::{failure, finalizers, lifecycle},
    runners::{for_each_parallel_runner, for_each_runner, for_each_runner_with, for_each_setup},
};
use purlin_runner_threaded::ThreadedRunner;

#[test]
fn call_sequence() {
    for_each_runner(lifecycle::call_sequence);
}

#[test]
fn call_sequence_of_keyed_dofns() {
    for_each_runner(lifecycle::call_sequence_of_keyed_dofns);
}

#[test]
fn b167_teardown_of_keyed_dofns_after_a_failure() {
    for_each_runner(lifecycle::b167_teardown_of_keyed_dofns_after_a_failure);
    for_each_runner_with(2, lifecycle::b167_teardown_of_keyed_dofns_after_a_failure);
}

#[test]
fn b167_teardown_after_a_failure() {
    for_each_runner(lifecycle::b167_teardown_after_a_failure);
    for_each_runner_with(2, lifecycle::b167_teardown_after_a_failure);
}

#[test]
fn b168_a_failing_teardown() {
    for_each_runner(lifecycle::b168_a_failing_teardown);
}

#[test]
fn b168_one_of_eight_setups_fails() {
    for_each_setup(0, |setup| {
        if setup.threads >= 8 {
            lifecycle::b168_one_of_eight_setups_fails(&*setup.runner);
        }
    });
}

#[test]
fn finish_bundle_says_timestamp_and_window() {
    for_each_runner(lifecycle::finish_bundle_says_timestamp_and_window);
}

#[test]
fn b170_a_panic_ends_the_run() {
    for_each_runner(failure::b170_a_panic_ends_the_run);
}

#[test]
fn b170_a_panic_in_a_split_ends_the_run() {
    for_each_parallel_runner(failure::b170_a_panic_in_a_split_ends_the_run);
}

#[test]
fn b170_ten_thousand_tiny_runs_end() {
    let runner = ThreadedRunner::new().parallelism(4);
    (0..10_000).for_each(|_| failure::a_tiny_run(&runner));
}

#[test]
fn b171_a_bundle_counts_once_however_often_it_is_tried() {
    for_each_runner_with(2, failure::b171_a_bundle_counts_once_however_often_it_is_tried);
}

#[test]
fn b171_without_retries_nothing_is_seen_of_a_failed_bundle() {
    for_each_runner(failure::b171_without_retries_nothing_is_seen_of_a_failed_bundle);
}

#[test]
fn retries_end() {
    for_each_runner_with(2, failure::retries_end);
}

#[test]
fn only_retryable_errors_are_tried_again() {
    for_each_runner_with(2, failure::only_retryable_errors_are_tried_again);
}

#[test]
fn a_retried_restriction_counts_once() {
    for_each_runner_with(20, failure::a_retried_restriction_counts_once);
}

#[test]
fn b173_finalizers_run_for_committed_bundles_only() {
    for_each_runner_with(2, finalizers::b173_finalizers_run_for_committed_bundles_only);
}

#[test]
fn b173_a_finalizer_that_fails_loses_no_data() {
    for_each_runner(finalizers::b173_a_finalizer_that_fails_loses_no_data);
}

#[test]
fn b173_a_finalizer_is_called_up_to_its_expiry() {
    for_each_runner(finalizers::b173_a_finalizer_is_called_up_to_its_expiry);
}

#[test]
fn finalizers_of_three_thousand_bundles() {
    for_each_runner(finalizers::finalizers_of_three_thousand_bundles);
}
