//! On the runners of this project: `cases::timers`.

mod common;

common::cases! {
    timers:
    event_time_timer_bounded,
    timers_behind_a_grouping,
    event_time_timer_unbounded,
    b078_a_timer_fires_when_the_watermark_has_passed_it,
    b063_no_timer_fires_early,
    b065_setting_again_replaces,
    b066_a_callback_changes_timers_that_are_due,
    b068_state_is_there_when_timers_fire,
    b069_state_lives_until_its_window_expires,
    b070_a_timer_holds_the_watermark_at_its_output_timestamp,
    a_timer_upstream_holds_timers_downstream,
    b072_impossible_times_are_errors_where_they_are_set,
    b073_a_timer_that_sets_itself_ends,
    b074_a_timer_in_the_past_fires_at_once_and_once,
    b089_a_batch_that_waits_holds_the_watermark,
    aligned_timers,
    timers_fire_in_the_windows_of_the_element,
    a_timer_at_the_end_of_its_window,
    a_timer_within_the_allowed_lateness,
    a_timer_in_a_loop,
    one_timer_for_each_of_many_keys,
    a_timer_s_timestamp_is_its_output_timestamp,
    a_timer_without_an_output_timestamp,
    timestamp_skew_in_timers,
    processing_time_timers,
    timers_fire_in_the_order_of_their_times,
    two_timers_that_set_each_other,
    a_timer_that_is_set_to_now_follows_the_watermark,
    cleared_timers,
    timer_families,
    key_and_options_in_timers,
    a_timer_without_a_callback_is_an_error,
    timers_in_the_global_window_behind_others,
}

/// A million firings each: on one runner of a kind.
#[test]
fn b073_a_timer_that_sets_itself_for_ever_is_an_error() {
    let case = purlin_conformance::cases::timers::b073_a_timer_that_sets_itself_for_ever_is_an_error;
    case(&purlin_runner_direct::DirectRunner::new().seed(0));
    case(&purlin_runner_threaded::ThreadedRunner::new().parallelism(2));
}
