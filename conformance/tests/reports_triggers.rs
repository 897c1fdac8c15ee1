//! On the runners of this project: `cases::triggers`.

mod common;

common::cases! {
    triggers:
    b105_the_rest_comes_out_at_expiry,
    b106_triggers_that_lose_data_are_refused,
    options_are_checked_at_build,
    a_trigger_that_never_fires_is_refused,
    b109_early_panes_do_not_wait,
    b110_empty_panes,
    b112_processing_time_counts_from_the_first_element,
    b117_a_growing_session_fires_early,
    b118_a_count_goes_through_a_merge,
    b121_late_data_are_counted_and_can_be_had,
    late_data_accumulate,
    discarding_leaves_the_late_to_the_last_pane,
    a_first_element_that_is_late,
    early_panes_of_a_window,
    never,
    a_count_is_looked_at_once_a_bundle,
    composites,
    data_for_a_closed_window_are_counted,
    processing_time_is_synchronized_downstream,
    late_elements_do_not_pull_the_timestamp_back,
    lateness_of_sliding_windows,
    a_default_under_triggers,
}
