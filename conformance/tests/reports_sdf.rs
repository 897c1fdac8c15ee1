//! Field reports on sources and splittable DoFns, on every runner.

use purlin_conformance::{
    cases::{sources, splittable},
    runners::{for_each_parallel_runner, for_each_runner},
};

macro_rules! on_every_runner {
    ($($module:ident::{$($case:ident),* $(,)?}),* $(,)?) => {$($(
        #[test]
        fn $case() {
            for_each_runner($module::$case);
        }
    )*)*};
}

on_every_runner! {
    sources::{
        b001_an_empty_poll_does_not_pin_the_watermark,
        b002_a_resume_waits_as_long_as_it_says,
        b004_an_endless_source_feeds_what_is_downstream,
        b005_windows_of_an_endless_source_close,
        b007_a_monotonic_estimator_takes_what_is_out_of_order,
        b008_a_manual_watermark_refuses_to_go_back,
        b010_checkpoints_keep_elements_on_time,
        b014_polling_leaves_nothing_behind,
        b015_a_poll_does_not_make_its_own_elements_late,
    },
    splittable::{
        b012_a_checkpoint_before_the_first_claim_does_no_harm,
        b021_empty_restrictions_are_done,
        b026_resumes_with_the_residual,
        b028_outputs_stay_in_the_window,
        b030_drain_ends_unbounded_work,
        b030_drain_finishes_bounded_work,
        b030_drain_keeps_what_truncation_keeps,
        pair_with_index,
        pair_with_index_windowed,
        output_after_checkpoint,
        side_input_across_checkpoints,
        tagged_output,
        undone_work_fails,
        a_counter_across_checkpoints,
        finalizers_run_between_checkpoints,
        an_endless_restriction_is_checkpointed,
    },
}

#[test]
fn b033_a_split_does_not_swallow_a_failure() {
    for_each_runner(splittable::b033_a_split_does_not_swallow_a_failure);
    for _ in 0..100 {
        for_each_parallel_runner(splittable::b033_a_split_does_not_swallow_a_failure);
    }
}

#[test]
fn one_restriction_runs_in_parallel() {
    for_each_parallel_runner(splittable::one_restriction_runs_in_parallel);
}

#[test]
fn elements_run_in_parallel_after_a_reshuffle() {
    for_each_parallel_runner(splittable::elements_run_in_parallel_after_a_reshuffle);
}
